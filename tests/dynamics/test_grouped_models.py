"""The public functions on models with compound bodies: values, derivatives, batches, precisions."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grouped_trees import CHEAPLY, branching, grouped, spread_model

import linkax as lx
from linkax import constraints
from linkax.dynamics import node_compliance
from linkax.dynamics.nodes import articulated_nodes


# Hinges only: the parts that any model shares are one scan, quick to compile.
HINGES = (-1, 0, 0, 1, 1)
ASKED = ("body3", 4, "body1")
POINTS = jnp.asarray([[0.1, -0.2, 0.3], [0.0, 0.0, 0.0], [0.3, 0.1, -0.1]])


@ft.cache
def hinges():
    model = lx.build(branching(("revolute", "helical"), HINGES)).model
    return grouped(model, ((1, 2), (3, 4)))


@ft.cache
def spread():
    """Two of the first compound body's speeds in one, which leaves four."""
    model = grouped(hinges().base, ((0, 1, 2), (4,)))
    return spread_model(model, np.random.default_rng(1), (2, 1, 1))


@ft.cache
def small():
    """Three bodies, of which two move as one: derivatives are dear to compile."""
    model = lx.build(branching(("revolute", "helical"), HINGES[:3])).model
    return spread_model(grouped(model, ((1, 2),)), np.random.default_rng(1), (1, 1))


def state(model, seed, lanes=()):
    rng = np.random.default_rng(seed)
    draw = lambda *shape: jnp.asarray(rng.normal(size=(*lanes, *shape)))
    return draw(model.nq), draw(model.nv), draw(model.nv), draw(model.nb, 6)


@ft.partial(jax.jit, compiler_options=CHEAPLY)
def everything(model, q, v, tau, wrenches):
    a = lx.forward_dynamics(model, q, v, tau, wrenches)
    return {
        "forward": a,
        "inverse": lx.inverse_dynamics(model, q, v, a, wrenches),
        "bias": lx.bias_force(model, q, v, wrenches),
        "mass": lx.mass_matrix(model, q),
        "solved": lx.solve_mass_matrix(model, q, tau),
        "compliance": lx.operational_space_compliance(model, q, ASKED, POINTS),
        "own": lx.body_compliances(model, q),
        "jacobians": jnp.concatenate(
            [lx.jacobian(model, q, body, point) for body, point in zip(ASKED, POINTS, strict=True)]
        ),
    }


def close(found, wanted, tolerance=1e-12):
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=tolerance * np.abs(wanted).max())


def test_an_aggregated_model_gives_what_its_tree_gives():
    model = hinges()
    q, v, tau, wrenches = state(model, 0)
    found = everything(model, q, v, tau, wrenches)
    wanted = everything(model.base, q, v, tau, wrenches)
    for name, value in wanted.items():
        close(found[name], value)


def test_a_model_with_speeds_of_its_own_has_their_mass_matrix():
    model = spread()
    q, v, tau, wrenches = state(model, 1)
    found = everything(model, q, v, tau, wrenches)
    X, tree_v = model.whole, model.whole @ v
    M = X.T @ lx.mass_matrix(model.base, q) @ X
    bias = X.T @ lx.bias_force(model.base, q, tree_v, wrenches)
    close(found["mass"], M)
    close(found["forward"], np.linalg.solve(M, tau - bias))
    close(found["inverse"], tau)
    close(found["solved"], np.linalg.solve(M, tau))
    J = found["jacobians"]
    close(found["compliance"], J @ np.linalg.solve(M, J.T))
    close(found["own"][4], found["compliance"][6:12, 6:12])


@pytest.mark.parametrize("model", [hinges, spread])
def test_filter_and_smoother_with_velocities_give_the_same_accelerations(model):
    model = model()
    asked = state(model, 2)
    run = jax.jit(lambda *x: articulated_nodes(model, *x).motions.rates, compiler_options=CHEAPLY)
    close(run(*asked), everything(model, *asked)["forward"])


def test_the_ground_does_not_comply():
    model = small()
    run = jax.jit(lambda q: node_compliance(model, q, (-1, 1)), compiler_options=CHEAPLY)
    found = run(state(model, 0)[0])
    assert np.all(found[:6] == 0.0)
    assert np.all(found[:, :6] == 0.0)
    assert np.abs(found[6:, 6:]).max() > 0.1


