"""Test settings: float64, no silent promotion, compiled functions kept between runs."""

import os
import tempfile

import jax


jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_numpy_dtype_promotion", "strict")
# Compile time dominates the tests; a second run takes a fifth of the first.
_CACHE = os.environ.get(
    "LINKAX_TEST_CACHE", os.path.join(tempfile.gettempdir(), "linkax-jax-cache")
)
jax.config.update("jax_compilation_cache_dir", _CACHE)
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.2)
jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
