"""The closing paragraph of a run, and the sentence of one that failed."""

import textwrap
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from linkax.cli.arguments import Machine
from linkax.cli.run import Outcome, Plan
from linkax.model import LinearSpringDescription, TorsionalSpringDescription


WIDTH = 88
# Energies below this fraction of the largest kinetic energy are zero.
ROUND_OFF = 1e-13


def paragraph(
    mechanism: Machine, plan: Plan, integrator: str, outcome: Outcome, files: Mapping[str, Path]
) -> str:
    """What ran, how well it kept its energy, how it ended, what it cost, where it is."""
    sentences = [
        _mechanism(mechanism),
        _run(plan, integrator, outcome),
        _energy(mechanism, outcome),
        _momentum(mechanism, outcome),
        _constraints(mechanism, outcome),
        _ending(outcome),
        _cost(plan, outcome),
        _files(files, outcome),
        notes_line(mechanism.system.notes, mechanism.path),
    ]
    return textwrap.fill(
        " ".join(s for s in sentences if s), WIDTH, break_long_words=False, break_on_hyphens=False
    )


def failure(outcome: Outcome) -> str | None:
    """One sentence where a lane did not complete, else None."""
    status = np.atleast_1d(outcome.status)
    bad = np.flatnonzero(status)
    if bad.size == 0:
        return None
    first = int(bad[0])
    steps = int(np.atleast_1d(outcome.completed_steps)[first])
    time = float(np.atleast_2d(outcome.columns["t"])[first, -1])
    where = f"after {counted(steps, 'step')} (t = {time:.6g} s)"
    reason = str(np.atleast_1d(outcome.sentence)[first])
    if outcome.status.ndim == 0:
        return f"the run did not complete, it stopped {where}: {_continued(reason)}"
    return (
        f"{bad.size} of {counted(status.size, 'lane')} did not complete; lane {first} stopped "
        f"{where}: {_continued(reason)}"
    )


