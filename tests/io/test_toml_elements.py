"""Loops, elements and motions in TOML: what each key means, and the sentence of each fault."""

import pytest

from linkax.io import parse_toml, write_toml
from linkax.model.description import (
    ExpressionDescription,
    ForceDescription,
    HarmonicDescription,
    LinearDamperDescription,
    LinearSpringDescription,
    MotionDescription,
    TorqueDescription,
    TorsionalDamperDescription,
    TorsionalSpringDescription,
)


def element(kind: str, rest: str) -> str:
    return f'[[element]]\nname = "e"\ntype = "{kind}"\n{rest}'


def motion(rest: str) -> str:
    return f'[[motion]]\nname = "m"\n{rest}'


def driven(rest: str) -> str:
    return motion(f'joint = "j"\nexpression = {{{rest}}}')


ENDS = 'body_a = "a"\nbody_b = "b"\n'
READ = {
    "linear spring": (
        element("linear-spring", ENDS + "stiffness = 2\nfree_length = 0.5\npoint_b = [1, 2, 3]"),
        LinearSpringDescription("e", "a", "b", 2.0, 0.5, point_b=(1.0, 2.0, 3.0)),
    ),
    "linear damper": (
        element("linear-damper", ENDS + "damping = 2\npoint_a = [1, 2, 3]"),
        LinearDamperDescription("e", "a", "b", 2.0, (1.0, 2.0, 3.0)),
    ),
    "torsional spring": (
        element("torsional-spring", 'joint = "j"\nstiffness = 2\nfree_angle = 1'),
        TorsionalSpringDescription("e", "j", 2.0, 1.0),
    ),
    "torsional damper": (
        element("torsional-damper", 'joint = "j"\ndamping = 2'),
        TorsionalDamperDescription("e", "j", 2.0),
    ),
    "force": (
        element("force", 'body = "a"\nforce = [1, 2, 3]\npoint = [0, 0, 1]'),
        ForceDescription("e", "a", (1.0, 2.0, 3.0), (0.0, 0.0, 1.0)),
    ),
    "force at the centre of mass": (
        element("force", 'body = "a"\nforce = [1, 2, 3]'),
        ForceDescription("e", "a", (1.0, 2.0, 3.0), None),
    ),
    "torque": (
        element("torque", 'body = "a"\ntorque = [1, 2, 3]'),
        TorqueDescription("e", "a", (1.0, 2.0, 3.0)),
    ),
}


@pytest.mark.parametrize("case", READ)
def test_an_element_is_read(case):
    text, expected = READ[case]
    assert parse_toml(text).elements == [expected]


@pytest.mark.parametrize("case", READ)
def test_an_element_is_written(case):
    description = parse_toml(READ[case][0])
    assert parse_toml(write_toml(description)) == description


def test_an_expression_is_read():
    found = parse_toml(
        driven(
            "constant = 1, ramp = 2, sine = {amplitude = 3, frequency = 4, phase = 5, offset = 6}, "
            "cosine = [{amplitude = 7, frequency = 8}, {amplitude = 9, frequency = 10}]"
        )
    )
    sine = [HarmonicDescription(3.0, 4.0, 5.0, 6.0)]
    cosine = [HarmonicDescription(7.0, 8.0), HarmonicDescription(9.0, 10.0)]
    expression = ExpressionDescription(1.0, 2.0, sine, cosine)
    assert found.motions == [MotionDescription("m", expression, joint="j")]


def test_an_expression_may_be_a_table_of_its_own():
    found = parse_toml(motion('body = "a"\n[motion.expression]\nramp = 1\n'))
    assert found.motions == [MotionDescription("m", ExpressionDescription(ramp=1.0), body="a")]


def test_an_expression_is_written_without_its_zeros():
    text = write_toml(parse_toml(driven("ramp = 2")))
    assert "ramp = 2.0" in text
    assert "constant" not in text
    assert "sine" not in text


def test_nothing_is_written_that_a_missing_key_means():
    text = write_toml(parse_toml(READ["linear spring"][0]))
    assert "point_b" in text
    assert "point_a" not in text
    loop = '{ name = "l", type = "revolute", parent = "a", child = "b" }'
    assert loop in write_toml(parse_toml(f"loop = [{loop}]"))


