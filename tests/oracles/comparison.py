"""One robot on one root: our answers, from one compiled function, against Pinocchio's."""

import time
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
import pinocchio_oracle as oracle

import linkax as lx
from linkax.model import Model


LANES = 5
TOLERANCE = 1e-9
SEED = 20_240


class Comparison(NamedTuple):
    """How far apart the libraries are, and what it took to find out."""

    nv: int
    welded: int
    followers: int
    errors: dict[str, float]  # max |ours - theirs| / max(1, max |theirs|), worst state
    trace_seconds: float
    compile_seconds: float
    seconds: float  # all of it

    @property
    def worst(self) -> float:
        """The largest relative error of all quantities."""
        return max(self.errors.values(), default=0.0)


def ours(model: Model, frames: tuple[str, ...], shared: tuple[int, ...]):
    """All quantities of one state as one function, so that a robot is compiled once."""

    def quantities(q, v, a, tau):
        rotations, positions = lx.frame_poses(model, q)
        found = {
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
            "frame rotations": rotations[np.asarray(shared, int)],
            "frame positions": positions[np.asarray(shared, int)],
        }
        if frames:
            found["jacobians"] = jax.numpy.stack([lx.jacobian(model, q, f) for f in frames])
            found["jacobian rates times v"] = jax.numpy.stack(
                [lx.jacobian_bias(model, q, v, f) for f in frames]
            )
        return found

    return jax.vmap(quantities)


def relative(a: np.ndarray, b: np.ndarray) -> float:
    """max |a - b| / max(1, max |b|); infinite where a is not finite."""
    if a.shape != b.shape:
        raise ValueError(f"Shapes differ: {a.shape} here, {b.shape} there.")
    if not a.size:
        return 0.0
    error = np.abs(a - b).max() / max(1.0, np.abs(b).max())
    return float(error) if np.isfinite(error) else float("inf")


def compare(path: Path, root: str) -> Comparison:
    """Both libraries at random states of one robot on one root."""
    start = time.perf_counter()
    robot = oracle.both(path, root)
    model = robot.model
    at = oracle.states(model, LANES, SEED)
    names = oracle.all_frames(robot)
    shared = tuple(model.frame_names.index(name) for name in names)
    found, spent = {}, (0.0, 0.0)
    if model.nv:
        found, spent = evaluated(ours(model, robot.frames, shared), at)
    errors: dict[str, float] = {}
    for lane in range(LANES if model.nv else 0):
        expected = oracle.answers(robot, *(x[lane] for x in at))
        for key, value in found.items():
            error = relative(np.asarray(value[lane]), expected[key])
            errors[key] = max(errors.get(key, 0.0), error)
    return Comparison(
        model.nv,
        len(robot.welded),
        len(model.topology.followers),
        errors,
        *spent,
        time.perf_counter() - start,
    )


def evaluated(function, at: oracle.States):
    """(values, (seconds of tracing, seconds of compiling)) of a function compiled for the purpose."""
    start = time.perf_counter()
    lowered = jax.jit(function).lower(*at)
    traced = time.perf_counter()
    compiled = lowered.compile()
    spent = (traced - start, time.perf_counter() - traced)
    return jax.device_get(compiled(*(jax.numpy.asarray(x) for x in at))), spent
