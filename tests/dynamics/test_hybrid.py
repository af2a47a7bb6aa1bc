"""Hybrid dynamics: the accelerations and forces that come out satisfy the equations of motion."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grouped_trees import CHEAPLY, branching, grouped, spread_model

import linkax as lx
from linkax.model import library
from linkax.model.description import MimicDescription


PARENTS = (-1, 0, 0, 1)


@ft.cache
def plain():
    return lx.build(branching(("revolute", "cylindrical"), PARENTS)).model


@ft.cache
def aggregated():
    return grouped(plain(), ((1, 2), (3,)))


@ft.cache
def mimicking():
    tree = library.random_tree(jax.random.key(2), 3, ("revolute",), 0.0)
    tree.joints[1].mimic = MimicDescription("joint0", -1.5, 0.2)
    return lx.build(tree).model


def state(model, seed=0):
    rng = np.random.default_rng(seed)
    q, v, tau, a = (jnp.asarray(rng.normal(size=n)) for n in (model.nq, *(model.nv,) * 3))
    return q, v, tau, a, jnp.asarray(rng.normal(size=(model.nb, 6)))


@ft.partial(jax.jit, static_argnums=5, compiler_options=CHEAPLY)
def hybrid(model, q, v, tau, a, prescribed, wrenches):
    found = lx.hybrid_dynamics(model, q, v, tau, a, prescribed, wrenches)
    return found, lx.inverse_dynamics(model, q, v, found[0], wrenches)


CHOICES = {
    "one joint of a compound body": (aggregated, ("joint1",)),
    "a whole compound body and the root": (aggregated, ("joint2", "joint0", 1)),
    "bodies of a plain tree": (plain, (3, "joint0")),
    "all joints": (plain, (0, 1, 2, 3)),
    "none": (aggregated, ()),
    "beside a mimic joint": (mimicking, ("joint2",)),
}


@pytest.mark.parametrize("model, prescribed", CHOICES.values(), ids=CHOICES)
def test_given_entries_stay_and_the_equations_of_motion_hold(model, prescribed):
    model = model()
    q, v, tau, a, wrenches = state(model)
    names = [joint if isinstance(joint, str) else f"joint{joint}" for joint in prescribed]
    given = np.array([name.split("_")[0] in names for name in model.speed_names])
    # What is not given is not read.
    unread = jnp.where(given, jnp.nan, tau), jnp.where(given, a, jnp.nan)
    (rates, forces), needed = hybrid(model, q, v, *unread, prescribed, wrenches)
    np.testing.assert_array_equal(np.asarray(rates)[given], np.asarray(a)[given])
    np.testing.assert_array_equal(np.asarray(forces)[~given], np.asarray(tau)[~given])
    np.testing.assert_allclose(forces, needed, rtol=0.0, atol=1e-12 * np.abs(needed).max())


def test_only_independent_speeds_of_a_model_with_its_own_are_left_out():
    """Speeds that belong to no joint cannot be prescribed."""
    base = aggregated()
    widths = [len(node.speeds(base.base.topology)) for node in base.nodes]
    model = spread_model(base, np.random.default_rng(0), tuple(w - (w > 2) for w in widths))
    q, v, tau, a, _ = state(model)
    with pytest.raises(ValueError, match=r"Joint `joint1` has no independent speeds to prescribe"):
        lx.hybrid_dynamics(model, q, v, tau, a, ("joint1",))


@ft.partial(jax.jit, compiler_options=CHEAPLY)
def derivatives(point, along):
    """(value, its derivative forward, its derivative backward) along one direction."""

    def value(model, q, v, tau, a, wrenches):
        out = lx.hybrid_dynamics(model, q, v, tau, a, ("joint1", "joint2"), wrenches)
        return jnp.sum(jnp.cos(jnp.arange(2 * model.nv, dtype=float)) * jnp.concatenate(out))

    first, forward = jax.jvp(value, point, along)
    leaves = zip(
        jax.tree.leaves(jax.grad(value, argnums=tuple(range(6)))(*point)),
        jax.tree.leaves(along),
        strict=True,
    )
    return first, forward, sum(jnp.vdot(g, d) for g, d in leaves)


def test_derivatives_of_both_modes_are_those_of_differences():
    model = grouped(lx.build(branching(("revolute", "helical"), (-1, 0, 0))).model, ((1, 2),))
    rng, h = np.random.default_rng(3), 1e-4
    point = (model, *state(model, 1))
    along = jax.tree.map(lambda x: jnp.asarray(0.1 * rng.normal(size=x.shape)), point)
    moved = lambda t: jax.tree.map(lambda x, d: x + t * d, point, along)
    at = {k: derivatives(moved(k * h), along) for k in (-2, -1, 0, 1, 2)}
    values = {k: float(a[0]) for k, a in at.items()}
    _, forward, backward = map(float, at[0])
    near = (8.0 * (values[1] - values[-1]) - (values[2] - values[-2])) / (12.0 * h)
    assert abs(forward) > 0.1
    assert abs(forward - backward) <= 1e-12 * abs(forward)
    assert abs(forward - near) <= 1e-8 * abs(forward)


def test_unknown_and_repeated_joints_are_errors():
    model = aggregated()
    q, v, tau, a, _ = state(model)
    with pytest.raises(ValueError, match="There is no joint `joint9`"):
        lx.hybrid_dynamics(model, q, v, tau, a, ("joint9",))
    with pytest.raises(ValueError, match="Joint `joint1` is prescribed twice"):
        lx.hybrid_dynamics(model, q, v, tau, a, ("joint1", 1))
    model = mimicking()
    q, v, tau, a, _ = state(model)
    with pytest.raises(ValueError, match=r"Joint `joint1` has no independent .* `joint0`"):
        lx.hybrid_dynamics(model, q, v, tau, a, ("joint1",))
