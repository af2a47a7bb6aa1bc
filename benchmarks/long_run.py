"""Does the energy of a long run stay bounded without a trend, and do its joints stay closed?

    python benchmarks/long_run.py [--steps 1000000] [--precision 64 32] [--json FILE]

The double pendulum of configs/double_pendulum.toml by the variational step at a millisecond. Energies are of
the instantaneous velocities. Only means and worst values of blocks are kept. The trend is the slope of the
blocks' mean energies over the whole run beside its standard error, both relative to the range of the
kinetic energy.
"""

import argparse
import json
import time
from pathlib import Path

import bars
import numpy as np


H = 1e-3
BLOCKS = 100
CLOSURE = {64: 1e-10, 32: 1e-5}  # [m and rad]


def run(steps: int, precision: int) -> dict:
    """What is kept of a run."""
    import jax
    import jax.numpy as jnp

    import linkax as lx
    from linkax import maximal as mx

    real = {32: jnp.float32, 64: jnp.float64}[precision]
    path = bars.CONFIGS / "double_pendulum.toml"
    system = lx.load(path, formulation="maximal", dtype=real)
    mechanism = system.mechanism
    start = mx.to_maximal(system.model, system.initial_q, system.initial_v)
    h = jnp.asarray(H, real)
    kinetic = lambda v, w: mx.kinetic_energy(mechanism.bodies, v, w)
    potential = lambda s: mechanism.loads.potential_energy(mechanism.bodies, s)
    first = kinetic(start.velocity, start.angular_velocity) + potential(start)

    def one(carry, _):
        state, good, seen = carry
        after, _, info = mx.advance(mechanism, state, h, mx.Settings())
        moving = kinetic(info.point_velocity, info.point_angular_velocity)
        change = moving + potential(state) - first
        gap = jnp.max(jnp.abs(mechanism.closure(state)))
        total, worst, widest, fastest = seen
        seen = (
            total + change,
            jnp.maximum(worst, jnp.abs(change)),
            jnp.maximum(widest, gap),
            jnp.maximum(fastest, moving),
        )
        return (after, good & info.converged, seen), None

    size = steps // BLOCKS

    def block(carry, _):
        none = (jnp.zeros((), real),) * 4
        (state, good, seen), _ = jax.lax.scan(one, (*carry, none), None, length=size)
        return (state, good), (seen[0] / size, *seen[1:])

    whole = jax.jit(lambda s: jax.lax.scan(block, (s, jnp.ones((), bool)), None, length=BLOCKS))
    begin = time.perf_counter()
    ready = whole.lower(start).compile()
    compiling = time.perf_counter() - begin
    begin = time.perf_counter()
    (_, good), kept = jax.block_until_ready(ready(start))
    seconds = time.perf_counter() - begin
    mean, worst, gap, fastest = (np.asarray(x, float) for x in kept)
    unit = float(np.max(fastest))  # it starts at rest, so that this is the range
    slope, error = trend(mean / unit)
    tenth = max(1, BLOCKS // 10)
    return {
        "precision": precision,
        "steps": size * BLOCKS,
        "completed": bool(good),
        "energy_error": float(np.max(worst)) / unit,
        "first_tenth": float(np.max(worst[:tenth])) / unit,
        "last_tenth": float(np.max(worst[-tenth:])) / unit,
        "trend": slope,
        "trend_standard_error": error,
        "closure": float(np.max(gap)),
        "compile_s": compiling,
        "k_steps_per_s": size * BLOCKS / seconds / 1e3,
    }


def trend(y) -> tuple[float, float]:
    """The change of a straight line through y over its whole length, and the standard error of that."""
    n = len(y)
    x = np.linspace(-0.5, 0.5, n)
    slope = float(x @ y / (x @ x))
    left = y - np.mean(y) - slope * x
    return slope, float(np.sqrt(left @ left / (n - 2) / (x @ x)))


def main() -> None:
    """Prints what each precision keeps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--precision", nargs="+", type=int, default=[64, 32])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.steps < BLOCKS:
        raise SystemExit(f"--steps is {options.steps}, but must be at least {BLOCKS}.")
    import jax

    rows = []
    for precision in options.precision:
        jax.config.update("jax_enable_x64", precision == 64)
        rows.append(run(options.steps, precision))
        r = rows[-1]
        print(
            f"f{precision}  {r['steps']} steps of {H:g} s at {r['k_steps_per_s']:.1f} k steps/s, compiled in "
            f"{r['compile_s']:.1f} s, {'all found' if r['completed'] else 'STOPPED'}\n"
            f"  energy error {r['energy_error']:.2e}, in the first tenth {r['first_tenth']:.2e}, in the last "
            f"{r['last_tenth']:.2e}\n"
            f"  trend {r['trend']:+.1e} over the run, standard error {r['trend_standard_error']:.1e}\n"
            f"  closure {r['closure']:.1e}; target {CLOSURE[precision]:g}",
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
