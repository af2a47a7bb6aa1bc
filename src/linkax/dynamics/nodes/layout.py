"""The static side of a recursion over nodes: which speeds, members and neighbours each node has."""

import functools as ft
from typing import NamedTuple

import numpy as np

from linkax.model.abstract import AbstractModel
from linkax.model.grouping import Node, nodes_of
from linkax.model.topology import GROUND, Topology


class Step(NamedTuple):
    """One node of a recursion: n members, d speeds of their joints, i independent speeds."""

    bodies: tuple[int, ...]  # parents first
    speeds: tuple[int, ...]  # of the tree, d of them
    independent: tuple[int, ...]  # of the model, i of them
    joints: tuple[int, ...]  # for each of the d speeds, the row of the member that its joint moves
    carries: np.ndarray  # (n, n) truth of: the row's member carries the column's, or is it
    parent: (
        tuple[int, int] | None
    )  # position of the parent node and row of the body; None: the ground
    parent_body: int  # GROUND for the ground


def steps_of(model: AbstractModel) -> tuple[Step, ...]:
    """The nodes of a model, parents first; each body of a plain one is a node."""
    nodes, speeds, topology = model.nodes, model.node_speeds, model.tree.topology
    if nodes is None or speeds is None:
        nodes = nodes_of(topology, ())
        speeds = tuple(node.speeds(topology) for node in nodes)
    return _steps(topology, nodes, speeds)


@ft.lru_cache(maxsize=256)
def _steps(
    topology: Topology, nodes: tuple[Node, ...], independent: tuple[tuple[int, ...], ...]
) -> tuple[Step, ...]:
    place = {b: (i, row) for i, node in enumerate(nodes) for row, b in enumerate(node.bodies)}
    steps = []
    for node, own in zip(nodes, independent, strict=True):
        counts = [topology.v_slots.width[b] for b in node.bodies]
        steps.append(
            Step(
                node.bodies,
                node.speeds(topology),
                own,
                tuple(np.repeat(np.arange(len(counts)), counts).tolist()),
                np.array([[a in topology.ancestors[b] for b in node.bodies] for a in node.bodies]),
                None if node.parent == GROUND else place[node.parent],
                node.parent,
            )
        )
    return tuple(steps)
