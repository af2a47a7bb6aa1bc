"""Closed mechanisms are solved here from few coordinates each, with numpy and scipy alone.

None of the formulations resembles the library's: what agrees with them agrees for the right reason.
A mechanism of one degree of freedom follows from its inertia M(q) and potential V(q) as seen by that
coordinate, M q'' + M'(q) q'^2 / 2 + V'(q) = load; the derivatives are complex steps, exact to rounding.
Units are SI, angles radians; the planar cases lie in x-y with their angles counter-clockwise from x.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp


Array = NDArray[np.float64]
STEP = 1e-30  # a complex step has no cancellation, so it can be this small
G = 9.81


def slope(f: Callable, q):
    """(f(q), f'(q)) exact to rounding, for f that is analytic: no abs, no conjugate, no arctan2."""
    y = f(q + STEP * 1j)
    return y.real, y.imag / STEP


def acceleration(inertia: Callable, potential: Callable, q: float, rate: float, load: float = 0.0):
    """Lagrange's equation of a single coordinate, solved for its second derivative."""
    M, dM = slope(inertia, q)
    _, dV = slope(potential, q)
    return (load - dV - 0.5 * dM * rate**2) / M


def integrate(
    derivative: Callable, start: ArrayLike, times: ArrayLike, method: str = "DOP853", **options
) -> Array:
    """(points, states) at increasing times, from `start` at time 0, to twelve digits a step."""
    times = np.atleast_1d(np.asarray(times, float))
    options = {"rtol": 1e-12, "atol": 1e-13} | options
    solution = solve_ivp(derivative, (0.0, times[-1]), start, method, t_eval=times, **options)
    assert solution.success, solution.message
    return solution.y.T


def one_coordinate(
    inertia: Callable, potential: Callable, start: tuple[float, float], times, load=0.0
) -> Array:
    """(points, 2): the coordinate and its rate."""
    rates = lambda t, y: (y[1], acceleration(inertia, potential, y[0], y[1], load))
    return integrate(rates, start, times)


# --- pins of planar mechanisms ---


class Body(NamedTuple):
    """A planar body as Newton and Euler see it: `push` is m a - m g, `twist` is I alpha."""

    com: Array
    push: Array
    twist: float = 0.0


def pin_forces(bodies: list[Body], pins: list[tuple[int, int, Array]], motor: int | None = None):
    """((pins, 2) forces, torque): what each pin does to its second body; it does the opposite to its first.

    A pin is (first, second, place) with -1 for the ground. The torque acts on body `motor`.
    """
    n = len(pins)
    A = np.zeros((3 * len(bodies), 2 * n + (motor is not None)))
    for k, (first, second, place) in enumerate(pins):
        for body, sign in ((first, -1.0), (second, 1.0)):
            if body >= 0:
                x, y = place - bodies[body].com
                A[3 * body : 3 * body + 3, 2 * k : 2 * k + 2] += sign * np.array(
                    [[1.0, 0.0], [0.0, 1.0], [-y, x]]
                )
    if motor is not None:
        A[3 * motor + 2, -1] = 1.0
    found = np.linalg.solve(A, np.concatenate([[*b.push, b.twist] for b in bodies]))
    return found[: 2 * n].reshape(n, 2), (0.0 if motor is None else found[-1])


def turned(v):
    """A planar vector turned by a quarter, counter-clockwise: z cross v."""
    return np.array([-v[1], v[0]])


# --- four-bar ---


@dataclass(frozen=True)
class FourBar:
    """Crank on (0, 0), coupler, rocker on (ground, 0); centres of mass in the middle of the bars.

    The loop is the open one: the coupler's far pin lies to the left of the line from crank to rocker pivot.
    """

    lengths: tuple[float, float, float] = (1.0, 3.5, 3.0)
    ground: float = 4.0
    masses: tuple[float, float, float] = (1.0, 1.5, 1.2)
    width: float = 0.0
    g: float = G

    @property
    def inertias(self) -> tuple[float, ...]:
        """About the centres of mass: bars of square section."""
        return tuple(
            m * (L**2 + self.width**2) / 12 for m, L in zip(self.masses, self.lengths, strict=True)
        )

    def directions(self, q):
        """(3, 2): unit vectors along crank, coupler and rocker, each from its pin nearer the crank's pivot
        (of the rocker: from the ground)."""
        a, b, c = self.lengths
        crank = np.array([np.cos(q), np.sin(q)])
        far = np.array([self.ground, 0.0])
        across = far - a * crank
        square = across @ across
        along = (square + b**2 - c**2) / (2.0 * square)
        tip = a * crank + along * across + np.sqrt(b**2 / square - along**2) * turned(across)
        return np.array([crank, (tip - a * crank) / b, (tip - far) / c])

    def pins(self, q):
        """(4, 2): crank pivot, crank tip, rocker tip, rocker pivot."""
        crank, coupler, _ = self.directions(q)
        tip = self.lengths[0] * crank
        far = np.array([self.ground, 0.0])
        return np.array([0.0 * tip, tip, tip + self.lengths[1] * coupler, far])

    def coms(self, q):
        """(3, 2)"""
        pins = self.pins(q)
        return 0.5 * (pins[:-1] + pins[1:])

    def rates(self, q):
        """(3, 3): dx/dq, dy/dq of the centres of mass and d(angle)/dq of the bars."""
        a, b, c = self.lengths
        crank, coupler, rocker = self.directions(q)
        # The tip's velocity along the rocker is zero, that along the coupler is the crank's.
        psi = -a * (turned(crank) @ rocker) / (b * (turned(coupler) @ rocker))
        phi = a * (turned(crank) @ coupler) / (c * (turned(rocker) @ coupler))
        tip = a * turned(crank)
        v = np.array(
            [0.5 * tip, tip + 0.5 * b * psi * turned(coupler), 0.5 * c * phi * turned(rocker)]
        )
        return np.column_stack([v, [1.0 + 0.0 * q, psi, phi]])

    def inertia(self, q):
        """What the crank feels of all three bars."""
        r = self.rates(q)
        return (
            np.asarray(self.masses) @ (r[:, :2] ** 2).sum(1)
            + np.asarray(self.inertias) @ r[:, 2] ** 2
        )

    def potential(self, q):
        """Zero with all mass at the height of the ground pins."""
        return self.g * (np.asarray(self.masses) @ self.coms(q)[:, 1])


class DrivenFourBar(NamedTuple):
    """The crank's motor torque, the bars' angles from x, and the force of each pin on its child.

    Pins: crank on ground, coupler on crank, rocker on coupler, ground on rocker (so the last force
    acts on the ground); world axes.
    """

    torque: float
    angles: Array
    reactions: Array


def four_bar_driven(t: float) -> DrivenFourBar:
    """The torque that turns the crank to 40 deg - 20 deg cos(10 pi t) is Lagrange's; the pins' are Newton's.

    Bars of square section 0.05, so I = m (L^2 + 0.05^2) / 12; gravity 9.80665 along -y.
    """
    bar, w = FourBar(width=0.05, g=9.80665), 10.0 * math.pi
    offset, swing = math.radians(40.0), math.radians(20.0)
    q = offset - swing * math.cos(w * t)
    rate, second = swing * w * math.sin(w * t), swing * w**2 * math.cos(w * t)
    M, dM = slope(bar.inertia, q)
    torque = M * second + 0.5 * dM * rate**2 + slope(bar.potential, q)[1]
    J, dJ = slope(bar.rates, q)
    moved = J * second + dJ * rate**2
    weight = np.array([0.0, bar.g])
    bodies = [
        Body(com, m * (a[:2] + weight), I * a[2])
        for com, m, I, a in zip(bar.coms(q), bar.masses, bar.inertias, moved, strict=True)
    ]
    chain = zip((-1, 0, 1, 2), (0, 1, 2, -1), bar.pins(q), strict=True)
    forces, motor = pin_forces(bodies, list(chain), motor=0)
    assert abs(motor - torque) < 1e-9 * max(abs(torque), 1.0)
    directions = bar.directions(q)
    return DrivenFourBar(float(torque), np.arctan2(directions[:, 1], directions[:, 0]), forces)


def four_bar_free(times: ArrayLike, start: tuple[float, float] = (0.7, 0.0)) -> Array:
    """(points, 4): crank angle, crank rate, and x, y of the crank tip, released from angle 0.7."""
    bar = FourBar()
    y = one_coordinate(bar.inertia, bar.potential, start, times)
    return np.column_stack([y, np.cos(y[:, 0]), np.sin(y[:, 0])])


# --- double four-bar ---


def double_four_bar(times: ArrayLike) -> Array:
    """(points, 4): angle of the bars from upright (clockwise), its rate, and x, y of the first upper pin.

    Three bars on (0, 0), (1, 0), (2, 0) and two couplers of length and mass 1 stay parallelograms: the bars
    turn together and the couplers only translate, T = (3/3 + 2) rate^2 / 2, V = (3/2 + 2) g cos(angle).
    """
    inertia = lambda q: 3.0 + 0.0 * q
    y = one_coordinate(inertia, lambda q: 3.5 * G * np.cos(q), (0.0, 1.0), times)
    return np.column_stack([y, np.sin(y[:, 0]), np.cos(y[:, 0])])


# --- Andrews' squeezer ---


class Point:
    """A point of a planar mechanism is a fixed place and arms z exp(i row.q), in complex numbers."""

    def __init__(self, base: complex, *arms: tuple[complex, ArrayLike]):
        self.base = base
        self.z = np.array([z for z, _ in arms])
        self.rows = np.array([row for _, row in arms], float)

    def __call__(self, q) -> complex:
        return self.base + self.z @ np.exp(1j * self.rows @ q)

    def jacobian(self, q) -> NDArray[np.complex128]:
        """d/dq: x in the real, y in the imaginary part."""
        return (1j * self.z * np.exp(1j * self.rows @ q)) @ self.rows

    def bias(self, q, v) -> complex:
        """The acceleration with q'' = 0."""
        return -(self.z * np.exp(1j * self.rows @ q)) @ (self.rows @ v) ** 2


def planes(z: list[complex]) -> Array:
    """Complex numbers, or rows of them, as x, y, x, y ..."""
    return np.concatenate(
        [part for p in z for part in (np.atleast_1d(p).real, np.atleast_1d(p).imag)]
    )


class Andrews:
    """Seven bars, q = (beta, theta, gamma, phi, delta, omega, epsilon), six closures.

    Turns of the bars: 1 beta, 2 beta + theta, 3 gamma, 4 phi + delta, 5 delta, 6 omega + epsilon, 7 epsilon.
    Closures, in this order: E of bar 2 less E of bar 3, of bar 4, of bar 6, each x then y.
    Multipliers have the sign of M q'' + G^T multipliers = forces: they are the forces by bar 2 on the
    other bar at E, and less these forces act on bar 2.
    """

    masses = np.array([0.04325, 0.00365, 0.02373, 0.00706, 0.07050, 0.00706, 0.05498])
    inertias = np.array([2.194e-6, 4.410e-7, 5.255e-6, 5.667e-7, 1.169e-5, 5.667e-7, 1.912e-5])
    start = np.array(
        [
            -0.0617138900142764496,
            0.0,
            0.455279819163070380,
            0.222668390165885885,
            0.487364979543842550,
            -0.222668390165885885,
            1.23054744454982119,
        ]
    )
    torque, stiffness, rest = 0.033, 4530.0, 0.07785
    hook = 0.014 + 0.072j

    def __init__(self):
        A, B = -0.06934 - 0.00227j, -0.03635 + 0.03273j
        e = np.eye(7)
        b1, b2, b3, b4, b5, b6, b7 = self.turns = np.array(
            [e[0], e[0] + e[1], e[2], e[3] + e[4], e[4], e[5] + e[6], e[6]]
        )
        crank, ternary, left, right = (0.007, b1), (0.04, b5), (-0.04j, b7), (0.02 - 0.018j, b3)
        self.coms = (
            Point(0.0, (0.00092, b1)),
            Point(0.0, crank, (-0.0115, b2)),
            Point(B, (0.01043 - 0.01874j, b3)),
            Point(A, ternary, (-0.00579j, b4)),
            Point(A, (0.02308 + 0.00916j, b5)),
            Point(A, left, (0.00579, b6)),
            Point(A, (-0.00449 - 0.01228j, b7)),
        )
        self.end = Point(0.0, crank, (-0.028, b2))
        self.others = (
            Point(B, (-0.035j, b3)),
            Point(A, ternary, (-0.02j, b4)),
            Point(A, left, (0.02, b6)),
        )
        self.eye = Point(B, right)

    def closure(self, q):
        """(6,) residual."""
        return planes([self.end(q) - p(q) for p in self.others])

    def closure_jacobian(self, q):
        """(6, 7)"""
        rows = [self.end.jacobian(q) - p.jacobian(q) for p in self.others]
        return planes(rows).reshape(6, 7)

    def mass_matrix(self, q):
        """(7, 7)"""
        J = planes([c.jacobian(q) for c in self.coms]).reshape(14, 7)
        return J.T @ (np.repeat(self.masses, 2)[:, None] * J) + self.turns.T @ (
            self.inertias[:, None] * self.turns
        )

    def solve(self, q, v):
        """(accelerations, multipliers) of the equations of motion and the closures' second derivative."""
        J = planes([c.jacobian(q) for c in self.coms]).reshape(14, 7)
        centrifugal = np.repeat(self.masses, 2) * planes([c.bias(q, v) for c in self.coms])
        stretched = self.eye(q) - self.hook
        pull = -self.stiffness * (1.0 - self.rest / abs(stretched)) * stretched
        forces = (np.conj(pull) * self.eye.jacobian(q)).real - J.T @ centrifugal
        forces[0] += self.torque
        G6 = self.closure_jacobian(q)
        bias = planes([self.end.bias(q, v) - p.bias(q, v) for p in self.others])
        K = np.block([[self.mass_matrix(q), G6.T], [G6, np.zeros((6, 6))]])
        found = np.linalg.solve(K, np.concatenate([forces, -bias]))
        return found[:7], found[7:]

    def energy(self, q, v):
        """Kinetic and spring's energy less the motor's work since beta = 0: constant."""
        stretch = abs(self.eye(q) - self.hook) - self.rest
        kinetic = 0.5 * v @ self.mass_matrix(q) @ v
        return kinetic + 0.5 * self.stiffness * stretch**2 - self.torque * q[0]


class AndrewsMotion(NamedTuple):
    """Angles and rates (points, 7), multipliers (points, 6), energy less the motor's work (points,)."""

    q: Array
    v: Array
    multipliers: Array
    energy: Array


def andrews(times: ArrayLike) -> AndrewsMotion:
    """The squeezer moves from rest by the twice differentiated closures, the drift pulled out."""
    mechanism = Andrews()

    def derivative(t, y):
        q, v = y[:7], y[7:]
        # The correction vanishes on the exact solution; it pulls rounding back onto the closures.
        fix = np.linalg.pinv(mechanism.closure_jacobian(q))
        drift = mechanism.closure_jacobian(q) @ v
        a = mechanism.solve(q, v)[0]
        return np.concatenate([v - 1e3 * fix @ mechanism.closure(q), a - 1e3 * fix @ drift])

    y = integrate(derivative, [*Andrews.start, *np.zeros(7)], times)
    q, v = y[:, :7], y[:, 7:]
    pairs = list(zip(q, v, strict=True))
    multipliers = np.array([mechanism.solve(*pair)[1] for pair in pairs])
    return AndrewsMotion(q, v, multipliers, np.array([mechanism.energy(*pair) for pair in pairs]))


# --- Bricard's mechanism ---


class BricardState(NamedTuple):
    """What the five rods do at given angles and rates of the five hinges of the open chain."""

    points: Array  # (6, 3): the hinges' places, the last the far end of the fifth rod
    M: Array  # (5, 5)
    bias: Array  # (5,) centrifugal terms less the weight's
    gap: Array  # (5,): far end from its place; y and z of the fifth rod's own x axis
    C: Array  # (5, 5): d(gap)/dq
    gap_bias: Array  # (5,): second derivative of the gap with q'' = 0
    potential: float


class Bricard:
    """Five rods as an open chain of five hinges; its far end must come back to a sixth hinge on the ground.

    In the start pose all angles are zero and all body axes are the world's. The rods go along
    (0,0,0) (1,0,0) (1,-1,0) (1,-1,1) (0,-1,1) (0,0,1); rod i turns against rod i - 1 about the i-th of
    y, z, x, y, z through the i-th point; the sixth hinge, about x through (0,0,1), closes rod 5 to the
    ground. Each rod has mass 1 and its centre of mass in the middle, and is a solid box 1 x 0.1 x 0.1:
    moments 0.02/12 about its length and 1.01/12 across. Gravity is 9.81 along -y, the start at rest.
    The five closure rows have rank 4.
    """

    corners = np.array(
        [[0, 0, 0], [1, 0, 0], [1, -1, 0], [1, -1, 1], [0, -1, 1], [0, 0, 1]], dtype=float
    )
    axes = np.eye(3)[[1, 2, 0, 1, 2]]
    rods = np.diff(corners, axis=0)
    inertias = np.array([np.diag((1.01 - 0.99 * rod**2) / 12.0) for rod in rods])

    def at(self, q, v) -> BricardState:
        """Forward kinematics down the chain, with the Jacobians of the middles and turns as they come."""
        R, p = np.eye(3), self.corners[0]
        w, alpha, speedup = np.zeros(3), np.zeros(3), np.zeros(3)
        points, hinges = [p], np.zeros((5, 3))
        M, bias, potential = np.zeros((5, 5)), np.zeros(5), 0.0
        for i in range(5):
            hinges[i] = R @ self.axes[i]
            alpha = alpha + v[i] * cross(w, hinges[i])
            w = w + v[i] * hinges[i]
            R = R @ rotation(self.axes[i], q[i])
            half = 0.5 * R @ self.rods[i]
            Jw = np.where(np.arange(5)[:, None] <= i, hinges, 0.0).T
            J = np.array([cross(Jw[:, j], p + half - points[min(j, i)]) for j in range(5)]).T
            I = R @ self.inertias[i] @ R.T
            central = cross(alpha, half) + cross(w, cross(w, half))
            M += J.T @ J + Jw.T @ I @ Jw
            bias += J.T @ (speedup + central + [0.0, G, 0.0])
            bias += Jw.T @ (I @ alpha + cross(w, I @ w))
            potential += G * (p + half)[1]
            p, speedup = p + 2.0 * half, speedup + 2.0 * central
            points.append(p)
        ends = np.array([cross(hinges[j], p - points[j]) for j in range(5)]).T
        x = R[:, 0]
        tilts = np.array([cross(h, x) for h in hinges]).T
        gap = np.concatenate([p - self.corners[5], x[1:]])
        gap_bias = np.concatenate([speedup, (cross(alpha, x) + cross(w, cross(w, x)))[1:]])
        C = np.concatenate([ends, tilts[1:]])
        return BricardState(np.array(points), M, bias, gap, C, gap_bias, potential)


def cross(a, b):
    """The vector product; numpy's own spends ten times as long on three numbers."""
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def rotation(axis, angle):
    """Rodrigues' matrix."""
    K = np.array([cross(axis, e) for e in np.eye(3)]).T
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K


def null_and_inverse(C, rank: int):
    """(unit vector of the null space, pseudo-inverse) of a matrix known to have this rank."""
    U, s, Vt = np.linalg.svd(C)
    return Vt[rank], Vt[:rank].T @ (U[:, :rank] / s[:rank]).T


class BricardMotion(NamedTuple):
    """(points, 3) place of the point that starts at (1, -1, 1), energies, sizes of the gap, hinge angles.

    `singular` holds the singular values of the closure's Jacobian, (points, 5): the last is rounding.
    """

    P3: Array
    energy: Array
    gap: Array
    q: Array
    singular: Array


def bricard(times: ArrayLike) -> BricardMotion:
    """The loop from rest, along the one direction that the closure's Jacobian leaves; see `Bricard`."""
    mechanism = Bricard()

    def derivative(t, y):
        q, v = y[:5], y[5:]
        # A rate across the null space is rounding and is dropped; the gap is pulled to zero likewise.
        n, inverse = null_and_inverse(mechanism.at(q, v).C, 4)
        v = n * (n @ v)
        state = mechanism.at(q, v)
        across = -inverse @ state.gap_bias
        along = -n @ (state.M @ across + state.bias) / (n @ state.M @ n)
        return np.concatenate([v - 10.0 * inverse @ state.gap, across + along * n])

    y = integrate(derivative, np.zeros(10), times)
    states = [mechanism.at(row[:5], row[5:]) for row in y]
    kinetic = [0.5 * row[5:] @ s.M @ row[5:] for row, s in zip(y, states, strict=True)]
    return BricardMotion(
        np.array([s.points[3] for s in states]),
        np.add(kinetic, [s.potential for s in states]),
        np.array([np.linalg.norm(s.gap) for s in states]),
        y[:, :5],
        np.array([np.linalg.svd(s.C)[1] for s in states]),
    )


# --- flyball governor ---


@dataclass(frozen=True)
class Governor:
    """A shaft free to turn on z, a slider along it, two balls on arms, and a stiff strut from each arm.

    Shaft: box 0.01 x 0.01 x 1 along z, mass 0.3, centre (0, 0, 0.5). Slider: cube of 0.1, mass 3, centre
    (0, 0, s), turning with the shaft. Arms: boxes 1 x 0.01 x 0.01 along the arm, mass 0.3, hinged to the
    shaft at (0.05, 0, 1) and (-0.05, 0, 1) about the shaft's y axis; the arm hangs `tilt` below the
    horizontal, outwards; 5 kg as a point at its far end. Struts join the middle of the arm to the slider's
    (0.05, 0, s) and (-0.05, 0, s): spring 8e5 with rest length 0.5, damper 4e4. Gravity 9.81 along -z.
    Start: s = 0.5, tilt 30 deg, at rest on a shaft that turns at 2 pi; nothing drives it.
    """

    pivot: float = 0.05
    length: float = 1.0
    top: float = 1.0
    arm: float = 0.3
    ball: float = 5.0
    slider: float = 3.0
    stiffness: float = 8e5
    damping: float = 4e4
    rest: float = 0.5
    # Shaft and slider about z, then an arm about its own length and across, about the arm's middle.
    axial: float = 0.3 * 2e-4 / 12 + 3.0 * 2e-2 / 12
    along: float = 0.3 * 2e-4 / 12
    across: float = 0.3 * 1.0001 / 12

    def about_z(self, tilt):
        """Moment of inertia of everything about the shaft."""
        c, s = np.cos(tilt), np.sin(tilt)
        middle, end = self.pivot + 0.5 * self.length * c, self.pivot + self.length * c
        arm = self.arm * middle**2 + self.across * c**2 + self.along * s**2
        return self.axial + 2.0 * (arm + self.ball * end**2)

    @property
    def about_hinge(self) -> float:
        """Moment of inertia of one arm with its ball about its hinge."""
        return self.across + self.arm * (self.length / 2) ** 2 + self.ball * self.length**2

    @property
    def first_moment(self) -> float:
        """Mass times distance from the hinge, of one arm with its ball."""
        return 0.5 * self.arm * self.length + self.ball * self.length

    def strut(self, s, tilt):
        """(length, its derivatives by s and tilt)."""
        half = 0.5 * self.length
        x, z = half * np.cos(tilt), self.top - half * np.sin(tilt) - s
        l = np.sqrt(x**2 + z**2)
        return l, -z / l, -(x * half * np.sin(tilt) + z * half * np.cos(tilt)) / l

    def energy(self, s, tilt, ds, dtilt, turn):
        """Kinetic, weight's and springs' energy."""
        l, *_ = self.strut(s, tilt)
        spin = self.about_z(tilt) * turn**2 + 2.0 * self.about_hinge * dtilt**2
        weight = self.slider * s + 2.0 * (self.arm + self.ball) * self.top
        weight = weight - 2.0 * self.first_moment * np.sin(tilt)
        spring = self.stiffness * (l - self.rest) ** 2
        return 0.5 * (spin + self.slider * ds**2) + G * weight + spring


class GovernorMotion(NamedTuple):
    """(points,) each: slider height, arm tilt, shaft rate and angle, energy, energy lost in the dampers."""

    s: Array
    tilt: Array
    turn: Array
    angle: Array
    energy: Array
    lost: Array


def governor(times: ArrayLike, method: str = "Radau", **options) -> GovernorMotion:
    """Slider and tilt by Routh's equations at constant angular momentum about the shaft; see `Governor`.

    Both arms tilt alike by symmetry. The shaft's rate is momentum over moment of inertia.
    """
    m = Governor()
    start = math.radians(30.0)
    momentum = m.about_z(start) * 2.0 * math.pi

    def derivative(t, y):
        s, tilt, ds, dtilt = y[:4]
        l, l_s, l_tilt = m.strut(s, tilt)
        stretching = l_s * ds + l_tilt * dtilt
        tension = m.stiffness * (l - m.rest) + m.damping * stretching
        turn = momentum / m.about_z(tilt)
        c, sn = np.cos(tilt), np.sin(tilt)
        # Half the derivative of about_z, of one arm.
        middle, end = m.pivot + 0.5 * m.length * c, m.pivot + m.length * c
        lever = m.arm * middle * 0.5 + m.ball * end
        outwards = -sn * m.length * lever + (m.along - m.across) * c * sn
        a_s = -G - 2.0 * tension * l_s / m.slider
        hinge = m.first_moment * G * c + outwards * turn**2 - tension * l_tilt
        lost = 2.0 * m.damping * stretching**2
        return np.array([ds, dtilt, a_s, hinge / m.about_hinge, turn, lost])

    def jacobian(t, y):
        columns = [derivative(t, y + STEP * 1j * e).imag / STEP for e in np.eye(6)]
        return np.array(columns).T

    options = {"rtol": 1e-11, "atol": 1e-12} | options  # a tenth of that moves no digit of twelve
    if method == "Radau":
        options = {"jac": jacobian} | options
    y = integrate(derivative, [0.5, start, 0.0, 0.0, 0.0, 0.0], times, method, **options).T
    s, tilt, ds, dtilt, angle, lost = y
    turn = momentum / m.about_z(tilt)
    return GovernorMotion(s, tilt, turn, angle, m.energy(s, tilt, ds, dtilt, turn), lost)


# --- spatial slider-crank ---


class SpatialSliderCrank:
    """Crank 0.08 on (0, 0.1, 0.12) about x, rod 0.3, slider on x, all as functions of the crank angle.

    B = (0, 0.1 - 0.08 sin q, 0.12 + 0.08 cos q), C = (x, 0, 0); spherical joint at B, universal at C with
    its axes x of the slider and y of the rod: the rod turns as a e_x + b e_y, e_y along x cross (C - B).
    Crank: mass 0.12, centre in the middle of its pins, 1e-4 about x through it. Rod: mass 0.5, own x axis
    from B to C, centre in the middle, moments (4e-4, 4e-3, 4e-3). Slider: mass 2. Gravity 9.81 along -z.
    """

    crank, rod, slider = 0.12, 0.5, 2.0
    about_pivot = 1e-4 + 0.12 * 0.04**2
    spin, tumble = 4e-4, 4e-3
    length = 0.3

    def place(self, q):
        """(y and z of B, x of C)."""
        y, z = 0.1 - 0.08 * np.sin(q), 0.12 + 0.08 * np.cos(q)
        return y, z, np.sqrt(self.length**2 - y**2 - z**2)

    def inertia(self, q):
        """What the crank feels of crank, rod and slider."""
        y, z, x = self.place(q)
        dy, dz = -0.08 * np.cos(q), -0.08 * np.sin(q)
        dx = -(y * dy + z * dz) / x
        square = y**2 + z**2
        a, b = (y * dz - z * dy) / square, -dx / np.sqrt(square)
        along = a * x / self.length
        turning = self.spin * along**2 + self.tumble * (a**2 + b**2 - along**2)
        moving = self.rod * (dx**2 + dy**2 + dz**2) / 4.0 + self.slider * dx**2
        return self.about_pivot + turning + moving

    def potential(self, q):
        """Zero at z = 0."""
        _, z, _ = self.place(q)
        return G * (self.crank * (0.12 + z) / 2.0 + self.rod * z / 2.0)


def spatial_slider_crank(times: ArrayLike) -> Array:
    """(points, 3): crank angle, its rate, slider position, from angle 0 at 6 rad/s."""
    m = SpatialSliderCrank()
    y = one_coordinate(m.inertia, m.potential, (0.0, 6.0), times)
    return np.column_stack([y, m.place(y[:, 0])[2]])


# --- planar slider-crank ---


class SliderCrank:
    """Crank 0.1 on the origin, rod 0.3, slider on x; uniform bars of 0.2 kg, slider 0.4 kg; no gravity."""

    crank, rod, masses, torque = 0.1, 0.3, (0.2, 0.2, 0.4), 0.1

    def place(self, q):
        """x of the slider."""
        return self.crank * np.cos(q) + np.sqrt(self.rod**2 - (self.crank * np.sin(q)) ** 2)

    def slide(self, q):
        """dx/dq of the slider."""
        c, s = self.crank * np.cos(q), self.crank * np.sin(q)
        return -s - s * c / np.sqrt(self.rod**2 - s**2)

    def inertia(self, q):
        """What the crank feels of crank, rod and slider."""
        c, s = self.crank * np.cos(q), self.crank * np.sin(q)
        turn = -c / np.sqrt(self.rod**2 - s**2)  # of the rod, which goes from (c, s) to (x, 0)
        dx = self.slide(q)
        middle = ((dx - s) / 2.0) ** 2 + (c / 2.0) ** 2
        bar, rod, slider = self.masses
        rotating = bar * self.crank**2 / 3.0 + rod * self.rod**2 / 12.0 * turn**2
        return rotating + rod * middle + slider * dx**2


def slider_crank(times: ArrayLike) -> Array:
    """(points, 4): slider place and speed, crank angle and rate; torque 0.1 on the crank, from rest at 0."""
    m = SliderCrank()
    q, rate = one_coordinate(m.inertia, lambda q: 0.0 * q, (0.0, 0.0), times, m.torque).T
    return np.column_stack([m.place(q), m.slide(q) * rate, q, rate])


# --- parallelogram and frame ---


class Parallelogram(NamedTuple):
    """At 30 deg from hanging, at rest: the cranks' acceleration and what the ground pins do to them.

    `frequency` is that of small swings, `by_coupler` the acceleration's derivative by the coupler's mass.
    """

    acceleration: float
    frequency: float
    by_coupler: float
    forces: Array


def parallelogram(q: float = math.pi / 6) -> Parallelogram:
    """The coupler (mass 2, length 2) translates with the tips of its cranks on (0, 0) and (2, 0).

    The cranks have mass 1 and length 1: T = (2/3 + m) rate^2 / 2, V = -(1 + m) g cos q, m the coupler's mass.
    """
    ratio = lambda m: (1.0 + m) / (2.0 / 3.0 + m)
    second = -ratio(2.0) * G * math.sin(q)
    by_coupler = -slope(ratio, 2.0)[1] * G * math.sin(q)
    arm = np.array([math.sin(q), -math.cos(q)])
    far, up = np.array([2.0, 0.0]), np.array([0.0, G])
    crank = 0.5 * second * turned(arm) + up
    bodies = [
        Body(0.5 * arm, crank, second / 12.0),
        Body(arm + 0.5 * far, 2.0 * (second * turned(arm) + up)),
        Body(far + 0.5 * arm, crank, second / 12.0),
    ]
    pins = [(-1, 0, 0.0 * far), (0, 1, arm), (2, 1, arm + far), (-1, 2, far)]
    # The motor's torque is asked for to see that it is zero: then the acceleration is right.
    forces, motor = pin_forces(bodies, pins, motor=0)
    assert abs(motor) < 1e-12
    return Parallelogram(second, math.sqrt(ratio(2.0) * G), by_coupler, forces[[0, 3]])


def frame() -> Array:
    """(3, 2): ground on left rod, ground on right rod, left rod on right rod, of two leaning rods at rest.

    Mass 2 and length 1 each, 60 deg from the horizontal, hinged at the apex, feet pinned: no freedom.
    """
    foot = np.array([math.cos(math.pi / 3), 0.0])
    apex = np.array([0.0, math.sin(math.pi / 3)])
    load = np.array([0.0, 2.0 * G])
    bodies = [Body(0.5 * (apex - foot), load), Body(0.5 * (apex + foot), load)]
    return pin_forces(bodies, [(-1, 0, -foot), (-1, 1, foot), (0, 1, apex)])[0]
