"""The recursion over nodes against dense matrices: any grouping of any tree, speeds spread in any way."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from grouped_trees import CHEAPLY, grouped, mixed, random_grouping, spread_model

from linkax.dynamics.nodes import factor_steps, filter_nodes, smooth_nodes, steps_of, upsilon_of
from linkax.dynamics.nodes.compliance import between, body_path


GROUPINGS = {
    "plain": (),
    "chain on a body, which carries a body": ((1, 2),),
    "two bases on the ground": ((0, 4),),
    "two bases on a body": ((2, 3),),
    "a branching group with children on inner members": ((2, 1, 3),),
    "compound on compound on compound": ((0,), (1, 2), (7,)),
    "compound between bodies, body between compounds": ((0, 1), (6,), (4, 5)),
    "nested twice": (((((0, 1), 2), 4), 3),),
    "all bodies": ((7, 6, 5, 4, 3, 2, 1, 0),),
}
GROUPINGS |= {
    f"random {k}": random_grouping(mixed().model, np.random.default_rng(k)) for k in (1, 2)
}
# Across the two trees, from a body to what it carries, between branches, between neighbours.
PAIRS = ((0, 5), (1, 6), (7, 6), (3, 2))


def answers(steps, at, armature, spreads, tau, biases, drifts, ground, b):
    """(accelerations, M^-1 b, Upsilon of the nodes, Omega of the pairs) by the recursion."""
    factors = factor_steps(steps, at, armature, spreads)
    filtered = filter_nodes(steps, factors, tau, biases, drifts)
    rates = smooth_nodes(steps, factors, filtered, drifts, ground).rates
    solved = smooth_nodes(steps, factors, filter_nodes(steps, factors, b)).rates
    upsilon = upsilon_of(steps, factors, range(len(steps)))
    paths = [body_path(steps, b) for b in range(at.inertias.shape[0])]
    omega = [between(steps, factors, upsilon, paths[a], paths[b]) for a, b in PAIRS]
    return rates, solved, [upsilon[k] for k in range(len(steps))], omega


def evaluated(model, tau, b):
    case = mixed()
    steps = steps_of(model)
    run = jax.jit(lambda *x: answers(steps, *x), compiler_options=CHEAPLY)
    forces = (tau, case.biases, case.drifts, case.ground, b)
    return steps, run(case.at, case.model.armature, model.spread(None), *forces)


def close(found, wanted):
    np.testing.assert_allclose(found, wanted, rtol=0.0, atol=1e-12 * np.abs(wanted).max())


def agree_on_compliance(steps, upsilon, omega, full):
    """Blocks of J M^-1 J^T, (nb, 6, nb, 6)."""
    scale = 1e-12 * np.abs(full).max()
    for step, Y in zip(steps, upsilon, strict=True):
        rows = np.asarray(step.bodies)
        np.testing.assert_allclose(Y, full[rows][:, :, rows], rtol=0.0, atol=scale)
    for (a, b), block in zip(PAIRS, omega, strict=True):
        np.testing.assert_allclose(block, full[a, :, b], rtol=0.0, atol=scale)


@pytest.mark.parametrize("groups", GROUPINGS.values(), ids=GROUPINGS)
def test_any_grouping_gives_what_the_tree_gives(groups):
    case = mixed()
    b = jnp.cos(jnp.arange(case.model.nv, dtype=float))
    steps, (rates, solved, upsilon, omega) = evaluated(grouped(case.model, groups), case.tau, b)
    assert len(steps) < 8 or not groups
    close(rates, case.rates)
    close(solved, np.linalg.solve(case.M, np.asarray(b)))
    J = case.jacobians
    agree_on_compliance(
        steps, upsilon, omega, (J @ np.linalg.inv(case.M) @ J.T).reshape(8, 6, 8, 6)
    )


@pytest.mark.parametrize("left", [1, 3, 7], ids="{} fewer speeds".format)
def test_speeds_spread_over_those_of_the_tree_in_any_way(left):
    """With v_tree = X v: (X^T M X)^-1, by one step a compound body, whatever X is; some nodes stand still."""
    case, rng = mixed(), np.random.default_rng(left)
    model = grouped(case.model, ((0, 1, 2), (4, 5)))
    widths = [len(node.speeds(case.model.topology)) for node in model.nodes]
    model = spread_model(model, rng, tuple(max(0, width - left) for width in widths))
    X, J = np.asarray(model.whole), case.jacobians
    M = X.T @ case.M @ X
    tau, b = jnp.asarray(rng.normal(size=(2, model.nv)))
    free = case.M @ case.rates  # tau - bias of the tree's speeds
    steps, (rates, solved, upsilon, omega) = evaluated(model, tau, b)
    close(rates, np.linalg.solve(M, np.asarray(tau) + X.T @ (free - np.asarray(case.tau))))
    close(solved, np.linalg.solve(M, np.asarray(b)))
    full = J @ X @ np.linalg.inv(M) @ X.T @ J.T
    agree_on_compliance(steps, upsilon, omega, full.reshape(8, 6, 8, 6))
