"""Fixed joint: no freedom. The builder merges fixed bodies; this serves models built without merging."""

import jax.numpy as jnp

from linkax.joints.vector_space import AbstractVectorJoint
from linkax.math.quaternion import Quaternion
from linkax.spatial.motion import NO_MOTION
from linkax.spatial.transform import NO_TRANSFORM


class Fixed(AbstractVectorJoint):
    """F and M coincide."""

    name = "fixed"
    nq = 0
    nv = 0
    coordinate_suffixes = ()
    speed_suffixes = ()
    locked_positions = (0, 1, 2)
    locked_rotations = (
        ((2, 1, 0.5), (1, 2, -0.5)),
        ((0, 2, 0.5), (2, 0, -0.5)),
        ((1, 0, 0.5), (0, 1, -0.5)),
    )

    @staticmethod
    def transform(q, travel):
        """The identity."""
        return NO_TRANSFORM

    @staticmethod
    def attitude(q, travel):
        """The identity."""
        return Quaternion(1.0, 0.0, 0.0, 0.0)

    @staticmethod
    def subspace(q, travel):
        """Empty."""
        return ()

    @staticmethod
    def bias(q, v, travel):
        """Zero."""
        return NO_MOTION

    @staticmethod
    def coordinates(pose, attitude, near, travel):
        """None."""
        return ()

    @staticmethod
    def neutral():
        """Empty."""
        return ()

    @staticmethod
    def random(key, dtype):
        """Empty."""
        return jnp.zeros((0,), dtype)
