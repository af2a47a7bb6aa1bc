"""The visiting order and the two loops over bodies, against plain loops on trees of many shapes."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax.joints import COVERED_BY, Cylindrical, Prismatic, Revolute
from linkax.model import Topology
from linkax.model.topology import FROM_GROUND, PREVIOUS, UNKEPT
from linkax.model.traverse import body_lanes, inward, outward, stack_bodies, take


def tree(parents, kinds=1, unroll=1):
    joints = tuple((Revolute, Cylindrical, Prismatic)[i % kinds] for i in range(len(parents)))
    names = tuple(f"b{i}" for i in range(len(parents)))
    return Topology(names, names, joints, tuple(parents), unroll=unroll)


def covered_by(joint):
    return {kind for kind, cover in COVERED_BY.items() if cover is joint}


def random_parents(seed, n):
    rng = np.random.default_rng(seed)
    return [int(rng.integers(-1, i)) if i else -1 for i in range(n)]


SHAPES = {
    "one body": [-1],
    "chain": list(range(-1, 199)),
    "star": [-1] + [0] * 9,
    "several roots": [-1, -1, 0, 1, -1, 4],
    "binary tree": [-1] + [(i - 1) // 2 for i in range(1, 31)],
    "four legs": [-1] + [x for leg in range(4) for x in (0, 3 * leg + 1, 3 * leg + 2)],
    **{f"random {seed}": random_parents(seed, 12 + seed) for seed in range(12)},
}


@pytest.mark.parametrize("parents", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("kinds", [1, 2, 3])
def test_every_body_is_visited_once_and_finds_its_parent(parents, kinds):
    topology = tree(parents, kinds)
    registers, previous, seen = {}, None, set()
    for run in topology.runs:
        assert {topology.joints[body] for body in run.bodies} <= {run.joint, *covered_by(run.joint)}
        for body, source, keep in zip(run.bodies, run.source, run.keep, strict=True):
            found = {PREVIOUS: previous, FROM_GROUND: -1}.get(source, registers.get(source))
            assert found == parents[body]
            seen.add(body)
            previous = body
            if keep != UNKEPT:
                registers[keep] = body
    assert seen == set(range(len(parents)))
    assert len(registers) <= math.log2(len(parents) + 1)


@pytest.mark.parametrize("parents", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize(("kinds", "unroll"), [(1, 1), (2, 1), (1, 3), (1, 0)])
def test_both_loops_agree_with_plain_ones(parents, kinds, unroll):
    if unroll == 0 and len(parents) > 40:
        pytest.skip("two hundred bodies written out compile for minutes")
    topology = tree(parents, kinds, unroll)
    weights = np.random.default_rng(len(parents)).normal(size=len(parents))
    zero = jnp.zeros(())

    def down(joint, parent, x):  # not linear in order, so that a wrong parent cannot cancel
        value = 0.5 * parent + x
        return value, value

    def up(joint, children, x):
        value = x + children
        return 0.5 * value, value

    @jax.jit
    def both(weights):
        lanes = body_lanes(topology, weights)
        paths = outward(topology, down, zero, lanes, zero.dtype)
        sums = inward(topology, up, zero, lanes)
        return stack_bodies(topology, paths), stack_bodies(topology, sums)

    paths, sums = both(jnp.asarray(weights))
    wanted = np.zeros(len(parents))
    for body, parent in enumerate(parents):
        wanted[body] = weights[body] + (0.5 * wanted[parent] if parent >= 0 else 0.0)
    np.testing.assert_allclose(paths, wanted, rtol=1e-13, atol=1e-15)
    wanted = weights.copy()
    for body in reversed(range(len(parents))):
        if parents[body] >= 0:
            wanted[parents[body]] += 0.5 * wanted[body]
    np.testing.assert_allclose(sums, wanted, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    "indices", [[], [3], [0, 1, 2], [4, 0, 1], list(range(9, -1, -1)), [2, 2, 5, 6, 7]], ids=str
)
def test_take_is_indexing(indices):
    x = jnp.arange(20.0).reshape(10, 2)
    np.testing.assert_array_equal(take(x, indices), x[np.asarray(indices, int)])
