"""Poses, velocities, accelerations and Jacobians of bodies and points."""

from linkax.kinematics.frames import Kinematics as Kinematics, kinematics as kinematics
from linkax.kinematics.jacobians import (
    frame_poses as frame_poses,
    jacobian as jacobian,
    jacobian_bias as jacobian_bias,
)
