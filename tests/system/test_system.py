"""The whole machine: what acts in `accelerations`, how a system is built, and what is refused."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax.model import (
    ExpressionDescription,
    ForceDescription,
    GearDescription,
    JointDescription,
    MotionDescription,
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
        ({"formulation": "embedded"}, "not available yet"),
        ({"formulation": "trees"}, 'did you mean "tree"'),
        ({"massless": "ignore"}, "massless is `ignore`"),
    ],
)
def test_a_wrong_choice_is_refused_in_one_sentence(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        lx.build(lx.library.pendulum(), **change)


def test_what_cannot_be_built_yet_is_refused_by_name():
    description = lx.library.pendulum()
    (body,) = (body.name for body in description.bodies)
    loop = JointDescription("closure", "revolute", "world", body)
    push = ForceDescription("push", body, (0.0, 0.0, 1.0))
    drive = MotionDescription("drive", ExpressionDescription(), body=body)
    gear = GearDescription("gear", description.joints[0].name, 50.0, 0.01)
    items = {"loops": loop, "drives": gear, "elements": push, "motions": drive}
    for key, item in items.items():
        changed = dataclasses.replace(description, **{key: [item]})
        with pytest.raises(ValueError, match=rf"\[\[{key[:-1]}\]\] `{item.name}` of"):
            lx.build(changed)


def test_a_fault_comes_before_what_cannot_be_built_yet():
    description = lx.library.pendulum()
    description.loops.append(JointDescription("closure", "revolute", "world", "nobody"))
    with pytest.raises(ValueError, match="Loop `closure` has child `nobody`, which is no body"):
        lx.build(description)


def test_an_unknown_marker_is_refused(hinge):
    with pytest.raises(ValueError, match="There is no marker `tip`"):
        hinge.marker_index("tip")
