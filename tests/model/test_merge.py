"""Bodies fixed to each other become one, exactly, and stay findable."""

import copy

import numpy as np
import pytest

from linkax.model.builder import assemble
from linkax.model.description import (
    BodyDescription,
    Description,
    FrameDescription,
    JointDescription,
    MarkerDescription,
    Placement,
)
from linkax.model.library import diagonal
from linkax.model.merge import combine
from linkax.model.placement import (
    body_axis_quaternion,
    compose,
    fixed_axis_quaternion,
    inverse,
    rotation_matrix,
    transform_point,
)
from linkax.model.root import with_root


UNIT = diagonal(1.0, 1.0, 1.0)
TURNED = Placement((0.3, -0.1, 0.2), fixed_axis_quaternion((0.4, -0.2, 0.7)))


def body(name, mass=1.0, com=(0.0, 0.0, 0.0), inertia=UNIT):
    return BodyDescription(name, mass, com, inertia)


def hinge(name, parent, child, kind="revolute", **options):
    return JointDescription(name, kind, parent, child, **options)


def pair(kind="revolute", **options):
    """Two bodies on a hinge and on a joint of the kind."""
    return Description(
        bodies=[body("a"), body("b")],
        joints=[hinge("ja", "world", "a"), hinge("jb", "a", "b", kind, **options)],
    )


# --- placement ---


def test_placements_compose_and_invert():
    other = Placement((1.0, 2.0, 3.0), body_axis_quaternion((1.0, 0.5, -0.3)))
    both = compose(TURNED, other)
    R = rotation_matrix(TURNED.quaternion)
    np.testing.assert_allclose(
        rotation_matrix(both.quaternion), R @ rotation_matrix(other.quaternion), atol=1e-15
    )
    np.testing.assert_allclose(both.position, R @ other.position + TURNED.position, atol=1e-15)
    back = compose(inverse(both), both)
    np.testing.assert_allclose(back.position, 0.0, atol=1e-15)
    np.testing.assert_allclose(back.quaternion, (1.0, 0.0, 0.0, 0.0), atol=1e-15)
    assert compose(TURNED, Placement()) is TURNED
    assert compose(Placement(), TURNED) is TURNED


# --- fixed joints ---


def test_a_rotated_child_is_merged_exactly():  # O20
    inertia = ((0.004, 0.001, 0.0), (0.001, 0.006, 0.0), (0.0, 0.0, 0.009))
    model = assemble(
        Description(
            bodies=[
                body("a", 2.0, inertia=diagonal(0.02, 0.03, 0.04)),
                body("b", 1.5, (0.05, 0.02, -0.03), inertia),
            ],
            joints=[
                hinge("ja", "world", "a", "floating"),
                hinge("jb", "a", "b", "fixed", parent_frame=TURNED),
            ],
        )
    ).model
    assert model.mass[0] == 3.5
    np.testing.assert_allclose(model.com[0], (0.1376149971, -0.0183715132, 0.081636665), atol=1e-10)
    expected = [
        [0.0566111082, 0.0107920715, -0.0522683645],
        [0.0107920715, 0.1560258634, 0.005993337],
        [-0.0522683645, 0.005993337, 0.1384691817],
    ]
    np.testing.assert_allclose(model.inertia[0], expected, atol=1e-10)
    np.testing.assert_array_equal(model.inertia[0], model.inertia[0].T)
    assert model.frame_names == ("a", "b")
    assert model.topology.frame_bodies == (0, 0)
    np.testing.assert_allclose(model.frame_position[1], TURNED.position)
    np.testing.assert_allclose(model.frame_quaternion[1], TURNED.quaternion)


