"""The whole machine: System, State, and how a description becomes one."""

from linkax.system.build import build as build, load as load
from linkax.system.maximal_part import MaximalPart as MaximalPart
from linkax.system.reactions import (
    Exerted as Exerted,
    exerted as exerted,
    multipliers as multipliers,
    reactions as reactions,
)
from linkax.system.state import State as State, state_of as state_of
from linkax.system.system import (
    System as System,
    accelerations as accelerations,
    closure as closure,
    constrained_accelerations as constrained_accelerations,
    derivatives as derivatives,
    energy as energy,
    generalised_forces as generalised_forces,
    settled as settled,
)
