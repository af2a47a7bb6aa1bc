"""Robots with loops, read from their files and solved here in joint coordinates with numpy and scipy alone.

The equations are those of the tree with one multiplier a row, M a + G^T y = f and G a = -(G' v), at every
instant (Featherstone 2008, section 8.2), integrated to twelve digits a step. The Jacobians of the bodies grow
from the ground outward in world axes. Nothing of it resembles steps in maximal coordinates.

Of a file it reads hinges, slides, Hooke and ball joints, ball joints that close loops, torsional springs on
hinges, damping and markers; frames turned against their body by `rpy` about z alone.
"""

import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp


Array = NDArray[np.float64]
PARTS = {
    "revolute": ("hinge",),
    "cylindrical": ("hinge", "slide"),
    "universal": ("hinge", "hinge"),
    "spherical": ("ball",),
}


def skew(r) -> Array:
    """The matrix of r x."""
    x, y, z = r
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def cross(a, b) -> Array:
    """The product a x b of two vectors; numpy's own takes ten times as long."""
    (x, y, z), (u, v, w) = a, b
    return np.array([y * w - z * v, z * u - x * w, x * v - y * u])


def turn(axis, angle: float) -> Array:
    """Rodrigues' rotation about a unit axis."""
    K = skew(axis)
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


def turn_of(quaternion) -> Array:
    """The rotation of a quaternion (w, x, y, z) of any length."""
    w, *u = np.asarray(quaternion) / np.linalg.norm(quaternion)
    K = skew(u)
    return np.eye(3) + 2.0 * w * K + 2.0 * K @ K


class Place(NamedTuple):
    """A frame: pose, angular and linear velocity, their rates at v' = 0, and Jacobians, all in world axes."""

    R: Array
    p: Array
    w: Array
    u: Array
    w_rate: Array
    u_rate: Array
    Jw: Array
    Ju: Array

    def at(self, point) -> "Place":
        """The frame moved to a point given in its axes."""
        r = self.R @ np.asarray(point)
        return self._replace(
            p=self.p + r,
            u=self.u + cross(self.w, r),
            u_rate=self.u_rate + cross(self.w_rate, r) + cross(self.w, cross(self.w, r)),
            Ju=self.Ju - skew(r) @ self.Jw,
        )


class Motion(NamedTuple):
    """A run: markers by name (points, 3), energy lost to damping and energy (kinetic, potential) [J]."""

    q: Array
    v: Array
    markers: dict[str, Array]
    lost: Array
    energy: Array


