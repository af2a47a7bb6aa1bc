"""`linkax info`, `check`, `view`, `bench` and the version: what they print."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import linkax as lx
from linkax.cli.main import main
from linkax.cli.quantities import QUANTITIES
from linkax.model import (
    ExpressionDescription,
    ForceDescription,
    GearDescription,
    JointDescription,
    MotionDescription,
    TorqueDescription,
)


ROBOT = """
<robot name="gripper">
  <link name="base"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="slide"><inertial><mass value="0.5"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip"/>
  <link name="finger"><inertial><mass value="0.25"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="lift" type="prismatic"><parent link="base"/><child link="slide"/>
    <axis xyz="0 0 1"/><limit lower="-0.1" upper="0.4" effort="1" velocity="1"/></joint>
  <joint name="glue" type="fixed"><parent link="slide"/><child link="tip"/></joint>
  <joint name="turn" type="revolute"><parent link="base"/><child link="finger"/>
    <mimic joint="lift" multiplier="2" offset="0.5"/><dynamics friction="0.1"/></joint>
</robot>
"""


@pytest.fixture
def robot(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gripper.urdf").write_text(ROBOT)
    return tmp_path


def said(capsys, *words) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


def row(text: str, name: str) -> list[str]:
    """The cells of the first line of a table that begins with this name."""
    line = next(line for line in text.splitlines() if line.strip().startswith(name + "  "))
    return re.split(r"\s{2,}", line.strip())


def test_info_lists_bodies_joints_limits_and_merged_links(robot, capsys):
    text = said(capsys, "info", "gripper.urdf", "--root", "floating")
    first = "gripper: 3 bodies, 3 joints, 8 coordinates, 7 speeds; 2.75 kg; gravity (0, 0, -9.81)"
    assert text.startswith(first)
    assert row(text, "slide") == ["slide", "0.5", "(0, 0, 0)", "base", "lift"]
    assert row(text, "lift") == ["lift", "prismatic", "lift", "-0.1 to 0.4"]
    assert row(text, "turn") == ["turn", "revolute", "= 2 lift +0.5"]
    assert row(text, "root")[:2] == ["root", "floating"]
    assert row(text, "tip") == ["tip", "slide"]
    assert "`linkax check gripper.urdf` lists them." in text


def test_info_of_a_fixed_root_has_the_base_as_a_frame_of_the_world(robot, capsys):
    text = said(capsys, "info", "gripper.urdf")
    assert text.startswith("gripper: 2 bodies, 2 joints, 1 coordinate, 1 speed;")
    assert row(text, "base") == ["base", "world"]


def test_check_counts_what_is_there_and_lists_what_is_not_honoured(robot, capsys):
    text = said(capsys, "check", "gripper.urdf")
    assert "4 bodies" in text
    assert "3 joints: 1 prismatic, 1 fixed, 1 revolute" in text
    assert "1 joint that follows another" in text
    assert "Joint friction is not honoured: turn." in text
    assert "It can be simulated, with 1 speed." in text


def test_check_of_an_honoured_file_says_so(robot, capsys):
    lx.write_toml(lx.library.pendulum(), robot / "pendulum.toml")
    text = said(capsys, "check", "pendulum.toml")
    assert "All of it is honoured." in text
    assert "1 marker" in text


def test_check_lists_loops_elements_and_motions_by_kind(robot, capsys):
    description = lx.library.double_pendulum()
    first, second = (body.name for body in description.bodies)
    description.loops = [JointDescription("closure", "spherical", second, "world")]
    description.elements = [
        ForceDescription("push", first, (0.0, 0.0, 1.0)),
        TorqueDescription("twist", first, (0.0, 0.0, 1.0)),
        TorqueDescription("turn", second, (0.0, 0.0, 1.0)),
    ]
    hinge = description.joints[0].name
    description.drives = [GearDescription("motor", hinge, 50.0, 0.01)]
    description.motions = [
        MotionDescription("drive", ExpressionDescription(ramp=1.0), joint=hinge),
        MotionDescription("steer", ExpressionDescription(ramp=1.0), body=second),
    ]
    lx.write_toml(description, robot / "linkage.toml")
    assert main(["check", "linkage.toml"]) == 2
    found = capsys.readouterr()
    assert (
        "  1 loop: 1 spherical\n  1 drive: 1 gear\n  3 elements: 1 force, 2 torque\n" in found.out
    )
    built = "  drive motor is built as rotor motor_rotor (body and joint each) and coupling loop motor\n"
    assert built in found.out
    assert f"  prescribed motion drive of joint {hinge}\n" in found.out
    assert f"  prescribed motion steer of the planar angle of {second}\n" in found.out
    assert "cannot be closed near them" in found.err


def test_check_of_a_file_that_cannot_be_built_still_says_what_it_holds(robot, capsys):
    (robot / "bad.urdf").write_text(ROBOT.replace('value="0.25"', 'value="-1"'))
    assert main(["check", "bad.urdf"]) == 2
    found = capsys.readouterr()
    assert "4 bodies" in found.out
    assert "Joint friction is not honoured" in found.out
    assert found.err.startswith("linkax: bad.urdf: Body `finger` has mass=-1")


def test_view_of_a_file_is_a_page_of_its_initial_pose(robot, capsys):
    assert "gripper.html" in said(capsys, "view", "gripper.urdf")
    page = (robot / "gripper.html").read_text(encoding="utf-8")
    assert page.count("finger") > 0
    assert page.lstrip().lower().startswith("<!doctype html>")


def test_bench_times_both_engines_and_tells_compiling_apart(robot, capsys):
    lx.write_toml(lx.library.pendulum(), robot / "pendulum.toml")
    quantities = ("forward_dynamics", "latency")
    text = said(capsys, "bench", "pendulum.toml", "--batch", "8", "--only", *quantities)
    assert text.startswith("pendulum: 1 body, 1 speed; f64, 1 device (cpu)")
    titles = [line.partition(":")[0] for line in text.splitlines() if ": " in line]
    assert titles == ["pendulum", *quantities]
    lines = [line.split() for line in text.splitlines() if line.startswith("pendulum  ")]
    assert [line[1:4] for line in lines] == [
        ["8", "64", "linkax"],
        ["8", "64", "linkax-batched"],
        ["1", "64", "linkax"],
    ]
    for line in lines:
        figure, compiling = float(line[4]), float(line[6])
        assert figure > 0.0
        assert compiling > 0.0
    assert {line[7] for line in lines[:2]} >= {"1.00x"}


@pytest.mark.slow
def test_bench_of_a_chain_has_a_table_for_every_quantity(capsys):
    text = said(capsys, "bench", "--chain", "1", "--batch", "2", "--precision", "f32")
    for name in QUANTITIES:
        assert f"\n{name}: " in text
    assert text.count("as fast") == 2 * len(QUANTITIES) - 1
    assert "Error" not in text


def test_bench_makes_devices_of_the_processors_cores(tmp_path):
    words = (
        "bench",
        "--chain",
        "1",
        "--batch",
        "4",
        "--devices",
        "2",
        "--only",
        "inverse_dynamics",
    )
    done = subprocess.run(
        [sys.executable, "-m", "linkax.cli", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(lx.__file__).parents[1])}
        | {"JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "2 devices (cpu)" in done.stdout
    assert "linkax-batched" in done.stdout
    assert "Error" not in done.stdout


def test_version_and_help_need_no_file(capsys):
    for words, expected in ((["--version"], lx.__version__), (["--help"], "simulate")):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 0
        assert expected in capsys.readouterr().out
