"""Two of our own answers agree, on a floating tree of all joint types at random states."""

import numpy as np
import pytest
from mixed_tree import ASIDE, COASTING, MOTION, POINT, answers

from linkax.joints import JOINTS


# The function behind it is the dearest of all tests to compile: 150 s of one core.
pytestmark = pytest.mark.slow


def close(a, b, digits: float = 1e-11):
    """Equal to `digits` of the largest entry: the sums behind an entry are as large as the largest ones."""
    a, b = np.asarray(a), np.asarray(b)
    np.testing.assert_allclose(a, b, rtol=0.0, atol=digits * max(1.0, np.abs(b).max()))


def dot(a, b):
    return np.sum(a * b, axis=-1)


def times(A, x):
    return (A @ x[..., None])[..., 0]


@pytest.fixture(scope="module")
def tree():
    return answers()


def test_the_tree_has_all_types_and_armature(tree):
    kinds = {joint.name for joint in tree.model.topology.joints}
    assert kinds == {name for name, joint in JOINTS.items() if joint.nv > 0}
    assert np.any(np.asarray(tree.model.armature) > 0.0)


# --- dynamics ---


def test_inverse_dynamics_undoes_forward_dynamics(tree):
    close(tree.found["tau"], tree.asked.tau)


def test_the_mass_matrix_is_the_derivative_of_inverse_dynamics_by_accelerations(tree):
    change = tree.found["tau_more"] - tree.found["tau_free"]
    close(times(tree.found["M"], tree.asked.w), change)


def test_the_mass_matrix_is_symmetric_and_positive_definite(tree):
    M = tree.found["M"]
    close(M, np.swapaxes(M, -1, -2), 1e-15)
    assert np.linalg.eigvalsh(M).min() > 0.0


def test_the_mass_matrix_undoes_its_solve(tree):
    close(times(tree.found["M"], tree.found["solved"]), tree.asked.w)


def test_inertia_and_bias_make_up_inverse_dynamics(tree):
    close(times(tree.found["M"], tree.found["a"]) + tree.found["bias"], tree.found["tau_free"])


def test_wrenches_act_through_jacobians(tree):
    J = tree.found["pushed"]
    w = tree.asked.wrenches[:, tree.pushed]
    pull = np.sum(np.swapaxes(J, -1, -2) @ w[..., None], axis=(1, -1))
    assert np.abs(pull).max() > 1.0
    close(tree.found["tau_free"] - tree.found["tau"], pull)


# --- energy ---


def test_the_mass_matrix_makes_the_kinetic_energy(tree):
    v = tree.asked.v
    close(0.5 * dot(v, times(tree.found["M"], v)), tree.moving["kinetic"])


def test_power_is_the_rate_of_energy(tree):
    rate = tree.rates["kinetic"][:, MOTION] + tree.rates["potential"][:, MOTION]
    close(dot(tree.asked.v, tree.found["tau_free"]), rate)


def test_gravity_is_the_gradient_of_potential_energy(tree):
    close(dot(tree.found["gravity"], tree.asked.w), tree.rates["potential"][:, ASIDE])


def test_velocity_terms_change_the_mass_matrix_and_do_no_other_work(tree):
    """v^T (dM/dt - 2 C) v = 0, with C v the bias without gravity and v^T dM/dt v twice the coasting rate."""
    velocity_terms = tree.found["bias"] - tree.found["gravity"]
    close(dot(tree.asked.v, velocity_terms), tree.rates["kinetic"][:, COASTING])


# --- momentum ---


def test_momentum_changes_by_the_external_wrench_only(tree):
    """Forces of joints inside the tree leave it alone; the root's, wrenches and gravity do not."""
    model, k = tree.model, tree.found["kinematics"]
    root, com = tree.asked.tau[:, :6], tree.moving["center_of_mass"]
    R, p = k.rotation[:, 0], k.position[:, 0]
    torque, force = times(R, root[:, :3]), times(R, root[:, 3:])
    weight = np.broadcast_to(np.sum(model.mass) * np.asarray(model.gravity), com.shape)
    w = tree.asked.wrenches
    angular = torque + np.cross(p, force) + np.cross(com, weight)
    angular = angular + np.sum(w[..., :3] + np.cross(k.position, w[..., 3:]), axis=1)
    linear = force + weight + np.sum(w[..., 3:], axis=1)
    close(tree.rates["momentum"][:, MOTION], np.concatenate([angular, linear], axis=-1))


