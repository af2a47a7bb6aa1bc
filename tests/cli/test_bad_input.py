"""Bad input is one sentence on standard error and exit status 2, and nothing is computed."""

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

import linkax as lx
from linkax.cli import machine
from linkax.cli.main import main
from linkax.model import library


BODY = '[[body]]\nname = "link"\nmass = 1.0\ncom = [0.5, 0.0, 0.0]\ninertia = [0.1, 0.1, 0.1]\n'
HINGE = '[[joint]]\nname = "hinge"\ntype = "revolute"\nparent = "world"\nchild = "link"\n'
GOOD = BODY + HINGE
FILES = {
    "good.toml": GOOD,
    "empty.urdf": "",
    "page.xml": "<html/>",
    "notes.txt": "hello",
    "massless.toml": GOOD.replace("mass = 1.0", "mass = 0.0").replace("0.1", "0.0"),
    "loop.toml": GOOD
    + BODY.replace("link", "other")
    + HINGE.replace("hinge", "second").replace("world", "link").replace('d = "link"', 'd = "other"')
    + HINGE.replace("hinge", "third").replace('d = "link"', 'd = "other"'),
    "stray.toml": GOOD
    + HINGE.replace("joint", "loop").replace("hinge", "closure").replace('d = "link"', 'd = "lin"'),
    "negative.toml": GOOD.replace("mass = 1.0", "mass = -1.0"),
    "letters.toml": GOOD.replace("mass = 1.0", 'mass = "heavy"'),
    "unknown.toml": GOOD.replace("world", "wrld"),
    "kind.toml": GOOD.replace("revolute", "revolut"),
    "zero_dt.toml": "[run]\ndt = 0.0\n" + GOOD,
    "method.toml": '[run]\nintegrator = "runge-kuta4"\n' + GOOD,
    "planned.toml": '[run]\nformulation = "embeded"\n' + GOOD,
    "still.urdf": '<robot name="r"><link name="a"/></robot>',
    "huge.npz": "not an archive",
}
CASES = {
    "no command": ([], "required: COMMAND"),
    "unknown command": (["simulat", "good.toml"], "no command `simulat`; did you mean `simulate`?"),
    "no file named": (["simulate"], "required: PATH"),
    "a word too many": (["simulate", "good.toml", "more"], "`more` is one word too many"),
    "unknown option": (
        ["simulate", "good.toml", "--duraton", "1"],
        "has no option `--duraton`; did you mean `--duration`",
    ),
    "missing file": (["simulate", "none.urdf"], "none.urdf: there is no such file."),
    "folder": (["info", "."], "this is a folder"),
    "empty file": (["simulate", "empty.urdf"], "XML is malformed"),
    "not a robot": (["simulate", "page.xml"], "root element is <html>"),
    "other ending": (["check", "notes.txt"], "the ending is `.txt`"),
    "zero mass on a moving leaf": (["simulate", "massless.toml"], "`hinge` moves no inertia"),
    "the shell's words": (["simulate", "massless.toml"], "or use --massless weld."),
    "loop in a tree": (["simulate", "loop.toml"], "loop.toml: Body `other`"),
    "loop to no body": (["check", "stray.toml"], "`lin`, which is no body; did you mean `link`"),
    "negative mass": (["info", "negative.toml"], "mass=-1"),
    "mass in letters": (["info", "letters.toml"], "mass='heavy', but it is a number"),
    "unknown body": (
        ["simulate", "unknown.toml"],
        "`wrld`, which is no body; did you mean `world`",
    ),
    "unknown joint type": (["simulate", "kind.toml"], "did you mean `revolute`"),
    "dt of the file": (["simulate", "zero_dt.toml"], "zero_dt.toml: [run] dt is 0, but it must be"),
    "integrator of the file": (["simulate", "method.toml"], "did you mean `runge-kutta4`"),
    "formulation of the file": (["simulate", "planned.toml"], 'did you mean "embedded"'),
    "nothing moves": (["simulate", "still.urdf"], "still.urdf: nothing in it moves"),
    "unknown integrator": (
        ["simulate", "good.toml", "--integrator", "euler"],
        "--integrator: there is no integrator `euler`; did you mean `semi-implicit-euler`",
    ),
    "integrator by its class": (
        ["simulate", "good.toml", "--integrator", "RungeKutta4"],
        "there is no integrator `RungeKutta4`; did you mean `runge-kutta4`",
    ),
    "unknown root": (["simulate", "good.toml", "--root", "float"], "did you mean `floating`"),
    "floating root of what is held": (
        ["simulate", "good.toml", "--root", "floating"],
        "use --root fixed",
    ),
    "unknown formulation": (["simulate", "good.toml", "--formulation", "tre"], 'mean "tree"'),
    "unknown precision": (["simulate", "good.toml", "--precision", "f16"], "no precision `f16`"),
    "negative duration": (["simulate", "good.toml", "--duration", "-1"], "positive number of sec"),
    "dt in letters": (["simulate", "good.toml", "--dt", "fast"], "the value is `fast`"),
    "infinite dt": (["simulate", "good.toml", "--dt", "inf"], "the value is `inf`"),
    "fractional save_every": (
        ["simulate", "good.toml", "--save-every", "1.5"],
        "a whole number from 1 on",
    ),
    "empty batch": (["simulate", "good.toml", "--batch", "0"], "a whole number from 1 on"),
    "negative spread": (["simulate", "good.toml", "--batch", "2", "--spread=-1"], "zero on"),
    "seed without batch": (["simulate", "good.toml", "--seed", "1"], "--seed is about a batch"),
    "devices without batch": (["simulate", "good.toml", "--devices", "2"], "about a batch"),
    "uneven batch": (
        ["simulate", "good.toml", "--batch", "5", "--devices", "2"],
        "use a multiple of 2",
    ),
    "too many devices": (
        ["simulate", "good.toml", "--batch", "512", "--devices", "512"],
        "--devices asks for 512 devices",
    ),
    "endless run": (["simulate", "good.toml", "--duration", "1e12"], "can be counted"),
    "result without a folder": (["simulate", "good.toml", "--out", "no/run.npz"], "folder no does"),
    "result of another kind": (["simulate", "good.toml", "--out", "run.csv"], "must be .npz"),
    "page of another kind": (["simulate", "good.toml", "--view", "run.pdf"], ".html or .htm"),
    "plot of another kind": (["simulate", "good.toml", "--plot", "run.gif"], ".png or .pdf"),
    "no run file": (["view", "none.npz"], "there is no such file"),
    "broken run file": (["view", "huge.npz"], "this is no result file"),
    "bench of nothing": (["bench", "--chain", "0"], "a whole number from 1 on"),
    "bench of an unknown quantity": (
        ["bench", "--only", "gradients"],
        "there is no quantity `gradients`; did you mean `gradient`",
    ),
    "uneven bench": (["bench", "--batch", "5", "--devices", "2"], "--batch a multiple of 2"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (path / name).write_text(text)
    return path


@pytest.mark.parametrize("case", CASES)
def test_bad_input_is_one_sentence_and_status_2(case, folder, monkeypatch, capsys):
    jax.devices()  # only a started JAX has a number of devices that cannot grow
    monkeypatch.chdir(folder)
    words, expected = CASES[case]
    before = sorted(folder.iterdir())
    assert main(words) == 2
    found = capsys.readouterr()
    assert found.err.startswith("linkax: ")
    assert expected in found.err
    assert found.err.count("\n") == 1
    assert found.err.rstrip().endswith((".", "?"))
    assert "step/s" not in found.err
    assert sorted(folder.iterdir()) == before


def test_a_history_beyond_memory_is_refused_with_the_spacing_that_fits(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(machine, "available_memory", lambda: 10_000_000)
    assert main(["simulate", "good.toml", "--duration", "100"]) == 2
    assert "save fewer of them, for instance with --save-every 4" in capsys.readouterr().err


def test_a_file_cannot_be_written_over_a_folder_or_without_permission(
    folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(folder)
    (tmp_path / "run.npz").mkdir()
    assert main(["simulate", "good.toml", "--out", str(tmp_path / "run.npz")]) == 2
    assert "it is a folder." in capsys.readouterr().err
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert main(["simulate", "good.toml"]) == 2
    assert "`good.npz` cannot be written" in capsys.readouterr().err


def test_a_run_of_another_mechanism_is_not_drawn(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    run = tmp_path / "run.npz"
    settings = '{"path": "good.toml", "root": "fixed", "massless": "error"}'
    lx.io.write_results(run, {"body_names": ["a"], "settings": settings})
    assert main(["view", str(run)]) == 2
    assert "name its file with --model" in capsys.readouterr().err
    lx.io.write_results(run, {"body_names": ["a"], "settings": settings.replace("good", "gone")})
    assert main(["view", str(run)]) == 2
    assert "which is not there" in capsys.readouterr().err
    lx.io.write_results(run, {"t": [0.0]})
    assert main(["view", str(run)]) == 2
    assert "no result file of `linkax simulate`" in capsys.readouterr().err


def test_the_shell_sees_the_status_and_no_traceback(tmp_path):
    source = Path(lx.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "linkax.cli", "simulate", "none.urdf"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(source)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "linkax: none.urdf: there is no such file.\n"


def test_faults_of_the_program_are_not_dressed_as_bad_input(folder, monkeypatch):
    def broken(*arguments, **options):
        raise ValueError("a fault of the program")

    monkeypatch.chdir(folder)
    monkeypatch.setattr("linkax.cli.simulate.run", broken)
    with pytest.raises(ValueError, match="a fault of the program"):
        main(["simulate", "good.toml"])


def test_the_files_of_these_tests_are_bad_for_one_reason_only(folder):
    assert lx.load(folder / "good.toml").model.nv == 1
    assert lx.build(library.pendulum()).model.nv == 1
