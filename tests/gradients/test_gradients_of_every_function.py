"""Both derivatives of every public function agree with central differences, at singular points too."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from differences import Comparison, directions, stacked

import linkax as lx
from linkax.joints import Floating, Planar, Spherical


# Nothing in a model enforces a limit, and a run's start is given to these functions, not read.
STILL = (".lower", ".upper", ".effort", ".velocity_limit", ".initial_q", ".initial_v")
HALF = np.array([0.0, 0.6, 0.0, 0.8])


def dynamics(x):
    m, q, v, w = x["system"].model, x["q"], x["v"], x["wrenches"]
    return {
        "forward_dynamics": lx.forward_dynamics(m, q, v, x["tau"], w),
        "inverse_dynamics": lx.inverse_dynamics(m, q, v, x["a"], w),
        "mass_matrix": lx.mass_matrix(m, q),
        "solve_mass_matrix": lx.solve_mass_matrix(m, q, x["tau"]),
        "bias_force": lx.bias_force(m, q, v),
        "gravity_force": lx.gravity_force(m, q),
    }


def motion(x):
    m, q, v = x["system"].model, x["q"], x["v"]
    last = m.body_names[-1]
    k = lx.kinematics(m, q, v, x["a"])
    R, p = lx.frame_poses(m, q)
    return {
        **{f"kinematics.{name}": y for name, y in vars(k).items()},
        "jacobian": lx.jacobian(m, q, last, x["point"]),
        "jacobian_bias": lx.jacobian_bias(m, q, v, last, x["point"]),
        "frame_jacobian": lx.jacobian(m, q, m.frame_names[-1], x["point"]),
        "frame_jacobian_bias": lx.jacobian_bias(m, q, v, m.frame_names[-1], x["point"]),
        "frame_poses": jnp.concatenate([R.ravel(), p.ravel()]),
        "marker_positions": x["system"].marker_positions(k),
        "center_of_mass": lx.center_of_mass(m, q),
        "momentum": lx.momentum(m, q, v),
        "centroidal_momentum": lx.centroidal_momentum(m, q, v),
        "kinetic_energy": lx.kinetic_energy(m, q, v),
        "potential_energy": lx.potential_energy(m, q),
        "total_mass": lx.total_mass(m),
    }


def machine(x):
    s, m, dt = x["system"], x["system"].model, x["dt"]
    state = lx.state_of(x["q"], x["v"])
    q_dot, v_dot, _ = lx.derivatives(s, state, x["tau"])
    after = lx.step(s, state, x["tau"], dt)
    return {
        "accelerations": lx.accelerations(s, state, x["tau"]),
        "derivatives": jnp.concatenate([q_dot, v_dot]),
        "generalised_forces": lx.generalised_forces(s, state, x["tau"]),
        "energy": lx.energy(s, state),
        "integrate": m.integrate(x["q"], x["dv"]),
        "difference": m.difference(x["q"], x["q1"]),
        "rate": m.rate(x["q"], x["v"]),
        "step": jnp.concatenate([after.q, after.v, after.t[None]]),
    }


def _with(model, **leaves):
    names = tuple(leaves)
    return eqx.tree_at(lambda m: tuple(getattr(m, n) for n in names), model, tuple(leaves.values()))


def _by_joint(topology, number, rotation):
    """Coordinates with `number` for every plain one and `rotation` for every quaternion."""
    parts = []
    for body in topology.free_bodies:
        joint = topology.joints[body]
        quaternion = 4 if joint in (Spherical, Floating) else 0
        parts += [rotation[:quaternion], np.full(joint.nq - quaternion, number)]
    return jnp.asarray(np.concatenate(parts))


def lanes(system, draw):
    """Names and points: a regular one and the singular ones, to stand in one batch."""
    m, t = system.model, system.model.topology
    regular = draw(system, 3)
    neutral = m.neutral()
    rest = {k: jnp.zeros_like(regular[k]) for k in ("v", "a", "tau", "wrenches", "dv", "point")}
    still = regular | rest | {"q": neutral, "q1": neutral}
    identity = jnp.asarray(np.tile([1.0, 0.0, 0.0, 0.0], (m.nb, 1)))
    placed = {"parent_quaternion": identity, "child_quaternion": identity}

    def machine_with(**leaves):
        return {"system": eqx.tree_at(lambda s: s.model, system, _with(m, **leaves))}

    def all_along(z):
        return jnp.asarray(np.tile([0.0, 0.0, z], (m.nb, 1)))

    half = _by_joint(t, np.pi, HALF)
    flipped = machine_with(parent_quaternion=jnp.asarray(np.tile(HALF, (m.nb, 1))))
    half_turn = jnp.asarray(
        np.concatenate([[np.pi, *np.zeros(t.joints[i].nv - 1)] for i in t.free_bodies])
    )
    # The canonical frame of a joint's axis changes its form where the axis crosses the x-y plane. Only a
    # planar joint's coordinates notice: its in-plane directions jump there.
    level = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    level = [m.axis[i] if j is Planar else level[i % 3] for i, j in enumerate(t.joints)]
    return {
        "regular": regular,
        "neutral and at rest": still,
        "half turns": regular | rest | {"q": half, "q1": half, "dv": half_turn} | flipped,
        "axis z": still | machine_with(axis=all_along(1.0), **placed),
        "axis -z": still | machine_with(axis=all_along(-2.0), **placed),
        "axis level, quaternions -2": regular
        | {"q": _by_joint(t, 0.0, np.array([-2.0, 0.0, 0.0, 0.0]))}
        | machine_with(axis=jnp.asarray(np.stack(level))),
    }


MODEL = {
    f".model.{name}" for name in ("mass", "com", "inertia", "parent_position", "child_position")
}
MODEL |= {f".model.{name}" for name in ("parent_quaternion", "child_quaternion", "axis", "pitch")}
INERTIAL = MODEL | {".model.armature", ".model.gravity"}
FRAMES = {".model.frame_position", ".model.frame_quaternion"}
# What the results must depend on: a leaf that is missing from both modes and from the differences alike
# would be one that the function forgot.
DEPENDS = {
    "forward_dynamics": INERTIAL,
    "inverse_dynamics": INERTIAL,
    "mass_matrix": INERTIAL - {".model.gravity"},
    "solve_mass_matrix": INERTIAL - {".model.gravity"},
    "bias_force": INERTIAL - {".model.armature"},
    "gravity_force": INERTIAL - {".model.armature", ".model.inertia", ".model.pitch"},
    "kinematics.position": MODEL - {".model.mass", ".model.com", ".model.inertia"},
    "kinematics.com_acceleration": MODEL - {".model.mass", ".model.inertia"},
    "kinematics.quaternion": {".model.parent_quaternion", ".model.child_quaternion", ".model.axis"},
    "frame_jacobian": MODEL - {".model.mass", ".model.com", ".model.inertia"} | FRAMES | {"point"},
    "frame_poses": FRAMES,
    "marker_positions": {".marker_points"},
    "momentum": MODEL,
    "centroidal_momentum": MODEL,
    "kinetic_energy": MODEL | {".model.armature"},
    "potential_energy": MODEL - {".model.inertia"} | {".model.gravity"},
    "accelerations": INERTIAL | {".elements[0].damping"},
    "step": INERTIAL | {".elements[0].damping", "dt"},
}


def everything(x):
    return {**dynamics(x), **motion(x), **machine(x)}


def once(x):
    """One result of each recursion and joint method: `everything` less what is made of these."""
    s, m, q, v, w = x["system"], x["system"].model, x["q"], x["v"], x["wrenches"]
    hand = m.frame_names[-1]
    k = lx.kinematics(m, q, v, x["a"])
    after = lx.step(s, lx.state_of(q, v), x["tau"], x["dt"])
    return {
        "inverse_dynamics": lx.inverse_dynamics(m, q, v, x["a"], w),
        "forward_dynamics": lx.forward_dynamics(m, q, v, x["tau"], w),
        "mass_matrix": lx.mass_matrix(m, q),
        "solve_mass_matrix": lx.solve_mass_matrix(m, q, x["tau"]),
        **{f"kinematics.{name}": y for name, y in vars(k).items()},
        "frame_jacobian": lx.jacobian(m, q, hand, x["point"]),
        "frame_jacobian_bias": lx.jacobian_bias(m, q, v, hand, x["point"]),
        "centroidal_momentum": lx.centroidal_momentum(m, q, v),
        "kinetic_energy": lx.kinetic_energy(m, q, v),
        "potential_energy": lx.potential_energy(m, q),
        "integrate": m.integrate(q, x["dv"]),
        "difference": m.difference(q, x["q1"]),
        "rate": m.rate(q, v),
        "step": jnp.concatenate([after.q, after.v, after.t[None]]),
    }


def scanned(x):
    """The recursions whose loops are scans."""
    m, q, v = x["system"].model, x["q"], x["v"]
    k = lx.kinematics(m, q, v, x["a"])
    return {
        "forward_dynamics": lx.forward_dynamics(m, q, v, x["tau"], x["wrenches"]),
        "mass_matrix": lx.mass_matrix(m, q),
        "kinematics.com_acceleration": k.com_acceleration,
        "kinematics.quaternion": k.quaternion,
    }


# Bodies written out take longer to compile than to evaluate operation by operation: minutes, even so.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "results", "compiled"),
    [
        ("mixed", everything, False),
        ("mimics", once, False),
        ("hinges", scanned, True),
    ],
)
def test_both_modes_agree_with_central_differences_in_one_batch_of_regular_and_singular_lanes(
    request, draw_point, name, results, compiled
):
    system = request.getfixturevalue(name)
    points = lanes(system, draw_point)
    names, ways = directions(points["regular"], still=STILL)
    found = Comparison(results, stacked(points.values()), ways, compiled=compiled)
    found.assert_agrees(names, list(points))
    for result in DEPENDS.keys() & found.forward.keys():
        needed = {n if n in ("point", "dt") else f"system{n}" for n in DEPENDS[result]}
        if name != "mixed":
            needed -= {"system.model.pitch"}
        if name == "mimics" and "system.model.axis" in needed:
            needed |= {"system.model.ratio", "system.model.offset"}
        if result == "kinematics.quaternion":
            needed -= {"system.model.pitch"}
        assert needed <= set(names)
        assert not needed & found.inert(result, names), result
