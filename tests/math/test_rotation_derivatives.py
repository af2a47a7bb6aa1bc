"""First and second derivatives of the rotation conversions, above all at their singular points."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax import math as lm


HALF = float(np.sqrt(0.5))
AXES = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1], [0.6, 0, 0.8]])
AXIS = np.array([0.48, -0.6, 0.64])
POINT = jnp.array([0.3, -0.2, 0.5])
# skew(E_k) v = e_k x v
GENERATORS = np.array(
    [
        [[0, 0, 0], [0, 0, -1], [0, 1, 0]],
        [[0, 0, 1], [0, 0, 0], [-1, 0, 0]],
        [[0, -1, 0], [1, 0, 0], [0, 0, 0]],
    ]
)


def with_derivatives(function):
    """Value, jacfwd, jacrev and the second derivative, for a batch of points; compiled once."""
    forward = jax.jacfwd(function)
    reverse = jax.jacrev(function)
    every = (function, forward, reverse, jax.jacfwd(reverse))
    return jax.jit(jax.vmap(lambda x: tuple(f(x) for f in every)))


def with_reverse_derivatives(function):
    """Value, jacrev and the second derivative: enough where the right answer is known."""
    reverse = jax.jacrev(function)
    return jax.jit(jax.vmap(lambda x: (function(x), reverse(x), jax.jacfwd(reverse)(x))))


def quaternions(angle, axes=AXES):
    return np.array([[np.cos(angle / 2), *(np.sin(angle / 2) * np.asarray(a))] for a in axes])


def matrices(q):
    return np.asarray(lm.quaternion_to_matrix(q)).reshape(-1, 9)


def joined(*functions):
    return lambda x: jnp.concatenate([jnp.ravel(f(x)) for f in functions])


def of_matrix(function):
    return lambda entries: function(entries.reshape(3, 3))


RANDOM = np.array(jax.random.normal(jax.random.key(0), (4, 4), dtype=jnp.float64))
RANDOM_UNIT = RANDOM / np.linalg.norm(RANDOM, axis=-1, keepdims=True)
IDENTITY = np.array([[1.0, 0, 0, 0]])
POLES = [[0.3, s * np.pi / 2, e3] for s in (1, -1) for e3 in (0.0, 0.5)]
POLE_QUATERNIONS = np.asarray(lm.euler_to_quaternion(np.array(POLES)))
HALF_TURNS = np.concatenate([0 * AXES[:, :1], AXES], axis=-1)
ROUNDED = np.array([[1.0000002, 0, 0, 0], [-1.0000002, 1e-8, 0, 0]])

# What is converted: the functions, points for differences, points on the edge of a branch.
GROUPS = {
    "rotation vector": (
        joined(lm.rotation_vector_to_quaternion, lm.rotation_vector_to_matrix),
        [s * AXIS for s in (0.0, 1e-9, 1e-4, 0.3, 2.0, 2 * np.pi)] + [*(np.pi * AXES)],
        [],
    ),
    "quaternion": (
        joined(
            lm.quaternion_to_matrix,
            lm.quaternion_normalize,
            lambda q: lm.rotate(q, POINT.astype(q.dtype)),
        ),
        [*IDENTITY, *-IDENTITY, *HALF_TURNS, *RANDOM, *(0.3 * RANDOM_UNIT)],
        [*ROUNDED, np.zeros(4), np.full(4, 1e-30)],
    ),
    "quaternion to angles": (
        joined(lm.quaternion_to_rotation_vector, lm.quaternion_to_euler),
        [*IDENTITY, *-IDENTITY, *RANDOM_UNIT]
        + [q for a in (1e-9, 1e-4, 0.2, 0.28, 3.1) for q in quaternions(a, [AXIS])],
        [*ROUNDED, np.zeros(4), np.full(4, 1e-30), *HALF_TURNS, *POLE_QUATERNIONS],
    ),
    "matrix": (
        joined(
            of_matrix(lm.matrix_to_quaternion),
            of_matrix(lm.matrix_to_euler),
        ),
        [*matrices(IDENTITY), *matrices(quaternions(3.1, AXES[[0, 2, 4]])), *matrices(RANDOM)],
        [*matrices(HALF_TURNS), *matrices(POLE_QUATERNIONS), np.zeros(9)],
    ),
    "Euler angles": (
        joined(lm.euler_to_matrix, lm.euler_to_quaternion),
        [[0.0, 0, 0], [0.4, -0.5, 0.6], *POLES],
        [],
    ),
    "Euler rates": (lm.euler_rate_matrix, [[0.0, 0, 0], [0.4, -0.9, 0.6]], POLES),
}
STEP = 1e-3


def points(name):
    """Every regular point, its neighbours -2, -1, 1, 2 steps along each axis, the edge points."""
    _, regular, edges = GROUPS[name]
    regular = np.array(regular, dtype=float)
    n, m = regular.shape
    offsets = np.stack([k * STEP * np.eye(m) for k in (-2, -1, 1, 2)])
    around = regular[:, None, None, :] + offsets[None]
    batch = np.concatenate([regular, around.reshape(-1, m), np.reshape(edges, (-1, m))])
    return batch, slice(0, n), slice(n, n + around.size // m), slice(n + around.size // m, None)


compiled = ft.cache(lambda name: with_derivatives(GROUPS[name][0]))


@ft.cache
def results(name, dtype):
    """Value, both first derivatives and the second at all points of a group, as one mixed batch."""
    batch = points(name)[0].astype(dtype)
    return tuple(np.asarray(r) for r in compiled(name)(batch))


def central_difference(values):
    """Fourth-order differences of values (n, 4, m, ...), the axis m last; angles may pass +-pi."""
    turn = lambda d: d - 2 * np.pi * np.round(d / (2 * np.pi))
    near, far = turn(values[:, 2] - values[:, 1]), turn(values[:, 3] - values[:, 0])
    return np.moveaxis((8 * near - far) / (12 * STEP), 1, -1)


@pytest.mark.parametrize("name", GROUPS)
def test_both_modes_and_second_derivatives_equal_central_differences(name):
    batch, regular, around, _ = points(name)
    shape = (regular.stop, 4, batch.shape[-1])
    value, forward, reverse, second = results(name, np.float64)
    first_difference = central_difference(value[around].reshape(*shape, *value.shape[1:]))
    second_difference = central_difference(forward[around].reshape(*shape, *forward.shape[1:]))
    scale = 1 + np.abs(first_difference).max()
    np.testing.assert_allclose(forward[regular], first_difference, rtol=0, atol=1e-9 * scale)
    scale = 1 + np.abs(second_difference).max()
    np.testing.assert_allclose(second[regular], second_difference, rtol=0, atol=1e-8 * scale)
    size = 1 + np.abs(forward).max(axis=tuple(range(1, forward.ndim)), keepdims=True)
    assert np.max(np.abs(forward - reverse) / size) <= 1e-13


SINGLE = ("rotation vector", "quaternion to angles", "matrix")  # those with branches to go wrong


@pytest.mark.parametrize(
    "name, dtype",
    [*((name, np.float64) for name in GROUPS), *((name, np.float32) for name in SINGLE)],
)
def test_every_lane_is_finite_and_keeps_its_precision(name, dtype):
    _, regular, _, _ = points(name)
    rights = results(name, np.float64)
    for part, right, tolerance in zip(
        results(name, dtype), rights, (1e-5, 1e-5, 1e-5, 1e-4), strict=True
    ):
        assert part.dtype == dtype
        assert np.all(np.isfinite(part))
        # A point of single precision is not quite the same point.
        scale = 1 + np.abs(right[regular]).max()
        np.testing.assert_allclose(part[regular], right[regular], rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_exponential_at_zero_has_the_exact_derivatives(dtype):
    # O01; lane 0 of a batch most of whose lanes are not zero.
    assert not points("rotation vector")[0][0].any()
    _, forward, reverse, second = (part[0] for part in results("rotation vector", dtype))
    product = np.einsum("iab,jbc->acij", GENERATORS, GENERATORS)
    first_q = np.concatenate([np.zeros((1, 3)), np.eye(3) / 2])
    first_r = np.moveaxis(GENERATORS, 0, -1).reshape(9, 3)
    second_q = np.concatenate([-np.eye(3)[None] / 4, np.zeros((3, 3, 3))])
    second_r = 0.5 * (product + np.swapaxes(product, -1, -2)).reshape(9, 3, 3)
    for got in (forward, reverse):
        np.testing.assert_array_equal(got, np.concatenate([first_q, first_r]))
    tolerance = 4 * float(np.finfo(dtype).eps)
    np.testing.assert_allclose(second, np.concatenate([second_q, second_r]), atol=tolerance)


def test_a_lane_that_is_not_a_number_stays_alone():
    name = "rotation vector"
    batch = points(name)[0].copy()
    batch[1] = np.nan
    for part, right in zip(compiled(name)(batch), results(name, np.float64), strict=True):
        assert bool(jnp.all(jnp.isnan(part[1]).any()))
        np.testing.assert_array_equal(part[0], right[0])
        np.testing.assert_array_equal(part[2:], right[2:])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_second_derivatives_do_not_jump_where_a_series_gives_way_to_a_closed_form(dtype):
    # Exactly at the switch every evaluation of the comparison may be rounded its own way.
    axes = np.array(jax.random.normal(jax.random.key(1), (2000, 3), dtype=jnp.float64))
    axes /= np.linalg.norm(axes, axis=-1, keepdims=True)
    exponential, logarithm = lm.rotation_vector_to_quaternion, lm.quaternion_to_rotation_vector
    ladder = lambda f: jax.jit(jax.vmap(lambda x: (f(x), jax.jacrev(jax.jacfwd(f))(x))))
    # The angles at which the two change over: t^2/4 = 1, and tan^2(t/4) = 0.04.
    for f, angle in ((exponential, 2.0), (logarithm, 4 * np.arctan(0.2))):
        at = axes * angle if f is exponential else quaternions(angle, axes)
        apart = axes * (angle + 1e-4) if f is exponential else quaternions(angle + 1e-4, axes)
        every = ladder(f)
        for part, right in zip(every(at.astype(dtype)), every(apart.astype(dtype)), strict=True):
            np.testing.assert_allclose(part, right, rtol=0, atol=2e-3)


def test_logarithm_after_exponential_is_the_identity_to_second_order():
    direct = lambda v: lm.quaternion_to_rotation_vector(lm.rotation_vector_to_quaternion(v))
    by_matrix = lambda v: lm.matrix_to_rotation_vector(lm.rotation_vector_to_matrix(v))
    sizes = (0.0, 1e-12, 1e-7, 1e-3, 0.28, 1.0, 2.0, 3.0, np.pi - 1e-6)
    # At the half turn cos(pi/2) is positive in double precision, so these lie on the near side.
    v = np.array([s * AXIS for s in sizes] + [*(np.pi * AXES)])
    value, first, second = with_reverse_derivatives(joined(direct, by_matrix))(v)
    np.testing.assert_allclose(value, np.tile(v, 2), atol=1e-14)
    right = np.broadcast_to(np.tile(np.eye(3), (2, 1)), first.shape)
    np.testing.assert_allclose(first, right, atol=1e-13)
    np.testing.assert_allclose(second, np.zeros_like(second), atol=1e-11)


def test_euler_angles_of_their_own_matrix_are_the_identity_away_from_the_poles():
    direct = lambda e: lm.matrix_to_euler(lm.euler_to_matrix(e))
    by_quaternion = lambda e: lm.quaternion_to_euler(lm.euler_to_quaternion(e))
    e = np.array([[0, 0, 0], [0.4, -0.5, 2.6], [3.1, 1.5, -2.0], [0.1, -1.57, 0.2], *POLES])
    regular = slice(0, 3)
    value, first, second = with_reverse_derivatives(joined(direct, by_quaternion))(e)
    np.testing.assert_allclose(value[:4], np.tile(e[:4], 2), atol=1e-12)
    right = np.broadcast_to(np.tile(np.eye(3), (2, 1)), first[regular].shape)
    np.testing.assert_allclose(first[regular], right, atol=1e-12)
    np.testing.assert_allclose(second[regular], np.zeros_like(second[regular]), atol=1e-10)
    # At a pole the first angle is e1 +- e3 and the others stand still.
    for lane, (_, e2, _) in enumerate(POLES, start=4):
        pole = np.tile([[1, 0, np.sign(e2)], [0, 0, 0], [0, 0, 0]], (2, 1))
        np.testing.assert_allclose(first[lane], pole, atol=1e-14)
    assert bool(jnp.all(jnp.isfinite(second)))


def test_the_logarithm_at_a_half_turn_has_the_derivatives_of_its_near_side():
    name = "quaternion to angles"
    lanes = [np.flatnonzero(np.all(points(name)[0] == q, axis=-1))[0] for q in HALF_TURNS]
    _, forward, reverse, second = (part[lanes, :3] for part in results(name, np.float64))
    identity = np.eye(3)
    for lane, u in enumerate(AXES):
        # v = 2 atan2(n, w) u / n, and what its derivatives become at w = 0, n = 1.
        across = np.pi * (identity - np.outer(u, u))
        first = np.concatenate([-2 * u[:, None], across], axis=1)
        np.testing.assert_allclose(forward[lane], first, atol=1e-14)
        np.testing.assert_allclose(reverse[lane], first, atol=1e-14)
        mixed = -2 * identity + 4 * np.outer(u, u)
        bend = np.einsum("ij,k->ijk", identity, u) + np.einsum("ik,j->ijk", identity, u)
        bend = 3 * np.einsum("i,j,k->ijk", u, u, u) - bend - np.einsum("jk,i->ijk", identity, u)
        np.testing.assert_allclose(second[lane][:, 0, 0], np.zeros(3), atol=1e-14)
        np.testing.assert_allclose(second[lane][:, 0, 1:], mixed, atol=1e-14)
        np.testing.assert_allclose(second[lane][:, 1:, 1:], np.pi * bend, atol=1e-13)


@pytest.mark.parametrize("name", ["quaternion", "quaternion to angles"])
def test_nothing_changes_along_the_quaternion_itself_or_at_the_zero_quaternion(name):
    batch, regular, _, _ = points(name)
    _, forward, _, second = results(name, np.float64)
    along = np.einsum("nij,nj->ni", forward[regular], batch[regular])
    np.testing.assert_allclose(along, np.zeros_like(along), atol=1e-14)
    zero = np.flatnonzero(np.all(batch == 0, axis=-1))
    assert len(zero) == 1
    np.testing.assert_array_equal(forward[zero], 0)
    np.testing.assert_array_equal(second[zero], 0)


def test_euler_rates_are_the_derivative_of_the_angles():
    e = jnp.array([[0.1, 0.2, 0.3], [-2.0, -1.4, 2.5], [3.0, 1.2, 0.0]])
    omega = jnp.array([0.4, -0.5, 0.6])
    spin = jnp.asarray(np.einsum("k,kij->ij", omega, GENERATORS))

    def rates(e):
        matrix = lm.euler_to_matrix(e)
        return jax.jvp(lm.matrix_to_euler, (matrix,), (matrix @ spin,))[1]

    got = jax.vmap(lambda e: lm.euler_rate_matrix(e) @ omega)(e)
    np.testing.assert_allclose(got, jax.vmap(rates)(e), atol=1e-13)


def test_euler_rates_at_the_poles_reproduce_what_rates_can():
    omega = np.array([0.4, -0.5, 0.6])
    for e in np.array(POLES):
        e_matrix = np.asarray(lm.euler_rate_matrix(e))
        c3, s3 = np.cos(e[2]), np.sin(e[2])
        np.testing.assert_allclose(e_matrix, [[0, 0, 0], [s3, c3, 0], [0, 0, 1]], atol=1e-15)
        # Columns: angular velocity in body axes of a unit rate of each angle.
        x_axis = np.asarray(lm.euler_to_matrix(e)).T @ [1, 0, 0]
        columns = np.stack([x_axis, [s3, c3, 0], [0, 0, 1]], axis=-1)
        reached = columns @ (e_matrix @ omega)
        nearest = columns @ np.linalg.lstsq(columns, omega, rcond=1e-12)[0]
        np.testing.assert_allclose(reached, nearest, atol=1e-14)
