"""Planar machines of bars and hinges, as every engine reads them: a four-bar and a double pendulum.

The plane is x-y, weight acts along -y, angles are absolute. `gaps` and `energies` measure any engine's motion
by the same formulas, from centres of mass.
"""

import importlib.util
import math
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np


CONFIGS = Path(__file__).parent.parent / "configs"


class Bar(NamedTuple):
    """One bar, from the hinge that carries it."""

    mass: float  # [kg]
    inertia: float  # about the centre of mass, across the plane [kg m^2]
    com: float  # from the hinge [m]
    length: float  # to the next hinge [m]
    angle: float  # at the start [rad]
    parent: int  # the bar that carries it at its far end, or -1
    ground: tuple[float, float] = (0.0, 0.0)  # where the hinge is, of a bar on the ground


class Bars(NamedTuple):
    """The bars, the two whose far ends meet in a loop if there is one, and the weight of a kilogramme."""

    bars: tuple[Bar, ...]
    loop: tuple[int, int] | None
    gravity: float

    def hinges(self) -> list[tuple[int, float, int, float]]:
        """(bar, place along it, bar, place along it) from the centres of mass; the ground is -1."""
        found = []
        for i, bar in enumerate(self.bars):
            above = self.bars[bar.parent]
            place = above.length - above.com if bar.parent >= 0 else 0.0
            found.append((bar.parent, place, i, -bar.com))
        if self.loop:
            ends = [(i, self.bars[i].length - self.bars[i].com) for i in self.loop]
            found.append((*ends[0], *ends[1]))
        return found

    def centres(self, angles, rates):
        """(positions [x, y, angle], velocities) of the centres of mass, (points, bars, 3) each."""
        angles, rates = np.asarray(angles, float), np.asarray(rates, float)
        along = np.stack([np.cos(angles), np.sin(angles)], -1)
        across = np.stack([-np.sin(angles), np.cos(angles)], -1) * rates[..., None]
        x, v = [], []
        ends: list = []
        for i, bar in enumerate(self.bars):
            start, speed = ends[bar.parent] if bar.parent >= 0 else (np.asarray(bar.ground), 0.0)
            ends.append((start + bar.length * along[:, i], speed + bar.length * across[:, i]))
            x.append(np.concatenate([start + bar.com * along[:, i], angles[:, i, None]], -1))
            v.append(np.concatenate([speed + bar.com * across[:, i], rates[:, i, None]], -1))
        return np.stack(x, 1), np.stack(v, 1)

    def gaps(self, x) -> float:
        """How far the two points of a hinge, or of the loop, ever lie apart [m]."""
        worst = 0.0
        for a, at_a, b, at_b in self.hinges():
            first = self._point(x, a, at_a) if a >= 0 else np.asarray(self.bars[b].ground)
            worst = max(worst, float(np.max(np.abs(first - self._point(x, b, at_b)))))
        return worst

    @staticmethod
    def _point(x, i, place):
        angle = x[:, i, 2]
        return x[:, i, :2] + place * np.stack([np.cos(angle), np.sin(angle)], -1)

    def energies(self, x, v):
        """(kinetic, potential) at every point [J]."""
        mass = np.asarray([bar.mass for bar in self.bars])
        inertia = np.asarray([bar.inertia for bar in self.bars])
        square = np.sum(v[..., :2] ** 2, axis=-1)
        kinetic = 0.5 * np.sum(mass * square + inertia * v[..., 2] ** 2, axis=-1)
        return kinetic, self.gravity * np.sum(mass * x[..., 1], axis=-1)


def energy_error(kinetic, potential) -> float:
    """The largest change of the energy, relative to the range of the kinetic energy."""
    total = np.asarray(kinetic, float) + np.asarray(potential, float)
    return float(np.max(np.abs(total - total[0])) / np.ptp(np.asarray(kinetic, float)))


def _described(name: str) -> dict:
    return tomllib.loads((CONFIGS / f"{name}.toml").read_text())


