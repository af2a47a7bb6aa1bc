"""Which coordinates of a group of bodies with loops are independent, and how well the others follow them.

Static: a chart is chosen with numbers at hand, before anything is compiled. Source for pivoting: Wehage and
Haug 1982, section 3 (generalised coordinate partitioning); Jain 2012, section III.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from linkax.model.grouping import Compound


# Singular values of a group's rows below this fraction of the largest belong to redundant rows.
RANK = 1e-8


@dataclass(frozen=True)
class Chart:
    """One compound body with loops: its speeds, those of them that the others follow, and the rows used.

    `rows` are as many independent ones of the group's rows as there are dependent speeds.
    """

    compound: Compound
    speeds: tuple[int, ...]  # of the tree
    independent: tuple[int, ...]  # of the tree
    dependent: tuple[int, ...]  # of the tree
    rows: tuple[int, ...]
    all_rows: tuple[int, ...]


def scaled(G: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Rows of unit length in units in which the coordinates have unit inertia."""
    columns = G * np.sqrt(weights)[None, :]
    lengths = np.linalg.norm(columns, axis=1, keepdims=True)
    return columns / np.where(lengths > 0.0, lengths, 1.0)


def rank_of(G: np.ndarray) -> int:
    """The number of independent rows."""
    if min(G.shape) == 0:
        return 0
    values = np.linalg.svd(G, compute_uv=False)
    return int(np.sum(values > RANK * max(values[0], 1e-300)))


def condition_of(G: np.ndarray, rows: Sequence[int], dependent: Sequence[int]) -> float:
    """How much the dependent speeds amplify: the condition number of G_d; infinite where singular."""
    block = G[np.ix_(list(rows), list(dependent))]
    if block.size == 0:
        return 1.0
    values = np.linalg.svd(block, compute_uv=False)
    return float(values[0] / values[-1]) if values[-1] > 0.0 else float("inf")


@dataclass(frozen=True)
class Choice:
    """Independent columns and rows of a group, by position in it, and the worst condition number seen."""

    independent: tuple[int, ...]
    dependent: tuple[int, ...]
    rows: tuple[int, ...]
    condition: float


def choose(samples: Sequence[np.ndarray], wanted: Sequence[int] | None = None) -> Choice | None:
    """The best choice for scaled rows at several configurations, the first of them the reference.

    At each sample the best columns to depend and the best rows to use are found by QR with pivots; of all
    those the choice whose worst condition number over the samples is least. `wanted` independent columns are
    taken as they are. None where they cannot be independent at the reference.
    """
    rank = max(rank_of(G) for G in samples)
    width = samples[0].shape[1]
    if wanted is not None:
        dependent = [j for j in range(width) if j not in wanted]
        if len(dependent) != rank or rank_of(samples[0][:, dependent]) < rank:
            return None
        candidates = [dependent]
    else:
        candidates = _distinct(sorted(_pivots(G, rank)) for G in samples if rank_of(G) == rank)
    best: Choice | None = None
    for dependent in candidates:
        for rows in _distinct(sorted(_pivots(G[:, dependent].T, rank)) for G in samples):
            worst = max(condition_of(G, rows, dependent) for G in samples)
            if best is None or worst < best.condition:
                free = tuple(j for j in range(width) if j not in dependent)
                best = Choice(free, tuple(dependent), tuple(rows), worst)
    return best


def _pivots(G: np.ndarray, count: int) -> list[int]:
    if count == 0:
        return []
    order = np.asarray(scipy.linalg.qr(G, mode="r", pivoting=True)[-1])
    return [int(j) for j in order[:count]]


def _distinct(lists) -> list[list[int]]:
    seen: dict[tuple[int, ...], list[int]] = {}
    for found in lists:
        seen.setdefault(tuple(found), list(found))
    return list(seen.values())
