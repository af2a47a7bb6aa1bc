"""From a description, or straight from a file, to a System."""

import difflib
import os
from typing import Any

import jax.numpy as jnp

from linkax.forces import AbstractElement, JointDamping
from linkax.io import describe
from linkax.model import Description, assemble, with_root
from linkax.system.mechanism import mechanism_of_parts
from linkax.system.system import System


_FORMULATIONS = ("tree", "maximal")
_PLANNED = ("embedded",)


def build(
    description: Description,
    formulation: str = "tree",
    massless: str = "error",
    dtype: Any = None,
    unroll: int = 1,
) -> System:
    """The System of a description.

    In maximal coordinates loops are closed first: where they gape, the run starts from the nearest closed
    configuration, and where the initial speeds open them, from the nearest speeds that do not; both are
    noted.

    Args:
        description: plain data; checked here.
        formulation: "tree" (minimal coordinates) or "maximal" (one pose a body; loops, elements and motions).
        massless: what becomes of joints that move no inertia: "error", or "weld" to hold them at neutral.
        dtype: precision of the leaves; JAX's default float if None.
        unroll: bodies compiled side by side in each recursion; 0 writes out all of them.

    Raises:
        ValueError: naming what is wrong in the description and what would be right.
    """
    _check_formulation(formulation)
    # A fault in a loop, element or motion is named before the fact that none can be built.
    parts = assemble(description, massless=massless, dtype=dtype, unroll=unroll)
    real = parts.model.dtype
    q, v = jnp.asarray(parts.initial_q, real), jnp.asarray(parts.initial_v, real)
    elements: tuple[AbstractElement, ...] = ()
    mechanism, notes = None, parts.notes
    if formulation == "maximal":
        built = mechanism_of_parts(parts, description.name)
        mechanism, q, v, notes = built.mechanism, built.q, built.v, (*parts.notes, *built.notes)
    else:
        _check_supported(description)
        if parts.damping.any():
            elements = (JointDamping(jnp.asarray(parts.damping, real)),)
    return System(
        model=parts.model,
        elements=elements,
        initial_q=q,
        initial_v=v,
        effort=jnp.asarray(parts.effort, real),
        velocity_limit=jnp.asarray(parts.velocity_limit, real),
        marker_points=jnp.asarray([m.point for m in parts.markers], real).reshape(-1, 3),
        marker_names=tuple(m.name for m in parts.markers),
        marker_bodies=tuple(m.body for m in parts.markers),
        name=description.name,
        notes=tuple(notes),
        formulation=formulation,
        mechanism=mechanism,
    )


def _check_formulation(formulation: str) -> None:
    if formulation in _FORMULATIONS:
        return
    if formulation in _PLANNED:
        raise ValueError(f'Formulation "{formulation}" is not available yet; use "tree".')
    near = difflib.get_close_matches(formulation, _FORMULATIONS + _PLANNED, n=1) or ["tree"]
    raise ValueError(f'There is no formulation "{formulation}"; did you mean "{near[0]}"?')


def _check_supported(description: Description) -> None:
    tables = {
        "loop": description.loops,
        "drive": description.drives,
        "element": description.elements,
        "motion": description.motions,
    }
    for kind, entries in tables.items():
        if entries:
            raise ValueError(
                f"[[{kind}]] `{entries[0].name}` of `{description.name}` cannot be built in the "
                'tree formulation yet: use formulation="maximal", or remove the table to build the rest.'
            )


def load(
    path: str | os.PathLike[str],
    root: str = "fixed",
    gravity: tuple[float, float, float] | None = None,
    formulation: str = "tree",
    massless: str = "error",
    dtype: Any = None,
    unroll: int = 1,
) -> System:
    """The System of a file: `describe` and `build` in one.

    Args:
        path: .urdf or .toml.
        root: "fixed" or "floating": how a body without a joint to the ground is attached to it. A file
            whose bodies all are attached is left as it is.
        gravity: world axes [m/s^2]; what the file says if None, (0, 0, -9.81) if it says nothing.
        formulation, massless, dtype, unroll: as for `build`.

    Raises:
        FileNotFoundError, ValueError: with one sentence naming what is wrong.
    """
    description = describe(path)
    description = with_root(description, root)
    if gravity is not None:
        x, y, z = gravity
        description.gravity = (float(x), float(y), float(z))
    return build(description, formulation, massless, dtype, unroll)
