"""Loops and drives in TOML: what each key means, and the sentence of each fault."""

import tomllib

import pytest

from linkax.io import parse_toml, write_toml
from linkax.model.description import (
    CouplingDescription,
    DifferentialDescription,
    DistanceDescription,
    GearDescription,
    Placement,
    RotorDescription,
    VelocityDescription,
)


def loop(kind: str, rest: str) -> str:
    return f'[[loop]]\nname = "l"\ntype = "{kind}"\n{rest}'


def drive(kind: str, rest: str) -> str:
    return f'[[drive]]\nname = "g"\ntype = "{kind}"\n{rest}'


RODS = 'body_a = "a"\nbody_b = "b"\n'
PAIR = 'joints = ["j", "k"]\n'
ENDS = 'parent = "a"\nchild = "b"\n'
AT = Placement((1.0, 2.0, 3.0))
LOOPS = {
    "rod": (
        loop("distance", RODS + "point_b = [1, 2, 3]\nlength = 2"),
        DistanceDescription("l", "a", "b", point_b=(1.0, 2.0, 3.0), length=2.0),
    ),
    "rod as it starts": (loop("distance", RODS), DistanceDescription("l", "a", "b")),
    "rod said to be as it starts": (
        loop("distance", RODS + 'length = "initial"'),
        DistanceDescription("l", "a", "b"),
    ),
    "coupling": (
        loop("coupling", PAIR + "coefficients = [2, -1]\noffset = 0.5"),
        CouplingDescription("l", ("j", "k"), (2.0, -1.0), 0.5),
    ),
    "coupling without offset": (
        loop("coupling", PAIR + "coefficients = [2, -1]"),
        CouplingDescription("l", ("j", "k"), (2.0, -1.0)),
    ),
    "coupling as it starts": (
        loop("coupling", PAIR + 'coefficients = [2, -1]\noffset = "initial"'),
        CouplingDescription("l", ("j", "k"), (2.0, -1.0), None),
    ),
    "velocity": (
        loop("velocity", ENDS + 'locked = ["vy", "wz"]\nchild_frame = {position = [1, 2, 3]}'),
        VelocityDescription("l", "a", "b", ("vy", "wz"), child_frame=AT),
    ),
}
DRIVES = {
    "gear": (
        drive("gear", 'joint = "j"\nratio = 50\nrotor_inertia = 0.01'),
        GearDescription("g", "j", 50.0, 0.01),
    ),
    "whole gear": (
        drive(
            "gear",
            'joint = "j"\nratio = 50\nrotor_inertia = 0.01\nrotor_mass = 2\ntransverse_inertia = 3\n'
            'carrier = "a"\ncarrier_frame = {position = [1, 2, 3]}\naxis = [0, 1, 0]\ndamping = 4',
        ),
        GearDescription("g", "j", 50.0, 0.01, 2.0, 3.0, "a", AT, (0.0, 1.0, 0.0), 4.0),
    ),
    "differential": (
        drive(
            "differential",
            PAIR
            + 'rotors = [{inertia = 1}, {inertia = 2, mass = 3, carrier = "a", axis = [1, 0, 0], '
            "frame = {position = [1, 2, 3]}, transverse_inertia = 5, damping = 4}]\n"
            "matrix = [[1, 1], [1, -1]]",
        ),
        DifferentialDescription(
            "g",
            ("j", "k"),
            (RotorDescription(1.0), RotorDescription(2.0, 3.0, 5.0, "a", AT, (1.0, 0.0, 0.0), 4.0)),
            ((1.0, 1.0), (1.0, -1.0)),
        ),
    ),
}


@pytest.mark.parametrize("case", LOOPS)
def test_a_loop_is_read_and_written(case):
    text, expected = LOOPS[case]
    description = parse_toml(text)
    assert description.loops == [expected]
    assert parse_toml(write_toml(description)) == description


@pytest.mark.parametrize("case", DRIVES)
def test_a_drive_is_read_and_written(case):
    text, expected = DRIVES[case]
    description = parse_toml(text)
    assert description.drives == [expected]
    assert parse_toml(write_toml(description)) == description


def test_nothing_is_written_that_a_missing_key_means():
    for case in ("rod as it starts", "coupling without offset", "velocity"):
        text = write_toml(parse_toml(LOOPS[case][0]))
        for key in ("point_a", "length", "offset", "parent_frame"):
            assert key not in text, (case, key)
    text = write_toml(parse_toml(DRIVES["gear"][0]))
    for key in ("rotor_mass", "transverse", "carrier", "axis", "damping"):
        assert key not in text
    table = tomllib.loads(write_toml(parse_toml(DRIVES["differential"][0])))
    assert table["drive"][0]["rotors"][0] == {"inertia": 1.0}


