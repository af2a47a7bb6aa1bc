"""`batched` gives the lanes of `vmap`, whatever the blocks and the devices."""

import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax import library


@pytest.fixture(scope="module")
def lanes():
    """A chain's model and the arguments of 37 lanes."""
    model = lx.build(library.chain(4)).model
    q, v, tau = jax.random.normal(jax.random.key(0), (3, 37, model.nv))
    return model, q, v, tau


@pytest.mark.parametrize("block", [1, 8, 36, 37, 1000, None])
def test_blocks_change_nothing(lanes, block):
    """Whether they divide the number of lanes or not, and whether there is one or many."""
    axes = (None, 0, 0, 0)
    wanted = jax.vmap(lx.forward_dynamics, in_axes=axes)(*lanes)
    found = jax.jit(lx.batched(lx.forward_dynamics, in_axes=axes, block=block))(*lanes)
    np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def test_results_and_arguments_may_be_trees(lanes):
    model, q, v, _ = lanes
    state = jax.vmap(lx.state_of)(q, v)

    def energies(state, model):
        return {
            "kinetic": lx.kinetic_energy(model, state.q, state.v),
            "both": (state.q, lx.potential_energy(model, state.q)),
        }

    wanted = jax.vmap(energies, in_axes=(0, None))(state, model)
    found = lx.batched(energies, in_axes=(0, None), block=10)(state, model)
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_it_differentiates_in_both_modes(lanes):
    """Also with respect to what all lanes share, whose cotangents add up over blocks."""
    model, q, v, tau = lanes
    axes = (None, 0, 0, 0)

    def cost(wrap, model, q):
        return jnp.sum(wrap(lx.inverse_dynamics, in_axes=axes)(model, q, v, tau) ** 2)

    def blocks(f, in_axes):
        return lx.batched(f, in_axes=in_axes, block=10)

    gradients = [
        jax.grad(lambda *x, w=w: cost(w, *x), (0, 1))(model, q) for w in (jax.vmap, blocks)
    ]
    for a, b in zip(*map(jax.tree.leaves, gradients), strict=True):
        np.testing.assert_allclose(
            a, b, rtol=1e-9, atol=1e-9 * (1.0 + float(jnp.abs(b).max(initial=0.0)))
        )
    tangents = [
        jax.jvp(lambda q, w=w: cost(w, model, q), (q,), (jnp.ones_like(q),))[1]
        for w in (jax.vmap, blocks)
    ]
    np.testing.assert_allclose(tangents[0], tangents[1], rtol=1e-10)


def test_a_lane_that_fails_stays_alone(lanes):
    model, q, v, tau = lanes
    bad = q.at[11, 0].set(jnp.nan)
    axes = (None, 0, 0, 0)
    found = lx.batched(lx.forward_dynamics, in_axes=axes, block=8)(model, bad, v, tau)
    wanted = jax.vmap(lx.forward_dynamics, in_axes=axes)(model, q, v, tau)
    others = np.arange(37) != 11
    assert np.isnan(found[11]).any()
    np.testing.assert_allclose(found[others], wanted[others], rtol=1e-12)


def test_wrong_use_is_told(lanes):
    model, q, v, tau = lanes
    with pytest.raises(ValueError, match="`in_axes` must be 0 or None"):
        lx.batched(lx.forward_dynamics, in_axes=(None, 0))(model, q, v, tau)
    with pytest.raises(ValueError, match="`in_axes` must be 0 or None"):
        lx.batched(lx.forward_dynamics, in_axes=(None, 1, 0, 0))(model, q, v, tau)
    with pytest.raises(ValueError, match=r"one leading axis of lanes.*\(36, 4\), \(37, 4\)"):
        lx.batched(lx.forward_dynamics, in_axes=(None, 0, 0, 0))(model, q[1:], v, tau)
    with pytest.raises(ValueError, match="one leading axis of lanes"):
        lx.batched(lambda x: x)(1.0)
    with pytest.raises(ValueError, match="`block` must be at least 1"):
        lx.batched(lambda x: x, block=0)


def test_lanes_are_shared_out_among_devices():
    """In a process with two devices, which must be asked for before the first computation."""
    text = """
        import jax
        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_num_cpu_devices", 2)
        import jax.numpy as jnp
        import numpy as np
        import linkax as lx

        def f(scale, x):
            return scale * jnp.sin(x), jnp.sum(x)

        x = jnp.arange(21.0).reshape(7, 3)
        wanted = jax.vmap(f, in_axes=(None, 0))(2.0, x)
        for block in (None, 1, 3):
            whole = jax.jit(lx.batched(f, in_axes=(None, 0), block=block))
            found = whole(2.0, x)
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-14)
        even = jax.jit(lx.batched(f, in_axes=(None, 0)))(2.0, x[:6])
        assert {d.id for d in even[0].sharding.device_set} == {0, 1}, even[0].sharding
        laid = lx.sharded({"x": x[:6]})["x"]
        assert [s.data.shape for s in laid.addressable_shards] == [(3, 3), (3, 3)]
        np.testing.assert_array_equal(laid, x[:6])
        found = jax.jit(lx.batched(f, in_axes=(None, 0)))(2.0, laid)
        np.testing.assert_allclose(found[1], wanted[1][:6], rtol=1e-14)
        try:
            lx.sharded(x)
        except ValueError as error:
            assert "a multiple of 2 lanes" in str(error) and "are 7" in str(error)
        else:
            raise AssertionError("seven lanes over two devices")
        one = lx.batched(f, in_axes=(None, 0), devices=jax.devices()[1:])(2.0, x)
        np.testing.assert_allclose(one[1], wanted[1])
        print("shared")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(text)],
        capture_output=True,
        text=True,
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "shared"
