"""Spatial operators and body forces of a compound body against their definitions and the plain tree."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax import constraints
from linkax.constraints import aggregate
from linkax.constraints.operators import onodes, pnodes
from linkax.dynamics.nodes import articulated_nodes
from linkax.model import library
from linkax.model.description import FrameDescription, Placement


# LLVM's optimisations would cost more time than they could save.
CHEAPLY = {"xla_backend_optimization_level": 0}
PARENTS = (-1, 0, 0, 1, 2, 1, -1)
# Below a body, with children outside on inner and on outer members; below the ground, in two trees.
COMPOUNDS = {"limbs": (1, 2, 3), "feet": (0, 6)}
OTHERS = ("hand", "body3")


@ft.cache
def model():
    tree = library.random_tree(jax.random.key(4), len(PARENTS), ("revolute", "helical"), 0.0)
    for joint, parent in zip(tree.joints, PARENTS, strict=True):
        joint.parent = "world" if parent < 0 else f"body{parent}"
    tree.frames.append(FrameDescription("hand", "body3", Placement((0.1, -0.2, 0.3))))
    m = lx.build(tree).model
    for name, bodies in COMPOUNDS.items():
        m = aggregate(m, bodies, name)
    return m


@ft.cache
def state():
    rng = np.random.default_rng(2)
    q, v, tau = (jnp.asarray(rng.normal(size=n)) for n in (model().nq, model().nv, model().nv))
    return q, v, tau, jnp.asarray(rng.normal(size=(model().nb, 6)))


@ft.cache
def found():
    """Everything, from one compiled function."""

    def everything(m, q, v, tau, wrenches):
        a = lx.forward_dynamics(m, q, v, tau, wrenches)
        functions = {
            "phi_in": constraints.phi_in,
            "phi": constraints.phi,
            "E": constraints.parent_pickup,
            "E_phi": constraints.oframe_to_pframe_phi,
            "E_psi": constraints.oframe_to_pframe_psi,
            "node": constraints.node_operators,
            "upsilon": constraints.upsilon,
        }
        out = {}
        for name in COMPOUNDS:
            own = {key: function(m, q, name) for key, function in functions.items()}
            own["inverse"] = constraints.inverse_dynamics_vectors(m, name, q, v, a, wrenches)
            own["gathered"] = constraints.gathered(m, q, name, own["inverse"].f_prime)
            own["forward"] = constraints.forward_dynamics_forces(m, name, q, v, tau, wrenches)
            out[name] = own
        out["elsewhere"] = [constraints.pframe_to_other_phi(m, q, "limbs", x) for x in OTHERS]
        k = lx.kinematics(m, q, v, a)
        jacobians = [lx.jacobian(m, q, b, m.tree.child_position[b]) for b in range(m.nb)]
        M, points = lx.mass_matrix(m, q), (pnodes(m, q), onodes(m, q))
        return out, k, jacobians, M, points, a

    run = jax.jit(everything, compiler_options=CHEAPLY)
    return jax.device_get(run(model(), *state()))


def close(x, wanted, tolerance=1e-12):
    np.testing.assert_allclose(x, wanted, rtol=0.0, atol=tolerance * np.abs(wanted).max())


def skew(r):
    return np.cross(np.eye(3), r)  # rows e_i x r


def phi(a, b):
    """phi(a, b), written down again."""
    return np.block([[np.eye(3), skew(b - a)], [np.zeros((3, 3)), np.eye(3)]])


def members(name):
    return constraints.compound_of(model(), name).bodies


def parent_point(name, points):
    parent = constraints.physical_parent(model(), name)
    return np.zeros(3) if parent < 0 else points[parent]


def test_joint_frames_lie_where_the_tree_puts_them():
    """The origin of M is fixed on the child, that of F on the parent; hinges keep them together."""
    _, k, _, _, (p, o), _ = found()
    m = model().tree
    for b, parent in enumerate(PARENTS):
        R, origin = (np.eye(3), 0.0) if parent < 0 else (k.rotation[parent], k.position[parent])
        close(p[b], k.position[b] + k.rotation[b] @ m.child_position[b])
        close(o[b], origin + R @ m.parent_position[b])
        if m.topology.joints[b].travel(1.0)[1] == 0.0:
            close(p[b], o[b])


@pytest.mark.parametrize("name", COMPOUNDS)
def test_kinematic_operators_are_what_they_are_defined_to_be(name):
    out, _, _, _, (points, _), _ = found()
    own, bodies = out[name], members(name)
    n = len(bodies)
    blocks = own["phi_in"].reshape(n, 6, n, 6)
    for i, a in enumerate(bodies):
        for j, b in enumerate(bodies):
            wanted = phi(points[a], points[b]) if PARENTS[b] == a else np.zeros((6, 6))
            np.testing.assert_allclose(blocks[i, :, j], wanted, atol=1e-15)
    close(own["phi"], np.linalg.inv(np.eye(6 * n) - own["phi_in"]))
    at = parent_point(name, points)
    base = constraints.base_bodies(model(), name)
    E = [phi(at, points[b]) if b in base else np.zeros((6, 6)) for b in bodies]
    close(own["E"], np.concatenate(E, axis=1))
    close(own["E_phi"], own["E"] @ own["phi"])


@pytest.mark.parametrize("name", COMPOUNDS)
def test_articulated_operators_satisfy_their_equations(name):
    """D = H P H^T, G = P H^T D^-1, tau-bar a projection along G, and psi = E Phi tau-bar."""
    own = found()[0][name]
    node, m = own["node"], model().tree
    n = len(members(name))
    armature = np.diag([m.armature[b] for b in members(name)])
    D = node.H @ node.P @ node.H.T + armature
    close(node.D, D)
    close(node.G, node.P @ node.H.T @ np.linalg.inv(D))
    close(node.tau_bar, np.eye(6 * n) - node.G @ node.H)
    close(node.P_plus, node.tau_bar @ node.P)
    close(node.P_plus, node.P_plus.T)
    close(own["E_psi"], own["E_phi"] @ node.tau_bar)
    off_diagonal = ~np.eye(n, dtype=bool)
    assert np.all(np.swapaxes(node.P.reshape(n, 6, n, 6), 1, 2)[off_diagonal] == 0.0)
    assert np.linalg.eigvalsh(node.P).min() > 0.0


@pytest.mark.parametrize("name", COMPOUNDS)
def test_motions_of_the_members_are_those_of_their_jacobians(name):
    """H_G: relative to the parent, so that J = phi(p, S)^T J(p) + H_G^T."""
    out, _, jacobians, M, _, _ = found()
    own, bodies = out[name], members(name)
    J = np.concatenate([jacobians[b] for b in bodies])
    parent = constraints.physical_parent(model(), name)
    carried = 0.0 if parent < 0 else own["E_phi"].T @ jacobians[parent]
    speeds = list(bodies)  # one speed a body
    H = np.zeros((len(bodies), J.shape[0]))
    H[:] = own["node"].H
    full = np.zeros_like(J)
    full[:, speeds] = H.T
    close(J, carried + full)
    close(own["upsilon"], J @ np.linalg.solve(M, J.T))


def tree_forces():
    """Forces of the joints on the bodies at their pnodes, body by body from the tips (Newton, Euler)."""
    _, k, _, _, (points, _), _ = found()
    m, wrenches = model().tree, state()[3]
    f = np.zeros((m.nb, 6))
    net = np.zeros((m.nb, 6))
    for b in reversed(range(m.nb)):
        R, w, alpha = k.rotation[b], k.angular_velocity[b], k.angular_acceleration[b]
        inertia = R @ m.inertia[b] @ R.T
        force = m.mass[b] * (k.com_acceleration[b] - m.gravity)
        moment = inertia @ alpha + np.cross(w, inertia @ w)
        moment = moment + np.cross(k.com[b] - points[b], force)
        torque, push = wrenches[b, :3], wrenches[b, 3:]
        moment = moment - torque - np.cross(k.position[b] - points[b], push)
        net[b] = np.concatenate([moment, force - push])
        f[b] += net[b]
        if PARENTS[b] >= 0:
            f[PARENTS[b]] += phi(points[PARENTS[b]], points[b]) @ f[b]
    return net, f


@pytest.mark.parametrize("name", COMPOUNDS)
def test_forces_between_members_are_those_of_the_tree(name):
    out, _, _, _, (points, origins), _ = found()
    own, bodies = out[name], list(members(name))
    net, f = tree_forces()
    wanted = net[bodies].copy()
    for i, b in enumerate(bodies):
        for child, parent in enumerate(PARENTS):
            if parent == b and child not in bodies:
                wanted[i] += phi(points[b], points[child]) @ f[child]
    for vectors in (own["inverse"], own["forward"]):
        close(vectors.f_prime, wanted)
    close(own["inverse"].f, f[bodies])
    close(own["gathered"], f[bodies])
    close(own["forward"].at_pnodes, f[bodies])
    close((own["phi"] @ wanted.ravel()).reshape(-1, 6), f[bodies])
    moved = [phi(origins[b], points[b]) @ f[b] for b in bodies]
    close(own["forward"].at_onodes, np.asarray(moved))


def test_by_products_hold_the_accelerations_that_come_out():
    """alpha of the recursion is the bodies' acceleration, angular part as it is in the world."""
    _, k, _, _, _, a = found()
    run = jax.jit(lambda *x: articulated_nodes(*x).motions, compiler_options=CHEAPLY)
    motions = run(model(), *state())
    close(motions.rates, a)
    close(motions.accelerations[:, :3], k.angular_acceleration)


