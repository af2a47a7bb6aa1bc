"""How fast do robots with loops step, and how well do their loops stay closed, beside soft constraints?

    python benchmarks/closed_robots.py [--robots five_bar delta leg] [--formulation maximal] [--batch 1024]
        [--seconds 10] [--closure-lanes 16] [--engines linkax mujoco mujoco-stiff] [--quick] [--json FILE]

The robots of configs/ move from rest and, lane by lane, from other speeds that their loops allow, at the
steps that their files name. Rates are of calls of `STEPS` steps each. Closure is how far the two points of a
loop ever lie apart at the ends of such calls over the whole time, worked out here from the descriptions'
points and the poses that the joint coordinates of an engine give; "marker" is how far the files' markers ever
are from those of the first engine, in metres. MuJoCo's and MJX's loops are soft, at their default or as stiff
as the step allows; MuJoCo rolls out in C on all threads. Before anything is timed its model is checked to
be the same tree: mass matrix and accelerations at a state, loops apart. Float64 throughout.
"""

import argparse
import copy
import functools
import json
import math
import os
import statistics
from pathlib import Path
from typing import NamedTuple

import bars
import closed_robots_mjcf as writer
import numpy as np

from linkax.cli.table import table
from linkax.cli.timing import ROUNDS, prepare_call, time_rounds


ROBOTS = ("five_bar", "delta", "leg")
ENGINES = ("linkax", "mujoco", "mujoco-stiff", "mjx", "mjx-stiff")
# On two cores MJX stepped the leg over a hundred times slower than MuJoCo.
DEFAULT_ENGINES = ENGINES[:3]
STEPS = 50  # of a call
LANES_AT_ONCE = 128  # of linkax, on one core
SPREAD = 0.5  # of the lanes' initial speeds [rad/s]
SAME = 1e-8
CLOSURE = 1e-9
QUICK = {"batch": 4, "seconds": 0.02, "closure_lanes": 4, "rounds": 2, "steps": 10}


class Calls(NamedTuple):
    """An engine for some lanes, which steps its states `STEPS` times a call."""

    start: object
    call: object  # states -> states
    q: object  # states -> (lanes, nq), our coordinates of the tree
    good: object  # states -> (lanes,), whether every step so far was found


# --- the robot ---


class Robot:
    """A file of configs: its description, its tree, and its loops' points."""

    def __init__(self, name: str):
        import linkax as lx

        self.description = lx.describe(bars.CONFIGS / f"{name}.toml")
        self.h = self.description.run.dt
        tree = copy.deepcopy(self.description)
        tree.loops, tree.elements = [], []
        self.tree = lx.build(tree)
        self.order = writer.order(self.description, self.tree.model.joint_names)

    def gaps(self, q):
        """(loops, 3): from one end of each loop to the other, world axes [m]."""
        import jax.numpy as jnp

        import linkax as lx

        k = lx.kinematics(self.tree.model, q)
        ends = [
            [self._point(k, body, frame.position) for body, frame in _ends(loop)]
            for loop in self.description.loops
        ]
        return jnp.stack([b - a for a, b in ends])

    def markers(self, q):
        """(markers, 3) [m]."""
        import jax.numpy as jnp

        import linkax as lx

        k = lx.kinematics(self.tree.model, q)
        return jnp.stack([self._point(k, m.body, m.point) for m in self.description.markers])

    def _point(self, k, body: str, point):
        """A point of a body from its centre of mass and rotation."""
        import jax.numpy as jnp

        if body == writer.GROUND:
            return jnp.asarray(point, float)
        i = self.tree.model.body_index(body)
        told = next(b for b in self.description.bodies if b.name == body)
        arm = jnp.asarray(np.subtract(point, told.com))
        return k.com[i] + (k.rotation[i] * arm[None]).sum(-1)

    @functools.cached_property
    def read(self):
        """(gaps, markers) of coordinates (..., nq) as arrays."""
        import jax

        both = jax.jit(jax.vmap(lambda q: (self.gaps(q), self.markers(q))))

        def of(q):
            flat = both(np.reshape(q, (-1, np.shape(q)[-1])))
            return [np.asarray(x).reshape(*np.shape(q)[:-1], *x.shape[1:]) for x in flat]

        return of

    @functools.cached_property
    def opening(self) -> np.ndarray:
        """(rows, nv): how fast speeds of the tree open the loops at the start."""
        import jax
        import jax.numpy as jnp

        model, q = self.tree.model, self.tree.initial_q
        still = jnp.zeros((model.nv,), model.dtype)
        open_by = jax.jacfwd(lambda dv: self.gaps(model.integrate(q, dv)).reshape(-1))
        return np.asarray(jax.jit(open_by)(still))

    def speeds(self, lanes: int) -> np.ndarray:
        """(lanes, nv) speeds of the tree that keep the loops closed, the first lane at rest."""
        model, G = self.tree.model, self.opening
        free = np.random.default_rng(0).normal(scale=SPREAD, size=(lanes, model.nv))
        free[0] = 0.0
        return free - free @ np.linalg.pinv(G) @ G


