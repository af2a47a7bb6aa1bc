"""Single elements side by side, so that a step evaluates all of a kind at once."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from linkax.kinematics.bodies import Bodies, State


def merged(elements: Sequence[Any]) -> list[tuple[list[int], Any]]:
    """(places among the given, one element that holds them all) of each type."""
    found = []
    for kind in dict.fromkeys(type(x) for x in elements):
        places = [i for i, x in enumerate(elements) if type(x) is kind]
        together = [elements[i] for i in places]
        values = {}
        for field in dataclasses.fields(kind):
            parts = [getattr(x, field.name) for x in together]
            values[field.name] = (
                sum(parts, ()) if isinstance(parts[0], tuple) else jnp.concatenate(parts)
            )
        found.append((places, kind(**values)))
    return found


def results(kind, elements: Sequence[Any], bodies: Bodies, at: State) -> Any:
    """The results of all elements in the order given, as one of type `kind`."""
    empty = jnp.zeros((0,), at.position.dtype)
    groups = merged(elements)
    if not groups:
        return kind(*(empty for _ in kind._fields))
    order = np.argsort([i for places, _ in groups for i in places])
    parts = [x.results(bodies, at) for _, x in groups]
    return jax.tree.map(lambda *x: jnp.concatenate(x)[order], *parts)
