"""Recursions over nodes: bodies, and compound bodies as one step each (document 004)."""

from linkax.dynamics.nodes.axes import (
    Moving as Moving,
    Placed as Placed,
    accelerated as accelerated,
    moving as moving,
    placed as placed,
    placed_wrenches as placed_wrenches,
    rising as rising,
    stacked as stacked,
    velocity_forces as velocity_forces,
)
from linkax.dynamics.nodes.compliance import (
    between as between,
    body_path as body_path,
    motion_shift as motion_shift,
    node_body_compliances as node_body_compliances,
    node_compliance as node_compliance,
    upsilon_of as upsilon_of,
)
from linkax.dynamics.nodes.layout import Step as Step, steps_of as steps_of
from linkax.dynamics.nodes.matrix import (
    NodeFactor as NodeFactor,
    factor_nodes as factor_nodes,
    factor_steps as factor_steps,
    times as times,
)
from linkax.dynamics.nodes.passes import (
    Filtered as Filtered,
    Motions as Motions,
    drifts_within as drifts_within,
    filter_nodes as filter_nodes,
    smooth_nodes as smooth_nodes,
)
from linkax.dynamics.nodes.solve import (
    Articulated as Articulated,
    articulated_nodes as articulated_nodes,
    forward_over_nodes as forward_over_nodes,
    solve_over_nodes as solve_over_nodes,
    times_mass_matrix as times_mass_matrix,
)
