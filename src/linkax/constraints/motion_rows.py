"""Prescribed motions and couplings: rows whose multipliers are the actuators' torques and forces.

A coordinate of a joint is the angle atan2(T21, T11) of T, the child's joint frame M in the parent's F, or the
slide along F's z axis from F's origin to M's. Angles are compared without whole turns.
"""

import enum
import math
from collections.abc import Sequence
from fractions import Fraction

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.constraints.expression import AbstractTimeFunction
from linkax.constraints.joint_rows import frames_between, pair_gradient, turning, wrapped
from linkax.constraints.rows import AbstractRows
from linkax.kinematics.bodies import Poses
from linkax.kinematics.joint_frames import JointFrames
from linkax.math.safe import safe_arctan2, safe_divide, safe_norm
from linkax.math.stacks import apply, apply_transposed, dot


class Coordinate(enum.Enum):
    """Which coordinate of a joint a row is about."""

    ANGLE = "angle"  # about z [rad]
    SLIDE = "slide"  # along z [m]


class AngleRows(AbstractRows):
    """The planar angle atan2(R21, R11) of each body follows a function; the multiplier is a torque."""

    motion: AbstractTimeFunction  # of all instances [rad]
    bodies: tuple[tuple[int], ...] = eqx.field(static=True)

    @property
    def rows(self) -> int:
        """One."""
        return 1

    def residual(self, t, at):
        """Angle less function."""
        x = at.rotation[:, 0, :, 0]
        return wrapped(safe_arctan2(x[:, 1], x[:, 0]) - _followed(self, t))[:, None]

    def gradient(self, t, at):
        """The world's z axis, where the body's x axis lies in the plane."""
        R = at.rotation[:, 0]
        turn = apply_transposed(R, turning(R[:, :, 0]))
        return jnp.concatenate([turn, jnp.zeros_like(turn)], axis=-1)[:, None, None, :]


class CoordinateRows(AbstractRows):
    """A coordinate of each joint follows a function; the multiplier is the actuator's torque or force.

    Points and rotations are those of `JointRows`.
    """

    parent_point: Float[Array, "k 3"]  # [m]
    parent_rotation: Float[Array, "k 3 3"]
    child_point: Float[Array, "k 3"]  # [m]
    child_rotation: Float[Array, "k 3 3"]
    motion: AbstractTimeFunction  # of all instances [rad or m]
    bodies: tuple[tuple[int, int], ...] = eqx.field(static=True)  # (parent, child) of each
    coordinate: Coordinate = eqx.field(static=True)

    @property
    def rows(self) -> int:
        """One."""
        return 1

    def residual(self, t, at):
        """Coordinate less function."""
        off = _coordinate(self, self.coordinate, at) - _followed(self, t)
        return (wrapped(off) if self.coordinate is Coordinate.ANGLE else off)[:, None]

    def gradient(self, t, at):
        """The moment about, or the force along, F's z axis."""
        return _coordinate_gradient(self, self.coordinate, at)


class CouplingRows(AbstractRows):
    """The sum of coefficient * coordinate of c joints, plus an offset, is zero.

    A row with multiplier one acts on each joint like an actuator of its coefficient.

    Angles are known up to whole turns, which shift the sum by whole multiples of 2 pi times the greatest
    common divisor of the angles' coefficients: `turn_of` finds it, and multiples of it are taken off the
    residual. Where the coefficients have no such divisor the sum is right only while all angles but that of
    the smallest coefficient stay within half a turn.
    """

    joints: tuple[JointFrames, ...]  # c times k frames
    coefficients: Float[Array, "k c"]
    offset: Float[Array, " k"]  # [unit of the terms]
    turn: Float[Array, " k"]  # what is taken off in whole multiples; zero for nothing
    bodies: tuple[tuple[int, ...], ...] = eqx.field(static=True)  # (parent, child) of every joint
    coordinates: tuple[Coordinate, ...] = eqx.field(static=True)  # c times

    @property
    def rows(self) -> int:
        """One."""
        return 1

    def residual(self, t, at):
        """The sum, without whole turns."""
        off = self.offset
        for i, (joint, coordinate) in enumerate(zip(self.joints, self.coordinates, strict=True)):
            own = _coordinate(joint, coordinate, _pair(at, i))
            off = off + self.coefficients[:, i] * own
        return (off - self.turn * jnp.round(safe_divide(off, self.turn)))[:, None]

    def gradient(self, t, at):
        """Of all joints' coordinates."""
        parts = [
            self.coefficients[:, i, None, None, None]
            * _coordinate_gradient(joint, coordinate, _pair(at, i))
            for i, (joint, coordinate) in enumerate(zip(self.joints, self.coordinates, strict=True))
        ]
        return jnp.concatenate(parts, axis=2)


