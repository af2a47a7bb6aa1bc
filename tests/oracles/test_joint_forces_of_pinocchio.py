"""Joint forces and compliances of a branching machine are those of another library, on both roots."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest


pytest.importorskip("pinocchio")

import pinocchio_oracle as oracle

import linkax as lx


pytestmark = pytest.mark.oracle

LINK = """<link name="link{k}"><inertial><origin xyz="0.1 {y} 0.15" rpy="0.3 {y} 0.1"/><mass value="{m}"/>
<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0.002" izz="0.025"/></inertial></link>"""
JOINT = """<joint name="joint{k}" type="{kind}"><parent link="link{parent}"/><child link="link{k}"/>
<origin xyz="0.05 {y} 0.3" rpy="0.1 0.2 {y}"/><axis xyz="{axis}"/>
<limit lower="-3" upper="3" effort="100" velocity="10"/></joint>"""
JOINTS = (
    ("revolute", 0, "0 0 1"),
    ("revolute", 1, "0 1 0"),
    ("revolute", 2, "0.6 0 0.8"),
    ("prismatic", 1, "0 0.6 0.8"),
    ("prismatic", 4, "1 0 0"),
)


def text() -> str:
    links = [LINK.format(k=k, y=0.05 * k, m=1.0 + k) for k in range(len(JOINTS) + 1)]
    joints = [
        JOINT.format(k=k + 1, kind=kind, parent=parent, axis=axis, y=0.1 * k - 0.2)
        for k, (kind, parent, axis) in enumerate(JOINTS)
    ]
    return f'<robot name="tree">{"".join((*links, *joints))}</robot>'


@ft.partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
def ours(model, q, v, a):
    return lx.joint_forces(model, q, v, a).child, lx.body_compliances(model, q)


@pytest.mark.parametrize("root", ["fixed", "floating"])
def test_forces_and_compliances_agree(tmp_path, root):
    path = tmp_path / "tree.urdf"
    path.write_text(text())
    robot = oracle.both(path, root)
    model, theirs, pin = robot.model, robot.theirs, oracle.pin
    at = oracle.states(model, 1, 3)
    q, v, a = (x[0] for x in at[:3])
    forces, compliances = ours(model, *(jnp.asarray(x) for x in (q, v, a)))
    data = theirs.createData()
    their_q = oracle.their_q(robot, q)
    pin.rnea(theirs, data, their_q, robot.G @ v, robot.G @ a)
    across = [data.f[i].copy() for i in range(theirs.njoints)]
    inverse = pin.computeMinverse(theirs, data, their_q)
    inverse = np.triu(inverse) + np.triu(inverse, 1).T
    pin.computeJointJacobians(theirs, data, their_q)
    swap = list(oracle.SWAPPED)
    for body, name in enumerate(model.joint_names):
        joint = 1 if name == "root" else theirs.getJointId(name)
        R = data.oMi[joint].rotation
        right = np.concatenate([R @ across[joint].angular, R @ across[joint].linear])
        np.testing.assert_allclose(forces[body], right, atol=1e-11 * np.abs(right).max())
        axes = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        J = pin.getJointJacobian(theirs, data, joint, axes)[swap]
        right = J @ inverse @ J.T
        np.testing.assert_allclose(compliances[body], right, atol=1e-11 * np.abs(right).max())
