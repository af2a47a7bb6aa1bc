"""What every joint answers. A joint class is stateless: it is asked, never branched on.

A joint connects the frame F on the parent to the frame M on the child. Each type is written in its own
canonical frame, its axis along z; the model turns that frame onto the joint's real axis. All functions work
on scalars (lanes): `q` is a tuple of `nq` scalars, `v` of `nv`. Angular components come before linear ones.
"""

import abc
from typing import ClassVar, NamedTuple

import jax
from jaxtyping import Array, Float, PRNGKeyArray

from linkax.math.quaternion import Quaternion
from linkax.math.scalar import Scalar
from linkax.spatial.motion import Motion
from linkax.spatial.transform import Transform


Scalars = tuple[Scalar, ...]


class Travel(NamedTuple):
    """What a unit of a one-freedom joint's coordinate does about and along its axis."""

    turn: Scalar  # [rad]
    slide: Scalar  # [m]


class AbstractJoint(abc.ABC):
    """The interface of a joint type; every concrete type is final."""

    name: ClassVar[str]
    nq: ClassVar[int]
    nv: ClassVar[int]
    coordinate_suffixes: ClassVar[
        tuple[str, ...]
    ]  # a one-freedom joint's coordinate bears the joint's name
    speed_suffixes: ClassVar[tuple[str, ...]]
    uses_axis: ClassVar[bool] = (
        False  # whether the canonical z is turned onto the description's axis
    )
    uses_pitch: ClassVar[bool] = False  # whether a unit slides by the description's pitch
    turn: ClassVar[float] = 1  # of a one-freedom joint's unit [rad]
    slide: ClassVar[float] = 0  # of a one-freedom joint's unit [m], where it does not use a pitch
    # What stays zero, as document 002 has it: components of the vector from F's origin to M's, in F, and sums
    # of weighted entries (i, j, weight) of R_FM. A type that uses a pitch locks slide - pitch * angle too.
    locked_positions: ClassVar[tuple[int, ...]] = ()
    locked_rotations: ClassVar[tuple[tuple[tuple[int, int, float], ...], ...]] = ()
    # Of each coordinate whether it is an angle about the axis, else it is the slide along it; () of a type
    # with other coordinates. Only such coordinates can be coupled.
    axial: ClassVar[tuple[bool, ...]] = ()

    @classmethod
    def travel(cls, pitch: Scalar) -> Travel:
        """What the joint's functions are told of it; `pitch` [m/rad] is that of its description."""
        return Travel(cls.turn, pitch if cls.uses_pitch else cls.slide)

    @classmethod
    def locked_rows(cls) -> int:
        """The freedoms that the joint takes: six less its speeds."""
        return len(cls.locked_positions) + len(cls.locked_rotations) + int(cls.uses_pitch)

    @staticmethod
    @abc.abstractmethod
    def transform(q: Scalars, travel: Travel) -> Transform:
        """X_FM. `travel` matters to joints of one freedom only."""

    @staticmethod
    @abc.abstractmethod
    def attitude(q: Scalars, travel: Travel) -> Quaternion:
        """The rotation of `transform` as a unit quaternion, continuous in q over any number of turns."""

    @staticmethod
    @abc.abstractmethod
    def subspace(q: Scalars, travel: Travel) -> tuple[Motion, ...]:
        """The columns of S: the motion of M in F, in M's axes, is S v."""

    @staticmethod
    @abc.abstractmethod
    def bias(q: Scalars, v: Scalars, travel: Travel) -> Motion:
        """The componentwise derivative of S along the motion, times v."""

    @staticmethod
    @abc.abstractmethod
    def rate(q: Scalars, v: Scalars) -> Scalars:
        """The time derivative of q at speeds v."""

    @staticmethod
    @abc.abstractmethod
    def integrate(q: Scalars, dv: Scalars) -> Scalars:
        """The coordinates reached from q by moving with the constant speeds dv for one unit of time."""

    @staticmethod
    @abc.abstractmethod
    def difference(q0: Scalars, q1: Scalars) -> Scalars:
        """The shortest dv with integrate(q0, dv) = q1."""

    @staticmethod
    @abc.abstractmethod
    def coordinates(
        pose: Transform, attitude: Quaternion, near: Scalars, travel: Travel
    ) -> Scalars:
        """The coordinates of a pose X_FM that the joint allows, with its unit quaternion.

        Of those that give the pose the nearest to `near`: angles count turns, quaternions keep their sign.
        """

    @staticmethod
    @abc.abstractmethod
    def neutral() -> tuple[float, ...]:
        """The coordinates at which F and M coincide."""

    @staticmethod
    @abc.abstractmethod
    def random(key: PRNGKeyArray, dtype: jax.typing.DTypeLike) -> Float[Array, " nq"]:
        """Angles uniform over a turn, lengths over [-1, 1] m, rotations over the whole group."""