# The largest denominator that a ratio of coefficients is taken to have, and to which fraction of it.
DENOMINATOR, SAME_RATIO = 1000, 1e-9


def turn_of(coefficients: Sequence[float], coordinates: Sequence[Coordinate]) -> float:
    """What a coupling's sum does not see: 2 pi times the greatest common divisor of the angles' coefficients.

    There is one where the ratios of coefficients to the smallest are fractions with denominators up to
    1000, whole ratios of gears among them; of others the smallest coefficient stands for it. Zero where no
    coordinate is an angle.
    """
    pairs = zip(coefficients, coordinates, strict=True)
    sizes = [abs(float(c)) for c, of in pairs if of is Coordinate.ANGLE and c != 0.0]
    if not sizes:
        return 0.0
    unit = min(sizes)
    ratios = [Fraction(size / unit).limit_denominator(DENOMINATOR) for size in sizes]
    if any(
        abs(float(ratio) * unit - size) > SAME_RATIO * size
        for ratio, size in zip(ratios, sizes, strict=True)
    ):
        return 2.0 * math.pi * unit
    # One of the ratios is 1, so that no numerator but 1 divides all.
    return 2.0 * math.pi * unit / math.lcm(*(ratio.denominator for ratio in ratios))


class DistanceRows(AbstractRows):
    """The distance of two points of two bodies is a length; the multiplier is the rod's thrust [N].

    Points are from the centres of mass in body axes; those of the ground are world points. The points must
    not coincide: a distance of zero has no direction.
    """

    point_a: Float[Array, "k 3"]  # [m]
    point_b: Float[Array, "k 3"]  # [m]
    length: Float[Array, " k"]  # [m]
    bodies: tuple[tuple[int, int], ...] = eqx.field(static=True)  # (a, b) of each

    @property
    def rows(self) -> int:
        """One."""
        return 1

    def residual(self, t, at):
        """Distance less length."""
        _, d = self._rod(at)
        return (safe_norm(d) - self.length)[:, None]

    def gradient(self, t, at):
        """A unit force on b along the rod, the opposite on a."""
        arm, d = self._rod(at)
        u = safe_divide(d, safe_norm(d)[:, None])[:, None]
        return pair_gradient(at, arm, self.point_b, u, jnp.zeros_like(u))

    def _rod(self, at: Poses) -> tuple[Float[Array, "k 3"], Float[Array, "k 3"]]:
        """(point of a from its body's centre of mass; point of b from that of a), world axes."""
        arm = apply(at.rotation[:, 0], self.point_a)
        far = at.position[:, 1] + apply(at.rotation[:, 1], self.point_b)
        return arm, far - at.position[:, 0] - arm


def _followed(rows: AngleRows | CoordinateRows, t: Float[Array, ""]) -> Float[Array, " k"]:
    return jnp.broadcast_to(rows.motion.value(t), (len(rows.bodies),))


def _pair(at: Poses, i: int) -> Poses:
    """The poses of parent and child of the i-th joint of each instance."""
    return jax.tree.map(lambda x: x[:, 2 * i : 2 * i + 2], at)


def _frames(j: JointFrames | CoordinateRows, at: Poses):
    return frames_between(j.parent_point, j.parent_rotation, j.child_point, j.child_rotation, at)


def _coordinate(
    joints: JointFrames | CoordinateRows, coordinate: Coordinate, at: Poses
) -> Float[Array, " k"]:
    F, M, p, _ = _frames(joints, at)
    if coordinate is Coordinate.SLIDE:
        return dot(F[:, :, 2], p)
    x = apply_transposed(F, M[:, :, 0])
    return safe_arctan2(x[:, 1], x[:, 0])


def _coordinate_gradient(
    joints: JointFrames | CoordinateRows, coordinate: Coordinate, at: Poses
) -> Float[Array, "k 1 2 6"]:
    F, M, p, r_parent = _frames(joints, at)
    zero = jnp.zeros_like(p)
    if coordinate is Coordinate.SLIDE:
        n, u = F[:, :, 2], zero
    else:
        n, u = zero, apply(F, turning(apply_transposed(F, M[:, :, 0])))
    return pair_gradient(at, r_parent + p, joints.child_point, n[:, None], u[:, None])
