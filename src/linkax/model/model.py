"""A model: the physical numbers of a tree of bodies, as leaves, on a static topology."""

import dataclasses
import difflib

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from linkax.model import coordinates
from linkax.model.topology import Topology


class Model(eqx.Module):
    """A tree of rigid bodies; every array is a leaf that may be traced, differentiated and batched.

    Joint i moves body i: X_WB = X_WP X_PF X_FM(q) X_MB, with F on the parent (`parent_*` = X_PF) and M on
    the child (`child_*` = X_BM). Quaternions (w, x, y, z) are normalised where they are used, and so is
    `axis`, given in F. Limits are informative: nothing in a model enforces them.
    """

    mass: Float[Array, " nb"]  # [kg]
    com: Float[Array, "nb 3"]  # centre of mass in body axes from the body-frame origin [m]
    inertia: Float[Array, "nb 3 3"]  # about the centre of mass in body axes [kg m^2]
    parent_position: Float[Array, "nb 3"]
    parent_quaternion: Float[Array, "nb 4"]
    child_position: Float[Array, "nb 3"]
    child_quaternion: Float[Array, "nb 4"]
    axis: Float[Array, "nb 3"]
    pitch: Float[Array, " nb"]  # advance of helical joints [m/rad]
    armature: Float[Array, " tree_nv"]  # reflected rotor inertia [kg m^2 or kg]
    lower: Float[Array, " nq"]
    upper: Float[Array, " nq"]
    gravity: Float[Array, "3"]  # world axes [m/s^2]
    frame_position: Float[Array, "nf 3"]  # X_BF of each named frame
    frame_quaternion: Float[Array, "nf 4"]
    ratio: Float[Array, " nm"]  # mimic joints: q = ratio * q_leader + offset
    offset: Float[Array, " nm"]
    topology: Topology = eqx.field(static=True)

    @property
    def nq(self) -> int:
        """Number of coordinates."""
        return self.topology.nq

    @property
    def nv(self) -> int:
        """Number of speeds."""
        return self.topology.nv

    @property
    def nb(self) -> int:
        """Number of moving bodies; the ground does not count."""
        return self.topology.nb

    @property
    def body_names(self) -> tuple[str, ...]:
        """Moving bodies, parents first."""
        return self.topology.body_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Named frames, among them the links merged by fixed joints."""
        return self.topology.frame_names

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joint i moves body i."""
        return self.topology.joint_names

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """One name a coordinate."""
        return self.topology.coordinate_names

    @property
    def speed_names(self) -> tuple[str, ...]:
        """One name a speed."""
        return self.topology.speed_names

    @property
    def dtype(self):
        """The precision of the leaves."""
        return self.mass.dtype

    def neutral(self) -> Float[Array, " nq"]:
        """The coordinates at which every joint's frames coincide: zeros and identity quaternions."""
        return coordinates.neutral(self.topology, self.dtype)

    def random(self, key: PRNGKeyArray) -> Float[Array, " nq"]:
        """Random coordinates: angles over a turn, slides over [-1, 1] m, rotations uniform; no limits."""
        return coordinates.random(self.topology, key, self.dtype)

    def integrate(self, q: Float[Array, " nq"], dv: Float[Array, " nv"]) -> Float[Array, " nq"]:
        """The coordinates reached from q by moving with the constant speeds dv for one unit of time."""
        return coordinates.integrate(self.topology, q, dv)

    def difference(self, q0: Float[Array, " nq"], q1: Float[Array, " nq"]) -> Float[Array, " nv"]:
        """The shortest dv with integrate(q0, dv) = q1; rotations differ by at most half a turn."""
        return coordinates.difference(self.topology, q0, q1)

    def rate(self, q: Float[Array, " nq"], v: Float[Array, " nv"]) -> Float[Array, " nq"]:
        """The time derivative of q at speeds v."""
        return coordinates.rate(self.topology, q, v)

    def body_index(self, name: str | int) -> int:
        """The index of a body by name; an index in range is returned as it is."""
        return _index("body", name, self.body_names)

    def frame_index(self, name: str | int) -> int:
        """The index of a frame by name; an index in range is returned as it is."""
        return _index("frame", name, self.frame_names)

    def with_unroll(self, unroll: int) -> "Model":
        """The same model whose recursions compile `unroll` bodies side by side (0: all written out)."""
        return dataclasses.replace(self, topology=dataclasses.replace(self.topology, unroll=unroll))


def _index(kind: str, name: str | int, names: tuple[str, ...]) -> int:
    if isinstance(name, int):
        if not 0 <= name < len(names):
            raise ValueError(
                f"There is no {kind} {name}: indices run from 0 to {len(names) - 1} (ground is -1)."
            )
        return name
    if name in names:
        return names.index(name)
    near = difflib.get_close_matches(name, names, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(names[:12])}."
    raise ValueError(f"There is no {kind} `{name}`; {hint}")