def four_bar() -> Bars:
    """That of configs/four_bar_free.toml, whose crank falls from rest."""
    told = _described("four_bar_free")
    crank, coupler, rocker = (joint["position"] for joint in told["joint"])
    angles = (crank, crank + coupler, rocker[0])
    grounds = ((0.0, 0.0), (0.0, 0.0), tuple(told["joint"][2]["parent_frame"]["position"][:2]))
    lengths = (
        told["joint"][1]["parent_frame"]["position"][0],
        told["loop"][0]["parent_frame"]["position"][0],
        told["loop"][0]["child_frame"]["position"][0],
    )
    bars = [
        Bar(b["mass"], b["inertia"][2], b["com"][0], length, angle, parent, ground)
        for b, length, angle, parent, ground in zip(
            told["body"], lengths, angles, (-1, 0, -1), grounds, strict=True
        )
    ]
    return Bars(tuple(bars), (1, 2), -told["world"]["gravity"][1])


def four_bar_rates() -> np.ndarray:
    """The speeds of crank, coupler and rocker at the start for one of 1 rad/s of the crank."""
    crank, coupler, rocker = four_bar().bars
    across = lambda bar: bar.length * np.array([-math.sin(bar.angle), math.cos(bar.angle)])
    sides = np.stack([across(coupler), -across(rocker)], axis=1)
    return np.array([1.0, *np.linalg.solve(sides, -across(crank))])


def linkage_of(machine: Bars):
    """A four-bar as a planar linkage of linkax."""
    from linkax.maximal.linkage import Joint, JointType, Link, Placement, closed

    origin = Placement()
    grounds = [Placement((*bar.ground, 0.0)) for bar in machine.bars if bar.parent < 0]
    links = [Link(frames=grounds)]
    for bar in machine.bars:
        frames = [origin, Placement((bar.length, 0.0, 0.0))]
        inertia = (bar.inertia, bar.inertia, bar.inertia)
        links.append(Link(bar.mass, (bar.com, 0.0, 0.0), inertia, frames))
    hinge = JointType.REVOLUTE
    ends = [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 1), (3, 0, 0, 1)]
    crank, coupler, rocker = (bar.angle for bar in machine.bars)
    q = [crank, coupler - crank, rocker - coupler, -rocker]
    return closed(links, [Joint(hinge, *e) for e in ends], 0, q, planar=True)


def double_pendulum() -> Bars:
    """That of configs/double_pendulum.toml, seen from where its angles count the other way."""
    told = _described("double_pendulum")
    upper, lower = (joint["position"] for joint in told["joint"])
    length = -told["joint"][1]["parent_frame"]["position"][2]
    bars = [
        Bar(b["mass"], b["inertia"][1], -b["com"][2], reach, angle - math.pi / 2, parent)
        for b, reach, angle, parent in zip(
            told["body"], (length, 0.8), (upper, upper + lower), (-1, 0), strict=True
        )
    ]
    return Bars(tuple(bars), None, -told["world"]["gravity"][2])


# --- MuJoCo ---


def mujoco_model(machine: Bars, h: float, stiff: bool = False, integrator: str = "Euler"):
    """The compiled model; `stiff` makes its loop as hard as the step allows."""
    import mujoco

    below: dict[int, list[int]] = {}
    for i, bar in enumerate(machine.bars):
        below.setdefault(bar.parent, []).append(i)

    def body(i):
        bar = machine.bars[i]
        at, turned = (bar.ground, 0.0) if bar.parent < 0 else ((above_of(i).length, 0.0), 0.0)
        angle = bar.angle - (above_of(i).angle if bar.parent >= 0 else turned)
        inside = "".join(body(k) for k in below.get(i, ()))
        inertia = f"{bar.inertia} {bar.inertia} {bar.inertia}"
        return (
            f'<body name="b{i}" pos="{at[0]} {at[1]} 0" euler="0 0 {angle!r}">'
            f'<inertial pos="{bar.com} 0 0" mass="{bar.mass}" diaginertia="{inertia}"/>'
            f'<joint type="hinge" axis="0 0 1"/>{inside}</body>'
        )

    def above_of(i):
        return machine.bars[machine.bars[i].parent]

    loop = ""
    if machine.loop:
        a, b = machine.loop
        hard = f'solref="{2.0 * h} 1" solimp="0.9999 0.9999 0.001"' if stiff else ""
        loop = (
            f'<equality><connect body1="b{a}" body2="b{b}" '
            f'anchor="{machine.bars[a].length} 0 0" {hard}/></equality>'
        )
    text = (
        f'<mujoco><compiler angle="radian"/><option timestep="{h}" integrator="{integrator}" '
        f'gravity="0 {-machine.gravity} 0"><flag contact="disable"/></option>'
        f"<worldbody>{''.join(body(i) for i in below[-1])}</worldbody>{loop}</mujoco>"
    )
    return mujoco.MjModel.from_xml_string(text)


