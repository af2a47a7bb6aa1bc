"""Models of open trees: descriptions (plain data), topologies (static), leaves, and the traversals."""

from linkax.model import library as library
from linkax.model.builder import Assembly as Assembly, Marker as Marker, assemble as assemble
from linkax.model.description import (
    BodyDescription as BodyDescription,
    Description as Description,
    FrameDescription as FrameDescription,
    JointDescription as JointDescription,
    MarkerDescription as MarkerDescription,
    MimicDescription as MimicDescription,
    Placement as Placement,
    RunDescription as RunDescription,
)
from linkax.model.inputs import conform as conform
from linkax.model.model import Model as Model
from linkax.model.root import with_root as with_root
from linkax.model.topology import Topology as Topology
