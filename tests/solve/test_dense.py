"""Dense solves: singular matrices are flagged and shifted, redundant rows get the shortest solution."""

import jax
import numpy as np
import pytest

from linkax.solve import dense


RNG = np.random.default_rng(3)
REGULAR = RNG.normal(size=(5, 5))
RIGHT = RNG.normal(size=5)


@jax.jit
def solved(a, b, shift):
    factors, singular = dense.factor(a, shift)
    return dense.solve(factors, b), singular


@jax.jit
def solved_truncated(a, b):
    factors, redundant = dense.factor_truncated(a, 1e-9)
    return dense.solve_truncated(factors, b), redundant


def test_a_regular_matrix_is_solved_as_it_is():
    x, singular = solved(REGULAR, RIGHT, 1.0)
    assert not bool(singular)
    np.testing.assert_allclose(x, np.linalg.solve(REGULAR, RIGHT), rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_a_singular_matrix_is_flagged_at_any_scale_and_shifted(scale):
    matrix = np.array(REGULAR)
    matrix[3] = matrix[1] + matrix[4]
    matrix, shift = scale * matrix, scale * 1e-3
    x, singular = solved(matrix, RIGHT, shift)
    assert bool(singular)
    np.testing.assert_allclose(x, np.linalg.solve(matrix + shift * np.eye(5), RIGHT), rtol=1e-8)


def test_a_matrix_of_zeros_is_the_shift():
    x, singular = solved(np.zeros((5, 5)), RIGHT, 0.5)
    assert bool(singular)
    np.testing.assert_allclose(x, 2.0 * RIGHT, rtol=1e-14)


def test_a_matrix_that_is_not_finite_is_singular():
    matrix = np.array(REGULAR)
    matrix[2, 2] = np.nan
    assert bool(solved(matrix, RIGHT, 1e-10)[1])


def test_redundant_rows_get_the_shortest_solution():
    rows = RNG.normal(size=(5, 3))
    matrix, right = rows @ rows.T, rows @ RNG.normal(size=3)  # of rank three, and consistent
    x, redundant = solved_truncated(matrix, right)
    assert bool(redundant)
    np.testing.assert_allclose(x, np.linalg.pinv(matrix, rcond=1e-9) @ right, atol=1e-12)
    np.testing.assert_allclose(matrix @ x, right, atol=1e-12)
    none = np.linalg.svd(matrix)[2][3:]  # the directions that change nothing
    np.testing.assert_allclose(none @ np.asarray(x), 0.0, atol=1e-12)


def test_contradicting_rows_get_the_least_squares_solution():
    matrix = np.diag([2.0, 1.0, 0.0, 0.0, 4.0])
    x, redundant = solved_truncated(matrix, np.ones(5))
    assert bool(redundant)
    np.testing.assert_allclose(x, [0.5, 1.0, 0.0, 0.0, 0.25], atol=1e-14)


def test_a_regular_matrix_has_no_redundant_rows():
    x, redundant = solved_truncated(REGULAR, RIGHT)
    assert not bool(redundant)
    np.testing.assert_allclose(x, np.linalg.solve(REGULAR, RIGHT), rtol=1e-11)