def test_a_force_elsewhere_acts_on_the_member_that_carries_it():
    out, k, _, _, (points, _), _ = found()
    hand = k.position[3] + k.rotation[3] @ np.array([0.1, -0.2, 0.3])
    for matrix, at in zip(out["elsewhere"], (hand, k.position[3]), strict=True):
        rows = matrix.reshape(3, 6, 6)
        assert np.all(rows[:2] == 0.0)
        close(rows[2], phi(points[3], at))
    with pytest.raises(ValueError) as error:
        constraints.pframe_to_other_phi(model(), state()[0], "feet", "hand")
    assert str(error.value) == (
        "`hand` is on no member of the compound body `feet`; its members are `body0`, `body6`."
    )


def test_an_inner_compound_body_is_part_of_the_outer_one():
    m = aggregate(aggregate(model().base, (1, 3), "arm"), ("arm", "body2"), "limbs")
    q = state()[0]
    run = jax.jit(lambda m, q: (constraints.upsilon(m, q, "arm"), constraints.phi(m, q, "arm")))
    upsilon, gathered = run(m, q)
    whole = found()[0]["limbs"]["upsilon"].reshape(3, 6, 3, 6)
    close(upsilon, whole[[0, 2]][:, :, [0, 2]].reshape(12, 12))
    wanted = found()[0]["limbs"]["phi"].reshape(3, 6, 3, 6)
    close(gathered, wanted[[0, 2]][:, :, [0, 2]].reshape(12, 12))
    with pytest.raises(ValueError) as error:
        constraints.node_operators(m, q, "arm")
    assert str(error.value) == (
        "The compound body `arm` is inside `limbs` and no step of the recursion of its own; "
        "ask for `limbs`."
    )