def _ends(loop):
    return [(loop.parent, loop.parent_frame), (loop.child, loop.child_frame)]


def disagreement(robot: Robot) -> float:
    """How far MuJoCo's mass matrix and accelerations are from ours at a state, relative to the largest."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp
    import mujoco as mj

    import linkax as lx

    native = mj.MjModel.from_xml_string(writer.mjcf(robot.description, robot.h))
    native.opt.disableflags |= int(mj.mjtDisableBit.mjDSBL_EQUALITY)
    data, tree = mj.MjData(native), robot.tree
    q, v = np.asarray(tree.initial_q), np.random.default_rng(1).normal(size=tree.model.nv)
    data.qpos[:], data.qvel[:] = q[robot.order.q], v[robot.order.v]
    mj.mj_forward(native, data)
    theirs = np.zeros((native.nv, native.nv))
    mj.mj_fullM(native, data, theirs)
    state = eqx.tree_at(lambda s: s.v, tree.initial_state(), jnp.asarray(v))
    springs = jnp.asarray(_spring_torques(robot, q))
    ours, a = jax.jit(
        lambda s: (lx.mass_matrix(tree.model, s.q), lx.accelerations(tree, s, springs))
    )(state)
    ours = np.asarray(ours)[np.ix_(robot.order.v, robot.order.v)]
    pairs = [(ours, theirs), (np.asarray(a)[robot.order.v], data.qacc)]
    return max(float(np.max(np.abs(x - y)) / np.max(np.abs(x))) for x, y in pairs)


def _spring_torques(robot: Robot, q) -> np.ndarray:
    model = robot.tree.model
    names, speeds = list(model.coordinate_names), list(model.speed_names)
    tau = np.zeros(model.nv)
    for e in robot.description.elements:
        tau[speeds.index(e.joint)] -= e.stiffness * (q[names.index(e.joint)] - e.free_angle)
    return tau


# --- engines ---


def linkax(robot: Robot, lanes: int, steps: int, options) -> Calls:
    """Our system in a formulation, with the integrator that `simulate` chooses for it."""
    import equinox as eqx
    import jax
    import jax.numpy as jnp

    import linkax as lx

    system = lx.build(robot.description, formulation=options.formulation)
    method = None
    if options.formulation == "maximal":
        loads = lx.maximal.LoadEvaluation(options.loads)
        method = lx.Variational(lx.maximal.Settings(load_evaluation=loads))

    def run(system, lane):
        state, good = lane
        went = lx.simulate(
            system, state, dt=robot.h, steps=steps, save_every=steps, integrator=method
        )
        return went.final, good & (went.completed_steps == steps)

    model, state = system.model, system.initial_state()
    # Speeds of a formulation may be fewer than the tree's.
    units = jnp.eye(model.nv, dtype=model.dtype)
    spread = np.asarray(jax.jit(jax.vmap(lambda e: model.tree_speeds(state.q, e)))(units))
    own = jnp.asarray(robot.speeds(lanes) @ np.linalg.pinv(spread))

    def begin(v):
        first = eqx.tree_at(lambda s: s.v, state, v)
        # What a step hands on may hold more than what a run starts from.
        return first if method is None else method.prepare(system, first)

    start = jax.jit(jax.vmap(begin))(own)
    one_core = jax.default_backend() == "cpu"
    many = jax.jit(
        lx.batched(run, in_axes=(None, 0), block=min(LANES_AT_ONCE, lanes) if one_core else None)
    )
    coordinates = jax.jit(jax.vmap(model.tree_coordinates))
    return Calls(
        (start, jnp.ones((lanes,), bool)),
        lambda states: jax.block_until_ready(many(system, states)),
        lambda states: np.asarray(coordinates(states[0].q)),
        lambda states: np.asarray(states[1]),
    )


def mujoco(robot: Robot, lanes: int, steps: int, options, stiff: bool = False) -> Calls:
    """MuJoCo in C on all threads; its last accelerations start its solver at the next call."""
    import mujoco as mj
    from mujoco import rollout

    native = mj.MjModel.from_xml_string(writer.mjcf(robot.description, robot.h, stiff))
    threads = os.cpu_count() or 1
    data = [mj.MjData(native) for _ in range(threads)]
    full = mj.mjtState.mjSTATE_FULLPHYSICS
    q = np.asarray(robot.tree.initial_q)[robot.order.q]
    time = np.zeros((lanes, 1))
    start = np.concatenate(
        [time, np.tile(q, (lanes, 1)), robot.speeds(lanes)[:, robot.order.v]], axis=1
    )
    assert start.shape[1] == mj.mj_stateSize(native, full)
    pool = rollout.Rollout(nthread=threads if threads > 1 else 0)

    def call(states):
        return pool.rollout(native, data, states, nstep=steps)[0][:, -1]

    return Calls(
        start,
        call,
        lambda states: _ours(robot, states[:, 1 : 1 + native.nq]),
        lambda states: np.isfinite(states).all(axis=1),
    )


def mjx(robot: Robot, lanes: int, steps: int, options, stiff: bool = False) -> Calls:
    """MJX, vmapped."""
    import jax
    import jax.numpy as jnp
    import mujoco as mj
    from mujoco import mjx as x

    native = mj.MjModel.from_xml_string(writer.mjcf(robot.description, robot.h, stiff))
    model, empty = x.put_model(native), x.make_data(native)

    def run(lane):
        def one(data, _):
            return x.step(model, data), None

        q, v, last = lane
        data = empty.replace(qpos=q, qvel=v, qacc_warmstart=last)
        end = jax.lax.scan(one, data, None, length=steps)[0]
        return end.qpos, end.qvel, end.qacc_warmstart

    many = jax.jit(jax.vmap(run))
    q = jnp.asarray(np.tile(np.asarray(robot.tree.initial_q)[robot.order.q], (lanes, 1)))
    v = jnp.asarray(robot.speeds(lanes)[:, robot.order.v])
    return Calls(
        (q, v, jnp.zeros_like(v)),
        lambda states: jax.block_until_ready(many(states)),
        lambda states: _ours(robot, np.asarray(states[0])),
        lambda states: np.isfinite(np.asarray(states[0])).all(axis=1),
    )


def _ours(robot: Robot, q) -> np.ndarray:
    """Our coordinates from MuJoCo's."""
    found = np.empty_like(q)
    found[:, robot.order.q] = q
    return found


