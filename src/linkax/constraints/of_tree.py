"""Described loops and motions as constraint rows on the joints of a tree."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from linkax.constraints.described import coupled_by, in_turn, loop_groups, motion_row
from linkax.constraints.rows import Constraints, in_order
from linkax.constraints.tree_rows import Couplings, TreeConstraints
from linkax.constraints.velocity_rows import COMPONENTS, VelocityRows
from linkax.kinematics.joint_frames import frames_of_loop
from linkax.model import (
    CouplingDescription,
    LoopDescription,
    Model,
    MotionDescription,
    VelocityDescription,
)


def tree_constraints(
    model: Model,
    loops: Sequence[LoopDescription] = (),
    motions: Sequence[MotionDescription] = (),
) -> TreeConstraints:
    """Rows loop by loop, then prescribed motion by motion, in the order given.

    Loops and motions are those of an assembly: on moving bodies, with every length and offset told.
    """
    parts = [_part(model, loop) for loop in loops if not isinstance(loop, CouplingDescription)]
    parts += [in_order([motion_row(model, motion)]) for motion in motions]
    rows = in_turn(parts)
    coupled = [loop for loop in loops if isinstance(loop, CouplingDescription)]
    if not coupled:
        return TreeConstraints(rows)
    return TreeConstraints(rows, _couplings(model, coupled), _places(model, loops, rows.count))


def _part(model: Model, loop: LoopDescription) -> Constraints:
    if not isinstance(loop, VelocityDescription):
        return loop_groups(model, [loop])
    frames, bodies = frames_of_loop(model, loop)
    return in_order(
        [
            VelocityRows(  # pyright: ignore[reportCallIssue]
                parent_point=frames.parent_point,
                parent_rotation=frames.parent_rotation,
                child_point=frames.child_point,
                child_rotation=frames.child_rotation,
                bodies=bodies,
                locked=(tuple(COMPONENTS.index(name) for name in loop.locked),),
            )
        ]
    )


def _couplings(model: Model, loops: Sequence[CouplingDescription]) -> Couplings:
    most = max(len(loop.joints) for loop in loops)
    topology = model.topology
    coefficients, coordinates, speeds = np.zeros((len(loops), most)), [], []
    for i, loop in enumerate(loops):
        found = coupled_by(model, loop)
        coefficients[i, : len(found)] = loop.coefficients
        q = [topology.q_slots.start[c.joint] + c.place for c in found]
        v = [topology.v_slots.start[c.joint] + c.place for c in found]
        # Where there are fewer terms the last one is named again, with a coefficient of zero.
        coordinates.append((*q, *(q[-1],) * (most - len(q))))
        speeds.append((*v, *(v[-1],) * (most - len(v))))
    offsets = jnp.asarray([loop.offset for loop in loops], model.dtype)
    return Couplings(
        jnp.asarray(coefficients, model.dtype), offsets, tuple(coordinates), tuple(speeds)
    )


def _places(model: Model, loops: Sequence[LoopDescription], of_poses: int) -> tuple[int, ...]:
    """Where each row on poses, then each coupling, lies among the multipliers."""
    poses, couplings, start = [], [], 0
    for loop in loops:
        if isinstance(loop, CouplingDescription):
            couplings.append(start)
            start += 1
        else:
            count = _part(model, loop).count
            poses += range(start, start + count)
            start += count
    poses += range(start, start + of_poses - len(poses))
    return (*poses, *couplings)
