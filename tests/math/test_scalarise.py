"""`scalarise` gives what `vmap` gives, in elementwise operations on vectors of lanes only."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from linkax.math import materialise, sinc_of_square
from linkax.math.scalarise import scalarise


LANES = 5


def evaluated(function, shared, *lane, **options):
    """The outputs of `scalarise`, put together to arrays with leading lanes."""
    like = [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in lane]
    code = scalarise(function, shared, like)
    entries = [column for x in lane for column in x.reshape(LANES, -1).T]
    out = iter(code(entries, **options))
    arrays = [
        jnp.stack([next(out) for _ in range(int(np.prod(shape)))], axis=1).reshape(LANES, *shape)
        for shape in code.shapes
    ]
    assert next(out, None) is None
    return jax.tree.unflatten(code.structure, arrays)


def agrees(function, shared, *lane, rtol=1e-14, **options):
    found = jax.jit(lambda s, *x: evaluated(function, s, *x, **options))(shared, *lane)
    wanted = jax.vmap(function, in_axes=(None, 0))(shared, list(lane))
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol)


@pytest.fixture(scope="module")
def matrices():
    """Two matrices of all lanes, and of each lane a matrix and a vector."""
    keys = jax.random.split(jax.random.key(0), 4)
    shapes = [(3, 4), (2, 3, 3), (LANES, 3, 4), (LANES, 4)]
    return [jax.random.normal(key, shape) for key, shape in zip(keys, shapes, strict=True)]


def rearranged(shared, lane):
    """Slices, joins and turns of lane values, shared ones and numbers among them."""
    A, _ = shared
    B, x = lane
    rows = jnp.concatenate([B[1:, ::2], A[:2, :2], jnp.zeros((1, 2))], axis=0)
    piles = jnp.stack([x, A[0], jnp.arange(4.0)], axis=1)
    first, second = jnp.split(x[::-1], [1])
    picked = x[np.asarray([3, 0, 0, 2])] + lax.dynamic_slice(x, (1,), (1,))
    spread = jnp.broadcast_to(x[:, None], (4, 2)).T.reshape(2, 2, 2)
    return {"rows": rows, "piles": piles, "pieces": (first, second, picked), "spread": spread}


def computed(shared, lane):
    """Products, sums and choices."""
    A, C = shared
    B, x = lane
    batched = jnp.einsum("kij,jm->kim", C, B)
    sums = (jnp.sum(B, axis=0), jnp.max(B), jnp.min(B, axis=1), jnp.prod(x))
    flags = (jnp.all(B > -9.0), jnp.any(B > 0.0, axis=1), ~(x < 0.0))
    chosen = jnp.where(x > 0.0, jnp.sin(x), A[1] ** 3)
    shared_flag = (jnp.where(A[0] > 0.0, x, -x), (A[0] > 0.0) & (x > 0.0))
    known = jnp.where(np.asarray([True, False, True, False]), x, 2.0 * x)
    return A @ x, A.T @ B, batched, sums, flags, chosen, shared_flag, known


def nested(shared, lane):
    """Calls of every kind, results that no lane changes, and whole numbers."""
    A, _ = shared
    B, x = lane
    inner = jax.jit(lambda y: materialise(y) * jnp.trace(A[:, :3]))
    held = jax.checkpoint(lambda y: jnp.cos(y) + A[0])
    series = sinc_of_square(x * x)  # a custom_jvp
    ruled = jax.custom_vjp(lambda y: y * y)
    ruled.defvjp(lambda y: (y * y, y), lambda y, ct: (2.0 * y * ct,))
    count = jnp.sum(B > 0.0, dtype=jnp.int32) + jnp.argmax(A[0]).astype(jnp.int32)
    return inner(x), held(x), series, ruled(x), count, A[0], jnp.ones(2), x


@pytest.mark.parametrize("function", [rearranged, computed, nested])
def test_the_lanes_of_vmap(matrices, function):
    A, C, B, x = matrices
    agrees(function, (A, C), B, x)


def test_values_can_be_stored_and_are_not_unless_asked_for(matrices):
    A, C, B, x = matrices
    agrees(nested, (A, C), B, x, store=True)

    def stores(store):
        run = jax.make_jaxpr(lambda s, *y: evaluated(nested, s, *y, store=store))
        return "materialise" in str(run((A, C), B, x))

    assert stores(True)
    assert not stores(False)


def test_precision_is_kept(matrices):
    A, C, B, x = (y.astype(jnp.float32) for y in matrices)
    agrees(computed, (A, C), B, x, rtol=1e-5)


def test_lane_code_has_vectors_only_and_shared_work_is_outside(matrices):
    A, C, B, x = matrices
    like = [jax.ShapeDtypeStruct(y.shape[1:], y.dtype) for y in (B, x)]
    code = scalarise(lambda s, y: computed((jnp.exp(s[0]), s[1]), y), (A, C), like)
    vector = jnp.zeros(8)
    constants = [jnp.zeros((), c.dtype) for c in code.constants]

    def kernel(constants, entries):
        return code(entries, lambda group, k: constants[group])

    inside = jax.make_jaxpr(kernel)(constants, [vector] * 16)
    for eqn in inside.eqns:
        assert {v.aval.shape for v in eqn.outvars} <= {(8,)}, eqn
    names = {eqn.primitive.name for eqn in inside.eqns}
    assert "sin" in names
    assert "exp" not in names
    # Numbers used by no lane operation are not among the constants.
    assert [c.dtype for c in code.constants] == [jnp.float64, jnp.int32]


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda s, x: lax.scan(lambda c, y: (c + y, c), s, x[0])[1], "operation `scan` on values"),
        (lambda s, x: jnp.linalg.cholesky(jnp.outer(x[0], x[0])), "operation `cholesky` on values"),
        (lambda s, x: x[0][jnp.argsort(s * jnp.ones(4))], "the indices of `gather` known"),
        (lambda s, x: jnp.sum(x[0][:0]), "a sum of no terms"),
        (lambda s, x: x[0].at[jnp.asarray([7])].get(mode="fill"), "an index out of bounds"),
    ],
)
def test_what_has_no_rule_is_named(function, words):
    with pytest.raises(NotImplementedError, match=words):
        evaluated(function, jnp.asarray(1.0), jnp.ones((LANES, 4)))


def test_the_number_of_entries_is_checked():
    code = scalarise(lambda s, x: s * x, jnp.asarray(2.0), jax.ShapeDtypeStruct((3,), float))
    with pytest.raises(ValueError, match="takes 3 entries, but was given 2"):
        code([jnp.zeros(2)] * 2)
