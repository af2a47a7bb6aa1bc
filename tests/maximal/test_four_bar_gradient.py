"""Gradients of a falling four-bar by everything that it is made of, its lengths and first speed included."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from machines import compiled
from mechanisms import about_z, along_x, rods

from linkax import maximal as mx
from linkax.joints import Cylindrical, Revolute, Spherical


STEPS, DT, GROUND = 200, 0.01, 4.0
NUMBERS = {
    "lengths": jnp.asarray([1.0, 3.5, 3.0]),
    "masses": jnp.asarray([1.0, 1.5, 1.2]),
    "spring": jnp.asarray([20.0, 2.0]),  # stiffness, free length
    "speed": jnp.asarray([0.8]),  # of the crank
}
OFFSETS = np.array([-2.0, -1.0, 1.0, 2.0]) * 1e-3
WEIGHTS = np.array([1.0, -8.0, 8.0, -1.0]) / 12e-3


def outcome(numbers, max_iterations=50):
    """A number that depends on all of where the run ends."""
    lengths, (stiffness, free) = numbers["lengths"], numbers["spring"]
    half = 0.5 * lengths
    zero = jnp.zeros(())
    upright = jnp.broadcast_to(jnp.eye(3), (4, 3, 3))
    pins = mx.JointRows(
        parent_point=along_x(jnp.stack([zero, half[0], half[1], zero + GROUND])),
        parent_rotation=upright,
        child_point=along_x(jnp.stack([-half[0], -half[1], half[2], -half[2]])),
        child_rotation=upright,
        pitch=jnp.zeros(4),
        bodies=((-1, 0), (0, 1), (1, 2), (-1, 2)),
        joints=(Revolute, Revolute, Spherical, Cylindrical),  # 17 independent rows
    )
    spring = mx.LinearSprings(
        point_a=jnp.asarray([[0.5, -0.5, 0.0]]),
        point_b=along_x(half[1:2]),
        stiffness=stiffness[None],
        free_length=free[None],
        bodies=((-1, 1),),
    )
    bodies = rods(numbers["masses"], lengths)
    loads = mx.Loads((mx.Gravity(jnp.asarray([0.0, -9.81, 0.0])), spring))
    rows = mx.in_order([pins])
    state = start(numbers)
    closed = mx.assemble(mx.Mechanism(bodies, rows, loads), state, held=(0,)).state
    settings = mx.Settings(max_iterations=max_iterations)
    run = mx.simulate(bodies, closed, DT, STEPS + 1, loads, rows, settings=settings)
    weigh = lambda x: jnp.sum(x * jnp.linspace(0.5, 1.5, x.size).reshape(x.shape))
    ends = run.position[-1], run.orientation[-1], run.point_velocity[-1]
    return sum(map(weigh, ends)), (run.converged, run.position[-1])


def start(numbers):
    """The crank where it belongs, at 0.7 rad, and turning; coupler and rocker near where they belong."""
    lengths = numbers["lengths"]
    angles = jnp.asarray([0.7, 0.72, 1.77])
    way = jnp.stack([jnp.cos(angles), jnp.sin(angles), jnp.zeros(3)], axis=-1)
    end = lengths[0] * way[0]
    origins = jnp.stack([jnp.zeros(3), end, jnp.asarray([GROUND, 0.0, 0.0])])
    centres = origins + 0.5 * lengths[:, None] * way
    crank = jnp.asarray([[1.0], [0.0], [0.0]]) * numbers["speed"][None]
    across = jnp.stack([-way[:, 1], way[:, 0], way[:, 2]], axis=-1)
    spin = crank * jnp.asarray([[0.0, 0.0, 1.0]])
    velocity = crank * 0.5 * lengths[:, None] * across
    return mx.State(centres, about_z(angles), velocity, spin)


@ft.cache
def program(max_iterations):
    """((value, how it ended), gradient), compiled; differences use its value too."""
    slope = jax.value_and_grad(ft.partial(outcome, max_iterations=max_iterations), has_aux=True)
    return compiled(slope).lower(NUMBERS).compile()


def evaluated(max_iterations, numbers):
    (value, (converged, position)), found = program(max_iterations)(numbers)
    assert converged
    # The run must be lively, or its gradient would be none of a run.
    assert np.abs(position - start(numbers).position).max() > 0.5
    return value, found


@ft.cache
def differences():
    """By name and entry, of fourth order."""
    flat, unflatten = ravel_pytree(NUMBERS)
    moved = np.asarray(flat) + OFFSETS[:, None, None] * np.eye(flat.size)
    values = [[evaluated(50, unflatten(jnp.asarray(x)))[0] for x in row] for row in moved]
    return unflatten(jnp.asarray(np.tensordot(WEIGHTS, values, 1)))


@pytest.mark.slow
@pytest.mark.parametrize("name", NUMBERS)
def test_the_gradient_of_a_four_bar_is_that_of_differences(name):
    found, wanted = evaluated(50, NUMBERS)[1][name], differences()[name]
    assert np.abs(wanted).min() > 1e-3
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.slow
def test_neither_the_gradient_nor_its_cost_depend_on_the_budget():
    (_, found), (_, more) = evaluated(50, NUMBERS), evaluated(100, NUMBERS)
    cost, cost_of_more = (program(n).cost_analysis()["flops"] for n in (50, 100))
    assert cost > 0.0 and cost_of_more == cost
    for name in NUMBERS:
        np.testing.assert_allclose(more[name], found[name], rtol=0, atol=1e-10)
