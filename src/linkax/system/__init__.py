"""The whole machine: System, State, and how a description becomes one."""

from linkax.system.build import build as build
from linkax.system.build import load as load
from linkax.system.state import State as State
from linkax.system.state import state_of as state_of
from linkax.system.system import (
    System as System,
)
from linkax.system.system import (
    accelerations as accelerations,
)
from linkax.system.system import (
    derivatives as derivatives,
)
from linkax.system.system import (
    energy as energy,
)
from linkax.system.system import (
    generalised_forces as generalised_forces,
)
