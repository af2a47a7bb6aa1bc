"""Result files: plain arrays in, the same arrays out, and nothing that needs a pickle."""

import zipfile

import numpy as np
import pytest

import linkax as lx
from linkax.io import read_results, write_results


ARRAYS = {
    "t": np.linspace(0.0, 1.0, 5),
    "q": np.arange(30, dtype=np.float32).reshape(2, 5, 3),
    "marker/tool tip": np.ones((5, 3)),
    "multipliers": np.zeros((5, 0)),
    "status": np.int32(0),
    "body_names": np.array(["base", "\u00e4rm"]),
    "settings": np.array('{"dt": 0.1}'),
}


def test_what_is_written_is_read_back_bit_for_bit(tmp_path):
    path = write_results(tmp_path / "run.npz", ARRAYS)
    found = read_results(path)
    assert list(found) == list(ARRAYS)
    for name, value in ARRAYS.items():
        assert found[name].dtype == np.asarray(value).dtype
        np.testing.assert_array_equal(found[name], value)


def test_the_file_is_the_one_named_whatever_its_ending(tmp_path):
    assert write_results(tmp_path / "run.data", {"t": [0.0]}) == tmp_path / "run.data"
    assert [path.name for path in tmp_path.iterdir()] == ["run.data"]


def test_numpy_alone_reads_it_without_pickles(tmp_path):
    path = write_results(tmp_path / "run.npz", ARRAYS)
    with np.load(path, allow_pickle=False) as archive:
        np.testing.assert_array_equal(archive["marker/tool tip"], ARRAYS["marker/tool tip"])


def test_objects_and_reserved_names_are_refused_before_anything_is_written(tmp_path):
    path = tmp_path / "run.npz"
    with pytest.raises(ValueError, match="`settings` holds Python objects"):
        write_results(path, {"t": [0.0], "settings": np.array({"dt": 0.1})})
    with pytest.raises(ValueError, match="can be called `file`"):
        write_results(path, {"file": [0.0]})
    assert not path.exists()


def test_a_missing_folder_and_a_missing_file_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no/run\.npz cannot be written: the folder"):
        write_results(tmp_path / "no" / "run.npz", {})
    with pytest.raises(FileNotFoundError, match=r"none\.npz: there is no such file"):
        read_results(tmp_path / "none.npz")


def test_other_files_are_refused_in_one_sentence(tmp_path):
    text = tmp_path / "text.npz"
    text.write_text("no archive")
    with pytest.raises(ValueError, match=r"text.npz: this is no result file"):
        read_results(text)
    with pytest.raises(ValueError, match="this is no result file"):
        read_results(tmp_path)
    pickled = tmp_path / "pickled.npz"
    np.savez(pickled, settings=np.array({"dt": 0.1}, dtype=object))
    with pytest.raises(ValueError, match=r"pickled.npz: the result file cannot be read") as caught:
        read_results(pickled)
    assert "\n" not in str(caught.value)
    broken = tmp_path / "broken.npz"
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("t.npy", b"\x93NUMPY\x01\x00")
    with pytest.raises(ValueError, match=r"broken.npz: the result file cannot be read"):
        read_results(broken)


def test_the_public_face_has_both():
    assert lx.io.read_results is read_results
    assert lx.io.write_results is write_results
