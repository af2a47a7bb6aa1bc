"""How many times the value of forward dynamics does its reverse-mode gradient cost?

python benchmarks/gradient_cost.py [--models panda g1] [--batch 1024] [--precision 64]
"""

import os

import harness


def main() -> None:
    """Prints the ratio of the two times, round by round in one process."""
    ours = ("linkax", "linkax-batched")
    options = harness.arguments(__doc__.splitlines()[0], ("panda", "anymal", "g1"), (1024,), ours)
    import jax
    from robots import robot

    jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
    for precision in options.precision:
        jax.config.update("jax_enable_x64", precision == 64)
        for name in options.models:
            machine = robot(name)
            for batch in options.batch:
                for key in options.engines:
                    calls = [
                        harness.call_of(key, machine, precision, quantity, batch)
                        for quantity in ("forward_dynamics", "gradient")
                    ]
                    print(
                        f"{name:12} {batch:5d} f{precision}  {key:16} gradient / value = "
                        f"{harness.ratio(*calls, options.rounds)}; target 3",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
