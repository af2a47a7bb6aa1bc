"""Inverses of semidefinite matrices: exact at full rank, tolerant below, smooth where ranks stay."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax.solve.pseudo_inverse import pseudo_inverse


RNG = np.random.default_rng(5)
WIDE = RNG.normal(size=(5, 5))
FULL = WIDE @ WIDE.T + np.eye(5)
# Rows of very different units, the fourth redundant, the fifth zero.
ROWS = np.array([1.0, 1e-6, 1e6, 1.0, 1.0])[:, None] * RNG.normal(size=(5, 5))
ROWS[3] = ROWS[0] + 2.0 * ROWS[2] / 1e6
ROWS[4] = 0.0

inverse = jax.jit(pseudo_inverse)


def test_a_regular_matrix_has_its_inverse():
    np.testing.assert_allclose(inverse(FULL), np.linalg.inv(FULL), rtol=1e-12)


def test_redundant_rows_of_any_units_have_a_generalised_inverse():
    A = ROWS @ ROWS.T
    X = np.asarray(inverse(A))
    units = np.sqrt(np.diag(A))
    units[4] = 1.0
    both = np.outer(units, units)
    np.testing.assert_allclose(A @ X @ A / both, A / both, atol=1e-12)
    np.testing.assert_allclose(X @ A @ X * both, X * both, atol=1e-12)
    np.testing.assert_array_equal(X, X.T)
    assert not X[4].any()


def test_units_do_not_matter():
    A, units = ROWS @ ROWS.T, np.array([1e3, 1.0, 1e-5, 10.0, 1.0])
    both = np.outer(units, units)
    scale = np.abs(inverse(A))
    np.testing.assert_allclose(both * inverse(both * A), inverse(A), atol=1e-12 * scale.max())


def test_nothing_has_nothing_for_an_inverse():
    assert not np.asarray(inverse(np.zeros((3, 3)))).any()
    assert pseudo_inverse(jnp.zeros((0, 0))).shape == (0, 0)


def test_a_matrix_that_is_not_finite_has_no_finite_inverse():
    assert np.isnan(inverse(np.full((2, 2), np.nan))).all()


def test_single_precision_has_the_rank_of_double():
    A = (ROWS @ ROWS.T).astype(np.float32)
    X = inverse(A)
    assert X.dtype == jnp.float32
    right = np.asarray(inverse(ROWS @ ROWS.T))
    units = np.sqrt(np.diag(right))
    units[4] = 1.0
    both = np.outer(units, units)
    np.testing.assert_allclose(np.asarray(X) / both, right / both, atol=1e-4)


def of_rows(J):
    return pseudo_inverse(jnp.matmul(J, J.T, precision=jax.lax.Precision.HIGHEST))


@jax.jit
def slopes(J, dJ):
    steps = 1e-3 * jnp.asarray([-2.0, -1.0, 1.0, 2.0])
    along = jax.lax.map(lambda h: of_rows(J + h * dJ), steps)
    value, tangent = jax.jvp(of_rows, (J,), (dJ,))
    pulled = jax.vjp(of_rows, J)[1](value)[0]
    second = jax.jvp(lambda J: jax.jvp(of_rows, (J,), (dJ,))[1], (J,), (dJ,))[1]
    return along, value, tangent, jnp.sum(pulled * dJ), second


# Equal eigenvalues everywhere; five rows of rank three, which all moves keep.
TALL = RNG.normal(size=(5, 3)) @ RNG.normal(size=(3, 5))


@pytest.mark.parametrize(
    ("J", "dJ"),
    [(np.eye(5), RNG.normal(size=(5, 5))), (TALL, TALL @ RNG.normal(size=(5, 5)))],
    ids=["equal eigenvalues", "rank three"],
)
def test_derivatives_agree_with_differences(J, dJ):
    dJ = 0.3 * dJ / np.abs(dJ).max()
    along, value, tangent, paired, second = jax.device_get(slopes(J, dJ))
    slope = np.tensordot([1.0, -8.0, 8.0, -1.0], along, 1) / 12e-3
    curve = np.tensordot([-1.0, 16.0, 16.0, -1.0], along, 1) / 12e-6 - 30.0 / 12e-6 * value
    scale = np.abs(tangent).max()
    np.testing.assert_allclose(tangent, slope, atol=1e-7 * scale)
    np.testing.assert_allclose(second, curve, atol=1e-4 * np.abs(second).max())
    assert paired == pytest.approx(np.sum(value * tangent), rel=1e-10)
