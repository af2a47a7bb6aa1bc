"""Robots in both libraries, compared: our answers from one compiled function, against Pinocchio's.

Compiling is what takes the time, and it depends on the structure of a robot alone: robots that differ in
names and numbers only (all arms of six hinges, most quadrupeds) share one compiled function.
"""

import dataclasses
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pinocchio_oracle as oracle

import linkax as lx
from linkax.model import Model
from linkax.model.topology import Topology


LANES = 5
TOLERANCE = 1e-9
SEED = 20_240
# Errors of these are measured against 1 at least; those of the others, which scale with the inertia of
# the robot, against the largest entry of its mass matrix. A hand of 1e-6 kg m^2 must be right as well.
KINEMATIC = (
    "forward dynamics",
    "centre of mass",
    "frame rotations",
    "frame positions",
    "jacobians",
    "jacobian rates times v",
)


class Job(NamedTuple):
    """A robot file and the root to put it on, "fixed" or "floating"."""

    path: Path
    root: str


class Comparison(NamedTuple):
    """How far apart the libraries are, and what it took to find out."""

    job: Job
    nv: int
    welded: int  # massless joints held still
    followers: int  # mimic joints
    errors: dict[str, float]  # worst of the states; empty if nothing moves
    shared: bool  # compiled for another robot already
    trace_seconds: float
    compile_seconds: float
    seconds: float  # all of it

    @property
    def worst(self) -> float:
        """The largest relative error of all quantities."""
        return max(self.errors.values(), default=0.0)


def quantities(model: Model, q, v, a, tau) -> dict[str, Any]:
    """All that is compared, of one state."""
    frames = model.frame_names
    poses = lx.frame_poses(model, q)
    return {
        "forward dynamics": lx.forward_dynamics(model, q, v, tau),
        "inverse dynamics": lx.inverse_dynamics(model, q, v, a),
        "mass matrix": lx.mass_matrix(model, q),
        "bias force": lx.bias_force(model, q, v),
        "gravity force": lx.gravity_force(model, q),
        "centre of mass": lx.center_of_mass(model, q),
        "momentum": lx.momentum(model, q, v),
        "centroidal momentum": lx.centroidal_momentum(model, q, v),
        "kinetic energy": lx.kinetic_energy(model, q, v),
        "potential energy": lx.potential_energy(model, q),
        "frame rotations": poses[0],
        "frame positions": poses[1],
        "jacobians": jnp.stack([lx.jacobian(model, q, name) for name in frames]),
        "jacobian rates times v": jnp.stack(
            [lx.jacobian_bias(model, q, v, name) for name in frames]
        ),
    }


def nameless(robot: oracle.Robot) -> Model:
    """The model with numbers for names and with the compared frames only."""
    model = robot.model
    kept = [model.frame_index(name) for name in robot.frames]
    t = model.topology
    topology = dataclasses.replace(
        t,
        body_names=tuple(f"body{i}" for i in range(t.nb)),
        joint_names=tuple(f"joint{i}" for i in range(t.nb)),
        frame_names=tuple(f"frame{k}" for k in range(len(kept))),
        frame_bodies=tuple(t.frame_bodies[k] for k in kept),
    )
    rows = np.asarray(kept, int)
    return dataclasses.replace(
        model,
        frame_position=model.frame_position[rows],
        frame_quaternion=model.frame_quaternion[rows],
        topology=topology,
    )


class Compiled(NamedTuple):
    """The function of one structure and what it cost."""

    function: Callable
    trace_seconds: float
    compile_seconds: float


def compiled(model: Model, at: oracle.States) -> Compiled:
    """`quantities` of many states of one model, for all models of this structure."""
    start = time.perf_counter()
    lanes = jax.vmap(quantities, in_axes=(None, 0, 0, 0, 0))
    lowered = jax.jit(lanes).lower(model, *at)
    traced = time.perf_counter()
    # Five states are evaluated: the optimisations of LLVM cost a third more than all that they could save.
    function = lowered.compile(compiler_options={"xla_backend_optimization_level": 0})
    return Compiled(function, traced - start, time.perf_counter() - traced)


def relative(key: str, ours: np.ndarray, theirs: np.ndarray, inertia: float) -> float:
    """max |ours - theirs| over the scale of the quantity; infinite if it is not finite."""
    if ours.shape != theirs.shape:
        raise ValueError(f"The {key} has shape {ours.shape} here and {theirs.shape} there.")
    floor = 1.0 if key in KINEMATIC else inertia
    error = np.abs(ours - theirs).max() / max(floor, np.abs(theirs).max())
    return float(error) if np.isfinite(error) else float("inf")


def _errors(robot: oracle.Robot, at: oracle.States, found) -> dict[str, float]:
    errors = dict.fromkeys(found, 0.0)
    for lane in range(len(at.q)):
        theirs = oracle.answers(robot, *(x[lane] for x in at))
        inertia = np.abs(theirs["mass matrix"]).max()
        for key, value in found.items():
            error = relative(key, value[lane], theirs[key], inertia)
            errors[key] = max(errors[key], error)
    return errors


def _alike(jobs: list[tuple[Job, oracle.Robot]]) -> list[Comparison]:
    """The comparisons of robots of one structure."""
    results, known = [], None
    for job, robot in jobs:
        start = time.perf_counter()
        at = oracle.states(robot.model, LANES, SEED)
        shared, errors = known is not None, {}
        if robot.model.nv:
            model = nameless(robot)
            known = compiled(model, at) if known is None else known
            found = known.function(model, *(jnp.asarray(x) for x in at))
            errors = _errors(robot, at, jax.device_get(found))
        spent = (0.0, 0.0) if shared or known is None else known[1:]
        t = robot.model.topology
        results.append(
            Comparison(
                *(job, t.nv, len(robot.welded), len(t.followers), errors, shared, *spent),
                time.perf_counter() - start,
            )
        )
    return results


def comparisons(jobs: Iterable[Job], workers: int = 2) -> Iterator[Comparison]:
    """Compares every robot, those of one structure together, the most frequent structures first.

    While one worker traces (Python, one at a time), another's function is compiled.
    """
    groups: dict[Topology, list[tuple[Job, oracle.Robot]]] = {}
    for job in jobs:
        robot = oracle.both(*job)
        key = nameless(robot).topology if robot.model.nv else robot.model.topology
        groups.setdefault(key, []).append((job, robot))
    with ThreadPoolExecutor(workers) as pool:
        for results in pool.map(_alike, sorted(groups.values(), key=len, reverse=True)):
            yield from results
