"""Constraint rows on bodies and on the joints of trees; loops by multipliers or embedded; compound bodies."""

from linkax.constraints.aggregate import (
    AggregatedModel as AggregatedModel,
    aggregate as aggregate,
)
from linkax.constraints.assembly import (
    Met as Met,
    solve_a as solve_a,
    solve_q as solve_q,
    solve_v as solve_v,
)
from linkax.constraints.body_forces import (
    ForwardForces as ForwardForces,
    InverseDynamicsVectors as InverseDynamicsVectors,
    forward_dynamics_forces as forward_dynamics_forces,
    gathered as gathered,
    inverse_dynamics_vectors as inverse_dynamics_vectors,
)
from linkax.constraints.compounds import (
    base_bodies as base_bodies,
    compound_of as compound_of,
    contains as contains,
    external_children as external_children,
    member_names as member_names,
    physical_bodies as physical_bodies,
    physical_parent as physical_parent,
    scattered_coordinates as scattered_coordinates,
    scattered_speeds as scattered_speeds,
    stacked_coordinates as stacked_coordinates,
    stacked_speeds as stacked_speeds,
)
from linkax.constraints.embed import condition as condition, embed as embed, rechart as rechart
from linkax.constraints.embedded import EmbeddedModel as EmbeddedModel
from linkax.constraints.multipliers import (
    Constrained as Constrained,
    constrained_dynamics as constrained_dynamics,
    embedded_multipliers as embedded_multipliers,
)
from linkax.constraints.of_tree import tree_constraints as tree_constraints
from linkax.constraints.operators import (
    NodeOperators as NodeOperators,
    node_operators as node_operators,
    oframe_to_pframe_phi as oframe_to_pframe_phi,
    oframe_to_pframe_psi as oframe_to_pframe_psi,
    parent_pickup as parent_pickup,
    pframe_to_other_phi as pframe_to_other_phi,
    phi as phi,
    phi_in as phi_in,
    upsilon as upsilon,
)
from linkax.constraints.tree_rows import (
    Couplings as Couplings,
    TreeConstraints as TreeConstraints,
)
