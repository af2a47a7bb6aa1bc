"""The whole machine: what acts in `accelerations`, how a system is built, and what is refused."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax.model import (
    ForceDescription,
    JointDescription,
)


HINGE = """<robot name="hinge"><link name="base"/><link name="disc">
<inertial><mass value="1"/><inertia ixx="0.3" iyy="0.3" izz="0.3" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="turn" type="continuous"><parent link="base"/><child link="disc"/><axis xyz="0 0 1"/>
<dynamics damping="0.12"/></joint></robot>"""


@pytest.fixture(scope="module")
def hinge(tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "hinge.urdf"
    path.write_text(HINGE)
    return lx.load(path)


def test_joint_damping_of_a_file_acts(hinge):
    """Field report O26: a hinge of inertia 0.3, damping 0.12, starting at 2 rad/s."""
    start = eqx.tree_at(lambda s: s.v, hinge.initial_state(), jnp.asarray([2.0]))
    run = jax.jit(lambda s: lx.simulate(hinge, s, dt=0.01, steps=100, integrator=lx.RungeKutta4()))(
        start
    )
    assert float(run.final.v[0]) == pytest.approx(1.3406400920712787, abs=1e-10)


def test_damping_is_the_systems_and_not_the_models(hinge):
    state = eqx.tree_at(lambda s: s.v, hinge.initial_state(), jnp.asarray([2.0]))
    assert float(lx.accelerations(hinge, state)[0]) == pytest.approx(-0.12 * 2.0 / 0.3, rel=1e-14)
    zero = jnp.zeros(1)
    assert float(lx.forward_dynamics(hinge.model, state.q, state.v, zero)[0]) == 0.0


def test_controls_are_generalised_forces(hinge):
    state = hinge.initial_state()
    assert hinge.nu == 1
    assert hinge.control_names == ("turn",)
    assert float(lx.accelerations(hinge, state, jnp.asarray([0.6]))[0]) == pytest.approx(2.0)


def test_damping_has_a_gradient(hinge):
    state = eqx.tree_at(lambda s: s.v, hinge.initial_state(), jnp.asarray([2.0]))
    slope = jax.grad(lambda s: lx.accelerations(s, state)[0])(hinge).elements[0].damping
    np.testing.assert_allclose(slope, [-2.0 / 0.3], rtol=1e-14)


def test_derivatives_are_rates_and_accelerations(hinge):
    state = eqx.tree_at(lambda s: s.v, hinge.initial_state(), jnp.asarray([2.0]))
    q_dot, v_dot, z_dot = lx.derivatives(hinge, state)
    np.testing.assert_array_equal(q_dot, state.v)
    np.testing.assert_array_equal(v_dot, lx.accelerations(hinge, state))
    assert z_dot.shape == (0,)


def test_gravity_given_to_load_replaces_the_files(tmp_path):
    path = tmp_path / "pendulum.toml"
    path.write_text(lx.write_toml(lx.library.pendulum()))
    assert lx.load(path, gravity=(0.0, 0.0, -1.62)).model.gravity[2] == -1.62


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"formulation": "embeded"}, 'did you mean "embedded"'),
        ({"formulation": "trees"}, 'did you mean "tree"'),
        ({"massless": "ignore"}, "massless is `ignore`"),
    ],
)
def test_a_wrong_choice_is_refused_in_one_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        lx.build(lx.library.pendulum(), **change)


def test_a_force_on_a_body_acts_on_the_joints_of_a_tree():
    """A vertical force on the bob of a level pendulum of 1 m and 1 kg takes from gravity's moment."""
    description = lx.library.pendulum()
    (body,) = (body.name for body in description.bodies)
    push = ForceDescription("push", body, (0.0, 0.0, 4.0))
    system = lx.build(dataclasses.replace(description, elements=[push]))
    a = lx.accelerations(system, system.initial_state())
    assert abs(float(a[0]) - (4.0 - 9.81)) < 1e-12


def test_a_fault_of_a_loop_is_named():
    description = lx.library.pendulum()
    description.loops.append(JointDescription("closure", "revolute", "world", "nobody"))
    with pytest.raises(ValueError, match="Loop `closure` has child `nobody`, which is no body"):
        lx.build(description)


def test_an_unknown_marker_is_refused(hinge):
    with pytest.raises(ValueError, match="There is no marker `tip`"):
        hinge.marker_index("tip")
