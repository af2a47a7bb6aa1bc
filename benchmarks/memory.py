"""How much memory does a compiled gradient through a rollout take, beside the JAX peers?

python benchmarks/memory.py [--models g1] [--batch 64] [--precision 32]
"""

import harness


def main() -> None:
    """Prints the megabytes of temporaries that XLA reserves for one call."""
    engines = ("linkax", "linkax-batched", "plain", "frax", "brax", "mjx")
    options = harness.arguments(__doc__.splitlines()[0], ("g1",), (64,), engines, (32,))
    import jax
    from engines import engine
    from robots import robot

    for precision in options.precision:
        jax.config.update("jax_enable_x64", precision == 64)
        for name in options.models:
            for key in options.engines:
                loaded = engine(key, robot(name), precision)
                if (
                    loaded is None
                    or loaded.lower is None
                    or "rollout_gradient" not in loaded.offers
                ):
                    continue
                for batch in options.batch:
                    compiled = loaded.lower("rollout_gradient", batch).compile()
                    size = compiled.memory_analysis().temp_size_in_bytes / 2**20
                    print(
                        f"{name:9} f{precision} batch {batch} {key:16} {size:9.1f} MB", flush=True
                    )


if __name__ == "__main__":
    main()
