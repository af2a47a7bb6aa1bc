"""Models of open trees: descriptions (plain data), topologies (static), leaves, and the traversals."""

from linkax.model import library as library
from linkax.model.abstract import AbstractModel as AbstractModel
from linkax.model.builder import Assembly as Assembly, Marker as Marker, assemble as assemble
from linkax.model.description import (
    BodyDescription as BodyDescription,
    Description as Description,
    ElementDescription as ElementDescription,
    ExpressionDescription as ExpressionDescription,
    ForceDescription as ForceDescription,
    FrameDescription as FrameDescription,
    HarmonicDescription as HarmonicDescription,
    JointDescription as JointDescription,
    LinearDamperDescription as LinearDamperDescription,
    LinearSpringDescription as LinearSpringDescription,
    MarkerDescription as MarkerDescription,
    MimicDescription as MimicDescription,
    MotionDescription as MotionDescription,
    Placement as Placement,
    RunDescription as RunDescription,
    TorqueDescription as TorqueDescription,
    TorsionalDamperDescription as TorsionalDamperDescription,
    TorsionalSpringDescription as TorsionalSpringDescription,
)
from linkax.model.grouping import Compound as Compound, Node as Node, nodes_of as nodes_of
from linkax.model.inputs import conform as conform
from linkax.model.model import Model as Model
from linkax.model.root import with_root as with_root
from linkax.model.topology import Topology as Topology
