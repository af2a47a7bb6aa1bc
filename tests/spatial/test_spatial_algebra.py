"""The lane algebra equals six-dimensional matrices, and knows its structural zeros."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax.spatial.inertia import RigidInertia, articulated, parallel_axis
from linkax.spatial.motion import (
    NO_FORCE,
    NO_MOTION,
    Force,
    Motion,
    combine,
    cross_force,
    cross_motion,
    power,
)
from linkax.spatial.transform import NO_TRANSFORM, Transform
from linkax.spatial.vector import (
    IDENTITY,
    ZERO,
    Mat3,
    Sym3,
    Vec3,
    X,
    Y,
    Z,
    cross,
    cross_matrix_product,
    dot,
    symmetric_part,
    symmetric_product,
)


LANES = 3


@pytest.fixture
def rng():
    return np.random.default_rng(3)


def vec(x):
    return Vec3(*jnp.moveaxis(jnp.asarray(x), -1, 0))


def mat(x):
    return Mat3(*jnp.moveaxis(jnp.asarray(x).reshape(*np.shape(x)[:-2], 9), -1, 0))


def sym(x):
    return symmetric_part(mat(x))


def motion(x):
    return Motion(vec(x[..., :3]), vec(x[..., 3:]))


def force(x):
    return Force(vec(x[..., :3]), vec(x[..., 3:]))


def dense(x, lanes=LANES):
    """Any struct of scalars as an array, lanes first; structural numbers filled in."""
    if isinstance(x, Mat3):
        return dense(tuple(x)).reshape(lanes, 3, 3)
    if isinstance(x, Sym3):
        return dense(x.full)
    leaves = [np.broadcast_to(np.asarray(leaf, float), (lanes,)) for leaf in jax.tree.leaves(x)]
    return np.stack(leaves, axis=-1)


def skew(a):
    x, y, z = np.moveaxis(a, -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack(r, -1) for r in ((o, -z, y), (z, o, -x), (-y, x, o))], -2)


def block(A, B, C, D):
    return np.concatenate([np.concatenate([A, B], -1), np.concatenate([C, D], -1)], -2)


def times(A, x):
    return (A @ x[..., None])[..., 0]


def swap(A):
    return np.swapaxes(A, -1, -2)


@pytest.fixture
def pose(rng):
    """(Transform, matrix that takes motions to the parent, matrix that takes forces there)."""
    R = np.linalg.qr(rng.normal(size=(LANES, 3, 3)))[0]
    R = R * np.linalg.det(R)[:, None, None]
    p = rng.normal(size=(LANES, 3))
    up = block(R, np.zeros_like(R), skew(p) @ R, R)
    return Transform(mat(R), vec(p)), up, block(R, skew(p) @ R, np.zeros_like(R), R)


@pytest.fixture
def body(rng):
    """(RigidInertia, its 6x6 matrix about the frame's origin)."""
    half, c = rng.normal(size=(LANES, 3, 3)), rng.normal(size=(LANES, 3))
    m = rng.uniform(1.0, 2.0, LANES)
    one = np.eye(3)
    central = half @ swap(half)
    C = skew(c) * m[:, None, None]
    origin = central + C @ swap(skew(c))
    inertia = RigidInertia(jnp.asarray(m), vec(c * m[:, None]), sym(origin))
    return inertia, block(origin, C, swap(C), m[:, None, None] * one)


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13)


def test_vectors_and_matrices_multiply_as_arrays_do(rng):
    a, b = rng.normal(size=(2, LANES, 3))
    A, B = rng.normal(size=(2, LANES, 3, 3))
    close(dot(vec(a), vec(b)), np.sum(a * b, -1))
    close(dense(cross(vec(a), vec(b))), np.cross(a, b))
    close(dense(vec(a) + vec(b)), a + b)
    close(dense(vec(a) - vec(b)), a - b)
    close(dense(-vec(a)), -a)
    close(dense(mat(A) @ vec(a)), times(A, a))
    close(dense(mat(A) @ mat(B)), A @ B)
    close(dense(mat(A).transposed), swap(A))
    close(dense(mat(A) - mat(B)), A - B)
    close(dense(cross_matrix_product(vec(a), mat(A))), skew(a) @ A)
    S = A + swap(A)
    close(dense(sym(S) @ vec(a)), times(S, a))
    close(dense(symmetric_product(mat(A @ S), mat(A))), A @ S @ swap(A))
    one = np.eye(3)
    wanted = np.sum(a * b, -1)[:, None, None] * one
    wanted = wanted - 0.5 * (a[:, :, None] * b[:, None] + b[:, :, None] * a[:, None])
    close(dense(parallel_axis(vec(a), vec(b))), wanted)