def test_operators_and_forces_of_a_model_with_speeds_of_its_own():
    """H_G = X^T H Phi, D and Upsilon with it, and f' both ways."""
    model, name = spread(), "<body0+body1+body2>"

    def run(q, v, tau, wrenches):
        a = lx.forward_dynamics(model, q, v, tau, wrenches)
        forces = constraints.inverse_dynamics_vectors(model, name, q, v, a, wrenches)
        points = model.tree.child_position
        J = [lx.jacobian(model, q, body, points[body]) for body in range(3)]
        return (
            *(constraints.node_operators(model, q, name), constraints.upsilon(model, q, name)),
            *(forces, constraints.forward_dynamics_forces(model, name, q, v, tau, wrenches)),
            *(jnp.concatenate(J), lx.mass_matrix(model, q)),
        )

    node, upsilon, wanted, found, J, M = jax.jit(run, compiler_options=CHEAPLY)(*state(model, 8))
    own, X = np.asarray(model.node_speeds[0]), model.X[0]
    close(node.H.T, J[:, own])
    close(node.D, node.H @ node.P @ node.H.T + X.T @ np.diag(model.tree.armature[:3]) @ X)
    close(node.G @ node.D, node.P @ node.H.T)
    close(upsilon, J @ np.linalg.solve(M, J.T))
    close(found.f_prime, wanted.f_prime)
    close(found.at_pnodes, wanted.f)


# --- derivatives, batches and precisions, on the small model ---


@ft.partial(jax.jit, compiler_options=CHEAPLY)
def forward(model, q, v, tau, wrenches):
    return lx.forward_dynamics(model, q, v, tau, wrenches)


def value(*point):
    """A number of all accelerations, each with a weight of its own."""
    a = lx.forward_dynamics(*point)
    return jnp.sum(jnp.cos(jnp.arange(a.shape[0], dtype=a.dtype)) * a)


def along_leaves(x, along):
    pairs = zip(jax.tree.leaves(x), jax.tree.leaves(along), strict=True)
    return sum(jnp.vdot(a, b) for a, b in pairs)


@ft.partial(jax.jit, compiler_options=CHEAPLY)
def derivatives(point, along):
    """(value, its derivative forward, backward) along one direction of every leaf and argument."""
    first, slope = jax.jvp(value, point, along)
    return first, slope, along_leaves(jax.grad(value, argnums=tuple(range(5)))(*point), along)


@ft.partial(jax.jit, compiler_options=CHEAPLY)
def curvature(point, along):
    """(first, second derivative) along one direction of the coordinates."""
    model, q, *rest = point
    gradient = jax.grad(lambda q: value(model, q, *rest))
    slope, change = jax.jvp(gradient, (q,), (along[1],))
    return jnp.vdot(slope, along[1]), jnp.vdot(change, along[1])


def lines(function, point, along, h):
    """The function at four points of a line, and the difference that they give (fourth order)."""
    moved = lambda t: jax.tree.map(lambda x, d: x + t * d, point, along)
    f = {k: float(function(moved(k * h), along)[0]) for k in (-2, -1, 1, 2)}
    return (8.0 * (f[1] - f[-1]) - (f[2] - f[-2])) / (12.0 * h)


@ft.cache
def point_and_direction():
    model, rng = small(), np.random.default_rng(4)
    point = (model, *state(model, 3))
    return point, jax.tree.map(lambda x: jnp.asarray(0.1 * rng.normal(size=x.shape)), point)


def test_derivatives_of_both_modes_are_those_of_differences():
    point, along = point_and_direction()
    _, slope, backward = map(float, derivatives(point, along))
    assert abs(slope) > 1e-2
    assert abs(slope - backward) <= 1e-12 * abs(slope)
    assert abs(lines(derivatives, point, along, 1e-3) - slope) <= 1e-8 * max(1.0, abs(slope))


def test_second_derivatives_are_those_of_differences():
    (model, q, *rest), along = point_and_direction()
    still = jax.tree.map(jnp.zeros_like, along)
    along = (still[0], along[1], *still[2:])
    point = (model, q, *rest)
    _, second = map(float, curvature(point, along))
    assert abs(second) > 1e-2
    assert abs(lines(curvature, point, along, 1e-3) - second) <= 1e-8 * max(1.0, abs(second))


def test_a_batch_is_its_lanes_one_by_one():
    model = small()
    lanes = state(model, 5, (3,))
    batch = jax.jit(jax.vmap(ft.partial(lx.forward_dynamics, model)), compiler_options=CHEAPLY)(
        *lanes
    )
    for k in range(3):
        close(batch[k], forward(model, *(x[k] for x in lanes)), 1e-13)


def test_one_factorisation_serves_many_forces():
    """`jax.vmap` over the forces alone: the inverse of the mass matrix."""
    model = small()
    q = state(model, 6)[0]
    run = jax.vmap(lambda b: lx.solve_mass_matrix(model, q, b))
    jitted = jax.jit(lambda eye: (run(eye), lx.mass_matrix(model, q)), compiler_options=CHEAPLY)
    inverse, M = jitted(jnp.eye(model.nv))
    close(inverse @ M, np.eye(model.nv))


def test_single_precision_comes_out_as_it_went_in():
    point = (small(), *state(small(), 7))
    single = forward(*jax.tree.map(lambda x: x.astype(jnp.float32), point))
    assert single.dtype == jnp.float32
    close(single, forward(*point), 1e-5)
