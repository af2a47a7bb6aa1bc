"""Inverse and forward dynamics, mass matrix, operational space, joint forces, energy, momentum of trees."""

from linkax.dynamics.energy import (
    center_of_mass as center_of_mass,
    centroidal_momentum as centroidal_momentum,
    kinetic_energy as kinetic_energy,
    mechanical_energy as mechanical_energy,
    momentum as momentum,
    potential_energy as potential_energy,
    total_mass as total_mass,
)
from linkax.dynamics.factor import TreeFactor as TreeFactor, factor_tree as factor_tree
from linkax.dynamics.forward import (
    forward_dynamics as forward_dynamics,
    solve_mass_matrix as solve_mass_matrix,
)
from linkax.dynamics.hybrid import hybrid_dynamics as hybrid_dynamics
from linkax.dynamics.inverse import (
    bias_force as bias_force,
    gravity_force as gravity_force,
    inverse_dynamics as inverse_dynamics,
)
from linkax.dynamics.joint_forces import JointForces as JointForces, joint_forces as joint_forces
from linkax.dynamics.mass import mass_matrix as mass_matrix
from linkax.dynamics.nodes import node_compliance as node_compliance
from linkax.dynamics.operational import (
    consistent_inverse as consistent_inverse,
    effective_mass_matrix as effective_mass_matrix,
    operational_space_compliance as operational_space_compliance,
)
from linkax.dynamics.upsilon import body_compliances as body_compliances
