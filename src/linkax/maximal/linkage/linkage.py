"""A linkage: bodies, joints and elements as one value, its runs and the reactions in its joints."""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from linkax.constraints.expression import AbstractTimeFunction, UserFunction
from linkax.constraints.joint_rows import JointRows
from linkax.constraints.motion_rows import AngleRows, JointFrames
from linkax.constraints.planar_rows import PlanarBodyRows, PlanarJointRows, PlanarKind
from linkax.constraints.rows import AbstractRows, Constraints, dense_gradient
from linkax.forces.elements import (
    AbstractAxial,
    AbstractTorsional,
    AxialResult,
    ConstantLoads,
    LinearDampers,
    LinearSprings,
    TorsionalDampers,
    TorsionalResult,
    TorsionalSprings,
)
from linkax.forces.loads import AbstractLoad, Gravity, Loads
from linkax.kinematics.bodies import Bodies, State, of_bodies, poses, with_ground
from linkax.maximal.history import History, simulate
from linkax.maximal.linkage.checks import check_coefficient, check_index
from linkax.maximal.linkage.describe import JointType
from linkax.maximal.linkage.merge import merged, results
from linkax.maximal.settings import DEFAULTS, LinearSolver, Settings


GROUND = -1
NO_GRAVITY = (0.0, 0.0, 0.0)


