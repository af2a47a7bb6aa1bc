"""Linkages as document 002 has them: links and joints in, a simulation with reactions and elements out.

Indices count from zero; the ground is -1. A linkage is a value: what adds an element returns another one.
"""

from linkax.maximal.linkage.build import closed as closed, serial as serial
from linkax.maximal.linkage.describe import (
    DHRow as DHRow,
    Joint as Joint,
    JointType as JointType,
    Link as Link,
)
from linkax.maximal.linkage.linkage import Linkage as Linkage
from linkax.model.description import Placement as Placement
