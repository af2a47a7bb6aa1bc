"""Force elements: springs, dampers and constant loads, k of a kind side by side.

Points are from a body's centre of mass in its axes; those of the ground (-1) are world points. Source:
document 002, linear and torsional elements.
"""

import abc
from typing import NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.forces.loads import AbstractLoad
from linkax.kinematics.bodies import Poses, State, of_bodies, poses, with_ground
from linkax.math.safe import safe_arctan2, safe_divide, safe_norm
from linkax.math.stacks import apply, apply_transposed, cross, dot, product, transposed
from linkax.solve.block_sparse import added, gathered


Pairs = tuple[tuple[int, int], ...]


class AxialResult(NamedTuple):
    """What axial elements do at a state; a tension is positive."""

    length: Float[Array, " k"]  # [m]
    length_rate: Float[Array, " k"]  # [m/s]
    force: Float[Array, " k"]  # [N]


class TorsionalResult(NamedTuple):
    """What torsional elements do at a state; the torque acts on the child about the parent's joint axis."""

    angle: Float[Array, " k"]  # in (-pi, pi] [rad]
    rate: Float[Array, " k"]  # [rad/s]
    torque: Float[Array, " k"]  # [N m]


# --- between two points ---


class AbstractAxial(AbstractLoad):
    """Elements that pull two points of two bodies together along the line between them.

    Where the points coincide the line has no direction and the force is zero, with finite derivatives.
    """

    point_a: eqx.AbstractVar[Float[Array, "k 3"]]
    point_b: eqx.AbstractVar[Float[Array, "k 3"]]
    bodies: eqx.AbstractVar[Pairs]

    @abc.abstractmethod
    def tension(self, length: Float[Array, " k"], rate: Float[Array, " k"]) -> Float[Array, " k"]:
        """The force [N] at lengths [m] and their rates [m/s]."""

    def results(self, bodies, at: State) -> AxialResult:
        """Lengths, rates and forces at a state, as the loads of a step use them."""
        del bodies
        return self._pull(at)[0]

    def wrenches(self, bodies, at):
        """+f u on a and -f u on b, u from a to b."""
        result, u, pair = self._pull(at)
        force = result.force[:, None] * u
        on_a = _at_point(pair.rotation[:, 0], self.point_a, force)
        on_b = _at_point(pair.rotation[:, 1], self.point_b, -force)
        return _on_bodies(bodies.n, self.bodies, jnp.stack([on_a, on_b], axis=1))

    def _pull(self, at: State) -> tuple[AxialResult, Float[Array, "k 3"], Poses]:
        """(results; unit vectors from a to b; the poses of both bodies)."""
        pair, velocity, spin = _moving(at, self.bodies)
        ends = []
        for i, point in enumerate((self.point_a, self.point_b)):
            R = pair.rotation[:, i]
            carried = velocity[:, i] + apply(R, cross(spin[:, i], point))
            ends.append((pair.position[:, i] + apply(R, point), carried))
        (p_a, v_a), (p_b, v_b) = ends
        d = p_b - p_a
        length = safe_norm(d)
        u = safe_divide(d, length[:, None])
        rate = dot(v_b - v_a, u)
        return AxialResult(length, rate, self.tension(length, rate)), u, pair


class LinearSprings(AbstractAxial):
    """Springs: stiffness * (length - free length), in tension and in compression."""

    point_a: Float[Array, "k 3"]  # [m]
    point_b: Float[Array, "k 3"]  # [m]
    stiffness: Float[Array, " k"]  # [N/m]
    free_length: Float[Array, " k"]  # [m]
    bodies: Pairs = eqx.field(static=True)  # (a, b) of each; -1 is the ground

    def tension(self, length, rate):
        """Hooke's law."""
        return self.stiffness * (length - self.free_length)

    def potential_energy(self, bodies, at):
        """Half the stiffness times the squared stretch."""
        stretch = self._pull(at)[0].length - self.free_length
        return 0.5 * jnp.sum(self.stiffness * stretch * stretch)


class LinearDampers(AbstractAxial):
    """Dampers: damping * rate of the length."""

    point_a: Float[Array, "k 3"]  # [m]
    point_b: Float[Array, "k 3"]  # [m]
    damping: Float[Array, " k"]  # [N s/m]
    bodies: Pairs = eqx.field(static=True)  # (a, b) of each; -1 is the ground

    def tension(self, length, rate):
        """Along the line only."""
        return self.damping * rate


# --- about a joint ---


class AbstractTorsional(AbstractLoad):
    """Elements on revolute joints: a moment about the joint's z axis on the child, less it on the parent.

    The angle is atan2(T21, T11) of T, the child's joint frame in the parent's: it jumps where it passes half
    a turn, and so does a spring's torque.
    """

    parent_rotation: eqx.AbstractVar[Float[Array, "k 3 3"]]
    child_rotation: eqx.AbstractVar[Float[Array, "k 3 3"]]
    bodies: eqx.AbstractVar[Pairs]

    @abc.abstractmethod
    def torque(self, angle: Float[Array, " k"], rate: Float[Array, " k"]) -> Float[Array, " k"]:
        """The moment [N m] on the child at angles [rad] and their rates [rad/s]."""

    def results(self, bodies, at: State) -> TorsionalResult:
        """Angles, rates and torques at a state, as the loads of a step use them."""
        del bodies
        return self._turn(at)[0]

    def wrenches(self, bodies, at):
        """The torque about the parent's joint axis."""
        result, axis, pair = self._turn(at)
        moment = result.torque[:, None] * axis
        on_parent = -apply_transposed(pair.rotation[:, 0], moment)
        on_child = apply_transposed(pair.rotation[:, 1], moment)
        both = jnp.stack([on_parent, on_child], axis=1)
        whole = jnp.concatenate([both, jnp.zeros_like(both)], axis=-1)
        return _on_bodies(bodies.n, self.bodies, whole)

    def _turn(self, at: State) -> tuple[TorsionalResult, Float[Array, "k 3"], Poses]:
        """(results; joint axes in the world; the poses of both bodies)."""
        pair, _, spin = _moving(at, self.bodies)
        R_parent, R_child = pair.rotation[:, 0], pair.rotation[:, 1]
        F = product(R_parent, self.parent_rotation)
        T = product(transposed(F), product(R_child, self.child_rotation))
        angle = safe_arctan2(T[:, 1, 0], T[:, 0, 0])
        axis = F[:, :, 2]
        rate = dot(axis, apply(R_child, spin[:, 1]) - apply(R_parent, spin[:, 0]))
        return TorsionalResult(angle, rate, self.torque(angle, rate)), axis, pair