def absolute(machine: Bars, q, v):
    """(angles, rates) of all bars from MuJoCo's joints, which start at zero; any leading axes."""
    angles, rates = [], []
    for i, bar in enumerate(machine.bars):
        base = bar.angle if bar.parent < 0 else bar.angle - machine.bars[bar.parent].angle
        carried = (angles[bar.parent], rates[bar.parent]) if bar.parent >= 0 else (0.0, 0.0)
        angles.append(carried[0] + base + q[..., i])
        rates.append(carried[1] + v[..., i])
    return np.stack(angles, -1), np.stack(rates, -1)


def joint_rates(machine: Bars, rates):
    """MuJoCo's joint speeds from the bars' absolute ones."""
    parents = [bar.parent for bar in machine.bars]
    carried = [rates[..., p] if p >= 0 else 0.0 for p in parents]
    return np.stack([rates[..., i] - c for i, c in enumerate(carried)], -1)


def mujoco_run(model, steps: int, rates=None):
    """(q, v) at every point of a run from the joints' zero, by MuJoCo's own rollout."""
    import mujoco
    from mujoco import rollout

    data = mujoco.MjData(model)
    if rates is not None:
        data.qvel[:] = rates
    full = mujoco.mjtState.mjSTATE_FULLPHYSICS
    start = np.zeros((1, mujoco.mj_stateSize(model, full)))
    mujoco.mj_getState(model, data, start[0], full)
    states, _ = rollout.rollout(model, data, start, nstep=steps)
    whole = np.concatenate([start, states[0]])
    return whole[:, 1 : 1 + model.nq], whole[:, 1 + model.nq : 1 + model.nq + model.nv]


# --- Exudyn ---


class ExudynRun:
    """Exudyn's machine in the plane, its hinges exact."""

    def __init__(self, machine: Bars):
        import sys

        sys.exudynFast = True  # its build without checks of ranges
        import exudyn
        import exudyn.itemInterface as items

        self.exudyn = exudyn
        self.container = exudyn.SystemContainer()
        self.system = system = self.container.AddSystem()
        x, _ = machine.centres([[b.angle for b in machine.bars]], [[0.0] * len(machine.bars)])
        bodies, self.nodes = [], []
        for bar, centre in zip(machine.bars, x[0], strict=True):
            node = system.AddNode(items.NodeRigidBody2D(referenceCoordinates=centre.tolist()))
            body = system.AddObject(
                items.ObjectRigidBody2D(mass=bar.mass, inertia=bar.inertia, nodeNumber=node)
            )
            weight = system.AddMarker(items.MarkerBodyMass(bodyNumber=body))
            load = [0.0, -machine.gravity, 0.0]
            system.AddLoad(items.LoadMassProportional(markerNumber=weight, loadVector=load))
            bodies.append(body)
            self.nodes.append(node)
        ground = system.AddObject(items.ObjectGround())

        def marker(body, place):
            position = [*place, 0.0]
            return system.AddMarker(
                items.MarkerBodyPosition(bodyNumber=body, localPosition=position)
            )

        for a, at_a, b, at_b in machine.hinges():
            first = (
                marker(bodies[a], (at_a, 0.0)) if a >= 0 else marker(ground, machine.bars[b].ground)
            )
            ends = [first, marker(bodies[b], (at_b, 0.0))]
            system.AddObject(items.ObjectJointRevolute2D(markerNumbers=ends))
        kinds = (
            exudyn.OutputVariableType.Coordinates,
            exudyn.OutputVariableType.Coordinates_t,
        )
        self.sensors = [
            [
                system.AddSensor(
                    items.SensorNode(
                        nodeNumber=node,
                        outputVariableType=kind,
                        storeInternal=True,
                        writeToFile=False,
                    )
                )
                for kind in kinds
            ]
            for node in self.nodes
        ]
        self.start = x[0]
        system.Assemble()

    def run(self, h: float, steps: int, kept: bool, solver: str = "GeneralizedAlpha") -> None:
        """A run from rest; `kept` stores every point."""
        settings = exudyn_settings(self.exudyn, h, steps, h if kept else h * steps)
        kind = getattr(self.exudyn.DynamicSolverType, solver)
        self.system.SolveDynamic(settings, solverType=kind)

    def motion(self):
        """(positions, velocities) of the centres of mass of the last run that kept its points."""
        stored = self.system.GetSensorStoredData
        found = [[stored(s)[:, 1:4] for s in pair] for pair in self.sensors]
        x = np.stack([f[0] for f in found], 1) + self.start[None]
        return x, np.stack([f[1] for f in found], 1)


