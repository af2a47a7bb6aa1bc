"""Poses, velocities, accelerations and Jacobians of bodies and points."""

from linkax.kinematics.frames import Kinematics as Kinematics
from linkax.kinematics.frames import kinematics as kinematics
from linkax.kinematics.jacobians import (
    frame_poses as frame_poses,
)
from linkax.kinematics.jacobians import (
    jacobian as jacobian,
)
from linkax.kinematics.jacobians import (
    jacobian_bias as jacobian_bias,
)