class TorsionalSprings(AbstractTorsional):
    """Springs: -stiffness * (angle - free angle)."""

    parent_rotation: Float[Array, "k 3 3"]  # joint frame to the parent's axes
    child_rotation: Float[Array, "k 3 3"]  # joint frame to the child's axes
    stiffness: Float[Array, " k"]  # [N m/rad]
    free_angle: Float[Array, " k"]  # [rad]
    bodies: Pairs = eqx.field(static=True)  # (parent, child) of each; -1 is the ground

    def torque(self, angle, rate):
        """Towards the free angle."""
        return -self.stiffness * (angle - self.free_angle)

    def potential_energy(self, bodies, at):
        """Half the stiffness times the squared turn from the free angle."""
        off = self._turn(at)[0].angle - self.free_angle
        return 0.5 * jnp.sum(self.stiffness * off * off)


class TorsionalDampers(AbstractTorsional):
    """Dampers: -damping * rate."""

    parent_rotation: Float[Array, "k 3 3"]  # joint frame to the parent's axes
    child_rotation: Float[Array, "k 3 3"]  # joint frame to the child's axes
    damping: Float[Array, " k"]  # [N m s/rad]
    bodies: Pairs = eqx.field(static=True)  # (parent, child) of each; -1 is the ground

    def torque(self, angle, rate):
        """Against the rate."""
        return -self.damping * rate


# --- constant ---


class PointForces(AbstractLoad):
    """Forces that are constant in world axes, each on a point of a body."""

    point: Float[Array, "k 3"]  # [m]
    force: Float[Array, "k 3"]  # world axes [N]
    bodies: tuple[int, ...] = eqx.field(static=True)

    def wrenches(self, bodies, at):
        """The force and its moment about the centre of mass."""
        R = self._rotation(at)
        whole = _at_point(R, self.point, self.force)
        return _on_bodies(bodies.n, tuple((b,) for b in self.bodies), whole[:, None])

    def potential_energy(self, bodies, at):
        """-f . p, zero with the points at the world origin."""
        p = at.position[np.asarray(self.bodies, int)] + apply(self._rotation(at), self.point)
        return -jnp.sum(self.force * p)

    def _rotation(self, at: State) -> Float[Array, "k 3 3"]:
        index = np.asarray(self.bodies, int)
        return poses(at.position[index], at.orientation[index]).rotation


class BodyTorques(AbstractLoad):
    """Torques that are constant in the axes of their bodies."""

    torque: Float[Array, "k 3"]  # body axes [N m]
    bodies: tuple[int, ...] = eqx.field(static=True)

    def wrenches(self, bodies, at):
        """The torques."""
        whole = jnp.concatenate([self.torque, jnp.zeros_like(self.torque)], axis=-1)
        return _on_bodies(bodies.n, tuple((b,) for b in self.bodies), whole[:, None])


class ConstantLoads(AbstractLoad):
    """One constant force and one constant torque a body, as document 002's linkage solver takes them."""

    force: Float[Array, "n 3"]  # at the centre of mass, world axes [N]
    torque: Float[Array, "n 3"]  # body axes [N m]

    def wrenches(self, bodies, at):
        """Both side by side."""
        return jnp.concatenate([self.torque, self.force], axis=-1)

    def potential_energy(self, bodies, at):
        """-f . x of the forces; torques that turn with their body store nothing."""
        return -jnp.sum(self.force * at.position)


# --- bodies ---


def _moving(at: State, bodies: Pairs) -> tuple[Poses, Float[Array, "k 2 3"], Float[Array, "k 2 3"]]:
    """(poses; velocities, world axes; angular velocities, body axes) of the elements' bodies."""
    index = np.asarray(bodies, int)
    still = jnp.zeros((1, 3), at.position.dtype)
    pair = of_bodies(with_ground(poses(at.position, at.orientation)), bodies)
    velocity = jnp.concatenate([at.velocity, still])[index]
    return pair, velocity, jnp.concatenate([at.angular_velocity, still])[index]


def _at_point(rotation, point, force) -> Float[Array, "k 6"]:
    """The wrench about the centre of mass of a force in world axes at a point in body axes."""
    return jnp.concatenate([cross(point, apply_transposed(rotation, force)), force], axis=-1)


def _on_bodies(
    n: int, bodies: tuple[tuple[int, ...], ...], wrenches: Float[Array, "k a 6"]
) -> Float[Array, "n 6"]:
    """The sum on each body of what the elements do to theirs; what acts on the ground is dropped."""
    total = jnp.zeros((n, 6), wrenches.dtype)
    owners = [b for pair in bodies for b in pair]
    kept = [i for i, b in enumerate(owners) if b >= 0]
    if not kept:
        return total
    flat = wrenches.reshape(-1, 6)
    return added(total, [owners[i] for i in kept], gathered(flat, kept))
