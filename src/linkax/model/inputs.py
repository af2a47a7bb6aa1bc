"""States and forces as the functions of a model take them: of the right shape, in the model's precision."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from linkax.model.abstract import AbstractModel


_MEANING = {
    "q": "one entry a coordinate",
    "v": "one entry a speed",
    "a": "one entry a speed",
    "tau": "one generalised force a speed",
    "b": "one entry a speed",
    "wrenches": "six entries a body",
}


def conform(model: AbstractModel, **arrays) -> list:
    """The arrays in the order given, checked for shape and cast to the model's precision; None stays None.

    A `ValueError` names the argument, its shape and the right one.
    """
    return [None if x is None else _conformed(model, name, x) for name, x in arrays.items()]


def _conformed(model: AbstractModel, name: str, x) -> Array:
    wanted = {"q": (model.nq,), "wrenches": (model.nb, 6)}.get(name, (model.nv,))
    shape = np.shape(x)
    if shape != wanted:
        batch = " Use `jax.vmap` for a batch." if shape[-len(wanted) :] == wanted else ""
        raise ValueError(
            f"`{name}` must have shape {wanted}, {_MEANING[name]}, but has shape {shape}.{batch}"
        )
    return jnp.asarray(x, model.dtype)