def test_what_hangs_on_a_merged_body_is_carried_over():
    child = Placement((0.1, 0.0, 0.0), (0.6, 0.0, 0.8, 0.0))
    place = compose(TURNED, inverse(child))
    further = Placement((0.0, 0.5, 0.0), (0.8, 0.6, 0.0, 0.0))
    assembly = assemble(
        Description(
            bodies=[body("a"), body("b"), body("c")],
            joints=[
                hinge("ja", "world", "a"),
                hinge("jb", "a", "b", "fixed", parent_frame=TURNED, child_frame=child),
                hinge("jc", "b", "c", parent_frame=further),
            ],
            frames=[FrameDescription("tool", "b", further), FrameDescription("hook", "c", further)],
            markers=[MarkerDescription("tip", "b", (1.0, 2.0, 3.0))],
        )
    )
    model = assembly.model
    assert model.body_names == ("a", "c")
    expected = compose(place, further)
    np.testing.assert_allclose(model.parent_position[1], expected.position)
    np.testing.assert_allclose(model.parent_quaternion[1], expected.quaternion)
    frames = dict(zip(model.frame_names, model.topology.frame_bodies, strict=True))
    assert frames == {"a": 0, "b": 0, "c": 1, "tool": 0, "hook": 1}
    tool = model.frame_names.index("tool")
    np.testing.assert_allclose(model.frame_position[tool], expected.position)
    np.testing.assert_allclose(model.frame_quaternion[tool], expected.quaternion)
    ((name, index, point),) = assembly.markers
    assert (name, index) == ("tip", 0)
    np.testing.assert_allclose(point, transform_point(place, (1.0, 2.0, 3.0)))


def test_links_fixed_to_the_ground_are_frames_of_it():
    model = assemble(
        Description(
            bodies=[body("base", 7.0), body("mast"), body("arm")],
            joints=[
                hinge("j0", "world", "base", "fixed", parent_frame=TURNED),
                hinge("j1", "base", "mast", "fixed", parent_frame=Placement((0.0, 0.0, 1.0))),
                hinge("j2", "mast", "arm"),
            ],
        )
    ).model
    assert (model.body_names, model.topology.parents) == (("arm",), (-1,))
    assert model.topology.frame_bodies == (-1, -1, 0)
    expected = transform_point(TURNED, (0.0, 0.0, 1.0))
    np.testing.assert_allclose(model.frame_position[1], expected)
    np.testing.assert_allclose(model.parent_position[0], expected)
    assert model.mass[0] == 1.0


def test_merging_does_not_depend_on_the_order_or_the_nesting():
    parts = [
        (Placement(), body("a", 2.0, (0.1, 0.0, 0.0))),
        (TURNED, body("b", 0.0, inertia=diagonal(0.1, 0.1, 0.2))),
        (inverse(TURNED), body("c", 1.5, (0.0, 0.3, 0.0), diagonal(1.0, 2.0, 3.0))),
    ]
    whole, reverse = combine(parts), combine(parts[::-1])
    inner = combine(parts[1:])
    (a, b, c), (d, e, f), (g, h, i) = inner.inertia.tolist()
    merged = body("bc", inner.mass, inner.com, ((a, b, c), (d, e, f), (g, h, i)))
    nested = combine([parts[0], (Placement(), merged)])
    for other in (reverse, nested):
        assert other.mass == pytest.approx(whole.mass)
        np.testing.assert_allclose(other.com, whole.com, atol=1e-15)
        np.testing.assert_allclose(other.inertia, whole.inertia, atol=1e-15)


def test_a_lone_massive_part_keeps_its_numbers_bit_for_bit():
    part = body("a", 1.1, (0.1, 0.2, 0.3), diagonal(0.1, 0.2, 0.25))
    massless = body("b", 0.0, inertia=diagonal(0.0, 0.0, 0.0))
    found = combine([(Placement(), part), (TURNED, massless)])
    assert (found.mass, found.com) == (part.mass, part.com)
    np.testing.assert_array_equal(found.inertia, part.inertia)


def test_a_description_is_left_as_it_was():
    description = pair("fixed", parent_frame=TURNED)
    before = copy.deepcopy(description)
    assemble(with_root(description, "fixed"), massless="weld")
    assert description == before
