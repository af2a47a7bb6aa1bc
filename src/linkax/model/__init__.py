"""Models of open trees: descriptions (plain data), topologies (static), leaves, and the traversals."""

from linkax.model import library as library
from linkax.model.abstract import AbstractModel as AbstractModel
from linkax.model.axial import (
    AxialCoordinate as AxialCoordinate,
    axial_coordinates as axial_coordinates,
)
from linkax.model.builder import Assembly as Assembly, Marker as Marker, assemble as assemble
from linkax.model.description import (
    DRIVES as DRIVES,
    LOOPS as LOOPS,
    VELOCITY_COMPONENTS as VELOCITY_COMPONENTS,
    BodyDescription as BodyDescription,
    CouplingDescription as CouplingDescription,
    Description as Description,
    DifferentialDescription as DifferentialDescription,
    DistanceDescription as DistanceDescription,
    DriveDescription as DriveDescription,
    ElementDescription as ElementDescription,
    ExpressionDescription as ExpressionDescription,
    ForceDescription as ForceDescription,
    FrameDescription as FrameDescription,
    GearDescription as GearDescription,
    HarmonicDescription as HarmonicDescription,
    JointDescription as JointDescription,
    LinearDamperDescription as LinearDamperDescription,
    LinearSpringDescription as LinearSpringDescription,
    LoopDescription as LoopDescription,
    MarkerDescription as MarkerDescription,
    MimicDescription as MimicDescription,
    MotionDescription as MotionDescription,
    Placement as Placement,
    RotorDescription as RotorDescription,
    RunDescription as RunDescription,
    TorqueDescription as TorqueDescription,
    TorsionalDamperDescription as TorsionalDamperDescription,
    TorsionalSpringDescription as TorsionalSpringDescription,
    VelocityDescription as VelocityDescription,
)
from linkax.model.drives import expand_drives as expand_drives, made_by as made_by
from linkax.model.grouping import Compound as Compound, Node as Node, nodes_of as nodes_of
from linkax.model.inputs import conform as conform
from linkax.model.model import Model as Model
from linkax.model.root import with_root as with_root
from linkax.model.topology import Topology as Topology
