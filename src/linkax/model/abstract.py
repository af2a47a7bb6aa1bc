"""What the functions of kinematics and dynamics ask of a model, whatever its speeds stand for."""

import abc
from typing import TYPE_CHECKING

import equinox as eqx
from jaxtyping import Array, Float, PRNGKeyArray

from linkax.model.grouping import Node
from linkax.model.naming import index_of


if TYPE_CHECKING:
    from linkax.model.model import Model


class AbstractModel(eqx.Module):
    """Bodies on a spanning tree, moved by `nv` independent speeds.

    The functions of `kinematics` and `dynamics` know nothing else of a model than its tree and how its
    speeds spread over the tree's: v_tree = X(q) v. For a plain `Model` they are the same.
    """

    @property
    @abc.abstractmethod
    def tree(self) -> "Model":
        """The spanning tree, with speeds of its own."""

    @property
    @abc.abstractmethod
    def nodes(self) -> tuple[Node, ...] | None:
        """The bodies and compound bodies of a recursion, parents first; None where all are plain."""

    @property
    @abc.abstractmethod
    def nq(self) -> int:
        """Number of coordinates."""

    @property
    @abc.abstractmethod
    def nv(self) -> int:
        """Number of independent speeds."""

    @property
    @abc.abstractmethod
    def speed_names(self) -> tuple[str, ...]:
        """One name a speed."""

    # --- independent speeds and those of the tree ---

    def at(self, q: Float[Array, " nq"]) -> "AbstractModel":
        """The model with what depends on q alone worked out, for functions that need it several times."""
        del q
        return self

    @abc.abstractmethod
    def tree_coordinates(self, q: Float[Array, " nq"]) -> Float[Array, " tree_nq"]:
        """The coordinates of all joints of the tree, mimic joints among them."""

    @abc.abstractmethod
    def tree_speeds(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"]
    ) -> Float[Array, " tree_nv"]:
        """X(q) v: the speeds of all joints of the tree."""

    @abc.abstractmethod
    def tree_accelerations(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], a: Float[Array, " nv"] | None
    ) -> Float[Array, " tree_nv"]:
        """X a + (dX/dt) v; a is zero if None."""

    @abc.abstractmethod
    def project(self, q: Float[Array, " nq"], x: Float[Array, "tree_nv ..."]) -> Array:
        """X(q)^T x along the first axis: forces on the tree's speeds as forces on the independent ones."""

    @abc.abstractmethod
    def spread(self, q: Float[Array, " nq"]) -> tuple[Float[Array, "_n _i"] | None, ...] | None:
        """X(q) node by node (speeds of the node's joints, its independent ones); None for the identity."""

    # --- coordinates ---

    @abc.abstractmethod
    def neutral(self) -> Float[Array, " nq"]:
        """The coordinates to start from where none are given."""

    @abc.abstractmethod
    def random(self, key: PRNGKeyArray) -> Float[Array, " nq"]:
        """Random coordinates that the model can have."""

    @abc.abstractmethod
    def integrate(self, q: Float[Array, " nq"], dv: Float[Array, " nv"]) -> Float[Array, " nq"]:
        """The coordinates reached from q by moving with the constant speeds dv for one unit of time."""

    @abc.abstractmethod
    def difference(self, q0: Float[Array, " nq"], q1: Float[Array, " nq"]) -> Float[Array, " nv"]:
        """The shortest dv with integrate(q0, dv) = q1."""

    @abc.abstractmethod
    def rate(self, q: Float[Array, " nq"], v: Float[Array, " nv"]) -> Float[Array, " nq"]:
        """The time derivative of q at speeds v."""

    # --- what is the tree's ---

    @property
    def node_speeds(self) -> tuple[tuple[int, ...], ...] | None:
        """For each node, which of the model's speeds are its independent ones, in the order of X's columns.

        The speeds of its joints, as for X = 1; a model that spreads its speeds otherwise says how.
        """
        nodes = self.nodes
        return None if nodes is None else tuple(n.speeds(self.tree.topology) for n in nodes)

    @property
    def nb(self) -> int:
        """Number of moving bodies; the ground does not count."""
        return self.tree.topology.nb

    @property
    def dtype(self):
        """The precision of the leaves."""
        return self.tree.mass.dtype

    @property
    def body_names(self) -> tuple[str, ...]:
        """Moving bodies, parents first."""
        return self.tree.topology.body_names

    @property
    def frame_names(self) -> tuple[str, ...]:
        """Named frames, among them the links merged by fixed joints."""
        return self.tree.topology.frame_names

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Joint i moves body i."""
        return self.tree.topology.joint_names

    @property
    def coordinate_names(self) -> tuple[str, ...]:
        """One name a coordinate."""
        return self.tree.topology.coordinate_names

    def body_index(self, name: str | int) -> int:
        """The index of a body by name; an index in range is returned as it is."""
        return index_of("body", name, self.body_names)

    def frame_index(self, name: str | int) -> int:
        """The index of a frame by name; an index in range is returned as it is."""
        return index_of("frame", name, self.frame_names)
