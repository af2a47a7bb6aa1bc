"""Files are told apart by ending and root element, and a bad one is one sentence that names it."""

import pytest

from linkax.io import describe


URDF = '<robot name="r"><link name="a"/></robot>'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("r.urdf", URDF),
        ("r.URDF", URDF),
        ("r.xml", URDF),
        ("bom.urdf", "\ufeff" + URDF),
        ("r.toml", 'name = "r"\n[[body]]\nname = "a"'),
    ],
)
def test_the_ending_chooses_the_reader(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    for form in (path, str(path)):
        description = describe(form)
        assert (description.name, [body.name for body in description.bodies]) == ("r", ["a"])


def test_a_file_without_a_name_lends_its_own(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text("")
    assert describe(path).name == "arm"


FAULTS = {
    "mjcf": ("m.xml", "<mujoco/>", "MJCF is not read yet"),
    "mjcf called urdf": ("m.urdf", "<mujoco/>", "MJCF is not read yet"),
    "not a robot": ("m.xml", "<html/>", "root element is <html>"),
    "broken xml": ("m.urdf", "<robot", "XML is malformed"),
    "empty": ("m.urdf", "", "XML is malformed"),
    "not xml": ("m.urdf", "hello", "XML is malformed"),
    "broken toml": ("m.toml", "= 1", "TOML is malformed"),
    "xacro": ("m.xacro", URDF, "expand it first"),
    "xacro in urdf": ("m.urdf", "<robot><xacro:include/></robot>", "expand it first"),
    "ending": ("m.sdf", "<sdf/>", "the ending is `.sdf`, but valid are .urdf, .toml, .xml"),
    "no ending": ("m", "", "the ending is ``"),
    "unknown key": ("m.toml", "bodys = 1", "unknown key `bodys`; did you mean `body`"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_bad_file_is_one_sentence_that_begins_with_its_path(tmp_path, case):
    name, text, expected = FAULTS[case]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        describe(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)


def test_bytes_that_are_no_text_are_refused(tmp_path):
    path = tmp_path / "m.toml"
    path.write_bytes(b"name = '\xff'")
    with pytest.raises(ValueError, match="not UTF-8"):
        describe(path)


def test_a_missing_file_and_a_folder_are_told_apart(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        describe(tmp_path / "none.urdf")
    with pytest.raises(ValueError, match="is a folder"):
        describe(tmp_path)
