"""Second derivatives of forward dynamics are the differences of its gradient."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differences import CHEAPLY, OFFSETS, WEIGHTS, directions

import linkax as lx


STILL = (".lower", ".upper", ".frame_position", ".frame_quaternion", ".pitch")


@pytest.mark.slow
def test_the_derivative_of_the_gradient_is_its_difference_in_all_leaves_at_once(hinges, draw_point):
    """Forward over reverse, through the scans and the derivative rule, regular and singular lanes in one."""
    model = hinges.model
    drawn = draw_point(hinges, 5)
    at = {"model": model} | {k: drawn[k] for k in ("q", "v", "tau")}
    zeros = jnp.zeros_like(drawn["v"])
    upright = eqx.tree_at(lambda m: m.axis, model, jnp.zeros_like(model.axis).at[:, 2].set(-1.0))
    rest = {"model": upright, "q": model.neutral(), "v": zeros, "tau": zeros}
    half = at | {"q": jnp.full((model.nq,), np.pi), "v": zeros}
    points = [at, rest, half]
    _, ways = directions(at, still=STILL, together=1)
    weights = jnp.linspace(0.5, 1.5, model.nv)

    def cost(x):
        return weights @ lx.forward_dynamics(x["model"], x["q"], x["v"], x["tau"])

    lanes = jax.tree.map(lambda *x: jnp.stack(x), *points)
    way = jax.tree.map(lambda d: d[0], ways)

    def moved(x, scale):
        return jax.tree.map(lambda a, d: jnp.where(d == 0.0, a, a + scale * d), x, way)

    def both(x):
        gradient = jax.grad(cost)
        _, second = jax.jvp(gradient, (x,), (way,))
        sides = jax.vmap(lambda s: gradient(moved(x, s)))(jnp.asarray(OFFSETS))
        return second, jax.tree.map(lambda g: jnp.tensordot(WEIGHTS, g, 1), sides)

    second, sides = jax.jit(jax.vmap(both), compiler_options=CHEAPLY)(lanes)
    for (path, ours), wanted in zip(
        jax.tree_util.tree_leaves_with_path(second), jax.tree.leaves(sides), strict=True
    ):
        size = 1.0 + float(jnp.abs(wanted).max(initial=0.0))
        np.testing.assert_allclose(ours / size, wanted / size, atol=1e-6, err_msg=str(path))
