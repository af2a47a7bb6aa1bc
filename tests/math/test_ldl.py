"""The written-out factorisation of one to six freedoms equals dense algebra."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax.math import ldl


LANES = 5


def positive(n, lanes=LANES):
    """Positive definite matrices of unlike scales along the diagonal, lanes first."""
    rng = np.random.default_rng(n)
    half = rng.normal(size=(lanes, n, n)) * 10.0 ** rng.uniform(-1.0, 1.0, (n, 1))
    return half @ np.swapaxes(half, -1, -2) + 0.1 * np.eye(n), rng.normal(size=(lanes, n))


def rows(A):
    return [[A[i, j] for j in range(A.shape[1])] for i in range(A.shape[0])]


def solved(A, b):
    return jnp.stack(ldl.solve(ldl.factor(rows(A)), tuple(b)))


@pytest.mark.parametrize("n", range(1, 7))
def test_the_solution_and_both_its_derivatives_are_those_of_dense_algebra(n):
    A, b = positive(n)
    exact = np.linalg.solve(A, b[..., None])[..., 0]
    found = jax.jit(jax.vmap(solved))(A, b)
    np.testing.assert_allclose(found, exact, rtol=1e-11, atol=1e-13)

    change, w = positive(n)[0][::-1], np.ones(n)

    def both(A, b, dA):
        dense = lambda A: jnp.linalg.solve(A, b)
        ways = [jax.jvp(f, (A,), (dA,))[1] for f in (lambda A: solved(A, b), dense)]
        gradient = jax.grad(lambda b: solved(A, b) @ w)(b)
        return *ways, gradient, jnp.linalg.solve(A, w)

    ours, dense, gradient, wanted = jax.jit(jax.vmap(both))(A, b, change)
    scale = np.abs(dense).max(-1, keepdims=True)
    np.testing.assert_allclose(ours / scale, dense / scale, rtol=0, atol=1e-9)
    np.testing.assert_allclose(gradient, wanted, rtol=1e-9, atol=1e-11)


def test_only_the_lower_triangle_is_read():
    (A,), (b,) = (jnp.asarray(x) for x in positive(4, 1))
    spoilt = A + np.triu(np.full((4, 4), np.nan), 1)
    np.testing.assert_array_equal(solved(spoilt, b), solved(A, b))


def test_the_factors_multiply_to_the_matrix():
    (A,), _ = positive(5, 1)
    f = ldl.factor(rows(jnp.asarray(A)))
    L = np.eye(5)
    for i, row in enumerate(f.lower):
        L[i, : len(row)] = row
    D = np.diag(1.0 / np.asarray(f.reciprocal))
    np.testing.assert_allclose(L @ D @ L.T, A, rtol=1e-12, atol=1e-12)


def test_structural_zeros_cost_nothing_and_stay_zero():
    f = ldl.factor([[jnp.asarray(2.0), 0], [0, jnp.asarray(4.0)]])
    assert f.lower[1] == (0,)
    x, y = ldl.solve(f, (jnp.asarray(1.0), jnp.asarray(1.0)))
    assert (float(x), float(y)) == (0.5, 0.25)


def test_a_singular_matrix_is_not_silently_solved():
    assert not np.isfinite(solved(jnp.zeros((2, 2)), jnp.ones(2))).all()


def test_a_singular_lane_leaves_the_others_alone():
    A, b = positive(3)
    A[2] = 0.0
    found = np.asarray(jax.jit(jax.vmap(solved))(A, b))
    good = [0, 1, 3, 4]
    exact = np.linalg.solve(A[good], b[good][..., None])[..., 0]
    np.testing.assert_allclose(found[good], exact, rtol=1e-11, atol=1e-13)
    assert not np.isfinite(found[2]).all()
