"""Storage files: numbers come back to the bit, angles in degrees too; what is wrong is said with its line."""

import math

import numpy as np
import pytest

import linkax as lx
from linkax.io import Motion, read_motion, write_motion


RNG = np.random.default_rng(0)
TABLE = Motion(
    np.cumsum(RNG.uniform(1e-3, 1.0, 50)),
    ("hip", "knee", "pelvis_tx"),
    RNG.normal(size=(50, 3)) * 10.0 ** RNG.integers(-12, 12, (50, 3)),
    "walk",
)


@pytest.mark.parametrize("degrees", [False, True])
def test_numbers_come_back_to_the_bit(tmp_path, degrees):
    angles = ("hip", "knee")
    path = write_motion(tmp_path / "walk.mot", TABLE, degrees, angles)
    found = read_motion(path, angles)
    assert found.name == "walk"
    assert found.names == TABLE.names
    np.testing.assert_array_equal(found.time, TABLE.time)
    np.testing.assert_array_equal(found.values, TABLE.values)
    # Another reader takes the numbers as they stand.
    plain = read_motion(path).column("hip")
    wanted = np.degrees(TABLE.column("hip")) if degrees else TABLE.column("hip")
    np.testing.assert_allclose(plain, wanted, rtol=1e-15)
    np.testing.assert_array_equal(read_motion(path).column("pelvis_tx"), TABLE.values[:, 2])


def test_numbers_that_are_not_finite_stay_so(tmp_path):
    values = np.array([[math.nan, math.inf], [0.0, -math.inf]])
    path = write_motion(
        tmp_path / "a.sto", Motion(np.arange(2.0), ("a", "b"), values), True, ("a", "b")
    )
    np.testing.assert_array_equal(read_motion(path, ("a", "b")).values, values)


def test_the_file_is_laid_out_as_other_programs_read_it(tmp_path):
    motion = Motion(np.array([0.0, 0.5]), ("hip", "slide"), np.array([[math.pi, 1.0], [0.0, -2.0]]))
    path = write_motion(tmp_path / "a.sto", motion, True, ["hip"])
    lines = path.read_text().splitlines()
    assert lines[:7] == [
        *("motion", "version=1", "nRows=2", "nColumns=3", "inDegrees=yes", "endheader"),
        "time\thip\tslide",
    ]
    first, hip, slide = lines[7].split("\t")
    assert (float(first), float(hip), float(slide)) == (0.0, 180.0, 1.0)


FILES = {
    "no head": ("time\ta\n0.0\t1.0\n", "no line `endheader`"),
    "no columns": ("endheader\n", "no line `endheader`"),
    "no time": (
        "x\nendheader\na\tb\n0 1\n",
        "line 3 names the columns, and the first must be `time`",
    ),
    "a short line": ("x\nendheader\ntime\ta\n0 1\n1\n", "line 5 has 1 numbers for 2 columns"),
    "a word": ("x\nendheader\ntime\ta\n0 one\n", "line 4 holds something that is no number"),
    "rows": ("x\nnRows=3\nendheader\ntime\ta\n0 1\n", "says nRows=3, but there are 1"),
    "columns": ("x\nnColumns=3\nendheader\ntime\ta\n0 1\n", "says nColumns=3, but there are 2"),
    "degrees": ("x\ninDegrees=maybe\nendheader\ntime\ta\n0 1\n", "must be yes or no"),
}


@pytest.mark.parametrize("name", FILES)
def test_what_is_wrong_in_a_file_is_said(tmp_path, name):
    text, sentence = FILES[name]
    path = tmp_path / "bad.sto"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence) as caught:
        read_motion(path)
    assert str(path) in str(caught.value)


TABLES = {
    "shape": (Motion(np.arange(2.0), ("a",), np.zeros((2, 2))), "they are of shape"),
    "times": (Motion(np.zeros(2), ("a",), np.zeros((2, 1))), "Times must increase"),
    "name": (Motion(np.arange(1.0), ("a b",), np.zeros((1, 1))), "names are single words"),
    "twice": (Motion(np.arange(1.0), ("a", "a"), np.zeros((1, 2))), "Two columns"),
    "title": (Motion(np.arange(1.0), ("a",), np.zeros((1, 1)), "a=b"), "a line without `=`"),
}


@pytest.mark.parametrize("name", TABLES)
def test_what_the_format_cannot_hold_is_refused(tmp_path, name):
    motion, sentence = TABLES[name]
    with pytest.raises(ValueError, match=sentence):
        write_motion(tmp_path / "a.sto", motion)
    assert not (tmp_path / "a.sto").exists()


def test_unknown_columns_are_named(tmp_path):
    with pytest.raises(
        ValueError, match="There is no column `ankle`; there are hip, knee, pelvis_tx"
    ):
        write_motion(tmp_path / "a.sto", TABLE, True, ["ankle"])
    with pytest.raises(ValueError, match="There is no column `ankle`"):
        TABLE.column("ankle")
    assert lx.io.Motion is Motion
