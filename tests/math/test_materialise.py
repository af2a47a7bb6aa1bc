"""`materialise` changes nothing but what the compiler stores."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax.math import materialise


# Subnormal numbers are left out: XLA:CPU flushes them to zero in any arithmetic, this division included.
VALUES = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1.2e-38, 3.4e38, np.pi]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_are_the_same_to_the_bit(dtype):
    x = np.asarray(VALUES, dtype)
    bits = {np.float64: np.uint64, np.float32: np.uint32}[dtype]
    for function in (materialise, jax.jit(materialise), jax.jit(jax.vmap(materialise))):
        np.testing.assert_array_equal(np.asarray(function(jnp.asarray(x))).view(bits), x.view(bits))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_scalars_of_one_sample_are_stored_side_by_side_and_keep_their_bits(dtype):
    """Ten of them in two kernels; one that is not a number harms no other."""
    x = np.asarray(VALUES, dtype)
    bits = {np.float64: np.uint64, np.float32: np.uint32}[dtype]

    def f(x):
        return materialise([x[k] for k in range(len(VALUES))])

    found = np.asarray(jax.jit(f)(jnp.asarray(x)), dtype)
    np.testing.assert_array_equal(found.view(bits), x.view(bits))
    text = jax.jit(lambda x: f(jnp.sin(x) * x)).lower(jnp.asarray(x)).compile().as_text()
    kernels = [line for line in text.splitlines() if " fusion(" in line and '/div"' in line]
    if jax.default_backend() == "cpu":
        assert len(kernels) == 2, text


def test_structural_numbers_pass_untouched():
    tree = materialise((0, 1.0, {"a": jnp.ones(2)}))
    assert tree[0] == 0
    assert isinstance(tree[0], int)
    assert isinstance(tree[1], float)


def test_derivatives_are_those_of_the_identity_in_both_modes_and_of_second_order():
    def f(x):
        a, b = materialise((x * x, jnp.sin(x)))
        return a * b

    def g(x):
        return x * x * jnp.sin(x)

    x = jnp.linspace(-1.0, 2.0, 5)
    for transform in (
        jax.grad,
        jax.jacfwd,
        lambda h: jax.jacfwd(jax.grad(h)),
        lambda h: jax.grad(jax.grad(h)),
    ):
        np.testing.assert_allclose(
            jax.jit(jax.vmap(transform(f)))(x), jax.vmap(transform(g))(x), rtol=1e-14, atol=1e-15
        )


def test_a_branch_without_a_derivative_has_none():
    def f(x):
        a, b = materialise((x, 2.0 * jax.lax.stop_gradient(x)))
        return a * b

    assert float(jax.grad(f)(3.0)) == 6.0


def test_the_compiled_code_keeps_the_value_apart():
    """Two users of one materialised value: the sine is evaluated in one kernel, not in two."""

    def f(x):
        s = materialise(jnp.sin(x))
        return materialise(s + 1.0), materialise(s * 2.0)

    if jax.default_backend() != "cpu":
        pytest.skip("the form of the barrier is that of the CPU")
    text = jax.jit(f).lower(jnp.ones(64)).compile().as_text()
    assert text.count(" sine(") == 1
