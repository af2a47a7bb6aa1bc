"""Arrays of the wrong shape are refused by annotation, before anything is computed."""

import jax.numpy as jnp
import jaxtyping
import pytest

import linkax as lx
from linkax import library


# Types are checked only where the test run installs jaxtyping's import hook.
CHECKED = getattr(lx.forward_dynamics, "__wrapped__", None) is not None
pytestmark = pytest.mark.skipif(not CHECKED, reason="the jaxtyping import hook is not installed")


@pytest.fixture(scope="module")
def model():
    return lx.build(library.chain(3)).model


def zeros(n):
    return jnp.zeros(n)


@pytest.mark.parametrize(
    "call",
    [
        lambda m: lx.forward_dynamics(m, zeros(3), zeros(3), zeros(4)),
        lambda m: lx.forward_dynamics(m, zeros(3), zeros(3), zeros((3, 1))),
        lambda m: lx.forward_dynamics(m, zeros(3), zeros(3), zeros(3), zeros((3, 3))),
        lambda m: lx.inverse_dynamics(m, zeros(3), zeros(3), zeros(2)),
        lambda m: lx.mass_matrix(m, zeros((3, 1))),
        lambda m: lx.kinematics(m, zeros(3), zeros(3), zeros(1)),
        lambda m: lx.momentum(m, zeros((1, 3)), zeros(3)),
        lambda m: m.integrate(zeros((3, 1)), zeros(3)),
    ],
    ids=lambda call: "",
)
def test_a_wrong_shape_is_refused(model, call):
    with pytest.raises(jaxtyping.TypeCheckError):
        call(model)


def test_integers_are_no_coordinates(model):
    with pytest.raises(jaxtyping.TypeCheckError):
        lx.mass_matrix(model, jnp.zeros(3, int))
