"""Described loops and motions as constraint rows on the joints of a tree."""

from collections.abc import Sequence

from linkax.constraints.described import joint_loop_rows, motion_row, together
from linkax.constraints.rows import AbstractRows, in_order
from linkax.constraints.tree_rows import TreeConstraints
from linkax.model import JointDescription, Model, MotionDescription


def tree_constraints(
    model: Model,
    loops: Sequence[JointDescription] = (),
    motions: Sequence[MotionDescription] = (),
) -> TreeConstraints:
    """Rows loop by loop, then prescribed motion by motion, in the order given."""
    groups: list[AbstractRows] = []
    if loops:
        groups.append(together([joint_loop_rows(model, loop) for loop in loops]))
    groups += [motion_row(model, motion) for motion in motions]
    return TreeConstraints(in_order(groups))