LOOP = '[[loop]]\nname = "l"\ntype = "revolute"\nparent = "a"\n'
SPRING = ENDS + "stiffness = 2\nfree_length = 0.5\n"
FAULTS = {
    "loop without child": (LOOP, "loop `l` has no `child`"),
    "nameless loop": ("[[loop]]\ntype = 'revolute'", "[[loop]] number 1 has no `name`"),
    "damping of a loop": (
        LOOP + "child = 'b'\ndamping = 1",
        "loop `l` has the unknown key `damping`",
    ),
    "unknown loop key": (LOOP + "child = 'b'\naxes = [0, 0, 1]", "did you mean `axis`"),
    "element without type": ("[[element]]\nname = 'e'", "element `e` has no `type`"),
    "unknown type": (
        element("linear-sprin", ""),
        "element `e` has type `linear-sprin`, which is no element type; did you mean `linear-spring`",
    ),
    "unknown element key": (
        element("linear-spring", SPRING + "stifness = 1"),
        "element `e` has the unknown key `stifness`; did you mean `stiffness`",
    ),
    "key of another kind": (
        element("torque", "body = 'a'\ntorque = [0, 0, 1]\nforce = [0, 0, 1]"),
        "element `e` has the unknown key `force`",
    ),
    "no stiffness": (
        element("linear-spring", ENDS + "free_length = 1"),
        "element `e` has no `stiffness`",
    ),
    "no free length": (element("linear-spring", ENDS + "stiffness = 1"), "has no `free_length`"),
    "no damping": (element("linear-damper", ENDS), "element `e` has no `damping`"),
    "no joint": (element("torsional-damper", "damping = 1"), "element `e` has no `joint`"),
    "no force": (element("force", "body = 'a'"), "element `e` has no `force`"),
    "no torque": (element("torque", "body = 'a'"), "element `e` has no `torque`"),
    "nameless element": (
        "[[element]]\ntype = 'torque'\nbody = 'a'\ntorque = [0, 0, 1]",
        "[[element]] number 1 has no `name`",
    ),
    "stiffness in letters": (
        element("torsional-spring", "joint = 'j'\nstiffness = 'high'"),
        "element `e` has stiffness='high', but it is a number",
    ),
    "short point": (
        element("linear-spring", SPRING + "point_a = [1, 2]"),
        "element `e` has point_a=[1, 2], but it is 3 numbers",
    ),
    "joint is a number": (
        element("torsional-damper", "joint = 1\ndamping = 1"),
        "element `e` has joint=1, but it is a string",
    ),
    "nameless motion": ("[[motion]]\njoint = 'j'", "[[motion]] number 1 has no `name`"),
    "unknown motion key": (motion("joints = 'j'"), "unknown key `joints`; did you mean `joint`"),
    "joint and body": (
        motion("joint = 'j'\nbody = 'a'\nexpression = {ramp = 1}"),
        "motion `m` has both `joint` and `body`; give one of them",
    ),
    "neither joint nor body": (
        motion("expression = {ramp = 1}"),
        "motion `m` has neither `joint` nor `body`; give one of them",
    ),
    "no expression": (motion("joint = 'j'"), "motion `m` has no `expression`"),
    "empty expression": (
        driven(""),
        "expression of motion `m` is {}, but it is a table of at least one of constant, ramp, sine",
    ),
    "expression is a number": (motion("joint = 'j'\nexpression = 2"), "motion `m` is 2, but it is"),
    "unknown term": (driven("sinus = 1"), "expression of motion `m` has the unknown key `sinus`"),
    "constant in letters": (driven("constant = 'c'"), "constant='c', but it is a number"),
    "sine is a number": (
        driven("sine = 1"),
        "`sine` of expression of motion `m` is 1, but it is a table of amplitude, frequency, phase",
    ),
    "list of numbers": (driven("cosine = [1]"), "`cosine` of expression of motion `m` is [1], but"),
    "no amplitude": (
        driven("sine = {frequency = 1}"),
        "sine of expression of motion `m` has no `amplitude`",
    ),
    "no frequency": (
        driven("cosine = [{amplitude = 1, frequency = 1}, {amplitude = 1}]"),
        "cosine of expression of motion `m` has no `frequency`",
    ),
    "unknown sine key": (
        driven("sine = {amplitude = 1, frequenci = 1}"),
        "unknown key `frequenci`; did you mean `frequency`",
    ),
    "single element table": ("[element]\nname = 'e'", "write [[element]] before each"),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named_in_one_sentence(case):
    text, expected = FAULTS[case]
    with pytest.raises(ValueError) as caught:
        parse_toml(text)
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
