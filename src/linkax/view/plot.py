"""One figure tells how a run went: coordinates, speeds, energies and the change of their total.

Needs matplotlib, which is imported only when a figure is made; no backend and no global setting of
it is touched.
"""

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from linkax.view.scene import Floats


if TYPE_CHECKING:
    from matplotlib.axes import Axes

# More lines than this in one panel cannot be told apart.
MOST_LINES = 12
# Ten hues in an order that sets neighbours apart; the two lines after them come dashed.
COLORS = (
    *("#2f6fb3", "#e07b1a", "#3c9a55", "#b8407a", "#7a5fb5"),
    *("#1d9aa8", "#c2452f", "#8a7a1e", "#5b6b7a", "#9c5a2e"),
)
INK, SOFT = "#1f2933", "#66727f"


def write_plot(result: Mapping[str, Any], path: str | os.PathLike[str]) -> Path:
    """Draw one sample's result over time to `path` (.png, .pdf, .svg) and return the path.

    `t` (points,) [s] is needed, and one or more of `q` (points, nq), `v` (points, nv) and `energy`
    (points, 2: kinetic, potential) [J]. `coordinate_names` and `speed_names`, where there, name the
    lines. Non-finite values leave gaps. Raises ValueError where the result has nothing to draw or a
    shape is wrong, FileNotFoundError without the folder, ImportError without matplotlib.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed: pip install 'linkax[plot]'"
        ) from error

    path = Path(path)
    time, q, v, energy = _columns(result)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write the plot {path}: the folder {path.parent} does not exist"
        )

    panels: list[Any] = []
    if q is not None:
        names = _names(result, "coordinate_names", q.shape[1], "q")
        panels.append(lambda axes: _lines(axes, time, q, names, "coordinates [rad or m]"))
    if v is not None:
        # A one-freedom joint's speed bears its coordinate's name.
        same = q is not None and q.shape[1] == v.shape[1] and "speed_names" not in result
        source = "coordinate_names" if same else "speed_names"
        speed_names = _names(result, source, v.shape[1], "v")
        panels.append(lambda axes: _lines(axes, time, v, speed_names, "speeds [rad/s or m/s]"))
    if energy is not None:
        panels.append(lambda axes: _energies(axes, time, energy))
        panels.append(lambda axes: _change(axes, time, energy))

    figure = Figure(figsize=(9.0, 0.7 + 2.4 * len(panels)), dpi=130, layout="constrained")
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(all_axes, panels, strict=True):
        panel(axes)
        _dress(axes)
    all_axes[-1].set_xlabel("time [s]", color=INK)
    figure.align_ylabels(list(all_axes))
    figure.savefig(path)
    return path


def _columns(
    result: Mapping[str, Any],
) -> tuple[Floats, Floats | None, Floats | None, Floats | None]:
    """Time and what there is of q, v and energy, checked: (points,) and (points, columns)."""
    if "t" not in result:
        near = difflib.get_close_matches("t", list(result), n=3, cutoff=0.3)
        has = ", ".join(near or sorted(result)) or "nothing"
        raise ValueError(f"the result has no entry `t`, which a plot needs; it has {has}")
    time = np.asarray(result["t"], dtype=float)
    if time.ndim != 1 or time.size == 0:
        raise ValueError(
            f"`t` of the result must hold one or more points, (points,), but has shape {time.shape}"
        )
    found: dict[str, Floats | None] = {}
    for name in ("q", "v", "energy"):
        found[name] = None
        if name not in result:
            continue
        values = np.asarray(result[name], dtype=float)
        if values.ndim != 2 or values.shape[0] != time.size:
            advice = "; take one sample of the batch" if values.ndim == 3 else ""
            raise ValueError(
                f"`{name}` of the result must have one row for each of the {time.size} points, "
                f"but has shape {values.shape}{advice}"
            )
        if name == "energy" and values.shape[1] != 2:
            raise ValueError(
                "`energy` of the result must have the two columns kinetic and potential, "
                f"but has {values.shape[1]}"
            )
        if values.shape[1] > 0:
            found[name] = values
    if all(values is None for values in found.values()):
        raise ValueError(
            "the result has nothing to plot; it needs one or more of `q`, `v` and `energy`, "
            f"but has {', '.join(sorted(result))}"
        )
    return time, found["q"], found["v"], found["energy"]


def _names(result: Mapping[str, Any], entry: str, count: int, letter: str) -> list[str]:
    names = [str(name) for name in np.ravel(result.get(entry, ()))]
    return names if len(names) == count else [f"{letter}[{i}]" for i in range(count)]


def _lines(axes: "Axes", time: Floats, values: Floats, names: list[str], label: str) -> None:
    """One line a column; of too many, those that move most, in their own order."""
    values = np.where(np.isfinite(values), values, np.nan)
    count = values.shape[1]
    shown = np.arange(count)
    if count > MOST_LINES:
        finite = np.where(np.isfinite(values), values, values[:1])
        travel = np.nan_to_num(finite.max(axis=0) - finite.min(axis=0))
        shown = np.sort(np.argsort(-travel, kind="stable")[:MOST_LINES])
        title = f"the {MOST_LINES} of {count} that move most"
        axes.set_title(title, loc="right", fontsize=8, color=SOFT)
    for i, column in enumerate(shown):
        style = "-" if i < len(COLORS) else "--"
        color = COLORS[i % len(COLORS)]
        axes.plot(time, values[:, column], style, color=color, label=names[column], **_mark(time))
    axes.set_ylabel(label, color=INK)
    _legend(axes)


def _energies(axes: "Axes", time: Floats, energy: Floats) -> None:
    energy = np.where(np.isfinite(energy), energy, np.nan)
    for label, values, color in (
        ("kinetic", energy[:, 0], COLORS[0]),
        ("potential", energy[:, 1], COLORS[1]),
        ("total", energy.sum(axis=1), INK),
    ):
        axes.plot(time, values, color=color, label=label, **_mark(time))
    axes.set_ylabel("energy [J]", color=INK)
    _legend(axes)


def _change(axes: "Axes", time: Floats, energy: Floats) -> None:
    """The total energy less its first value, relative to the largest kinetic energy.

    Not to the first total: that holds the arbitrary zero of the potential, and may vanish.
    """
    energy = np.where(np.isfinite(energy), energy, np.nan)
    change = energy.sum(axis=1) - energy[0].sum()
    kinetic = energy[:, 0][np.isfinite(energy[:, 0])]
    largest = kinetic.max(initial=0.0)
    label = "change of total [J]"
    if largest > 0.0:
        change = change / largest
        label = "change of total\n/ largest kinetic [-]"
    axes.plot(time, change, color=COLORS[3], **_mark(time))
    axes.axhline(0.0, color=SOFT, linewidth=0.6)
    axes.set_ylabel(label, color=INK)


def _mark(time: Floats) -> dict[str, Any]:
    """Line keywords; a run of very few points shows them, a single one would be no line at all."""
    return {"linewidth": 1.4, "marker": "o" if time.size < 3 else None, "markersize": 4}


def _legend(axes: "Axes") -> None:
    axes.legend(
        loc="upper left", bbox_to_anchor=(1.0, 1.02), fontsize=8, frameon=False, labelcolor=INK
    )


def _dress(axes: "Axes") -> None:
    axes.grid(color="#e3e7ec", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color("#b6bec8")
    axes.tick_params(colors=SOFT, labelsize=8)
    axes.yaxis.get_offset_text().set(fontsize=8, color=SOFT)
    axes.margins(x=0.01)
    axes.yaxis.label.set_fontsize(9)
    axes.xaxis.label.set_fontsize(9)
