"""Random loops of every type: by multipliers, embedded and in maximal coordinates, values and derivatives."""

import dataclasses
import functools as ft

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from loops_of_every_type import LOCKED, described

import linkax as lx
from linkax import maximal as mx
from linkax.constraints.of_tree import tree_constraints
from linkax.kinematics.bodies import body_state
from linkax.maximal.reactions import accelerations as body_accelerations
from linkax.model import assemble
from linkax.system import closure, exerted
from linkax.system.mechanism import rows_of_parts


# Evaluated a few times: LLVM's optimisations would cost more time than they could save.
compiled = ft.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
DENSE = mx.Settings(solver=mx.LinearSolver.DENSE)


@ft.cache
def assembled():
    return assemble(described(tuple(LOCKED), 0))


@ft.cache
def embedded() -> lx.EmbeddedModel:
    return lx.embed(assembled().model, assembled().loops, q=jnp.asarray(assembled().initial_q))


@ft.cache
def opened() -> lx.System:
    description = described(tuple(LOCKED), 0)
    description.loops.clear()
    return lx.build(description)


def machines(base: lx.Model) -> tuple[lx.System, lx.System, mx.Mechanism]:
    """The loops by multipliers, embedded, and in maximal coordinates, all of the numbers of one tree."""
    rows = tree_constraints(base, assembled().loops)
    tree = dataclasses.replace(opened(), model=base, rows=rows)
    model = eqx.tree_at(lambda m: (m.base, m.rows), embedded(), (base, rows))
    constraints = rows_of_parts(assembled()._replace(model=base))
    return (
        tree,
        dataclasses.replace(opened(), model=model),
        mx.Mechanism(mx.bodies_of(base), constraints, mx.Loads((mx.Gravity(base.gravity),))),
    )


def answers(base: lx.Model, q0, v):
    """Of each formulation, at the closed state that has given independent coordinates and speeds."""
    tree, system, mechanism = machines(base)
    q = system.model.closed(q0)
    tree_v = system.model.tree_speeds(q, v)
    at, own = lx.state_of(q, tree_v), lx.state_of(q, v)
    a = lx.accelerations(tree, at)
    k = lx.kinematics(base, q, tree_v, a)
    placed = body_state(base, q, tree_v, 0.0)
    bodies, pull = body_accelerations(mechanism, placed, DENSE)
    # Joints first, then loops; the multipliers of joints are no rows of the tree.
    return {
        "tree": (a, *exerted(tree, at)),
        "embedded": (
            system.model.tree_accelerations(q, v, lx.accelerations(system, own)),
            *exerted(system, own),
        ),
        "bodies": (k.com_acceleration, bodies[:, 3:]),
        "maximal": (pull[-tree.rows.count :], mechanism.reactions(placed, pull)),
        "gaps": closure(system, own),
    }


@compiled
def values_and_derivatives(base, d_base, q0, v):
    """`answers`, and how they change along with the numbers of the tree."""
    return jax.jvp(lambda m: answers(m, q0, v), (base,), (d_base,))


@ft.cache
def found():
    base, model = assembled().model, embedded()
    opened()  # made now: nothing can be drawn at random while something is traced
    v = jax.random.normal(jax.random.key(2), (model.nv,))
    q0 = compiled(lambda m, v: m.integrate(m.reference, 0.1 * v))(model, v)
    rng = np.random.default_rng(3)
    draw = lambda x: jnp.asarray(0.1 * rng.normal(size=x.shape))
    still = jax.tree.map(jnp.zeros_like, base)
    inertia = draw(base.inertia)
    ways = (draw(base.mass), draw(base.com), inertia + jnp.swapaxes(inertia, 1, 2))
    ways = (*ways, draw(base.parent_position), draw(base.child_position))
    where = lambda m: (m.mass, m.com, m.inertia, m.parent_position, m.child_position)
    return jax.device_get(values_and_derivatives(base, eqx.tree_at(where, still, ways), q0, v))


def agree(x, y, tolerance):
    scale = np.abs(x).max()
    assert scale > 0.1
    np.testing.assert_allclose(x, y, rtol=0.0, atol=tolerance * scale)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["values", "derivatives"])
def test_all_formulations_agree(which):
    at = found()[which == "derivatives"]
    assert np.abs(found()[0]["gaps"]).max() < 1e-12
    (a, pull, forces), (b, other, same) = at["tree"], at["embedded"]
    agree(a, b, 1e-10)
    agree(*at["bodies"], 1e-10)
    agree(pull, other, 1e-8)
    agree(pull, at["maximal"][0], 1e-8)
    agree(forces, same, 1e-8)
    agree(forces, at["maximal"][1], 1e-8)


def test_every_loop_is_there_and_leaves_one_freedom():
    model = embedded()
    rows = model.rows
    assert rows.count == sum(LOCKED.values())
    assert model.nv == len(LOCKED)
    assert [len(chart.dependent) for chart in model.charts] == list(LOCKED.values())
