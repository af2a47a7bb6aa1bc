"""Universal (Hooke) joint: an angle about x of F, then one about y of M."""

import jax
import jax.numpy as jnp

from linkax.joints.revolute import angle_near
from linkax.joints.vector_space import AbstractVectorJoint
from linkax.math.materialise import materialise
from linkax.math.quaternion import Quaternion, product
from linkax.math.scalar import multiply, negative
from linkax.spatial.motion import Motion
from linkax.spatial.transform import Transform
from linkax.spatial.vector import ZERO, Mat3, Vec3, Y


class Universal(AbstractVectorJoint):
    """q = (first angle about F's x, second angle about M's y) [rad], v = their rates."""

    name = "universal"
    nq = 2
    nv = 2
    coordinate_suffixes = ("first", "second")
    speed_suffixes = ("first", "second")
    locked_positions = (0, 1, 2)
    locked_rotations = (((0, 1, 1.0),),)

    @staticmethod
    def transform(q, travel):
        """Rx(first) Ry(second)."""
        c1, s1, c2, s2 = materialise((jnp.cos(q[0]), jnp.sin(q[0]), jnp.cos(q[1]), jnp.sin(q[1])))
        rotation = Mat3(
            c2, 0, s2,
            multiply(s1, s2), c1, negative(multiply(s1, c2)),
            negative(multiply(c1, s2)), s1, multiply(c1, c2),
        )  # fmt: skip
        return Transform(rotation, ZERO)

    @staticmethod
    def attitude(q, travel):
        """Half the first angle about x, then half the second about y."""
        zero = jnp.zeros_like(q[0])
        first = Quaternion(jnp.cos(0.5 * q[0]), jnp.sin(0.5 * q[0]), zero, zero)
        second = Quaternion(jnp.cos(0.5 * q[1]), zero, jnp.sin(0.5 * q[1]), zero)
        return product(first, second)

    @staticmethod
    def subspace(q, travel):
        """F's x seen in M, (cos second, 0, sin second), and M's y."""
        c, s = materialise((jnp.cos(q[1]), jnp.sin(q[1])))
        return (Motion(Vec3(c, 0, s), ZERO), Motion(Y, ZERO))

    @staticmethod
    def bias(q, v, travel):
        """The first axis turns with the second angle."""
        rate = multiply(v[0], v[1])
        c, s = materialise((jnp.cos(q[1]), jnp.sin(q[1])))
        return Motion(Vec3(negative(multiply(s, rate)), 0, multiply(c, rate)), ZERO)

    @staticmethod
    def coordinates(pose, attitude, near, travel):
        """The angles of Rx Ry."""
        return (
            angle_near(pose.rotation.zy, pose.rotation.yy, near[0]),
            angle_near(pose.rotation.xz, pose.rotation.xx, near[1]),
        )

    @staticmethod
    def neutral():
        """Zero."""
        return (0.0, 0.0)

    @staticmethod
    def random(key, dtype):
        """Uniform over a turn each."""
        return jax.random.uniform(key, (2,), dtype, -jnp.pi, jnp.pi)
