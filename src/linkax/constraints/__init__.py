"""Constraint rows on bodies: joints, loops, distances, couplings, prescribed motions; and compound bodies."""

from linkax.constraints.aggregate import (
    AggregatedModel as AggregatedModel,
    aggregate as aggregate,
)
