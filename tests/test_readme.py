"""What the README shows runs as it stands, from the repository's root."""

import re
from pathlib import Path

import pytest


ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "README.md").read_text()


def test_the_first_screen_holds_the_two_commands():
    first = re.findall(r"```sh\n(.*?)```", TEXT[:1800], re.S)
    assert len(first) == 2
    assert all(len(command.strip().splitlines()) == 1 for command in first)
    assert "linkax simulate configs/quadruped.toml" in first[0]
    assert "pytest" in first[1]
    assert (ROOT / "configs/quadruped.toml").is_file()


@pytest.mark.slow
def test_the_example_runs(monkeypatch):
    monkeypatch.chdir(ROOT)
    first, second = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    namespace: dict = {}
    exec(compile(first, "README.md", "exec"), namespace)
    assert abs(namespace["a"]).max() < 1e-10  # held against gravity, nothing moves
    assert namespace["run"].q.shape == (51, 6)
    assert namespace["gradient"].shape == (6,)
    assert namespace["batch"].shape == (1, 6)
    exec(compile(second, "README.md", "exec"), namespace)
    assert namespace["torque"].shape == (1001,)
    assert abs(namespace["torque"][200] + 398.65525) < 1e-4
    assert namespace["forces"].shape == (4, 6)
    assert abs(namespace["slope"]).min() > 1e-2


def test_the_files_it_points_to_exist():
    for target in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (ROOT / target.replace("\\_", "_")).exists(), target
