"""The reference solutions of closed mechanisms meet published numbers and keep what must be kept.

A mechanism of one degree of freedom whose closure and energy hold has no freedom left to be wrong in,
once its kinetic energy is right; where no number is published, that energy is counted anew from particles.
"""

import functools as ft
import math

import closed_loops as loops
import numpy as np
import pytest
from scipy.spatial.transform import Rotation


def close(found, right, tol):
    np.testing.assert_allclose(found, right, rtol=tol, atol=tol)


# --- four-bar ---


@pytest.mark.parametrize(
    ("t", "torque", "degrees"),
    [
        (0.0, 385.1252203657328, (20.0, 47.41765997, 103.33702487)),
        (0.05, 26.912674826354447, None),
        (0.1, -398.66891816183704, (60.0, 36.02272333, 102.89032693)),
        (0.5, -398.66891816183704, None),
    ],
)
def test_the_driven_four_bar_needs_the_known_torque(t, torque, degrees):
    found = loops.four_bar_driven(t)
    assert found.torque == pytest.approx(torque, rel=1e-13)
    if degrees:
        close(np.degrees(found.angles), degrees, 1e-10)


def test_the_driven_four_bar_s_known_reactions_are_those_of_steps_of_half_a_millisecond():
    # The published reactions come from second differences; the exact ones differ in the fifth digit.
    bar, h, t = loops.FourBar(width=0.05, g=9.80665), 5e-4, 0.1

    def places(t):
        q = math.radians(40.0) - math.radians(20.0) * math.cos(10.0 * math.pi * t)
        d = bar.directions(q)
        return np.column_stack([bar.coms(q), np.arctan2(d[:, 1], d[:, 0])])

    second = (places(t + h) - 2.0 * places(t) + places(t - h)) / h**2
    coms = places(t)[:, :2]
    loads = np.multiply(bar.masses, (second[:, :2] + [0.0, bar.g]).T).T
    bodies = list(map(loops.Body, coms, loads, bar.inertias * second[:, 2]))
    pins = list(zip((-1, 0, 1, 2), (0, 1, 2, -1), bar.pins(math.radians(60.0)), strict=True))
    forces, torque = loops.pin_forces(bodies, pins, motor=0)
    known = (514.0434, -16.7501), (364.8693, 59.5732), (29.8125, 148.5883), (-59.2241, 116.4443)
    np.testing.assert_allclose(forces, known, atol=6e-5)
    assert torque == pytest.approx(-398.655251, rel=1e-9)
    exact = loops.four_bar_driven(t).reactions
    assert 0.01 < np.abs(exact - known).max() < 0.03
    close(exact[3, :], [-59.227398238840, 116.448545827027], 1e-11)


def test_the_free_four_bar_starts_as_known():
    bar = loops.FourBar()
    second = ft.partial(loops.acceleration, bar.inertia, bar.potential, 0.7)
    assert bar.inertia(0.7) == pytest.approx(0.829301653664818, rel=1e-14)
    assert second(0.0) == pytest.approx(-11.36630988831793, rel=1e-14)
    assert second(1.0) == pytest.approx(-11.547284291482349, rel=1e-14)
    assert loops.slope(bar.potential, 0.7)[1] == pytest.approx(9.426099586448833, rel=1e-14)
    close(bar.rates(0.7)[:, 2], (1.0, -0.2882203313, -0.0060042933), 1e-10)
    _, coupler, rocker = bar.directions(0.7)
    close(coupler, [f(0.7156647172840742) for f in (math.cos, math.sin)], 1e-14)
    close(rocker, [f(1.7700649206575436) for f in (math.cos, math.sin)], 1e-14)


def test_the_free_four_bar_keeps_its_energy():
    bar, y = loops.FourBar(), loops.four_bar_free(np.linspace(0.0, 2.0, 9))
    energy = [0.5 * bar.inertia(q) * w**2 + bar.potential(q) for q, w in y[:, :2]]
    close(energy, energy[0], 1e-11)


# --- double four-bar ---