def exudyn_settings(exudyn, h: float, steps: int, period: float):
    """Settings without output beside sensors, written every `period`."""
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = steps
    settings.timeIntegration.endTime = h * steps
    settings.timeIntegration.verboseMode = 0
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = period
    settings.linearSolver.solverType = exudyn.LinearSolverType.EXUdense
    return settings


def exudyn_chain(mechanism, position, orientation):
    """A function of (step, steps) that runs Exudyn on a mechanism of hinges, all in one group of rows."""
    import sys

    sys.exudynFast = True
    import exudyn
    from exudyn import utilities

    from linkax.kinematics.bodies import poses

    rows = mechanism.constraints.groups[0]
    R = np.asarray(poses(position, orientation).rotation)
    axis = np.asarray(rows.child_rotation)[:, :, 2]
    gravity = np.asarray(mechanism.loads.parts[0].gravity).tolist()
    container = exudyn.SystemContainer()
    system = container.AddSystem()
    bodies = []
    for i, mass in enumerate(np.asarray(mechanism.bodies.mass)):
        inertia = utilities.RigidBodyInertia(
            mass=float(mass), inertiaTensor=np.asarray(mechanism.bodies.inertia[i]), com=[0, 0, 0]
        )
        body = system.CreateRigidBody(
            inertia=inertia,
            referencePosition=position[i].tolist(),
            referenceRotationMatrix=R[i],
            gravity=gravity,
        )
        bodies.append(body)
    ground = system.CreateGround()
    for k, (a, b) in enumerate(rows.bodies):
        at = position[b] + R[b] @ np.asarray(rows.child_point)[k]
        ends = [ground if a < 0 else bodies[a], bodies[b]]
        system.CreateRevoluteJoint(
            bodyNumbers=ends,
            position=at.tolist(),
            axis=(R[b] @ axis[k]).tolist(),
            useGlobalFrame=True,
            show=False,
        )
    system.Assemble()
    kind = exudyn.DynamicSolverType.GeneralizedAlpha

    def run(h: float, steps: int) -> None:
        settings = exudyn_settings(exudyn, h, steps, h * steps)
        settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
        system.SolveDynamic(settings, solverType=kind)

    return run


# --- a body without forces ---


def mujoco_tumbling(h: float, integrator: str, steps: int):
    """(model, steps, speeds) of the body of configs/tumbling_body.toml."""
    import mujoco

    told = _described("tumbling_body")
    xx, yy, zz = told["body"][0]["inertia"]
    text = (
        f'<mujoco><option timestep="{h}" integrator="{integrator}" gravity="0 0 0"/><worldbody>'
        f'<body><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="{xx} {yy} {zz}"/>'
        "</body></worldbody></mujoco>"
    )
    speed = told["joint"][0]["speed"]
    return mujoco.MjModel.from_xml_string(text), steps, np.asarray([*speed[3:], *speed[:3]])


def spin_of(q, w):
    """(energy, angular momentum in world axes) of that body, from quaternions and spins in its axes."""
    inertia = np.asarray(_described("tumbling_body")["body"][0]["inertia"])
    L = inertia * w
    energy = 0.5 * np.sum(w * L, axis=-1)
    across = np.cross(q[:, 1:], L)
    return energy, L + 2.0 * (q[:, :1] * across + np.cross(q[:, 1:], across))


def installed(name: str) -> bool:
    """Whether a library is there."""
    return importlib.util.find_spec(name) is not None
