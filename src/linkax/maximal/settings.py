"""How a variational step is solved; all of it static."""

import enum
import math
from dataclasses import dataclass

from linkax.maximal.discrete import AbstractChart, HalfSine


class LinearSolver(enum.Enum):
    """How the Newton corrections are found; all give the same answer where the rows are independent."""

    DENSE = "dense"  # LU with pivots
    RANK_TOLERANT = (
        "rank-tolerant"  # singular values: redundant rows welcome, their multipliers shortest
    )
    BLOCK_SPARSE = (
        "block-sparse"  # in an order worked out from the graph: work in proportion to the bodies
    )


class LoadEvaluation(enum.Enum):
    """Where the applied loads of a step are evaluated."""

    LEFT = "left"  # at the state that the step starts from
    IMPLICIT = "implicit"  # at the state that it ends in
    MIDPOINT = "midpoint"  # half way between both
    # Beyond document 002. An impulse joins two intervals at a point: a load on positions belongs there, one
    # on velocities half way between the two averages. The other modes are off by half a step for one or both.
    CENTRED = (
        "centred"  # positions at the start, velocities half way: order 2 for springs and dampers
    )


@dataclass(frozen=True)
class Settings:
    """Settings of the variational integrator, with document 002's defaults except for the tolerance.

    `chart` says how rotations over a step are written.
    `tolerance` bounds the Euclidean norm of a step's whole residual, forces [N] and twice the torques [N m]
    beside constraint residuals. None, the default, is the rounding floor of the numbers in the step: an
    absolute 1e-10 lets the momentum of a tumbling body drift, and cannot be reached for 100 kg m/s at steps
    of 1e-4 s. `shift` is added to the diagonal of a singular Jacobian before it is tried once more.
    `finite_differences` replaces autodiff of a user's constraint by differences, of steps
    `difference_step` times the larger of a coordinate and `translation_scale`, or `rotation_scale`.
    """

    tolerance: float | None = None
    max_iterations: int = 50
    max_line_search: int = 12
    solver: LinearSolver | None = (
        None  # None: block-sparse where the rows know their bodies, else dense
    )
    load_evaluation: LoadEvaluation = LoadEvaluation.LEFT
    chart: type[AbstractChart] = HalfSine
    finite_differences: bool = False
    difference_step: float = 1e-7
    translation_scale: float = 1.0
    rotation_scale: float = 1.0
    shift: float = 1e-10
    rank_tolerance: float = (
        1e-9  # singular values below this fraction of the largest are redundant rows
    )

    def __post_init__(self):
        """Refuses what no step could be solved with."""
        if self.tolerance is not None:
            _check_positive("tolerance", self.tolerance)
        for name in (
            "difference_step",
            "translation_scale",
            "rotation_scale",
            "shift",
            "rank_tolerance",
        ):
            _check_positive(name, getattr(self, name))
        if not self.difference_step * self.rotation_scale < 1.0:
            raise ValueError(
                f"`difference_step` * `rotation_scale` is {self.difference_step * self.rotation_scale:g}, "
                "but a difference of quaternions must be smaller than 1."
            )
        if self.max_iterations < 1:
            raise ValueError(f"`max_iterations` is {self.max_iterations}, but must be at least 1.")
        if self.max_line_search < 0:
            raise ValueError(
                f"`max_line_search` is {self.max_line_search}, but must be at least 0."
            )
        if self.solver is not None and not isinstance(self.solver, LinearSolver):
            raise ValueError(f"`solver` is {self.solver!r}, but must be {_members(LinearSolver)}.")
        if not isinstance(self.load_evaluation, LoadEvaluation):
            raise ValueError(
                f"`load_evaluation` is {self.load_evaluation!r}, but must be {_members(LoadEvaluation)}."
            )


def _check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0.0):
        raise ValueError(f"`{name}` is {value!r}, but must be a positive number.")


def _members(kind: type[enum.Enum]) -> str:
    return ", ".join(f"{kind.__name__}.{m.name}" for m in kind)


DEFAULTS = Settings()