def test_the_double_four_bar_aligns_when_known_and_keeps_its_energy():
    y = loops.double_four_bar([0.0, 0.7143555292929349, 1.0, 5.0, 10.0])
    assert y[1, 0] == pytest.approx(math.pi / 2, abs=1e-11)
    close(1.5 * y[:, 1] ** 2 + 3.5 * loops.G * y[:, 3], 35.835, 1e-11)


# --- Andrews' squeezer ---


def test_andrews_squeezer_moves_as_published():
    mechanism = loops.Andrews()
    a, multipliers = mechanism.solve(mechanism.start, np.zeros(7))
    close(a[:2], (14222.4439199541, -10666.8329399656), 1e-12)
    close(multipliers, (98.5668704, -6.12268834, 0.0, 0.0, 0.0, 0.0), 1e-8)
    found = loops.andrews([0.01, 0.03])
    # At 0.01 to all digits; of the rates at 0.03 seven are published right, of the multipliers five.
    first = (2.160113131531, -1.883364231107, 0.158516758001, -0.328641075175)
    close(found.q[0], (*first, 0.525154774798, 0.328641075175, 1.068427204632), 1e-11)
    first = (15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948)
    close(found.q[1], (*first, 0.5244099658805304, 0.5347301163226948, 1.048080741042263), 2e-9)
    first = (1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385)
    close(found.v[1], (*first, 0.5735699284790808, -19.29337464421385, 0.3231791658026955), 1e-7)
    known = (199.1753333731910, -29.75531228015052, 23.06654119098399, 31.45271365475927)
    close(found.multipliers[1], (*known, 22.64249232082739, 11.61740700019673), 2e-6)
    close(found.energy, 1.43783295753, 1e-11)


# --- Bricard's mechanism ---


def box_particles(size):
    """Eight equal particles with the inertia of a solid box: at 1/sqrt(3) of its half sizes."""
    signs = np.array(np.meshgrid(*3 * [(-1.0, 1.0)])).reshape(3, 8).T
    return signs * np.asarray(size) / (2.0 * math.sqrt(3.0))


def bricard_particles(q):
    """(5, 8, 3): where the particles of the five rods are."""
    R, p, places = Rotation.identity(), np.zeros(3), []
    for axis, rod, angle in zip(loops.Bricard.axes, loops.Bricard.rods, q, strict=True):
        R = R * Rotation.from_rotvec(angle * axis)
        box = box_particles(np.where(np.abs(rod) > 0.5, 1.0, 0.1))
        places.append(p + R.apply(0.5 * rod + box))
        p = p + R.apply(rod)
    return np.array(places)


def test_the_rods_of_bricard_s_mechanism_are_boxes():
    q, v = np.array([0.3, -0.7, 1.1, 0.4, -0.2]), np.array([1.0, 2.0, -1.5, 0.5, 0.8])
    h = 1e-5
    speeds = (bricard_particles(q + h * v) - bricard_particles(q - h * v)) / (2.0 * h)
    state = loops.Bricard().at(q, v)
    assert 0.5 * v @ state.M @ v == pytest.approx(0.5 * (speeds**2).sum() / 8.0, rel=1e-8)
    height = bricard_particles(q)[..., 1].mean(1).sum()
    assert state.potential == pytest.approx(loops.G * height, rel=1e-13)


def test_bricard_s_mechanism_moves_on_a_closure_of_rank_four_and_keeps_its_energy():
    motion = loops.bricard([1.0, 2.5, 5.0])
    close(motion.energy, -3.0 * loops.G, 1e-10)
    assert motion.gap.max() < 1e-11
    assert motion.singular[:, 3].min() > 0.5
    assert motion.singular[:, 4].max() < 1e-11
    assert np.linalg.norm(motion.P3[0] - (1.0, -1.0, 1.0)) > 1.0


# --- flyball governor ---


def test_the_governor_moves_as_another_program_has_it():
    # Source: EXUDYN 1.13, the same mechanism as a kinematic tree, implicit trapezoidal, step 5e-5.
    m = loops.governor([0.1, 1.0])
    close(m.angle, (0.62210668, 5.58634696), 1e-8)
    close(m.turn, (6.10371781, 6.27112573), 1e-8)
    close(m.s, (0.52383648, 0.501420923), 1e-8)
    close(m.tilt - math.pi / 6, (-0.02742491, -0.00176547509), 1e-8)