def test_centroidal_momentum_is_momentum_moved_to_the_centre_of_mass(tree):
    h, com = tree.moving["momentum"], tree.moving["center_of_mass"]
    close(tree.found["centroidal"][:, 3:], h[:, 3:])
    close(tree.found["centroidal"][:, :3], h[:, :3] - np.cross(com, h[:, 3:]))


def test_linear_momentum_is_mass_times_the_velocity_of_the_centre_of_mass(tree):
    mass = float(np.sum(tree.model.mass))
    close(tree.moving["momentum"][:, 3:], mass * tree.rates["center_of_mass"][:, MOTION])


# --- kinematics ---


def skew(w):
    x, y, z = np.moveaxis(w, -1, 0)
    o = np.zeros_like(x)
    rows = [np.stack(r, -1) for r in ((o, -z, y), (z, o, -x), (-y, x, o))]
    return np.stack(rows, -2)


def test_velocities_are_the_rates_of_poses(tree):
    k, rate = tree.moving["kinematics"], tree.rates["kinematics"]
    close(k.velocity, rate.position[:, MOTION])
    close(k.com_velocity, rate.com[:, MOTION])
    close(skew(k.angular_velocity) @ k.rotation, rate.rotation[:, MOTION])


def test_centres_of_mass_sit_where_the_bodies_carry_them(tree):
    model, k = tree.model, tree.moving["kinematics"]
    mass = np.asarray(model.mass)
    close(k.com, k.position + times(k.rotation, np.asarray(model.com)[None]))
    close(tree.moving["center_of_mass"], mass @ k.com / mass.sum())


def test_quaternions_turn_with_the_angular_velocity(tree):
    """dq/dt = (0, omega) (x) q / 2, omega in world axes."""
    k, rate = tree.moving["kinematics"], tree.rates["kinematics"]
    w, (s, vector) = k.angular_velocity, (k.quaternion[..., :1], k.quaternion[..., 1:])
    expected = [-dot(w, vector)[..., None], s * w + np.cross(w, vector)]
    close(0.5 * np.concatenate(expected, axis=-1), rate.quaternion[:, MOTION])


def test_accelerations_are_the_rates_of_velocities(tree):
    k, rate = tree.found["kinematics"], tree.rates["kinematics"]
    close(k.acceleration, rate.velocity[:, MOTION])
    close(k.com_acceleration, rate.com_velocity[:, MOTION])
    close(k.angular_acceleration, rate.angular_velocity[:, MOTION])


def test_the_jacobian_takes_speeds_to_the_velocity_of_the_point(tree):
    k = tree.moving["kinematics"]
    w, R = k.angular_velocity[:, -1], k.rotation[:, -1]
    arm = R @ np.asarray(POINT)
    expected = np.concatenate([w, k.velocity[:, -1] + np.cross(w, arm)], axis=-1)
    close(times(tree.found["jacobian"], tree.asked.v), expected)


def test_the_jacobian_bias_is_the_acceleration_of_the_point_at_constant_speeds(tree):
    close(tree.found["jacobian_bias"], tree.rates["point_velocity"][:, COASTING])


def test_quaternions_and_matrices_are_one_attitude(tree):
    k = tree.moving["kinematics"]
    w, v = k.quaternion[..., 0], k.quaternion[..., 1:]
    close(dot(k.quaternion, k.quaternion), np.ones_like(w), 1e-14)
    K = skew(v)
    close(np.eye(3) + 2.0 * (w[..., None, None] * K + K @ K), k.rotation, 1e-13)
