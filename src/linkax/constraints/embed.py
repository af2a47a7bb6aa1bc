"""From a model and its loops to an embedded model: groups, a closed reference, charts."""

import dataclasses
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from linkax.constraints.charts import Chart, choose, rank_of
from linkax.constraints.embedded import EmbeddedModel
from linkax.constraints.groups import Group, group_loops, loops_of
from linkax.constraints.of_tree import tree_constraints
from linkax.constraints.survey import Survey, surveyed
from linkax.constraints.tree_rows import TreeConstraints
from linkax.model import LoopDescription, Model
from linkax.model.naming import index_of


def embed(
    model: Model,
    loops: Sequence[LoopDescription] | TreeConstraints,
    *,
    q: Float[Array, " nq"] | None = None,
    independent: Sequence[str] | None = None,
    groups: Sequence[Sequence[str | int]] | None = None,
    names: Sequence[str] | None = None,
) -> EmbeddedModel:
    """The model whose loops are closed by construction, moving by independent speeds.

    The smallest groups of bodies that hold each loop become compound bodies; loops that share bodies share
    one. In each, as many speeds depend on the others as the loops have independent rows. Which ones is found
    by pivoting at the reference configuration and along motions through it, so that their condition number
    stays small, unless `independent` says it; `EmbeddedModel.speed_names` tells, `condition` how good it is.

    Args:
        model: a tree without mimic joints (describe them as couplings).
        loops: descriptions, in terms of the model's bodies, or rows that do not depend on time.
        q: where to start closing the loops; the tree's neutral coordinates if None.
        independent: names of speeds that shall be independent, for every group that they are in.
        groups: bodies of the groups, instead of the smallest ones.
        names: of the loops, where rows are given.

    Raises:
        ValueError: for loops that cannot be closed near q, groups that do not hold a loop or are no groups,
            speeds that cannot be independent.
    """
    _check_plain(model)
    if isinstance(loops, TreeConstraints):
        rows = loops
        titles = list(names) if names is not None else None
    else:
        rows = tree_constraints(model, loops)
        titles = [loop.name for loop in loops]
    if not all(rows.holonomic):
        raise ValueError(
            "A loop on velocities only cannot be embedded; leave it out, and it acts by its multiplier."
        )
    found = loops_of(model.topology, rows, titles)
    chosen = group_loops(model.topology, found) if groups is None else _given(model, found, groups)
    start = model.neutral() if q is None else jnp.asarray(q, model.dtype)
    survey = surveyed(model, rows, start)
    if not survey.converged:
        raise ValueError(
            f"The loops {_listed(titles or [])} gape by {survey.error:.3g} at the given coordinates and "
            "cannot be closed near them; give coordinates that are nearer to closed ones."
        )
    charts = [_chart(model, group, survey, independent) for group in chosen]
    return EmbeddedModel(
        model,
        rows,
        survey.q,
        survey.weights,
        tuple(chart for chart in charts if chart.dependent),
        tuple(group.compound() for group in chosen),
    )


def condition(model: EmbeddedModel, q: Float[Array, " nq"]) -> Float[Array, ""]:
    """How much the dependent speeds amplify errors at q: the largest condition number of the charts.

    Beyond some 1e6 a chart is about to end, and the independent speeds should be chosen anew (`rechart`).
    Rows are scaled to unit length and coordinates by their inertias at the reference.
    """
    G = model.rows.jacobian(model.base, q, jnp.zeros((), q.dtype))
    columns = G * jnp.sqrt(model.weights)[None, :]
    lengths = jnp.sqrt(jnp.sum(columns * columns, axis=1, keepdims=True))
    unit = columns / jnp.where(lengths > 0.0, lengths, 1.0)
    worst = jnp.ones((), q.dtype)
    for chart in model.charts:
        block = unit[np.asarray(chart.rows, int)][:, np.asarray(chart.dependent, int)]
        values = jnp.linalg.svd(block, compute_uv=False)
        worst = jnp.maximum(worst, values[0] / values[-1])
    return worst