def test_the_governor_loses_what_its_dampers_take_and_is_the_same_by_an_explicit_method():
    times = [0.0, 1e-3, 0.1, 1.0]
    stiff, explicit = loops.governor(times), loops.governor(times, "DOP853")
    close(stiff.energy + stiff.lost, stiff.energy[0], 1e-12)
    assert stiff.lost[-1] > 2e-3
    close(stiff.s, explicit.s, 1e-11)
    close(stiff.turn, explicit.turn, 1e-11)


def test_the_governor_s_inertia_about_its_shaft_is_that_of_its_boxes_and_balls():
    tilt, m = 0.4, loops.Governor()
    arm = Rotation.from_rotvec([0.0, tilt, 0.0])
    box = [m.pivot, 0.0, 1.0] + arm.apply([0.5, 0.0, 0.0] + box_particles((1.0, 0.01, 0.01)))
    ball = [m.pivot, 0.0, 1.0] + arm.apply([1.0, 0.0, 0.0])
    square = lambda p: (p[..., :2] ** 2).sum(-1)
    arms = 2.0 * (0.3 * square(box).mean() + 5.0 * square(ball))
    shaft = 0.3 * square(box_particles((0.01, 0.01, 1.0))).mean()
    slider = 3.0 * square(box_particles((0.1, 0.1, 0.1))).mean()
    assert m.about_z(tilt) == pytest.approx(arms + shaft + slider, rel=1e-13)


# --- slider-cranks ---


def test_the_spatial_slider_crank_moves_as_known_and_keeps_its_energy():
    m, y = loops.SpatialSliderCrank(), loops.spatial_slider_crank([0.0, 0.1, 0.5, 1.0])
    close(y[1], (0.5600314820930841, 5.828888134654772, 0.2267871885529214), 1e-12)
    close(y[2], (5.5837625533066655, 14.408160810188807, 0.18495262977780286), 1e-11)
    energy = [0.5 * m.inertia(q) * w**2 + m.potential(q) for q, w in y[:, :2]]
    close(energy, 0.76643568, 1e-11)


def test_the_planar_slider_crank_gains_the_motor_s_work():
    m = loops.SliderCrank()

    def places(q):
        # Simpson's weights on ends and middle have the inertia of a uniform bar.
        tip = np.array([np.cos(q), np.sin(q)]) * m.crank
        far = np.array([m.place(q), 0.0 * q])
        return np.array([0.0 * tip, tip / 2, tip, tip, (tip + far) / 2, far, far])

    bar = np.array([1.0, 4.0, 1.0]) * 0.2 / 6.0
    mass = np.concatenate([bar, bar, [0.4]])
    for x, speed, q, rate in loops.slider_crank([0.5, 1.0, 2.0]):
        _, moved = loops.slope(places, q)
        kinetic = 0.5 * mass @ (moved**2).sum(1) * rate**2
        assert kinetic == pytest.approx(m.torque * q, rel=1e-11)
        assert x == pytest.approx(places(q)[-1, 0], rel=1e-14)
        assert speed == pytest.approx(moved[-1, 0] * rate, rel=1e-12)


# --- parallelogram and frame ---


def test_the_parallelogram_and_the_frame_stand_as_published():
    p = loops.parallelogram()
    assert p.acceleration == pytest.approx(-5.518125, rel=1e-14)
    assert p.frequency == pytest.approx(3.3220851886, rel=1e-10)
    assert p.by_coupler == pytest.approx(0.229921875, rel=1e-14)
    close(p.forces, 2 * [(-7.168254647, 15.481406250)], 1e-10)
    left, right, apex = loops.frame()
    close(left, (5.663806140750, 19.62), 1e-12)
    close(right, (-5.663806140750, 19.62), 1e-12)
    close(apex, (5.663806140750, 0.0), 1e-12)
