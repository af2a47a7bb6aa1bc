"""Functions of time that prescribed motions follow."""

import abc
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from linkax.model.description import ExpressionDescription, HarmonicDescription


class AbstractTimeFunction(eqx.Module):
    """Something that has a value at every time."""

    @abc.abstractmethod
    def value(self, t: Float[Array, ""]) -> Float[Array, "..."]:
        """The value at a time [s], or one for each of several functions side by side."""


class Waves(eqx.Module):
    """Harmonics side by side on the last axis, in their descriptions' terms."""

    amplitude: Float[Array, "... w"]
    frequency: Float[Array, "... w"]  # [Hz]
    phase: Float[Array, "... w"]  # [rad]
    offset: Float[Array, "... w"]

    def total(self, shape: Callable[[Array], Array], t: Float[Array, ""]) -> Float[Array, "..."]:
        """The sum of amplitude * shape(2 pi frequency t + phase) + offset; zero where there are none."""
        angle = (2.0 * np.pi) * self.frequency * t + self.phase
        return jnp.sum(self.amplitude * shape(angle) + self.offset, axis=-1)


class Expression(AbstractTimeFunction):
    """constant + ramp t + sines + cosines; every number is a leaf. Any leading axes hold several of them."""

    constant: Float[Array, "..."]
    ramp: Float[Array, "..."]  # per second
    sine: Waves
    cosine: Waves

    @classmethod
    def of(cls, description: ExpressionDescription, dtype: Any = None) -> "Expression":
        """The expression of a description; `dtype` is float64 where that is enabled, unless given."""
        return jax.tree.map(lambda x: x[0], cls.stacked([description], dtype))

    @classmethod
    def stacked(
        cls, descriptions: Sequence[ExpressionDescription], dtype: Any = None
    ) -> "Expression":
        """Several expressions side by side (k,); those of fewer harmonics are filled up with zero ones."""
        real = jnp.result_type(float) if dtype is None else dtype
        return cls(
            jnp.asarray([d.constant for d in descriptions], real),
            jnp.asarray([d.ramp for d in descriptions], real),
            _waves([d.sine for d in descriptions], real),
            _waves([d.cosine for d in descriptions], real),
        )

    def value(self, t):
        """The sum at t."""
        waves = self.sine.total(jnp.sin, t) + self.cosine.total(jnp.cos, t)
        return self.constant + self.ramp * t + waves


class UserFunction(AbstractTimeFunction):
    """A user's function(t, params) -> a number, or (k,) of them."""

    function: Callable[..., Any] = eqx.field(static=True)
    params: PyTree = None

    def value(self, t):
        """What the function gives, in the precision of t."""
        return jnp.asarray(self.function(t, self.params), t.dtype)


def _waves(lists: Sequence[Sequence[HarmonicDescription]], real) -> Waves:
    table = np.zeros((4, len(lists), max((len(waves) for waves in lists), default=0)))
    for i, waves in enumerate(lists):
        for j, w in enumerate(waves):
            table[:, i, j] = (w.amplitude, w.frequency, w.phase, w.offset)
    return Waves(*(jnp.asarray(x, real) for x in table))
