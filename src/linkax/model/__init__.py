"""Models of open trees: descriptions (plain data), topologies (static), leaves, and the traversals."""

from linkax.model import library as library
from linkax.model.builder import Assembly as Assembly
from linkax.model.builder import Marker as Marker
from linkax.model.builder import assemble as assemble
from linkax.model.description import (
    BodyDescription as BodyDescription,
)
from linkax.model.description import (
    Description as Description,
)
from linkax.model.description import (
    FrameDescription as FrameDescription,
)
from linkax.model.description import (
    JointDescription as JointDescription,
)
from linkax.model.description import (
    MarkerDescription as MarkerDescription,
)
from linkax.model.description import (
    MimicDescription as MimicDescription,
)
from linkax.model.description import (
    Placement as Placement,
)
from linkax.model.description import (
    RunDescription as RunDescription,
)
from linkax.model.inputs import conform as conform
from linkax.model.model import Model as Model
from linkax.model.root import with_root as with_root
from linkax.model.topology import Topology as Topology
