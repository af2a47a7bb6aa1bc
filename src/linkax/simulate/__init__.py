"""Steps, runs, integrators and how runs end."""

from linkax.simulate.base import AbstractIntegrator as AbstractIntegrator
from linkax.simulate.batched import batched as batched, sharded as sharded
from linkax.simulate.composition import Composition as Composition
from linkax.simulate.implicit import ImplicitMidpoint as ImplicitMidpoint
from linkax.simulate.integrators import (
    INTEGRATORS as INTEGRATORS,
    Adaptive as Adaptive,
    LieMidpoint as LieMidpoint,
    RungeKutta4 as RungeKutta4,
    SemiImplicitEuler as SemiImplicitEuler,
)
from linkax.simulate.pallas_step import pallas_step as pallas_step
from linkax.simulate.rollout import (
    Trajectory as Trajectory,
    simulate as simulate,
    step as step,
)
from linkax.simulate.status import Status as Status
from linkax.simulate.variational import Variational as Variational
