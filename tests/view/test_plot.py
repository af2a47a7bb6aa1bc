"""The figure is made whatever part of a result there is, and says what is missing."""

import sys

import numpy as np
import pytest

from linkax.view import write_plot


image = pytest.importorskip("matplotlib.image")


def _pixels(path) -> np.ndarray:
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    return image.imread(path)


def test_a_whole_result_is_plotted(result, tmp_path):
    path = write_plot(result, tmp_path / "run.png")
    pixels = _pixels(path)
    assert len(np.unique(pixels.reshape(-1, pixels.shape[-1]), axis=0)) > 50
    # Every quarter of the height, a panel each, has something drawn in it.
    assert all(np.ptp(quarter) > 0.3 for quarter in np.array_split(pixels[..., :3], 4))


def test_names_and_the_drift_of_the_energy_are_written(result, tmp_path):
    path = write_plot(result, tmp_path / "run.svg")
    text = path.read_text(encoding="utf-8")
    for words in ("shoulder", "elbow", "time [s]", "energy [J]", "largest kinetic"):
        assert words in text


def test_of_many_coordinates_those_that_move_most_are_shown(tmp_path):
    t = np.linspace(0.0, 1.0, 20)
    q = t[:, None] * np.arange(40.0)
    q[15:] = np.nan
    names = [f"joint_{i:02d}" for i in range(40)]
    text = write_plot({"t": t, "q": q, "coordinate_names": names}, tmp_path / "run.svg").read_text(
        encoding="utf-8"
    )
    shown = [name for name in names if name in text]
    assert shown == names[-12:]
    assert "the 12 of 40 that move most" in text


def test_one_point_and_a_failed_run_are_plotted(result, tmp_path):
    one = {name: result[name][:1] for name in ("t", "q", "v", "energy")}
    _pixels(write_plot(one, tmp_path / "one.png"))
    failed = {**result, **{name: np.full_like(result[name], np.nan) for name in ("q", "energy")}}
    _pixels(write_plot(failed, tmp_path / "failed.png"))


def test_a_result_with_nothing_to_plot_is_refused(result, tmp_path):
    path = tmp_path / "run.png"
    with pytest.raises(ValueError, match="no entry `t`, which a plot needs; it has nothing"):
        write_plot({}, path)
    with pytest.raises(ValueError, match=r"`t` of the result must hold one or more points"):
        write_plot({"t": np.zeros(0), "q": np.zeros((0, 2))}, path)
    with pytest.raises(ValueError, match="nothing to plot; it needs one or more of"):
        write_plot({"t": result["t"]}, path)
    with pytest.raises(ValueError, match="one row for each of the 301 points"):
        write_plot({"t": result["t"], "q": result["q"][:5]}, path)
    with pytest.raises(ValueError, match="take one sample of the batch"):
        write_plot({"t": result["t"], "q": result["q"][None]}, path)
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        write_plot(result, tmp_path / "nowhere" / "run.png")
    assert not path.exists()


def test_without_matplotlib_the_error_says_what_to_install(result, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install 'linkax\[plot\]'"):
        write_plot(result, tmp_path / "run.png")