class Linkage(eqx.Module):
    """Bodies on joints, at rest where they were built; `serial` and `closed` build one. Numbers are leaves.

    States are those of the centres of mass. Points of elements are in link axes from the link's origin, those
    of the ground (-1) in the world. `redundant` says that the joints lock more than there is to lock: then
    runs use the solver that bears it, and of the multipliers of such rows the shortest are given.
    """

    bodies: Bodies
    initial: State
    com: Float[Array, "n 3"]  # from the link's origin, link axes [m]
    frames: JointFrames  # of all joints, from the centres of mass
    axial: tuple[AbstractAxial, ...]  # one element each, as they were added
    torsional: tuple[AbstractTorsional, ...]
    pairs: tuple[tuple[int, int], ...] = eqx.field(static=True)  # (parent, child) of each joint
    types: tuple[JointType, ...] = eqx.field(static=True)
    planar: bool = eqx.field(static=True)
    redundant: bool = eqx.field(static=True)

    @property
    def body_count(self) -> int:
        """Number of moving links."""
        return self.bodies.n

    @property
    def joint_count(self) -> int:
        """Number of joints."""
        return len(self.pairs)

    @property
    def constraint_count(self) -> int:
        """Number of rows, and of multipliers, without that of a prescribed motion."""
        return self.constraints.count

    @property
    def axial_element_count(self) -> int:
        """Number of linear springs and dampers."""
        return len(self.axial)

    @property
    def torsional_element_count(self) -> int:
        """Number of torsional springs and dampers."""
        return len(self.torsional)

    @property
    def constraints(self) -> Constraints:
        """The rows: of a planar linkage three for each body first, then joint by joint."""
        groups: list[AbstractRows] = []
        places: list[tuple[tuple[int, ...], ...]] = []
        start = 0
        if self.planar:
            n = self.body_count
            alone = tuple((i,) for i in range(n))
            body_rows = PlanarBodyRows(point=-self.com, bodies=alone)  # pyright: ignore[reportCallIssue]
            groups.append(body_rows)
            places.append(tuple(tuple(range(3 * i, 3 * i + 3)) for i in range(n)))
            start = 3 * n
        by_joint: dict[int, tuple[int, ...]] = {}
        classes = self._classes()
        rows = {
            i: (used, group.rows)
            for indices, group in classes
            for i, used in zip(indices, group.filled, strict=True)
        }
        for i in range(self.joint_count):
            used, size = rows[i]
            by_joint[i] = (*range(start, start + used), *(-1,) * (size - used))
            start += used
        for indices, group in classes:
            groups.append(group)
            places.append(tuple(by_joint[i] for i in indices))
        return Constraints(tuple(groups), tuple(places))

    def _classes(self) -> list[tuple[list[int], JointRows | PlanarJointRows]]:
        """(joints, their rows): in space all together, in the plane of each type that there is."""
        found = []
        kinds = dict.fromkeys(self.types) if self.planar else [None]
        for kind in kinds:
            indices = [i for i, k in enumerate(self.types) if kind in (None, k)]
            index = np.asarray(indices)
            f = jax.tree.map(lambda x, index=index: x[index], self.frames)
            where = dict(
                parent_point=f.parent_point,
                parent_rotation=f.parent_rotation,
                child_point=f.child_point,
                child_rotation=f.child_rotation,
                bodies=tuple(self.pairs[i] for i in indices),
            )
            if kind is not None:
                group = PlanarJointRows(**where, kind=PlanarKind(kind.value))
            else:
                pitch = jnp.zeros_like(f.parent_point[:, 0])
                joints = tuple(k.joint for k in self.types)
                group = JointRows(**where, pitch=pitch, joints=joints)
            found.append((indices, group))
        return found

    # --- elements ---

    def with_linear_spring(
        self, body_a: int, point_a, body_b: int, point_b, stiffness, free_length
    ) -> "Linkage":
        """The linkage with one more spring, stiffness * (length - free length), between two points.

        Raises:
            ValueError: for bodies that are not there or are one, and numbers below zero.
        """
        where = f"Axial element {self.axial_element_count}"
        ends = self._ends(where, body_a, point_a, body_b, point_b)
        k = self._coefficient(stiffness, where, "stiffness")
        length = self._coefficient(free_length, where, "free_length")
        spring = LinearSprings(
            point_a=ends[0],
            point_b=ends[1],
            stiffness=k,
            free_length=length,
            bodies=((int(body_a), int(body_b)),),
        )
        return dataclasses.replace(self, axial=(*self.axial, spring))

    def with_linear_damper(self, body_a: int, point_a, body_b: int, point_b, damping) -> "Linkage":
        """The linkage with one more damper, damping * rate of the length, between two points.

        Raises:
            ValueError: for bodies that are not there or are one, and numbers below zero.
        """
        where = f"Axial element {self.axial_element_count}"
        ends = self._ends(where, body_a, point_a, body_b, point_b)
        c = self._coefficient(damping, where, "damping")
        damper = LinearDampers(
            point_a=ends[0], point_b=ends[1], damping=c, bodies=((int(body_a), int(body_b)),)
        )
        return dataclasses.replace(self, axial=(*self.axial, damper))

    def with_torsional_spring(self, joint: int, stiffness, free_angle=0.0) -> "Linkage":
        """The linkage with one more spring, -stiffness * (angle - free angle), on a revolute joint.

        Raises:
            ValueError: for a joint that is not there or not revolute, and a negative stiffness.
        """
        where = f"Torsional element {self.torsional_element_count}"
        turns, pair = self._hinge(where, joint)
        k = self._coefficient(stiffness, where, "stiffness")
        angle = jnp.asarray(free_angle, self.bodies.dtype).reshape(1)
        spring = TorsionalSprings(
            parent_rotation=turns[0],
            child_rotation=turns[1],
            stiffness=k,
            free_angle=angle,
            bodies=pair,
        )
        return dataclasses.replace(self, torsional=(*self.torsional, spring))

    def with_torsional_damper(self, joint: int, damping) -> "Linkage":
        """The linkage with one more damper, -damping * rate, on a revolute joint.

        Raises:
            ValueError: for a joint that is not there or not revolute, and a negative damping.
        """
        where = f"Torsional element {self.torsional_element_count}"
        turns, pair = self._hinge(where, joint)
        damper = TorsionalDampers(
            parent_rotation=turns[0],
            child_rotation=turns[1],
            damping=self._coefficient(damping, where, "damping"),
            bodies=pair,
        )
        return dataclasses.replace(self, torsional=(*self.torsional, damper))

    def _ends(self, where: str, body_a, point_a, body_b, point_b) -> list[Float[Array, "1 3"]]:
        """Both points from the centres of mass."""
        ends = []
        for key, body, point in (("a", body_a, point_a), ("b", body_b, point_b)):
            check_index(
                body, self.body_count, where, f"body_{key}", "bodies, the ground -1", GROUND
            )
            place = jnp.asarray(point, self.bodies.dtype)
            if place.shape != (3,):
                raise ValueError(
                    f"{where} has point_{key} of shape {place.shape}, but it must be (3,)."
                )
            ends.append((place if body == GROUND else place - self.com[body])[None])
        if body_a == body_b:
            raise ValueError(
                f"{where} has body_a and body_b both {body_a}, but it acts between two bodies."
            )
        return ends

    def _hinge(self, where: str, joint):
        """((rotations of the joint's frames), (bodies,)) of a revolute joint."""
        check_index(joint, self.joint_count, where, "joint", "joints")
        if self.types[joint] is not JointType.REVOLUTE:
            raise ValueError(
                f"{where} is on joint {joint} of type {self.types[joint]}, but it acts on a "
                f"{JointType.REVOLUTE} one."
            )
        one = jax.tree.map(lambda x: x[joint : joint + 1], self.frames)
        return (one.parent_rotation, one.child_rotation), (self.pairs[joint],)

    def _coefficient(self, value, where: str, key: str) -> Float[Array, " 1"]:
        number = jnp.asarray(value, self.bodies.dtype)
        check_coefficient(number, where, key)
        return number[None]

    def axial_results(self, state: State) -> AxialResult:
        """Lengths, their rates and tensions of the linear elements, in the order in which they were added."""
        return results(AxialResult, self.axial, self.bodies, state)

    def torsional_results(self, state: State) -> TorsionalResult:
        """Angles, rates and torques of the torsional elements, in the order in which they were added."""
        return results(TorsionalResult, self.torsional, self.bodies, state)

    def loads(
        self, gravity: Any = NO_GRAVITY, body_force: Any = None, body_torque: Any = None
    ) -> Loads:
        """All that acts on the bodies: weight, constant loads as `solve` takes them, elements.

        Raises:
            ValueError: for arrays of other shapes.
        """
        real = self.bodies.dtype
        parts: list[AbstractLoad] = [Gravity(self._array(gravity, (3,), "gravity"))]
        if body_force is not None or body_torque is not None:
            shape = (self.body_count, 3)
            none = jnp.zeros(shape, real)
            force = none if body_force is None else self._array(body_force, shape, "body_force")
            torque = none if body_torque is None else self._array(body_torque, shape, "body_torque")
            parts.append(ConstantLoads(force, torque))
        parts += [x for _, x in merged(self.axial)]
        parts += [x for _, x in merged(self.torsional)]
        return Loads(tuple(parts))

    def _array(self, value, shape: tuple[int, ...], key: str) -> Array:
        array = jnp.asarray(value, self.bodies.dtype)
        if array.shape != shape:
            raise ValueError(f"`{key}` has shape {array.shape}, but must have shape {shape}.")
        return array

    # --- runs ---

    def solve(
        self,
        dt: float | Float[Array, ""],
        points: int,
        gravity: Any = NO_GRAVITY,
        body_force: Any = None,
        body_torque: Any = None,
        prescribed_body: int | None = None,
        prescribed_motion: Callable[..., Any] | AbstractTimeFunction | None = None,
        params: PyTree = None,
        settings: Settings = DEFAULTS,
        state: State | None = None,
    ) -> History:
        """A run of the linkage by the variational integrator, position-exact on its joints.

        A prescribed motion adds a row at the end, whose multipliers are the actuator's torques [N m].

        Args:
            dt: length of a step [s].
            points: points of the history, the initial one included; static.
            gravity: acceleration (3,) in world axes [m/s^2].
            body_force: constant forces (n, 3) at the centres of mass in world axes [N]; none if None.
            body_torque: constant torques (n, 3) in body axes [N m]; none if None.
            prescribed_body: the body whose planar angle, atan2(R21, R11), is prescribed; one that moves
                in the x-y plane. Ignored without a motion.
            prescribed_motion: the angle as theta(t, params) [rad], or as an Expression.
            params: a pytree of numbers handed to the function; differentiable.
            settings: how steps are solved; a `redundant` linkage is solved rank-tolerantly unless they name a
                solver.
            state: where to start; at rest as built if None.

        Raises:
            ValueError: naming what is wrong, for what can be seen before tracing.
        """
        loads = self.loads(gravity, body_force, body_torque)
        constraints = self.constraints
        start = self.initial if state is None else state
        if prescribed_motion is not None:
            row = self._prescribed(prescribed_body, prescribed_motion, params, start)
            place = (((constraints.count,),),)
            constraints = Constraints((*constraints.groups, row), (*constraints.places, *place))
        if self.redundant and settings.solver is None:
            settings = dataclasses.replace(settings, solver=LinearSolver.RANK_TOLERANT)
        return simulate(self.bodies, start, dt, points, loads, constraints, settings=settings)

    def _prescribed(self, body, motion, params, start: State) -> AngleRows:
        where = "The prescribed motion"
        check_index(body, self.body_count, where, "`prescribed_body`", "bodies")
        if not isinstance(motion, AbstractTimeFunction):
            real = self.bodies.dtype
            held = jax.tree.map(
                lambda x: jnp.asarray(x, real if isinstance(x, float) else None), params
            )
            pure, consts = jax.closure_convert(motion, start.t, held)
            shape = jax.eval_shape(motion, start.t, held).shape
            if shape != ():
                raise ValueError(
                    f"{where} gives an array of shape {shape}, but must give a number."
                )
            motion = UserFunction(lambda t, both: pure(t, both[0], *both[1]), (held, tuple(consts)))
        return AngleRows(motion=motion, bodies=((int(body),),))  # pyright: ignore[reportCallIssue]

    def joint_reactions(
        self, state: State, multipliers: Float[Array, " m"]
    ) -> Float[Array, "joints 6"]:
        """[moment about the joint's centre; force] of each joint on its child, world axes [N m, N].

        The parent feels the opposite about the same point. The centre is the origin of the child's frame.
        Rows that hold bodies in the plane and a prescribed motion's are no part of a reaction.

        Args:
            state: a point of a run.
            multipliers: those of the interval that starts there; a prescribed motion's may be the last.

        Raises:
            ValueError: for another number of multipliers.
        """
        constraints = self.constraints
        m = constraints.count
        if multipliers.shape not in ((m,), (m + 1,)):
            raise ValueError(
                f"`multipliers` has shape {multipliers.shape}, but the linkage has {m} rows, and one more "
                "with a prescribed motion."
            )
        at = with_ground(poses(state.position, state.orientation))
        first = 1 if self.planar else 0
        parts = constraints.split(multipliers[:m])[first:]
        found = jnp.zeros((self.joint_count, 6), state.position.dtype)
        for (indices, rows), part in zip(self._classes(), parts, strict=True):
            reaction = rows.reaction(state.t, of_bodies(at, rows.bodies), part)
            found = found.at[np.asarray(indices)].set(reaction)
        return found


@eqx.filter_jit
def at_start(linkage: Linkage) -> tuple[Float[Array, " m"], Float[Array, "m n 6"]]:
    """(residuals, gradients) of all rows where the linkage starts; compiled, as single calls take seconds."""
    constraints, start = linkage.constraints, linkage.initial
    at = with_ground(poses(start.position, start.orientation))
    rows = constraints.stacked(constraints.residual(start.t, at), start.position.dtype)
    gradients = tuple(constraints.gradient(start.t, at))
    return rows, dense_gradient(constraints, gradients, linkage.body_count)
