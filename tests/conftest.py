"""Test settings: float64, no silent promotion, quick compilation, compiled functions kept between runs."""

import gc
import os
import pathlib
import tempfile


# Compile time dominates the tests. XLA's newer emitters of fused kernels, one MLIR module a kernel, took a
# third of it (a second derivative of a tree of three bodies: 39 s with them, 29 s without); the kernels are
# the same, of the same fused operations.
os.environ["XLA_FLAGS"] = " ".join(
    [os.environ.get("XLA_FLAGS", ""), "--xla_cpu_use_fusion_emitters=false"]
).strip()

import jax
import pytest


jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
# A second run takes a fifth of the first.
_CACHE = os.environ.get(
    "LINKAX_TEST_CACHE", os.path.join(tempfile.gettempdir(), "linkax-jax-cache")
)
jax.config.update("jax_compilation_cache_dir", _CACHE)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
# Tracing makes many objects and little garbage; looking for it took a tenth of the time.
gc.set_threshold(200_000, 100, 1000)

# Each compiled function holds some ten mappings of memory; Linux allows a process 65530, and one that asks
# for more is aborted.
_MAPPINGS = pathlib.Path("/proc/self/maps")
_MANY = 40_000


@pytest.fixture(autouse=True, scope="module")
def _compiled_functions_are_dropped_before_they_are_too_many():
    yield
    if _MAPPINGS.exists() and len(_MAPPINGS.read_text().splitlines()) > _MANY:
        jax.clear_caches()
        gc.collect()