class Robot:
    """The equations of motion of one file."""

    def __init__(self, path: Path):
        table = tomllib.loads(path.read_text())
        self.bodies = {b["name"]: b for b in table["body"]}
        self.joints, self.loops = table["joint"], table["loop"]
        self.springs = [e for e in table["element"] if e["type"] == "torsional-spring"]
        assert len(self.springs) == len(table["element"])
        self.markers = table["marker"]
        self.gravity = np.asarray(table["world"]["gravity"])
        self.slots: dict[str, tuple[int, int]] = {}
        nq = nv = 0
        damping: list[float] = []
        for joint in self.joints:
            self.slots[joint["name"]] = (nq, nv)
            parts = PARTS[joint["type"]]
            wide = 3 if parts == ("ball",) else len(parts)
            nq, nv = nq + wide + (parts == ("ball",)), nv + wide
            damping += np.broadcast_to(joint.get("damping", 0.0), (wide,)).tolist()
        self.nq, self.nv, self.damping = nq, nv, np.asarray(damping)
        self.start = np.concatenate([np.atleast_1d(j["position"]) for j in self.joints])

    def places(self, q: Array, v: Array) -> dict[str, Place]:
        """The frames of all bodies and of the ground."""
        zero = np.zeros((3, self.nv))
        found = {"world": Place(np.eye(3), *np.zeros((5, 3)), zero, zero)}
        for joint in self.joints:
            frame = joint.get("parent_frame", {})
            here = found[joint["parent"]].at(frame.get("position", (0.0, 0.0, 0.0)))
            here = here._replace(R=here.R @ turn((0.0, 0.0, 1.0), frame.get("rpy", (0, 0, 0))[2]))
            i, k = self.slots[joint["name"]]
            axes = [joint["axis"], joint.get("axis2", joint["axis"])] if "axis" in joint else [None]
            for part, axis in zip(PARTS[joint["type"]], axes, strict=False):
                here = getattr(self, f"_{part}")(here, axis, q, v, i, k)
                i, k = i + 1, k + 1
            back = -np.asarray(joint.get("child_frame", {}).get("position", (0.0, 0.0, 0.0)))
            found[joint["child"]] = here.at(back)
        return found

    @staticmethod
    def _turned(here: Place, R, columns, rates, k: int) -> Place:
        """`here` turned to R, with angular speeds `rates` about world columns that the frame carries."""
        Jw = here.Jw.copy()
        Jw[:, k : k + columns.shape[1]] += columns
        relative = columns @ rates
        w_rate = here.w_rate + cross(here.w, relative)
        return here._replace(R=R, w=here.w + relative, w_rate=w_rate, Jw=Jw)

    def _hinge(self, here: Place, axis, q, v, i, k) -> Place:
        columns = (here.R @ np.asarray(axis))[:, None]
        return self._turned(here, here.R @ turn(axis, q[i]), columns, v[k : k + 1], k)

    def _ball(self, here: Place, axis, q, v, i, k) -> Place:
        R = here.R @ turn_of(q[i : i + 4])
        return self._turned(here, R, R, v[k : k + 3], k)

    def _slide(self, here: Place, axis, q, v, i, k) -> Place:
        along = here.R @ np.asarray(axis)
        moved = here.at(q[i] * np.asarray(axis))
        Ju = moved.Ju.copy()
        Ju[:, k] += along
        u_rate = moved.u_rate + 2.0 * v[k] * cross(moved.w, along)
        return moved._replace(u=moved.u + v[k] * along, u_rate=u_rate, Ju=Ju)

    def rates(self, q: Array, v: Array) -> tuple[Array, Array]:
        """(q', v')."""
        places = self.places(q, v)
        M, f = np.zeros((self.nv, self.nv)), -self.damping * v
        for name, body in self.bodies.items():
            c = places[name].at(body["com"])
            inertia = c.R @ np.diag(body["inertia"]) @ c.R.T
            M += body["mass"] * c.Ju.T @ c.Ju + c.Jw.T @ inertia @ c.Jw
            f += body["mass"] * c.Ju.T @ (self.gravity - c.u_rate)
            f -= c.Jw.T @ (inertia @ c.w_rate + cross(c.w, inertia @ c.w))
        for spring in self.springs:
            i, k = self.slots[spring["joint"]]
            f[k] -= spring["stiffness"] * (q[i] - spring["free_angle"])
        ends = [self._ends(places, loop) for loop in self.loops]
        G = np.concatenate([b.Ju - a.Ju for a, b in ends])
        bias = np.concatenate([b.u_rate - a.u_rate for a, b in ends])
        m = len(G)
        whole = np.block([[M, G.T], [G, np.zeros((m, m))]])
        return self._q_rates(q, v), np.linalg.solve(whole, np.concatenate([f, -bias]))[: self.nv]

    def _ends(self, places, loop) -> tuple[Place, Place]:
        end = lambda side: places[loop[side]].at(loop[f"{side}_frame"]["position"])
        return end("parent"), end("child")

    def _q_rates(self, q, v) -> Array:
        found = np.zeros(self.nq)
        for joint in self.joints:
            (i, k), parts = self.slots[joint["name"]], PARTS[joint["type"]]
            if parts == ("ball",):
                w, u, spin = q[i], q[i + 1 : i + 4], v[k : k + 3]
                found[i] = -0.5 * u @ spin
                found[i + 1 : i + 4] = 0.5 * (w * spin + cross(u, spin))
            else:
                found[i : i + len(parts)] = v[k : k + len(parts)]
        return found

    def gaps(self, q: Array) -> Array:
        """What the loops' ends lie apart [m]."""
        places = self.places(q, np.zeros(self.nv))
        return np.concatenate([b.p - a.p for a, b in (self._ends(places, x) for x in self.loops)])

    def energy(self, q: Array, v: Array) -> Array:
        """(kinetic, potential) [J]."""
        places = self.places(q, v)
        kinetic = potential = 0.0
        for name, body in self.bodies.items():
            c = places[name].at(body["com"])
            w = c.R.T @ c.w
            kinetic += 0.5 * (body["mass"] * c.u @ c.u + w @ (np.asarray(body["inertia"]) * w))
            potential -= body["mass"] * self.gravity @ c.p
        for spring in self.springs:
            off = q[self.slots[spring["joint"]][0]] - spring["free_angle"]
            potential += 0.5 * spring["stiffness"] * off**2
        return np.array([kinetic, potential])

    def run(self, times, rtol: float = 1e-10, atol: float = 1e-12) -> Motion:
        """From the file's start, at rest, to these times; the energy that damping takes is integrated too."""

        def derivative(t, y):
            q, v = y[: self.nq], y[self.nq : -1]
            return np.concatenate([*self.rates(q, v), [self.damping @ v**2]])

        y = np.concatenate([self.start, np.zeros(self.nv + 1)])
        solved = solve_ivp(
            derivative, (0.0, times[-1]), y, "DOP853", t_eval=times, rtol=rtol, atol=atol
        )
        assert solved.success, solved.message
        q, v, lost = np.split(solved.y.T, [self.nq, self.nq + self.nv], axis=1)
        at = [self.places(*row) for row in zip(q, v, strict=True)]
        markers = {
            m["name"]: np.array([places[m["body"]].at(m["point"]).p for places in at])
            for m in self.markers
        }
        energy = np.array([self.energy(*row) for row in zip(q, v, strict=True)])
        return Motion(q, v, markers, lost[:, 0], energy)
