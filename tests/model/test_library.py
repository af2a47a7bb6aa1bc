"""The library's mechanisms build, start where they say, and random trees cover every joint type."""

import jax
import numpy as np
import pytest

from linkax.joints import JOINTS
from linkax.model import library
from linkax.model.builder import assemble


@pytest.mark.parametrize(
    ("description", "nb", "nv"),
    [
        (library.pendulum(), 1, 1),
        (library.double_pendulum(), 2, 2),
        (library.chain(6), 6, 6),
        (library.cart_pole(), 2, 2),
        (library.heavy_top(), 1, 3),
        (library.free_body(), 1, 6),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_every_mechanism_builds(description, nb, nv):
    model = assemble(description).model
    assert (model.nb, model.nv) == (nb, nv)


def test_the_pendulum_starts_level():  # T5
    description = library.pendulum(length=2.0)
    assert description.bodies[0].com == (0.0, 0.0, -2.0)
    assert assemble(description).initial_q == pytest.approx(np.pi / 2)


def test_the_double_pendulum_has_the_published_bars():  # T6
    assembly = assemble(library.double_pendulum())
    model = assembly.model
    np.testing.assert_allclose(np.rad2deg(assembly.initial_q), [35.0, -55.0])
    np.testing.assert_allclose(
        model.inertia[:, 1, 1], [1.5 * (1 + 0.06**2) / 12, (0.8**2 + 0.05**2) / 12]
    )
    np.testing.assert_allclose(model.parent_position[1], [0.0, 0.0, -1.0])
    np.testing.assert_allclose(model.gravity, [0.0, 0.0, -9.80665])


def test_the_heavy_top_has_the_published_energy():  # T4
    assembly = assemble(library.heavy_top())
    model, omega = assembly.model, assembly.initial_v
    com = np.asarray(model.com[0])
    about_pivot = model.inertia[0] + model.mass[0] * (com @ com * np.eye(3) - np.outer(com, com))
    energy = 0.5 * omega @ about_pivot @ omega - model.mass[0] * model.gravity @ com
    assert energy == pytest.approx(5435.696790865547, rel=1e-7)


def test_a_free_body_takes_a_tensor_or_its_diagonal():
    whole = library.free_body(library.diagonal(1.0, 2.0, 3.0), angular_velocity=(0.3, 1.0, 0.2))
    short = library.free_body((1.0, 2.0, 3.0), angular_velocity=(0.3, 1.0, 0.2))
    assert whole == short
    assert assemble(short).initial_v.tolist() == [0.3, 1.0, 0.2, 0.0, 0.0, 0.0]


def test_chain_hinges_point_in_different_directions():
    assert library.chain(4) == library.chain(4)
    axes = np.asarray(assemble(library.chain(4)).model.axis)
    assert np.linalg.matrix_rank(axes, tol=1e-2) == 3
    with pytest.raises(ValueError, match="n=0"):
        library.chain(0)


def test_a_random_tree_is_a_function_of_its_key():
    first, again, other = (library.random_tree(jax.random.key(k), 5) for k in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("seed", range(5))
def test_a_random_tree_has_every_type_and_branches(seed):
    moving = {name for name in JOINTS if JOINTS[name].nv}
    description = library.random_tree(jax.random.key(seed), 2 * len(moving), branching=0.5)
    assert {joint.type for joint in description.joints} == moving
    model = assemble(description).model
    parents = np.asarray(model.topology.parents)
    assert (np.diff(parents) != 1).any()
    moments = np.linalg.eigvalsh(np.asarray(model.inertia))
    assert (moments[:, 0] > 0.01).all()
    assert (moments[:, -1] / moments[:, 0] < 10.0).all()
    assert (moments[:, 0] + moments[:, 1] > moments[:, 2]).all()
    assert 0.0 < (np.asarray(model.armature) > 0.0).mean() < 1.0


def test_a_random_tree_keeps_to_the_types_asked_for():
    description = library.random_tree(jax.random.key(0), 4, joints=("fixed", "revolute"))
    assert sorted(joint.type for joint in description.joints) == ["fixed"] * 2 + ["revolute"] * 2
    with pytest.raises(ValueError, match="`ball` is no joint type"):
        library.random_tree(jax.random.key(0), 4, joints=("ball",))