def _continued(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def counted(count: int, noun: str) -> str:
    """A number and its noun, in the plural where due."""
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{count} {noun if count == 1 else plural}"


def notes_line(notes: tuple[str, ...], path: Path) -> str:
    """How many things a reader of the file should know of; `linkax check` has them in full."""
    if not notes:
        return ""
    verb = "is" if len(notes) == 1 else "are"
    things = "1 thing" if len(notes) == 1 else f"{len(notes)} things"
    return f"{things} in the file {verb} not honoured; `linkax check {path}` lists them."


def _mechanism(mechanism: Machine) -> str:
    system = mechanism.system
    bodies = counted(system.model.nb, "body")
    joints = counted(len(system.model.joint_names), "joint")
    speeds = counted(system.model.nv, "speed")
    text = f"{system.name} ({system.formulation} formulation) has {bodies}, {joints} and {speeds}"
    if system.model.nodes is not None:
        chosen = ", ".join(system.model.speed_names) or "none"
        text += f" of its own ({chosen}), which {system.model.tree.nv} of its joints follow"
    return text + "."


def _run(plan: Plan, integrator: str, outcome: Outcome) -> str:
    what = "It was"
    if outcome.status.ndim:
        what = f"{counted(outcome.status.size, 'lane')} of it were"
    return (
        f"{what} run for {counted(plan.steps, 'step')} of {plan.dt:g} s, to "
        f"t = {plan.steps * plan.dt:.6g} s, by {integrator}, and "
        f"{counted(plan.points, 'point')} saved."
    )


def _energy(mechanism: Machine, outcome: Outcome) -> str:
    energy = outcome.columns["energy"].astype(float)
    lanes = energy.reshape(-1, *energy.shape[-2:])
    batch = energy.ndim > 2
    whose = "The first lane's energy" if batch else "The energy"
    if not np.isfinite(lanes[0]).all():
        return f"{whose} did not stay finite."
    # The total holds the arbitrary zero of the potential; the largest kinetic energy does not.
    largest = lanes[:, :, 0].max(axis=1)
    total = lanes.sum(axis=-1)
    total[np.abs(total) < ROUND_OFF * largest[:, None]] = 0.0
    good = np.isfinite(lanes).all(axis=(1, 2)) & (largest > 0.0)
    change = np.abs(total[good, -1] - total[good, 0]) / largest[good]
    text = f"{whose} was {total[0, 0]:.7g} J at the start and {total[0, -1]:.7g} J at the end"
    if good[0]:
        description = mechanism.description
        springs = (LinearSpringDescription, TorsionalSpringDescription)
        driven = bool(description.motions)
        driven = driven or not all(isinstance(e, springs) for e in description.elements)
        damped = any(joint.damping for joint in description.joints)
        worked = damped or driven
        text += f", a {'change' if worked else 'drift'} of {change[0]:.2g} of the largest kinetic"
        text += " energy" + (f" (over all lanes at most {change.max():.2g})" if batch else "")
        text += "; damping in the joints is part of it" if damped and not driven else ""
        text += "; dampers, loads and prescribed motions are part of it" if driven else ""
    return text + "."


def _momentum(mechanism: Machine, outcome: Outcome) -> str:
    """How well a machine that nothing holds kept its momentum; of the first lane."""
    model = mechanism.system.model.tree
    free = {
        joint.name
        for joint, p in zip(model.topology.joints, model.topology.parents, strict=True)
        if p < 0
    }
    if free != {"floating"} or np.any(np.asarray(model.gravity)):
        return ""
    columns = {k: _first_lane(v, outcome).astype(float) for k, v in outcome.columns.items()}
    mass, inertia = np.asarray(model.mass, float), np.asarray(model.inertia, float)
    q, w = columns["orientation"], columns["angular_velocity"]
    own = np.einsum("bij,pbj->pbi", inertia, w)
    u = q[..., 1:]
    own = own + 2.0 * np.cross(u, np.cross(u, own) + q[..., :1] * own)
    linear = mass[:, None] * columns["com_velocity"]
    angular = (own + np.cross(columns["com"], linear)).sum(axis=1)
    found = np.concatenate([angular, linear.sum(axis=1)], axis=1)
    size = (
        np.linalg.norm(own, axis=-1).sum(axis=1).max()
        + np.linalg.norm(linear, axis=-1).sum(1).max()
    )
    if not np.isfinite(found).all() or size == 0.0:
        return ""
    off = np.abs(found - found[0]).max() / size
    return f"Its momentum, which nothing changes, was kept to {off:.2g} of the largest."


def _constraints(mechanism: Machine, outcome: Outcome) -> str:
    """How far joints and loops gaped, and what prescribed motions took; of the first lane."""
    system = mechanism.system
    if not (mechanism.description.loops or mechanism.description.motions or system.mechanism):
        return ""
    if system.mechanism is not None and system.mechanism.constraints.count == 0:
        return ""
    gap = _first_lane(outcome.columns["closure"], outcome).max()
    what = "Loops" if system.mechanism is None else "Joints and loops"
    text = f"{what} gaped by at most {gap:.2g}."
    multipliers = _first_lane(outcome.columns["multipliers"], outcome)
    motions = mechanism.description.motions
    for motion, row in zip(reversed(motions), reversed(multipliers.T), strict=False):
        text += (
            f" The motion `{motion.name}` took from {row.min():.6g} to {row.max():.6g} N m (or N), "
            f"{row[-1]:.6g} at the end."
        )
    return text


def _first_lane(column: np.ndarray, outcome: Outcome) -> np.ndarray:
    return column[0] if outcome.status.ndim else column


def _ending(outcome: Outcome) -> str:
    if outcome.status.ndim == 0:
        return str(outcome.sentence)
    good = int((outcome.status == 0).sum())
    if good == outcome.status.size:
        return f"All {counted(good, 'lane')} completed." if good > 1 else "The lane completed."
    return (
        f"{good} of {outcome.status.size} lanes completed; the others hold their last good state."
    )


def _cost(plan: Plan, outcome: Outcome) -> str:
    simulated = float(np.sum(outcome.completed_steps, dtype=float)) * plan.dt
    factor = simulated / outcome.running if outcome.running > 0.0 else 0.0
    lanes = ", all lanes together" if outcome.status.ndim else ""
    return (
        f"Compiling took {outcome.compiling:.2f} s and running {outcome.running:.3g} s, "
        f"{factor:.3g} times as fast as real time{lanes}."
    )


def _files(files: Mapping[str, Path], outcome: Outcome) -> str:
    listed = ", ".join(f"{path} ({what})" for what, path in files.items())
    lane = " Pictures show the first lane." if outcome.status.ndim and len(files) > 1 else ""
    return f"Written: {listed}.{lane}"