def test_motions_and_forces_pass_between_frames_as_adjoints(rng, pose):
    transform, up, force_up = pose
    v, f = rng.normal(size=(2, LANES, 6))
    close(dense(transform.motion_to_parent(motion(v))), times(up, v))
    close(dense(transform.motion_to_child(motion(v))), times(np.linalg.inv(up), v))
    close(dense(transform.force_to_parent(force(f))), times(force_up, f))
    close(dense(transform.force_to_child(force(f))), times(np.linalg.inv(force_up), f))
    there = power(transform.motion_to_parent(motion(v)), transform.force_to_parent(force(f)))
    close(there, power(motion(v), force(f)))
    close(there, np.sum(v * f, -1))


def test_poses_compose_and_invert(rng, pose):
    transform, up, _ = pose
    v = rng.normal(size=(LANES, 6))
    back = transform @ transform.inverse
    close(dense(back.rotation), np.broadcast_to(np.eye(3), (LANES, 3, 3)))
    close(dense(back.translation), np.zeros((LANES, 3)))
    twice = transform @ transform
    close(dense(twice.motion_to_parent(motion(v))), times(up @ up, v))


def test_products_with_velocity_are_the_rates_of_carried_motions_and_forces(rng):
    v, m, f = rng.normal(size=(3, LANES, 6))
    w, u = skew(v[:, :3]), skew(v[:, 3:])
    zero = np.zeros_like(w)
    over_motions = block(w, zero, u, w)
    close(dense(cross_motion(motion(v), motion(m))), times(over_motions, m))
    close(dense(cross_force(motion(v), force(f))), times(-swap(over_motions), f))


def test_rigid_inertias_are_their_matrices_and_move_by_congruence(rng, pose, body):
    (transform, up, _), (inertia, I) = pose, body
    v = rng.normal(size=(LANES, 6))
    down = np.linalg.inv(up)
    moved = swap(down) @ I @ down
    close(dense(inertia @ motion(v)), times(I, v))
    close(dense(inertia.to_parent(transform) @ motion(v)), times(moved, v))
    close(dense((inertia + inertia) @ motion(v)), times(2.0 * I, v))
    # The kinetic energy does not depend on where it is counted.
    parent_v = transform.motion_to_parent(motion(v))
    energy = power(parent_v, inertia.to_parent(transform) @ parent_v)
    close(energy, np.sum(v * times(I, v), -1))


def test_articulated_inertias_are_their_matrices_and_move_by_congruence(rng, pose, body):
    (transform, up, _), (inertia, I) = pose, body
    v, a, b = rng.normal(size=(3, LANES, 6))
    full = articulated(inertia)
    close(dense(full @ motion(v)), times(I, v))
    # A general one: less a symmetric sum of outer products, a b^T + b a^T.
    less = full.minus_outer((force(a), force(b)), (force(b), force(a)))
    L = I - a[:, :, None] * b[:, None] - b[:, :, None] * a[:, None]
    close(dense(less @ motion(v)), times(L, v))
    down = np.linalg.inv(up)
    close(dense(less.to_parent(transform) @ motion(v)), times(swap(down) @ L @ down, v))
    close(dense((less + full) @ motion(v)), times(L + I, v))


def test_structural_numbers_are_kept_and_never_computed():
    """A product with a unit vector selects; nothing of it reaches the compiler."""
    x = jnp.asarray(np.nan)
    assert (cross(X, Y), cross(Y, Z), cross(X, X)) == (Z, X, ZERO)
    assert dot(Z, Vec3(x, x, 3)) == 3  # 0 * nan would be nan
    assert (IDENTITY @ IDENTITY, IDENTITY @ Y) == (IDENTITY, Y)
    assert (NO_TRANSFORM @ NO_TRANSFORM, NO_TRANSFORM.inverse) == (NO_TRANSFORM, NO_TRANSFORM)
    assert (combine((), ()), NO_MOTION + NO_MOTION) == (NO_MOTION, NO_MOTION)
    assert NO_TRANSFORM.force_to_parent(NO_FORCE) == NO_FORCE
    moving = combine((Motion(Z, ZERO),), (x,))
    assert (moving.linear, moving.angular.x, moving.angular.z is x) == (ZERO, 0, True)