MAKERS = {
    "linkax": linkax,
    "mujoco": mujoco,
    "mujoco-stiff": functools.partial(mujoco, stiff=True),
    "mjx": mjx,
    "mjx-stiff": functools.partial(mjx, stiff=True),
}


# --- the questions ---


def motion(made: Calls, calls: int) -> tuple[np.ndarray, np.ndarray]:
    """(coordinates at the start and the ends of all calls (points, lanes, nq), which lanes came through)."""
    states = made.start
    points = [made.q(states)]
    for _ in range(calls):
        states = made.call(states)
        points.append(made.q(states))
    return np.stack(points), made.good(states)


def exactness(robot: Robot, entries: dict, seconds: float, steps: int) -> list[dict]:
    """Closure over the time, and how far the markers are from those of the first engine."""
    calls = max(1, math.ceil(seconds / (robot.h * steps) - 1e-9))
    rows, reference = [], None
    for name, made in entries.items():
        q, good = motion(made, calls)
        gaps, markers = robot.read(q)
        reference = markers if reference is None else reference
        rows.append(
            {
                "robot": robot.description.name,
                "engine": name,
                "closure_m": _largest(gaps),
                "marker_m": _largest(markers - reference),
                "lanes": len(good),
                "completed": int(good.sum()),
            }
        )
    return rows


