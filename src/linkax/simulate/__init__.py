"""Steps, runs, integrators and how runs end."""

from linkax.simulate.integrators import (
    INTEGRATORS as INTEGRATORS,
)
from linkax.simulate.integrators import (
    AbstractIntegrator as AbstractIntegrator,
)
from linkax.simulate.integrators import (
    Adaptive as Adaptive,
)
from linkax.simulate.integrators import (
    LieMidpoint as LieMidpoint,
)
from linkax.simulate.integrators import (
    RungeKutta4 as RungeKutta4,
)
from linkax.simulate.integrators import (
    SemiImplicitEuler as SemiImplicitEuler,
)
from linkax.simulate.rollout import (
    Trajectory as Trajectory,
)
from linkax.simulate.rollout import (
    simulate as simulate,
)
from linkax.simulate.rollout import (
    step as step,
)
from linkax.simulate.status import Status as Status
