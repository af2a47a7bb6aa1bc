"""Shapes agree with the masses and inertias they stand for, and bad input is named."""

import dataclasses

import numpy as np
import pytest

from linkax.view import Box, Rod, Sphere, Triad, scene_of
from linkax.view.scene import uniform_box


def _rotation() -> np.ndarray:
    a, b = 0.7, -1.1
    x = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
    z = np.array([[np.cos(b), -np.sin(b), 0], [np.sin(b), np.cos(b), 0], [0, 0, 1]])
    return z @ x


def _of_kind(shapes, kind):
    return [shape for shape in shapes if isinstance(shape, kind)]


def test_the_uniform_box_has_the_inertia_it_was_made_from():
    mass, half, rotation = 2.3, np.array([0.1, 0.25, 0.4]), _rotation()
    squares = half**2
    inertia = rotation @ np.diag(mass / 3.0 * (squares.sum() - squares)) @ rotation.T
    made = uniform_box(mass, inertia)
    assert made is not None
    found, axes = made
    again = axes @ np.diag(mass / 3.0 * ((found**2).sum() - found**2)) @ axes.T
    np.testing.assert_allclose(again, inertia, atol=1e-14)
    np.testing.assert_allclose(np.sort(found), half, rtol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("mass", "moments"),
    [
        (0.0, (1.0, 1.0, 1.0)),
        (1.0, (0.0, 0.0, 0.0)),
        (1.0, (1.0, 1.0, 2.1)),
        (1.0, (1.0, 1.0, np.nan)),
        (-1.0, (1.0, 1.0, 1.0)),
    ],
)
def test_a_body_without_a_box_is_drawn_as_a_ball(geometry, mass, moments):
    geometry.mass[0] = mass
    geometry.inertia[0] = np.diag(moments)
    result = {"t": np.zeros(1), "position": np.zeros((1, 2, 3)), "orientation": np.ones((1, 2, 4))}
    shapes = scene_of(result, geometry).shapes
    assert not _of_kind(shapes[0], Box)
    (ball,) = _of_kind(shapes[0], Sphere)
    assert 0.0 < ball.radius < 0.1
    assert _of_kind(shapes[1], Box)


def test_a_thin_rod_is_drawn_thick_enough_to_see(geometry):
    geometry.inertia[0] = np.diag([0.1, 0.1, 0.0])
    result = {"t": np.zeros(1), "position": np.zeros((1, 2, 3)), "orientation": np.ones((1, 2, 4))}
    (box,) = _of_kind(scene_of(result, geometry).shapes[0], Box)
    assert box.half.min() == pytest.approx(0.02 * box.half.max())


def test_rods_reach_from_the_frame_to_child_joints_and_to_the_centre_of_mass(result, geometry):
    scene = scene_of(result, geometry, title="arm")
    ends = [rod.end for rod in _of_kind(scene.shapes[0], Rod)]
    np.testing.assert_allclose(ends, [geometry.com[0], geometry.joint_points[1]])
    np.testing.assert_allclose(
        [rod.end for rod in _of_kind(scene.shapes[1], Rod)], [geometry.com[1]]
    )
    assert all(len(_of_kind(body, Triad)) == 1 for body in scene.shapes)
    assert scene.parents == (-1, 0)
    assert scene.title == "arm"
    assert scene.position.shape == (301, 2, 3)


def test_a_lone_massless_point_still_has_a_scene(geometry):
    lone = dataclasses.replace(
        geometry,
        names=("point",),
        parents=np.array([-1]),
        mass=np.zeros(1),
        com=np.zeros((1, 3)),
        inertia=np.zeros((1, 3, 3)),
        joint_points=np.zeros((1, 3)),
    )
    result = {"t": np.zeros(1), "position": np.zeros((1, 1, 3)), "orientation": np.ones((1, 1, 4))}
    (shapes,) = scene_of(result, lone).shapes
    assert [type(shape) for shape in shapes] == [Sphere, Triad]


def test_a_missing_entry_is_named_with_its_near_match(result, geometry):
    wrong = {"t": result["t"], "positions": result["position"]}
    with pytest.raises(ValueError, match=r"no entry `position`.*positions"):
        scene_of(wrong, geometry)


def test_a_batch_is_refused_with_advice(result, geometry):
    batch = {**result, "position": result["position"][None]}
    with pytest.raises(ValueError, match="take one sample of the batch"):
        scene_of(batch, geometry)


def test_a_wrong_geometry_is_named(result, geometry):
    with pytest.raises(ValueError, match=r"`com` of the geometry must have shape \(2, 3\)"):
        scene_of(result, dataclasses.replace(geometry, com=np.zeros((3, 3))))
    with pytest.raises(ValueError, match="body `forearm <&>` has parent index 2"):
        scene_of(result, dataclasses.replace(geometry, parents=np.array([-1, 2])))
