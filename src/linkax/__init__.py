"""linkax: differentiable rigid-multibody dynamics in JAX.

The rooms, in reading order; each imports only those above it.

==============  =====================================================================================
`math`          safe functions, quaternions, rotations and their conversions, small linear algebra
`solve`         Newton's method with exact derivatives of its roots, block-sparse elimination,
                pseudo-inverses
`spatial`       vectors, motions, forces, transforms, inertias: structs of scalars, the lane algebra
`joints`        one file = one joint
`model`         description (plain data), topology (static), Model (leaves), builder, traverse (the
                only loops over bodies), library
`io`            URDF and TOML -> description, and back
`kinematics`    poses, velocities, accelerations, Jacobians
`dynamics`      inverse dynamics, mass matrix, forward dynamics, operational space, joint forces, energy,
                momentum
`forces`        force elements
`constraints`   rows of joints, loops and motions; loops by multipliers or embedded; compound bodies
`maximal`       one pose a body: constraint rows, the variational integrator, linkages, minimal <->
                maximal
`system`        System and State: the whole machine; `build`, `load`
`simulate`      integrators, steps, runs, batches
`view`          pages, pictures (imported when used)
`cli`           the `linkax` command
==============  =====================================================================================

Everything is a pure function of one sample that composes with `jax.jit`, `jax.vmap`, `jax.grad` and
`jax.lax.scan`. Models, systems and states are pytrees whose leaves are the physical numbers. Conventions
(angular before linear, quaternions w first, SI units) are on one page, CONVENTIONS.md.
"""

from linkax import constraints as constraints, io as io, math as math, maximal as maximal
from linkax.constraints import (
    AggregatedModel as AggregatedModel,
    EmbeddedModel as EmbeddedModel,
    aggregate as aggregate,
    embed as embed,
    rechart as rechart,
)
from linkax.dynamics import (
    JointForces as JointForces,
    bias_force as bias_force,
    body_compliances as body_compliances,
    center_of_mass as center_of_mass,
    centroidal_momentum as centroidal_momentum,
    consistent_inverse as consistent_inverse,
    effective_mass_matrix as effective_mass_matrix,
    forward_dynamics as forward_dynamics,
    gravity_force as gravity_force,
    hybrid_dynamics as hybrid_dynamics,
    inverse_dynamics as inverse_dynamics,
    joint_forces as joint_forces,
    kinetic_energy as kinetic_energy,
    mass_matrix as mass_matrix,
    momentum as momentum,
    operational_space_compliance as operational_space_compliance,
    potential_energy as potential_energy,
    solve_mass_matrix as solve_mass_matrix,
    total_mass as total_mass,
)
from linkax.forces import AbstractElement as AbstractElement, JointDamping as JointDamping
from linkax.io import describe as describe, write_toml as write_toml
from linkax.kinematics import (
    Kinematics as Kinematics,
    frame_poses as frame_poses,
    jacobian as jacobian,
    jacobian_bias as jacobian_bias,
    kinematics as kinematics,
)
from linkax.maximal import linkage as linkage
from linkax.model import Description as Description, Model as Model, library as library
from linkax.simulate import (
    Adaptive as Adaptive,
    Composition as Composition,
    ImplicitMidpoint as ImplicitMidpoint,
    LieMidpoint as LieMidpoint,
    RungeKutta4 as RungeKutta4,
    SemiImplicitEuler as SemiImplicitEuler,
    Status as Status,
    Trajectory as Trajectory,
    Variational as Variational,
    batched as batched,
    pallas_step as pallas_step,
    sharded as sharded,
    simulate as simulate,
    step as step,
)
from linkax.system import (
    State as State,
    System as System,
    accelerations as accelerations,
    build as build,
    derivatives as derivatives,
    energy as energy,
    generalised_forces as generalised_forces,
    load as load,
    multipliers as multipliers,
    reactions as reactions,
    state_of as state_of,
)


__version__ = "0.1.0"
