"""Block elimination by a graph equals dense solves, with little fill and few rounds."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax.solve import block_sparse


# Evaluated once or twice: LLVM's optimisations would cost more time than they could save.
compiled = ft.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})


def _chain(n):
    return [(i, i + 1) for i in range(n - 1)]


def _tree(n, seed):
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(i)), i) for i in range(1, n)]


def _sizes(n, seed, choices=(1, 2, 3, 5)):
    return tuple(int(s) for s in np.random.default_rng(seed).choice(choices, n))


GRAPHS = {
    "one node": ((3,), []),
    "no edges": ((2, 1, 2), []),
    "chain of one size": ((5,) * 7, _chain(7)),
    "chain of several sizes": (_sizes(6, 0), _chain(6)),
    "tree": (_sizes(7, 1, (2, 4)), _tree(7, 2)),
    "star": ((3, 1, 1, 1, 1), [(0, k) for k in range(1, 5)]),
    "ring": ((5, 3, 5, 5, 3), [*_chain(5), (4, 0)]),
    "small ring": ((2, 1, 2, 1), [*_chain(4), (3, 0)]),
    "two rings with a bridge": (
        _sizes(8, 4, (1, 3)),
        [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5), (5, 6), (6, 7), (7, 4)],
    ),
    "complete": ((2, 3, 2, 1), [(i, j) for j in range(4) for i in range(j)]),
    "random graph": (
        _sizes(8, 5, (1, 2)),
        [tuple(map(int, p)) for p in np.random.default_rng(6).integers(8, size=(12, 2))],
    ),
}


@ft.cache
def problem(name):
    """(plan, positive definite matrix of the graph, right-hand side, where each node's rows begin)."""
    sizes, edges = GRAPHS[name]
    rng = np.random.default_rng(11)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    matrix = np.zeros((starts[-1], starts[-1]))
    for i, j in [*edges, *((k, k) for k in range(len(sizes)))]:
        rows, columns = slice(*starts[i : i + 2]), slice(*starts[j : j + 2])
        matrix[rows, columns] = rng.normal(size=(sizes[i], sizes[j]))
        matrix[columns, rows] = matrix[rows, columns].T
    # Diagonally dominant, and a little off symmetric, as the Jacobian of a step is.
    matrix += np.diag(1.0 + np.abs(matrix).sum(1))
    matrix *= 1.0 + 0.02 * rng.normal(size=matrix.shape)
    return block_sparse.plan_elimination(sizes, edges), matrix, rng.normal(size=starts[-1]), starts


def as_blocks(plan, matrix, starts):
    found = {}
    for shape, pairs in plan.pairs:
        cut = lambda p: matrix[starts[p[0]] : starts[p[0] + 1], starts[p[1]] : starts[p[1] + 1]]
        found[shape] = np.stack([cut(pair) for pair in pairs])
    return found


def as_matrix(plan, blocks, starts):
    whole = jnp.zeros((starts[-1], starts[-1]))
    for shape, pairs in plan.pairs:
        for k, (i, j) in enumerate(pairs):
            whole = jax.lax.dynamic_update_slice(whole, blocks[shape][k], (starts[i], starts[j]))
    return whole


def as_vectors(plan, b, starts):
    cut = lambda i: b[starts[i] : starts[i + 1]]
    return {s: np.stack([cut(i) for i in plan.nodes_of(s)]) for s in set(plan.sizes)}


def flat(plan, vectors):
    return jnp.concatenate([vectors[s][plan.node_place(i)] for i, s in enumerate(plan.sizes)])


def solution(plan, blocks, b, shift=1e-10):
    """(solution, whether singular)."""
    factors, singular = block_sparse.factor(plan, blocks, shift)
    return flat(plan, block_sparse.solve(plan, factors, b)), singular


@ft.cache
def solver(name, shift=1e-10):
    """`solution` of a graph, compiled."""
    return compiled(lambda blocks, b: solution(problem(name)[0], blocks, b, shift))


@pytest.mark.parametrize("name", GRAPHS)
def test_the_solution_is_that_of_the_whole_matrix(name):
    plan, matrix, b, starts = problem(name)
    x, singular = solver(name)(as_blocks(plan, matrix, starts), as_vectors(plan, b, starts))
    assert not bool(singular)
    np.testing.assert_allclose(x, np.linalg.solve(matrix, b), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", ["star", "small ring"])
def test_the_gradient_by_every_block_is_that_of_the_whole_matrix(name):
    plan, matrix, b, starts = problem(name)
    weights = np.random.default_rng(12).normal(size=b.shape)
    blocks, right = as_blocks(plan, matrix, starts), as_vectors(plan, b, starts)

    def sparse(blocks, right):
        return jnp.sum(weights * solution(plan, blocks, right)[0])

    def dense(blocks, right):
        x = jnp.linalg.solve(as_matrix(plan, blocks, starts), flat(plan, right))
        return jnp.sum(weights * x)

    found, wanted = (compiled(jax.grad(f, (0, 1)))(blocks, right) for f in (sparse, dense))
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_a_batch_is_its_matrices_one_by_one():
    name = "chain of several sizes"
    plan, matrix, b, starts = problem(name)
    blocks, right = as_blocks(plan, matrix, starts), as_vectors(plan, b, starts)
    several = jax.tree.map(lambda x: np.stack([x, 2.0 * x, 0.0 * x]), blocks)
    x, singular = compiled(jax.vmap(ft.partial(solution, plan), (0, None)))(several, right)
    np.testing.assert_array_equal(singular, [False, False, True])
    exact = np.linalg.solve(matrix, b)
    np.testing.assert_allclose(x[:2], [exact, 0.5 * exact], rtol=0, atol=1e-12)


# --- singular pivots ---


def test_a_singular_pivot_is_flagged_and_shifted():
    name, shift = "chain of one size", 0.25
    plan, matrix, b, starts = problem(name)
    node = plan.rounds[0][0].nodes[0]
    row = starts[node] + 2
    cut = np.array(matrix)
    cut[row], cut[:, row] = 0.0, 0.0
    x, singular = solver(name, shift)(as_blocks(plan, cut, starts), as_vectors(plan, b, starts))
    assert bool(singular)
    cut[row, row] = shift
    np.testing.assert_allclose(x, np.linalg.solve(cut, b), rtol=0, atol=1e-12)


def test_a_pivot_that_becomes_zero_by_elimination_is_flagged():
    plan = block_sparse.plan_elimination((1, 1), [(0, 1)])
    factor = compiled(lambda blocks: block_sparse.factor(plan, blocks, 1e-10)[1])
    values = {(0, 0): 1.0, (0, 1): 2.0, (1, 0): 2.0, (1, 1): 4.0}
    ((_, pairs),) = plan.pairs
    blocks = np.array([values[p] for p in pairs]).reshape(-1, 1, 1)
    assert bool(factor({(1, 1): blocks}))
    blocks[pairs.index((1, 1))] = 5.0
    assert not bool(factor({(1, 1): blocks}))


def test_a_matrix_that_is_not_finite_is_singular():
    name = "chain of one size"
    plan, matrix, b, starts = problem(name)
    spoiled = np.array(matrix)
    spoiled[0, 0] = np.nan
    blocks, right = as_blocks(plan, spoiled, starts), as_vectors(plan, b, starts)
    assert bool(solver(name)(blocks, right)[1])


# --- the plan ---


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_the_rounds_of_a_chain_grow_like_the_logarithm_of_its_length(n):
    plan = block_sparse.plan_elimination((5,) * n, _chain(n))
    assert len(plan.rounds) <= np.log2(n) + 2


def _most_neighbours(plan):
    return max(len(near) for groups in plan.rounds for g in groups for near in g.neighbours)


@pytest.mark.parametrize("seed", range(5))
def test_no_node_of_a_tree_has_more_than_two_neighbours_when_it_goes(seed):
    n = 60
    plan = block_sparse.plan_elimination((5,) * n, _tree(n, seed))
    assert _most_neighbours(plan) <= 2
    # So a node adds at most the pair of its two neighbours.
    assert sum(len(pairs) for _, pairs in plan.pairs) <= n + 2 * (n - 1) + 2 * n
    assert len(plan.rounds) <= 3 * np.log2(n)


@pytest.mark.parametrize("n", [10, 100])
def test_a_ring_has_no_more_fill_than_a_chain(n):
    plan = block_sparse.plan_elimination((5,) * n, [*_chain(n), (n - 1, 0)])
    assert _most_neighbours(plan) <= 2
    assert len(plan.rounds) <= np.log2(n) + 3


@pytest.mark.parametrize("name", GRAPHS)
def test_every_node_goes_once_and_no_two_neighbours_in_one_round(name):
    plan = problem(name)[0]
    gone = [node for groups in plan.rounds for g in groups for node in g.nodes]
    assert sorted(gone) == list(range(len(plan.sizes)))
    for groups in plan.rounds:
        nodes = {node for g in groups for node in g.nodes}
        assert not any(nodes & set(near) for g in groups for near in g.neighbours)


def test_the_order_of_edges_and_their_direction_do_not_matter():
    sizes, edges = GRAPHS["two rings with a bridge"]
    other = [(j, i) for i, j in reversed(edges)] + edges
    assert block_sparse.plan_elimination(sizes, edges) == block_sparse.plan_elimination(
        sizes, other
    )
