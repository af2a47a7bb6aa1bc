"""How long does one forward dynamics of one sample take, called from Python?

python benchmarks/latency.py [--models panda g1] [--precision 64]
"""

import statistics

import harness


def main() -> None:
    """Prints microseconds a call, and the ratio to the plain baseline."""
    engines = ("linkax", "plain", "frax")
    options = harness.arguments(__doc__.splitlines()[0], ("panda", "anymal", "g1"), (1,), engines)
    import jax
    from engines import engine
    from robots import robot

    for precision in options.precision:
        jax.config.update("jax_enable_x64", precision == 64)
        for name in options.models:
            loaded = {k: engine(k, robot(name), precision) for k in options.engines}
            calls = {k: e.offers["single"](1) for k, e in loaded.items() if e is not None}
            for call in calls.values():
                call()
            times = {k: [] for k in calls}
            for _ in range(options.rounds):
                for k, call in calls.items():
                    times[k].append(harness.measurement(call))
            base = statistics.median(times["plain"]) if "plain" in times else None
            for k, seconds in times.items():
                middle = statistics.median(seconds)
                ratio = f"  {middle / base:.2f}x plain" if base else ""
                print(
                    f"{name:9} f{precision} {k:10} {1e6 * middle:8.1f} us "
                    f"({1e6 * min(seconds):.1f}-{1e6 * max(seconds):.1f}){ratio}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
