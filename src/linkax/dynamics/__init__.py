"""Inverse dynamics, mass matrix, forward dynamics, energy and momentum of open trees."""

from linkax.dynamics.energy import (
    center_of_mass as center_of_mass,
)
from linkax.dynamics.energy import (
    centroidal_momentum as centroidal_momentum,
)
from linkax.dynamics.energy import (
    kinetic_energy as kinetic_energy,
)
from linkax.dynamics.energy import (
    momentum as momentum,
)
from linkax.dynamics.energy import (
    potential_energy as potential_energy,
)
from linkax.dynamics.energy import (
    total_mass as total_mass,
)
from linkax.dynamics.forward import (
    forward_dynamics as forward_dynamics,
)
from linkax.dynamics.forward import (
    solve_mass_matrix as solve_mass_matrix,
)
from linkax.dynamics.inverse import (
    bias_force as bias_force,
)
from linkax.dynamics.inverse import (
    gravity_force as gravity_force,
)
from linkax.dynamics.inverse import (
    inverse_dynamics as inverse_dynamics,
)
from linkax.dynamics.mass import mass_matrix as mass_matrix
