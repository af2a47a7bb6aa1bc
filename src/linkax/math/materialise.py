"""One primitive that makes the compiler compute a value once and store it.

XLA:CPU fuses elementwise producers into every consumer and evaluates them again there. In a recursion each
level uses the previous one several times, so run and compile time grow by a factor a level: an unmaterialised
chain of 3, 4 and 7 bodies took 0.3 ms, 23 ms and 2 s on the same batch. Values that have several consumers
are therefore passed through `materialise`.
"""

import jax
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir
from jaxtyping import Array, Float, PyTree


# A primitive of our own, and not `lax.platform_dependent`: that traces a conditional with both lowerings at
# every use, which was half of the tracing time of a gradient.
_materialise_p = Primitive("materialise")
_materialise_p.multiple_results = True


def materialise(tree: PyTree) -> PyTree:
    """The identity, to the bit and in derivatives; each leaf is stored by the compiler, not recomputed.

    Leaves are floating-point arrays; Python numbers (structural zeros and ones) pass untouched. Subnormal
    numbers are flushed to zero on CPU, as by all of XLA's arithmetic there. Lowered as a
    division by an opaque one on CPU, and as an optimisation barrier on accelerators.
    """
    leaves, treedef = jax.tree.flatten(tree)
    # By identity: an entry that stands at several places is one kernel to compile, not several.
    arrays = {id(leaf): leaf for leaf in leaves if not isinstance(leaf, (int, float))}
    if not arrays:
        return tree
    stored = dict(zip(arrays, _materialise_p.bind(*arrays.values()), strict=True))
    return jax.tree.unflatten(treedef, [stored.get(id(leaf), leaf) for leaf in leaves])


def is_materialise(primitive: Primitive, *_, **__) -> bool:
    """Whether an operation is `materialise`: a policy for `jax.checkpoint`, to keep what is stored anyway."""
    return primitive is _materialise_p


def _opaque_one(x: Float[Array, "..."]) -> Float[Array, "..."]:
    """One wherever x is a number, in a form that the compiler cannot fold; two for nan, which stays nan."""
    return lax.select(lax.eq(x, x), lax.full_like(x, 1), lax.full_like(x, 2))


# Scalars stored by one kernel. XLA does not fuse what makes the operands into a concatenation of more.
_PACKED = 8


def _divide_by_one(*leaves: Array) -> list[Array]:
    # A quotient with several users counts as too dear to be evaluated again. Division by a literal one, by
    # optimization_barrier(1.0) or the barrier itself were all removed before fusion and changed nothing.
    # Each leaf makes its own divisor: one shared by all would pull the whole expression of the leaf it is
    # made from into every other leaf's kernel, which doubled the code of a recursion.
    if any(leaf.ndim for leaf in leaves) or len({leaf.dtype for leaf in leaves}) > 1:
        return [lax.div(leaf, _opaque_one(leaf)) for leaf in leaves]
    # One sample, not a batch: a kernel a scalar costs more to start than to run. Side by side in groups they
    # are 109 kernels a body of forward dynamics instead of 157, and a humanoid takes 0.6 of the time.
    out: list[Array] = []
    for start in range(0, len(leaves), _PACKED):
        group = [lax.broadcast(leaf, (1,)) for leaf in leaves[start : start + _PACKED]]
        packed = lax.concatenate(group, 0)
        packed = lax.div(packed, _opaque_one(packed))
        out += [lax.index_in_dim(packed, k, keepdims=False) for k in range(len(group))]
    return out


def _jvp(primals, tangents):
    moving = [i for i, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero)]
    out = list(tangents)
    if moving:  # tangents have several users just as values do
        for i, tangent in zip(moving, _materialise_p.bind(*(out[i] for i in moving)), strict=True):
            out[i] = tangent
    return _materialise_p.bind(*primals), out


def _transpose(cotangents, *operands):
    del operands
    moving = [i for i, cotangent in enumerate(cotangents) if not isinstance(cotangent, ad.Zero)]
    out = list(cotangents)
    if moving:
        for i, value in zip(moving, _materialise_p.bind(*(out[i] for i in moving)), strict=True):
            out[i] = value
    return out


def _batch(operands, dims, **_):
    return _materialise_p.bind(*operands), list(dims)


_materialise_p.def_impl(lambda *leaves: list(leaves))
_materialise_p.def_abstract_eval(lambda *leaves: list(leaves))
ad.primitive_jvps[_materialise_p] = _jvp
ad.primitive_transposes[_materialise_p] = _transpose
batching.primitive_batchers[_materialise_p] = _batch
mlir.register_lowering(
    _materialise_p,
    mlir.lower_fun(lambda *leaves: lax.optimization_barrier(list(leaves)), multiple_results=True),
)
mlir.register_lowering(
    _materialise_p, mlir.lower_fun(_divide_by_one, multiple_results=True), platform="cpu"
)
