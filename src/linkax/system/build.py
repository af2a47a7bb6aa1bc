"""From a description, or straight from a file, to a System."""

import difflib
import os
from typing import Any

import jax.numpy as jnp

from linkax.constraints.tree_rows import NO_ROWS
from linkax.forces import AbstractElement, JointDamping
from linkax.forces.described import loads_of
from linkax.forces.loads import AbstractLoad
from linkax.io import describe
from linkax.model import Description, assemble, with_root
from linkax.system.mechanism import mechanism_of_parts
from linkax.system.system import System
from linkax.system.tree_parts import constrained_parts


_FORMULATIONS = ("tree", "embedded", "maximal")


def build(
    description: Description,
    formulation: str = "tree",
    massless: str = "error",
    dtype: Any = None,
    unroll: int = 1,
    independent: tuple[str, ...] | None = None,
) -> System:
    """The System of a description.

    Loops are closed first: where they gape, the run starts from the nearest closed configuration, and where
    the initial speeds open them, from the nearest speeds that do not; both are noted.

    Args:
        description: plain data; checked here.
        formulation: "tree" (minimal coordinates, loops by multipliers), "embedded" (independent coordinates
            only) or "maximal" (one pose a body).
        massless: what becomes of joints that move no inertia: "error", or "weld" to hold them at neutral.
        dtype: precision of the leaves; JAX's default float if None.
        unroll: bodies compiled side by side in each recursion; 0 writes out all of them.
        independent: names of the speeds that the embedded formulation keeps; chosen by pivoting if None.

    Raises:
        ValueError: naming what is wrong in the description and what would be right.
    """
    _check_formulation(formulation)
    parts = assemble(description, massless=massless, dtype=dtype, unroll=unroll)
    real = parts.model.dtype
    q, v = jnp.asarray(parts.initial_q, real), jnp.asarray(parts.initial_v, real)
    elements: tuple[AbstractElement, ...] = ()
    mechanism, model, rows, weights = None, parts.model, NO_ROWS, jnp.zeros((parts.model.nv,), real)
    loads: tuple[AbstractLoad, ...] = ()
    if formulation == "maximal":
        built = mechanism_of_parts(parts, description.name)
        mechanism, q, v, notes = built.mechanism, built.q, built.v, built.notes
    else:
        found = constrained_parts(parts, description.name, formulation == "embedded", independent)
        model, rows, weights = found.model, found.rows, found.weights
        q, v, notes = found.q, found.v, found.notes
        loads = loads_of(parts.model, parts.elements, parts.loops)
        if parts.damping.any():
            elements = (JointDamping(jnp.asarray(parts.damping, real)),)
    return System(
        model=model,
        elements=elements,
        initial_q=q,
        initial_v=v,
        effort=jnp.asarray(parts.effort, real),
        velocity_limit=jnp.asarray(parts.velocity_limit, real),
        marker_points=jnp.asarray([m.point for m in parts.markers], real).reshape(-1, 3),
        marker_names=tuple(m.name for m in parts.markers),
        marker_bodies=tuple(m.body for m in parts.markers),
        name=description.name,
        notes=(*parts.notes, *notes),
        formulation=formulation,
        mechanism=mechanism,
        weights=weights,
        rows=rows,
        loads=loads,
    )


def _check_formulation(formulation: str) -> None:
    if formulation in _FORMULATIONS:
        return
    near = difflib.get_close_matches(formulation, _FORMULATIONS, n=1) or ["tree"]
    raise ValueError(f'There is no formulation "{formulation}"; did you mean "{near[0]}"?')


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
