"""linkax: differentiable rigid-multibody dynamics in JAX.

The rooms, in reading order; each imports only those above it.

==============  =====================================================================================
`math`          safe functions, quaternions, rotations and their conversions, small linear algebra
`spatial`       vectors, motions, forces, transforms, inertias: structs of scalars, the lane algebra
`joints`        one file = one joint
`model`         description (plain data), topology (static), Model (leaves), builder, traverse (the
                only loops over bodies), library
`io`            URDF and TOML -> description, and back
`kinematics`    poses, velocities, accelerations, Jacobians
`dynamics`      inverse dynamics, mass matrix, forward dynamics, energy, momentum
`forces`        force elements
`system`        System and State: the whole machine; `build`, `load`
`simulate`      integrators, steps, runs
`view`          pages, pictures (imported when used)
`cli`           the `linkax` command
==============  =====================================================================================

Everything is a pure function of one sample that composes with `jax.jit`, `jax.vmap`, `jax.grad` and
`jax.lax.scan`. Models, systems and states are pytrees whose leaves are the physical numbers. Conventions
(angular before linear, quaternions w first, SI units) are on one page, CONVENTIONS.md.
"""

from linkax import io as io
from linkax import math as math
from linkax.dynamics import (
    bias_force as bias_force,
)
from linkax.dynamics import (
    center_of_mass as center_of_mass,
)
from linkax.dynamics import (
    centroidal_momentum as centroidal_momentum,
)
from linkax.dynamics import (
    forward_dynamics as forward_dynamics,
)
from linkax.dynamics import (
    gravity_force as gravity_force,
)
from linkax.dynamics import (
    inverse_dynamics as inverse_dynamics,
)
from linkax.dynamics import (
    kinetic_energy as kinetic_energy,
)
from linkax.dynamics import (
    mass_matrix as mass_matrix,
)
from linkax.dynamics import (
    momentum as momentum,
)
from linkax.dynamics import (
    potential_energy as potential_energy,
)
from linkax.dynamics import (
    solve_mass_matrix as solve_mass_matrix,
)
from linkax.dynamics import (
    total_mass as total_mass,
)
from linkax.forces import AbstractElement as AbstractElement
from linkax.forces import JointDamping as JointDamping
from linkax.io import describe as describe
from linkax.io import write_toml as write_toml
from linkax.kinematics import (
    Kinematics as Kinematics,
)
from linkax.kinematics import (
    frame_poses as frame_poses,
)
from linkax.kinematics import (
    jacobian as jacobian,
)
from linkax.kinematics import (
    jacobian_bias as jacobian_bias,
)
from linkax.kinematics import (
    kinematics as kinematics,
)
from linkax.model import Description as Description
from linkax.model import Model as Model
from linkax.model import library as library
from linkax.simulate import (
    Adaptive as Adaptive,
)
from linkax.simulate import (
    LieMidpoint as LieMidpoint,
)
from linkax.simulate import (
    RungeKutta4 as RungeKutta4,
)
from linkax.simulate import (
    SemiImplicitEuler as SemiImplicitEuler,
)
from linkax.simulate import (
    Status as Status,
)
from linkax.simulate import (
    Trajectory as Trajectory,
)
from linkax.simulate import (
    simulate as simulate,
)
from linkax.simulate import (
    step as step,
)
from linkax.system import (
    State as State,
)
from linkax.system import (
    System as System,
)
from linkax.system import (
    accelerations as accelerations,
)
from linkax.system import (
    build as build,
)
from linkax.system import (
    derivatives as derivatives,
)
from linkax.system import (
    energy as energy,
)
from linkax.system import (
    generalised_forces as generalised_forces,
)
from linkax.system import (
    load as load,
)
from linkax.system import (
    state_of as state_of,
)


__version__ = "0.1.0"