def _largest(vectors) -> float:
    return float(np.max(np.linalg.norm(vectors, axis=-1)))


def speeds(robot: Robot, entries: dict, lanes: int, steps: int, rounds: int) -> list[dict]:
    """Thousand steps a second of every engine, timed in turns."""
    found: dict = {}
    calls: dict = {}
    for name, made in entries.items():
        prepare_call(name, lambda made=made: lambda: made.call(made.start), found, calls)
    time_rounds(found, calls, rounds)
    rows = []
    for name, f in found.items():
        if "error" in f:
            raise SystemExit(f"{name}: {f['error']}")
        figures = sorted(lanes * steps / s / 1e3 for s in f["seconds"])
        row = {"robot": robot.description.name, "engine": name, "lanes": lanes}
        row |= {"k_steps_per_s": statistics.median(figures), "lowest": figures[0]}
        rows.append(row | {"highest": figures[-1], "first_call_s": f["first_s"]})
    return rows


def show(exact: list[dict], rates: list[dict], seconds: float) -> None:
    """One table a robot, and how ours compares."""
    by_engine = {r["engine"]: r for r in exact}
    cells = []
    for r in rates:
        e = by_engine[r["engine"]]
        cells.append(
            [r["engine"], f"{r['k_steps_per_s']:.1f}", f"({r['lowest']:.1f}-{r['highest']:.1f})"]
            + [f"{r['first_call_s']:.1f}", f"{e['closure_m']:.1e}", f"{e['marker_m']:.1e}"]
            + [f"{e['completed']}/{e['lanes']}"]
        )
    columns = ("engine", "k steps/s", "spread", "first call s", "closure m", "marker m", "whole")
    print(f"{rates[0]['lanes']} at once; closure and markers over {seconds:g} s")
    print(table(columns, cells))
    rate = {r["engine"]: r["k_steps_per_s"] for r in rates}
    ours = rate.pop("linkax", None)
    for peer, theirs in rate.items() if ours else ():
        print(f"  linkax / {peer}: {ours / theirs:.2f}")
    print(f"  target of linkax: closure {CLOSURE:g}", flush=True)


def arguments() -> argparse.Namespace:
    """The options; `--quick` makes them small."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", nargs="+", default=list(ROBOTS), choices=ROBOTS)
    parser.add_argument("--formulation", default="maximal", help="tree, embedded or maximal")
    parser.add_argument("--loads", default="left", help="where maximal coordinates take loads")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--closure-lanes", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--steps", type=int, default=STEPS, help="of a call")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--engines", nargs="+", default=list(DEFAULT_ENGINES), choices=ENGINES)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    for key, value in QUICK.items() if options.quick else ():
        setattr(options, key, value)
    return options


def main() -> None:
    """Prints a table a robot."""
    options = arguments()
    import jax

    jax.config.update("jax_num_cpu_devices", os.cpu_count() or 1)
    jax.config.update("jax_enable_x64", True)
    names = options.engines
    if not bars.installed("mujoco"):
        print("mujoco is not installed")
        names = [n for n in names if n == "linkax"]
    kept = []
    for name in options.robots:
        robot = Robot(name)
        freedoms = robot.tree.model.nv - np.linalg.matrix_rank(robot.opening)
        print(f"\n{name}: {robot.tree.model.nb} bodies, {freedoms} freedoms, h = {robot.h:g} s")
        if names != ["linkax"]:
            apart = disagreement(robot)
            print(f"  the same tree in MuJoCo to {apart:.0e}")
            if apart > SAME:
                raise SystemExit(f"{name} is another machine in MuJoCo: {apart:.1e}")
        make = lambda lanes, robot=robot: {
            n: MAKERS[n](robot, lanes, options.steps, options) for n in names
        }
        entries = make(options.batch)
        few = entries if options.closure_lanes == options.batch else make(options.closure_lanes)
        rates = speeds(robot, entries, options.batch, options.steps, options.rounds)
        exact = exactness(robot, few, options.seconds, options.steps)
        show(exact, rates, options.seconds)
        kept.append({"closure": exact, "speeds": rates})
    if options.json:
        options.json.write_text(json.dumps(kept, indent=1))


if __name__ == "__main__":
    main()