def rechart(model: EmbeddedModel, q: Float[Array, " nq"]) -> EmbeddedModel:
    """The same model with independent speeds chosen at q, a closed configuration.

    A new static choice, and so a new compilation. Speeds v of the old model are those
    `old.tree_speeds(q, v)[np.asarray(new.independent)]` of the new one.
    """
    names = [chart.compound.name for chart in model.charts]
    survey = surveyed(model.base, model.rows, jnp.asarray(q, model.dtype))
    charts = []
    for chart, name in zip(model.charts, names, strict=True):
        charts.append(_choose(model.base, chart, survey, None, name))
    return dataclasses.replace(model, reference=survey.q, charts=tuple(charts))


# --- groups ---


def _check_plain(model: Model) -> None:
    if model.topology.followers:
        joint = model.joint_names[model.topology.followers[0][0]]
        raise ValueError(
            f"Joint `{joint}` mimics another, which a model with embedded loops does not know; describe it "
            'as a loop of type "coupling" instead.'
        )


def _given(model: Model, loops, groups: Sequence[Sequence[str | int]]) -> list[Group]:
    """The groups that were asked for, checked."""
    topology, found, owner = model.topology, [], {}
    for bodies in groups:
        own = {model.body_index(b) for b in bodies}
        listed = _listed([model.body_names[b] for b in sorted(own)])
        outside = {topology.parents[b] for b in own} - own
        if len(outside) != 1:
            hung = _listed(["world" if b < 0 else model.body_names[b] for b in sorted(outside)])
            raise ValueError(
                f"Bodies {listed} are no group: they hang on {hung}, but all of them must hang on one body, "
                "directly or through each other."
            )
        for b in own:
            if b in owner:
                raise ValueError(f"Body `{model.body_names[b]}` is in two groups; join them.")
            owner[b] = len(found)
        found.append(([], own, outside.pop()))
    for loop in loops:
        homes = sorted({owner[b] for b in loop.bodies if b in owner})
        lost = [b for b in loop.bodies if owner.get(b, -1) != (homes or [None])[0]]
        if lost or not homes:
            members = sorted(found[homes[0]][1]) if homes else []
            group = f"the group {_listed([model.body_names[b] for b in members])}"
            raise ValueError(
                f"Loop `{loop.name}` passes through body `{model.body_names[lost[0]]}`, which is outside "
                f"{group if homes else 'any group'}; add it, or leave the choice of groups to `embed`."
            )
        found[homes[0]][0].append(loop)
    return [Group(tuple(own), tuple(sorted(bodies)), parent) for own, bodies, parent in found]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


# --- charts ---


def _chart(model: Model, group: Group, survey: Survey, independent) -> Chart:
    topology = model.topology
    speeds = tuple(
        topology.v_slots.start[b] + k
        for b in group.bodies
        for k in range(topology.v_slots.width[b])
    )
    compound = group.compound()
    blank = Chart(compound, speeds, speeds, (), (), group.rows)
    return _choose(model, blank, survey, independent, compound.name)


def _choose(model: Model, chart: Chart, survey: Survey, independent, name: str) -> Chart:
    rows, speeds = list(chart.all_rows), list(chart.speeds)
    samples = [g[np.ix_(rows, speeds)] for g in survey.samples]
    wanted = None
    if independent is not None:
        asked = {index_of("speed", s, model.speed_names) for s in independent}
        wanted = [j for j, s in enumerate(speeds) if s in asked]
        if not wanted:
            wanted = None
    found = choose(samples, wanted)
    if found is None:
        rank = max(rank_of(g) for g in samples)
        asked_names = _listed([model.speed_names[speeds[j]] for j in wanted or []])
        raise ValueError(
            f"In the loops of `{name}` the speeds {asked_names} cannot be the independent ones: the loops "
            f"have {rank} independent rows for {len(speeds)} speeds, so that {len(speeds) - rank} are to be "
            "chosen, and the others must follow from them at the reference configuration."
        )
    at = lambda places: tuple(speeds[j] for j in places)
    used = tuple(rows[r] for r in found.rows)
    return dataclasses.replace(
        chart, independent=at(found.independent), dependent=at(found.dependent), rows=used
    )
