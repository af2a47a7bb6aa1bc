"""Force elements: springs, dampers, friction, actuators, contact; so far the linear damping of joints."""

from linkax.forces.base import AbstractElement as AbstractElement
from linkax.forces.joint_damping import JointDamping as JointDamping