GEAR = 'joint = "j"\nratio = 50\nrotor_inertia = 0.01\n'
ROTORS = "rotors = [{inertia = 1}, {inertia = 1}]\n"
FAULTS = {
    "unknown type of loop": (
        loop("distanc", RODS),
        "loop `l` has type `distanc`, which is no type of loop; did you mean `distance`",
    ),
    "rod without end": (loop("distance", 'body_a = "a"'), "loop `l` has no `body_b`"),
    "key of a joint": (
        loop("distance", RODS + "axis = [0, 0, 1]"),
        "loop `l` has the unknown key `axis`",
    ),
    "length in words": (
        loop("distance", RODS + 'length = "long"'),
        "loop `l` has length='long', but it is a number",
    ),
    "misspelt key": (loop("distance", RODS + "lenght = 1"), "`lenght`; did you mean `length`"),
    "point": (loop("distance", RODS + "point_a = [1]"), "point_a=[1], but it is 3 numbers"),
    "no joints": (loop("coupling", "coefficients = [1, 2]"), "loop `l` has no `joints`"),
    "no coefficients": (loop("coupling", PAIR), "loop `l` has no `coefficients`"),
    "joint for joints": (
        loop("coupling", 'joint = ["a"]'),
        "unknown key `joint`; did you mean `joints`",
    ),
    "joints in one string": (
        loop("coupling", 'joints = "j"\ncoefficients = [1, 2]'),
        "loop `l` has joints='j', but it is a list of strings",
    ),
    "one coefficient": (
        loop("coupling", PAIR + "coefficients = 1"),
        "loop `l` has coefficients=1, but it is 2 numbers",
    ),
    "coefficient in words": (
        loop("coupling", PAIR + 'coefficients = [1, "b"]'),
        "coefficients=[1, 'b'], but it is 2 numbers",
    ),
    "nothing locked": (loop("velocity", ENDS), "loop `l` has no `locked`"),
    "length of a velocity": (
        loop("velocity", ENDS + 'locked = ["vx"]\nlength = "initial"'),
        "loop `l` has the unknown key `length`",
    ),
    "unknown type of drive": (
        drive("gears", GEAR),
        "drive `g` has type `gears`, which is no type of drive; did you mean `gear`",
    ),
    "drive without type": ("[[drive]]\nname = 'g'", "drive `g` has no `type`"),
    "nameless drive": ("[[drive]]\ntype = 'gear'\n" + GEAR, "[[drive]] number 1 has no `name`"),
    "no ratio": (drive("gear", 'joint = "j"\nrotor_inertia = 1'), "drive `g` has no `ratio`"),
    "no rotor": (drive("gear", 'joint = "j"\nratio = 1'), "drive `g` has no `rotor_inertia`"),
    "misspelt key of a gear": (
        drive("gear", GEAR + "rotor_mas = 1"),
        "drive `g` has the unknown key `rotor_mas`; did you mean `rotor_mass`",
    ),
    "frame of a gear": (
        drive("gear", GEAR + "carrier_frame = [0, 0, 1]"),
        "`carrier_frame` of drive `g` is [0, 0, 1], but it is a table of position",
    ),
    "no rotors": (drive("differential", PAIR + "matrix = [[1]]"), "drive `g` has no `rotors`"),
    "no matrix": (drive("differential", PAIR + ROTORS), "drive `g` has no `matrix`"),
    "rotors in numbers": (
        drive("differential", PAIR + "rotors = [1, 2]\nmatrix = [[1]]"),
        "drive `g` has rotors=[1, 2], but it is a list of tables of inertia, mass",
    ),
    "key of a rotor": (
        drive("differential", PAIR + "rotors = [{inertia = 1}, {inertias = 1}]\nmatrix = [[1]]"),
        "rotor 1 of drive `g` has the unknown key `inertias`; did you mean `inertia`",
    ),
    "rotor without inertia": (
        drive("differential", PAIR + "rotors = [{mass = 1}]\nmatrix = [[1]]"),
        "rotor 0 of drive `g` has no `inertia`",
    ),
    "flat matrix": (
        drive("differential", PAIR + ROTORS + "matrix = [1, 2]"),
        "drive `g` has matrix=[1, 2], but it is a list of rows of numbers",
    ),
    "matrix in words": (
        drive("differential", PAIR + ROTORS + 'matrix = [[1, "b"]]'),
        "drive `g` has matrix=[[1, 'b']], but it is 2 numbers",
    ),
    "single drive table": ("[drive]\nname = 'g'", "write [[drive]] before each"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_in_one_sentence(case):
    text, expected = FAULTS[case]
    with pytest.raises(ValueError) as caught:
        parse_toml(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
