"""What the functions of a model refuse, and in which words; in a process without the shape-checking hook."""

import subprocess
import sys

import pytest


SCRIPT = """
import jax, jax.numpy as jnp
jax.config.update("jax_enable_x64", True)
import linkax as lx
model = lx.build(lx.library.double_pendulum()).model
q, v = model.neutral(), jnp.zeros(2)
cases = [
    lambda: lx.forward_dynamics(model, jnp.zeros(3), v, v),
    lambda: lx.inverse_dynamics(model, q, jnp.zeros((5, 2)), v),
    lambda: lx.mass_matrix(model, jnp.zeros(())),
    lambda: lx.kinematics(model, q, jnp.zeros(7)),
    lambda: lx.solve_mass_matrix(model, q, jnp.zeros(1)),
    lambda: lx.forward_dynamics(model, q, v, v, wrenches=jnp.zeros((2, 3))),
    lambda: lx.jacobian(model, q, "nobody"),
    lambda: lx.jacobian(model, q, model.body_names[0], point=(0.0, 1.0)),
]
for case in cases:
    try:
        case()
        print("nothing was refused")
    except ValueError as error:
        print(str(error))
single = lx.forward_dynamics(model, [0.1, 0.2], [0, 1], (0.0, 0.0))
print(single.dtype, single.shape)
"""

SENTENCES = [
    "`q` must have shape (2,), one entry a coordinate, but has shape (3,).",
    "`v` must have shape (2,), one entry a speed, but has shape (5, 2). Use `jax.vmap` for a batch.",
    "`q` must have shape (2,), one entry a coordinate, but has shape ().",
    "`v` must have shape (2,), one entry a speed, but has shape (7,).",
    "`b` must have shape (2,), one entry a speed, but has shape (1,).",
    "`wrenches` must have shape (2, 6), six entries a body, but has shape (2, 3).",
    "There is no body `nobody`;",
    "A point has three components, but `point` has shape (2,).",
]


@pytest.fixture(scope="module")
def said():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("number", range(len(SENTENCES)))
def test_a_wrong_input_is_refused_in_one_sentence(said, number):
    assert said[number].startswith(SENTENCES[number])


def test_lists_and_whole_numbers_become_arrays_of_the_models_precision(said):
    assert said[-1] == "float64 (2,)"
