"""`pallas_step` interpreted gives the step of `vmap`, and it lowers to a Triton kernel without a GPU."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax import library
from linkax.model import MimicDescription


DT = 0.01
BLOCK = 4
MIXED = ("floating", "universal", "prismatic")


def plain(model, q, v, tau, dt):
    """The step as the integrator takes it."""
    v = v + dt * lx.forward_dynamics(model, q, v, tau)
    return model.integrate(q, dt * v), v


def over_lanes(model, q, v, tau):
    dt = jnp.asarray(DT, model.dtype)
    return jax.jit(jax.vmap(plain, in_axes=(None, 0, 0, 0, None)))(model, q, v, tau, dt)


def in_precision(tree, dtype):
    return jax.tree.map(lambda x: x.astype(dtype), tree)


def batch(model, lanes):
    keys = jax.random.split(jax.random.key(1), lanes)
    q = jax.vmap(model.random)(keys)
    v, tau = jax.random.normal(jax.random.key(2), (2, lanes, model.nv), model.dtype)
    return q, v, tau


@pytest.fixture(scope="module")
def chain():
    return lx.build(library.chain(2)).model


@pytest.fixture(scope="module")
def tree():
    """A floating root with two branches of other joints."""
    made = library.random_tree(jax.random.key(29), 3, joints=MIXED, branching=0.9)
    model = lx.build(made).model
    names = [joint.__name__.lower() for joint in model.topology.joints]
    assert names[0] == "floating" and set(names) == set(MIXED)
    assert model.topology.parents == (-1, 0, 0)
    return model


def agrees(model, lanes, rtol):
    q, v, tau = batch(model, lanes)
    found = lx.pallas_step(model, q, v, tau, DT, block=BLOCK, interpret=True)
    for a, b in zip(found, over_lanes(model, q, v, tau), strict=True):
        assert a.dtype == model.dtype
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("lanes", [11, 3])
def test_a_chain_steps_as_by_vmap(chain, lanes):
    """Lanes that leave the last block unfilled, and that do not fill the first."""
    agrees(chain, lanes, 1e-12)


def test_in_single_precision(chain):
    """With lanes that fill their blocks."""
    agrees(in_precision(chain, jnp.float32), 8, 2e-6)


@pytest.mark.slow
def test_a_longer_chain_steps_as_by_vmap():
    """Which `vmap` scans over, where the kernel has every body written out."""
    agrees(lx.build(library.chain(4)).model, 6, 1e-12)


@pytest.mark.slow
def test_a_tree_with_a_floating_root_steps_as_by_vmap(tree):
    agrees(tree, 6, 1e-12)


def test_a_lane_that_fails_stays_alone(chain):
    q, v, tau = batch(chain, 11)
    bad = q.at[10, 0].set(jnp.nan)  # the lane whose copies fill the last block
    found = lx.pallas_step(chain, bad, v, tau, DT, block=BLOCK, interpret=True)
    for a, b in zip(found, over_lanes(chain, q, v, tau), strict=True):
        assert np.isnan(a[10]).any()
        np.testing.assert_allclose(a[:10], b[:10], rtol=1e-12, atol=1e-12)


def lowered(model, lanes, **options):
    """The program for a GPU, which needs none to be written."""
    step = jax.jit(lambda *args: lx.pallas_step(*args, DT, **options))
    traced = step.trace(model, *batch(model, lanes))
    try:
        return traced.lower(lowering_platforms=("cuda",)).as_text()
    except RuntimeError as error:  # from JAX 0.12 on
        if "No supported GPU devices" not in str(error):
            raise
        pytest.skip("this version of JAX lowers to Triton only where there is a GPU")


# From version 0.12 on JAX announces the end of this way to Triton; it still goes.
DEPRECATED = "ignore:The Pallas Triton backend is deprecated"


@pytest.mark.filterwarnings(DEPRECATED)
@pytest.mark.parametrize(("block", "blocks", "warps"), [(128, 3, 4), (1, 300, 1), (1024, 1, 32)])
def test_it_lowers_to_one_triton_kernel(block, blocks, warps):
    chain = lx.build(library.chain(3)).model
    text = lowered(in_precision(chain, jnp.float32), 300, block=block)
    calls = [line for line in text.splitlines() if "custom_call" in line and "triton" in line]
    assert len(calls) == 1
    assert f"grid_x = {blocks} : i32" in calls[0]
    assert f"num_warps = {warps} : i32" in calls[0]


@pytest.mark.filterwarnings(DEPRECATED)
def test_a_floating_root_lowers_too(tree):
    assert "xla.gpu.triton" in lowered(in_precision(tree, jnp.float32), 2)


def test_mimic_joints_are_refused():
    description = library.chain(2)
    description.joints[1].mimic = MimicDescription("joint0")
    model = lx.build(description).model
    with pytest.raises(NotImplementedError, match="cannot step models with mimic joints"):
        lx.pallas_step(model, *batch(model, 2), DT)


def test_a_model_that_cannot_move_stays():
    description = library.chain(1)
    description.joints[0].type = "fixed"
    model = lx.build(description).model
    none = jnp.zeros((3, 0))
    assert [x.shape for x in lx.pallas_step(model, none, none, none, DT)] == [(3, 0), (3, 0)]


# In a process of its own, since the tests' shape-checking hook would refuse the shapes first.
SCRIPT = """
import jax.numpy as jnp
import linkax as lx
model = lx.build(lx.library.double_pendulum()).model
x = jnp.zeros((3, 2))
cases = [
    lambda: lx.pallas_step(model, x, x, x, 0.1, block=96),
    lambda: lx.pallas_step(model, x, x, x, 0.1, block=0),
    lambda: lx.pallas_step(model, x, x, x, 0.1, block=2048),
    lambda: lx.pallas_step(model, x, jnp.zeros((4, 2)), x, 0.1),
    lambda: lx.pallas_step(model, x[:, :1], x, x, 0.1),
    lambda: lx.pallas_step(model, x[0], x[0], x[0], 0.1),
    lambda: lx.pallas_step(model, x[:0], x[:0], x[:0], 0.1),
    lambda: lx.pallas_step(model, x, x, x, x[:, 0]),
]
for case in cases:
    try:
        case()
        print("nothing was refused")
    except ValueError as error:
        print(error)
"""

ROWS = "must have shape (lanes, 2), with as many lanes as `q` and at least one, but has shape"
SENTENCES = [
    "`block` must be a power of two between 1 and 1024, but is 96.",
    "`block` must be a power of two between 1 and 1024, but is 0.",
    "`block` must be a power of two between 1 and 1024, but is 2048.",
    f"`v` {ROWS} (4, 2).",
    f"`q` {ROWS} (3, 1).",
    f"`q` {ROWS} (2,).",
    f"`q` {ROWS} (0, 2).",
    "`dt` must be one number, but has shape (3,).",
]


def test_wrong_use_is_told():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == SENTENCES
