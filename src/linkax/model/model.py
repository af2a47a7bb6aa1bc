"""A model: the physical numbers of a tree of bodies, as leaves, on a static topology."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from linkax.model import coordinates
from linkax.model.abstract import AbstractModel
from linkax.model.grouping import Node
from linkax.model.topology import Topology


class Model(AbstractModel):
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
    def speed_names(self) -> tuple[str, ...]:
        """One name a speed."""
        return self.topology.speed_names

    @property
    def tree(self) -> "Model":
        """Itself."""
        return self

    @property
    def nodes(self) -> tuple[Node, ...] | None:
        """None: all bodies are plain."""
        return None

    def tree_coordinates(self, q):
        """The coordinates, and those of the mimic joints."""
        return coordinates.expand(self.topology, q, self.ratio, self.offset, "nq")

    def tree_speeds(self, q, v):
        """The speeds, and those of the mimic joints."""
        return coordinates.expand(self.topology, v, self.ratio, None, "nv")

    def tree_accelerations(self, q, v, a):
        """The accelerations, and those of the mimic joints."""
        rates = jnp.zeros_like(v) if a is None else a
        return coordinates.expand(self.topology, rates, self.ratio, None, "nv")

    def project(self, q, x):
        """Forces on mimic joints act on their leaders."""
        return coordinates.project(self.topology, x, self.ratio)

    def spread(self, q):
        """None: the speeds are the tree's."""
        return

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

    def with_unroll(self, unroll: int) -> "Model":
        """The same model whose recursions compile `unroll` bodies side by side (0: all written out)."""
        return dataclasses.replace(self, topology=dataclasses.replace(self.topology, unroll=unroll))
