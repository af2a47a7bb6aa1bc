"""The state of a System in maximal coordinates, beside its tree coordinates."""

import equinox as eqx
from jaxtyping import Array, Float

from linkax import maximal


class MaximalPart(eqx.Module):
    """What the maximal formulation carries in `State.pseudo` from step to step.

    At saved points `multipliers` are those of the interval that begins there.
    """

    state: maximal.State
    multipliers: Float[Array, " m"]
