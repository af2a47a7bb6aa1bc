"""How does the cost of forward dynamics grow from a chain of 10 to a chain of 100?

python benchmarks/growth.py [--batch 1024] [--precision 64]
"""

import harness


def main() -> None:
    """Prints the ratio; 10 would be proportional to the number of bodies."""
    options = harness.arguments(__doc__.splitlines()[0], (), (64, 1024), ("linkax", "plain"))
    import jax
    from engines import engine
    from robots import robot

    for precision in options.precision:
        jax.config.update("jax_enable_x64", precision == 64)
        for batch in options.batch:
            for key in options.engines:
                calls = [
                    engine(key, robot(name), precision).offers["forward_dynamics"](batch)
                    for name in ("chain10", "chain100")
                ]
                print(
                    f"{key:16} f{precision} batch {batch}: chain of 100 / chain of 10 = "
                    f"{harness.ratio(*calls, options.rounds)}; target 12",
                    flush=True,
                )


if __name__ == "__main__":
    main()
