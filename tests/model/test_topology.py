"""What a topology says about its tree, against plain loops; and what a written-out tree costs to run."""

import copy
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax.joints import (
    COVERED_BY,
    JOINTS,
    Fixed,
    Floating,
    Helical,
    OneFreedom,
    Prismatic,
    Revolute,
    Spherical,
    Universal,
)
from linkax.model import Topology
from linkax.model.topology import GROUND


def topology_of(parents, joints, **more):
    names = tuple(f"b{i}" for i in range(len(parents)))
    return Topology(names, tuple(f"j{i}" for i in range(len(parents))), joints, parents, **more)


@pytest.fixture(scope="module", params=range(6))
def tree(request):
    rng = np.random.default_rng(request.param)
    kinds = list(JOINTS.values())
    n = 9
    parents = tuple(int(rng.integers(-1, i)) if i else GROUND for i in range(n))
    return topology_of(parents, tuple(kinds[k] for k in rng.integers(0, len(kinds), n)))


def test_runs_visit_every_body_once_by_a_type_that_fits(tree):
    bodies = [body for run in tree.runs for body in run.bodies]
    assert sorted(bodies) == list(range(tree.nb))
    for run in tree.runs:
        assert all(
            run.joint in (tree.joints[b], COVERED_BY.get(tree.joints[b])) for b in run.bodies
        )


def test_mixed_hinges_and_slides_are_one_run():
    kinds = (Revolute, Prismatic, Helical, Revolute)
    parents = (-1, 0, 1, 1)
    assert [run.joint for run in topology_of(parents, kinds).runs] == [OneFreedom]
    # A run of two is written out anyway, each by its own type, as is a tree that is all written out.
    pair = topology_of((-1, 0, 1), (Revolute, Prismatic, Spherical))
    assert [run.joint for run in pair.runs] == [Revolute, Prismatic, Spherical]
    written = topology_of(parents, kinds, unroll=0)
    assert [run.joint for run in written.runs] == list(kinds)
    alike = topology_of((-1, 0, 1, 2), (Revolute,) * 4)
    assert [run.joint for run in alike.runs] == [Revolute]


def test_slots_follow_each_other_in_the_order_of_the_bodies(tree):
    for slots, count in ((tree.q_slots, "nq"), (tree.v_slots, "nv")):
        place = 0
        for body, joint in enumerate(tree.joints):
            assert (slots.start[body], slots.width[body]) == (place, getattr(joint, count))
            place += getattr(joint, count)
        assert slots.size == place
    assert (tree.nq, tree.nv) == (tree.q_slots.size, tree.v_slots.size)


def test_paths_children_and_roots_are_those_of_the_parents(tree):
    for body, parent in enumerate(tree.parents):
        path, at = [], body
        while at != GROUND:
            path.append(at)
            at = tree.parents[at]
        assert tree.ancestors[body] == tuple(reversed(path))
        assert tree.roots[body] == path[-1]
        assert parent == GROUND or body in tree.children[parent]
    carried = [child for children in tree.children for child in children]
    assert sorted(carried) == [i for i, p in enumerate(tree.parents) if p != GROUND]


def test_classes_hold_every_body_once_in_order(tree):
    seen = []
    for joint, bodies in tree.classes:
        assert {tree.joints[body] for body in bodies} == {joint}
        assert list(bodies) == sorted(bodies)
        seen += bodies
    assert sorted(seen) == list(range(tree.nb))


def test_names_tell_entries_of_a_joint_apart():
    tree = topology_of((-1, 0, 1, 2), (Floating, Revolute, Universal, Fixed))
    assert len(tree.coordinate_names) == len(set(tree.coordinate_names)) == tree.nq == 10
    assert tree.coordinate_names[0] == "j0_qw"
    assert tree.coordinate_names[7:] == ("j1", "j2_first", "j2_second")
    assert tree.speed_names == (
        *(f"j0_{x}" for x in ("wx", "wy", "wz", "vx", "vy", "vz")),
        *("j1", "j2_first", "j2_second"),
    )


def test_followers_count_in_the_tree_and_not_among_the_independent():
    joints = (Spherical, Revolute, Prismatic, Revolute)
    tree = topology_of((-1, 0, 1, 1), joints, followers=((3, 1),))
    assert (tree.tree_nq, tree.tree_nv, tree.nq, tree.nv) == (7, 6, 6, 5)
    assert tree.free_bodies == (0, 1, 2)
    assert tree.speed_names == ("j0_wx", "j0_wy", "j0_wz", "j1", "j2")


def test_equal_trees_are_one_key_and_unlike_ones_are_not(tree):
    # The runs are cached on the instance; that must not make it another key.
    again = copy.copy(topology_of(tree.parents, tree.joints))
    assert tree.runs == again.runs
    assert tree == again
    assert hash(tree) == hash(again)
    assert tree != topology_of(tree.parents, tree.joints, unroll=0)


def test_a_chain_of_thousands_is_ordered_without_recursion():
    n = 3000
    tree = topology_of(tuple(range(-1, n - 1)), (Revolute,) * n)
    (run,) = tree.runs
    assert run.bodies == tuple(range(n))


@pytest.mark.slow
def test_the_run_time_of_a_written_out_chain_does_not_grow_by_a_factor_a_body():
    """XLA:CPU evaluates a value again in each of its users unless the recursion stores it."""
    lanes, times = 256, {}
    for n in (4, 8):
        model = lx.build(lx.library.chain(n), unroll=0).model
        solve = jax.jit(jax.vmap(lambda q, v, m=model: lx.forward_dynamics(m, q, v, v)))
        q, v = jnp.full((lanes, n), 0.3), jnp.full((lanes, n), 0.1)
        jax.block_until_ready(solve(q, v))
        rounds = []
        for _ in range(20):
            start = time.perf_counter()
            jax.block_until_ready(solve(q, v))
            rounds.append(time.perf_counter() - start)
        times[n] = min(rounds)
    assert times[8] < 4.0 * times[4], times
