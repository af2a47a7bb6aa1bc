"""The leaves of a model turned into what recursions use: constant transforms and inertias in joint frames.

Recursions run in frames K, one a body, at the joint, with the joint's axis along z. There a revolute joint's
subspace is a unit vector and costs nothing to multiply by: 15 to 20 % of the arithmetic of forward dynamics
against a general axis. The constants are worked out once a call, all bodies side by side and outside every
scan: one array over the bodies for each number, of which a scan fetches an entry a step. In one table with a
row a body they would cost a single sample twice its time: XLA:CPU starts the kernels of a loop one after
the other, without its thread pool, only where no array that they touch exceeds 512 bytes (forward dynamics of
7 bodies in float64: 270 against 90 us; the gradient of a humanoid: 1.5 against 0.6 ms).
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from linkax.joints import AbstractJoint, Travel
from linkax.math.materialise import materialise
from linkax.math.safe import safe_divide, safe_norm
from linkax.math.stacks import product, rotations, transposed
from linkax.model.model import Model
from linkax.model.topology import GROUND
from linkax.model.traverse import take
from linkax.spatial.inertia import RigidInertia
from linkax.spatial.transform import Transform
from linkax.spatial.vector import Mat3, Sym3, Vec3


Columns = tuple[Float[Array, "*bodies"], ...]


class Constants(NamedTuple):
    """The constants of all bodies, an array over them for each number; a pass takes those that it needs."""

    placement: (
        Columns  # X_KpF, the joint's fixed frame in the parent's K (12), and the joint's travel (2)
    )
    inertia: Columns  # mass, first moment (3), rotational inertia (6), about K's origin in K's axes
    frame: Columns  # X_KB, the body frame in K (12)


def entries(table: Float[Array, "... n"]) -> Columns:
    """The columns of an array as separate arrays."""
    axis = table.ndim - 1
    return tuple(lax.index_in_dim(table, k, axis, keepdims=False) for k in range(table.shape[-1]))


def transform_of(c: Columns) -> Transform:
    """Nine entries of a rotation and three of a translation as a struct."""
    return Transform(Mat3(*c[:9]), Vec3(*c[9:12]))


def inertia_of(c: Columns) -> RigidInertia:
    """`Constants.inertia` of one body as a struct."""
    return RigidInertia(c[0], Vec3(*c[1:4]), Sym3(*c[4:]))


class JointFrame(NamedTuple):
    """Where a joint sits, and its travel."""

    placement: Transform  # X_KpF
    travel: Travel


def joint_frame_of(c: Columns) -> JointFrame:
    """`Constants.placement` of one body as a struct."""
    return JointFrame(transform_of(c), Travel(*c[12:]))


def joint_pose(joint: type[AbstractJoint], at: JointFrame, q) -> Transform:
    """X_up: the body's frame K in its parent's."""
    return at.placement @ joint.transform(q, at.travel)


def restored_pose(joint: type[AbstractJoint], at: JointFrame, q, rotation: Mat3) -> Transform:
    """`joint_pose` from its stored rotation.

    The translation is recomputed: it is a constant for a revolute joint, and three values less a body to
    store and fetch again.
    """
    R, p = at.placement
    return Transform(rotation, p + R @ joint.transform(q, at.travel).translation)


def vec3(x: Array) -> Vec3:
    """The columns of an array (..., 3) as a struct."""
    return Vec3(x[..., 0], x[..., 1], x[..., 2])


def mat3(x: Array) -> Mat3:
    """An array (..., 3, 3) as a struct."""
    return Mat3(*(x[..., i, j] for i in range(3) for j in range(3)))


def aligned(axis: Float[Array, "n 3"]) -> Float[Array, "n 3 3"]:
    """Rotations that take z onto the axes, whatever their length; the identity for z.

    For an axis in the upper half space it is the smallest such rotation; the lower half space uses the
    mirrored form, so that it is smooth in every direction except across the x-y plane, where only the
    (irrelevant) rotation about the axis jumps (Duff et al., J. Computer Graphics Techniques 6(1), 2017).
    """
    unit = safe_divide(axis, safe_norm(axis)[:, None])
    z = unit[:, 2, None, None]
    s = jnp.where(z >= 0.0, jnp.ones_like(z), -jnp.ones_like(z))
    identity = jnp.eye(3, dtype=axis.dtype)[None]
    up = identity[:, 2]
    across = unit * (1.0 - up)
    signed = across * jnp.where(identity[:, 0] > 0.0, s[:, :, 0], 1.0)
    # diag(1, s, z) + across up^T - up signed^T - across signed^T/(s + z)
    diagonal = jnp.concatenate([jnp.ones_like(s), s, z], axis=1) * identity
    tilt = across[:, :, None] * (up[:, None] - signed[:, None] / (s + z))
    return diagonal + tilt - up[:, :, None] * signed[:, None]


def joint_turns(model: Model) -> Float[Array, "nb 3 3"]:
    """From each joint's canonical frame to F: onto the axis for the types that have one."""
    uses = jnp.asarray([joint.uses_axis for joint in model.topology.joints], bool)
    identity = jnp.eye(3, dtype=model.dtype)[None]
    return jnp.where(uses[:, None, None], aligned(model.axis), identity)


