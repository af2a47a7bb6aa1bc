"""Steps, runs, integrators and how runs end."""

from linkax.simulate.batched import batched as batched, sharded as sharded
from linkax.simulate.integrators import (
    INTEGRATORS as INTEGRATORS,
    AbstractIntegrator as AbstractIntegrator,
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