def travels(model: Model) -> Float[Array, "nb 2"]:
    """Each joint's turn and slide a unit of its coordinate."""
    joints = model.topology.joints
    at_zero = np.asarray([joint.travel(0.0) for joint in joints], float).reshape(-1, 2)
    at_one = np.asarray([joint.travel(1.0) for joint in joints], float).reshape(-1, 2)
    constant, slope = (jnp.asarray(x, model.dtype) for x in (at_zero, at_one - at_zero))
    return constant + slope * model.pitch[:, None]


def constants_of(model: Model) -> Constants:
    """All bodies' constants, in the order of the bodies."""
    nb, parents = model.nb, model.topology.parents
    turn, child, parent = materialise(
        (joint_turns(model), rotations(model.child_quaternion), rotations(model.parent_quaternion))
    )
    to_K, R_PF = materialise((transposed(product(child, turn)), product(parent, turn)))
    p_KB = materialise(-product(to_K, model.child_position[:, :, None]))

    def of_parent(x: Array, ground: Array) -> Array:
        extended = jnp.concatenate([x, ground[None]])
        return take(extended, [nb if p == GROUND else p for p in parents])

    R_parent = of_parent(to_K, jnp.eye(3, dtype=model.dtype))
    p_parent = of_parent(p_KB, jnp.zeros((3, 1), model.dtype))
    R = product(R_parent, R_PF)
    p = p_parent + product(R_parent, model.parent_position[:, :, None])
    h, rotational = _inertia(model, to_K, p_KB)
    tables = (
        jnp.concatenate([R.reshape(nb, 9), p[:, :, 0], travels(model)], axis=1),
        jnp.concatenate([model.mass[:, None], h[:, :, 0], rotational], axis=1),
        jnp.concatenate([to_K.reshape(nb, 9), p_KB[:, :, 0]], axis=1),
    )
    return Constants(*(entries(table) for table in tables))


def _inertia(model: Model, R: Array, p: Array) -> tuple[Array, Array]:
    """First moments (nb, 3, 1) and rotational inertias (nb, 6) about K's origins in K's axes."""
    symmetric = 0.5 * (model.inertia + transposed(model.inertia))
    com, half = materialise((p + product(R, model.com[:, :, None]), product(R, symmetric)))
    central = product(half, transposed(R))
    square = jnp.sum(com * com, axis=1, keepdims=True) * jnp.eye(3, dtype=model.dtype)[None]
    i = central + model.mass[:, None, None] * (square - com * jnp.swapaxes(com, -1, -2))
    six = i.reshape(-1, 9)[:, np.asarray([0, 4, 8, 1, 2, 5])]
    return com * model.mass[:, None, None], six
