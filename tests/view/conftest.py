"""A double pendulum by its textbook equations, as a result and a geometry; no kernel needed."""

import numpy as np
import pytest

from linkax.view import BodyGeometry


GRAVITY = 9.81
MASS = (1.0, 0.6)
LENGTH = (0.8, 0.6)


def _rates(state: np.ndarray) -> np.ndarray:
    """Point masses on massless rods, angles from the downward vertical (any mechanics text)."""
    (m1, m2), (l1, l2) = MASS, LENGTH
    a1, a2, w1, w2 = state
    d = a1 - a2
    matrix = np.array([[(m1 + m2) * l1, m2 * l2 * np.cos(d)], [l1 * np.cos(d), l2]])
    right = np.array(
        [
            -m2 * l2 * w2**2 * np.sin(d) - (m1 + m2) * GRAVITY * np.sin(a1),
            l1 * w1**2 * np.sin(d) - GRAVITY * np.sin(a2),
        ]
    )
    return np.concatenate([[w1, w2], np.linalg.solve(matrix, right)])


def swing(points: int = 301, dt: float = 0.01) -> dict[str, np.ndarray]:
    states = np.zeros((points, 4))
    states[0] = (1.9, 2.6, 0.0, 0.0)
    for i in range(points - 1):
        s = states[i]
        k1 = _rates(s)
        k2 = _rates(s + 0.5 * dt * k1)
        k3 = _rates(s + 0.5 * dt * k2)
        k4 = _rates(s + dt * k3)
        states[i + 1] = s + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
    angles, speeds = states[:, :2], states[:, 2:]
    (m1, m2), (l1, l2) = MASS, LENGTH
    elbow = l1 * np.stack([np.sin(angles[:, 0]), 0 * angles[:, 0], -np.cos(angles[:, 0])], -1)
    w1, w2 = speeds.T
    cross = l1 * l2 * w1 * w2 * np.cos(angles[:, 0] - angles[:, 1])
    kinetic = 0.5 * (m1 + m2) * (l1 * w1) ** 2 + 0.5 * m2 * (l2 * w2) ** 2 + m2 * cross
    tip = elbow[:, 2] - l2 * np.cos(angles[:, 1])
    potential = GRAVITY * (m1 * elbow[:, 2] + m2 * tip)
    # Hanging along -z at angle zero, turning about -y: toward +x.
    zero = np.zeros_like(angles)
    orientation = np.stack([np.cos(angles / 2), zero, -np.sin(angles / 2), zero], axis=-1)
    return {
        "t": dt * np.arange(points),
        "position": np.stack([np.zeros_like(elbow), elbow], axis=1),
        "orientation": orientation,
        "q": angles,
        "v": speeds,
        "energy": np.stack([kinetic, potential], axis=-1),
        "coordinate_names": np.array(["shoulder", "elbow"]),
    }


def bars() -> BodyGeometry:
    """Two bars hanging along -z, drawn as slender boxes."""
    sizes = np.array([[0.08, 0.05, LENGTH[0]], [0.06, 0.04, LENGTH[1]]])
    mass = np.array(MASS)
    squares = sizes**2
    moments = mass[:, None] / 12.0 * (squares.sum(-1, keepdims=True) - squares)
    return BodyGeometry(
        names=("upper arm", "forearm <&>"),
        parents=np.array([-1, 0]),
        mass=mass,
        com=np.array([[0.0, 0.0, -LENGTH[0] / 2], [0.0, 0.0, -LENGTH[1] / 2]]),
        inertia=np.stack([np.diag(m) for m in moments]),
        joint_points=np.array([[0.0, 0.0, 0.0], [0.0, 0.0, -LENGTH[0]]]),
    )


@pytest.fixture(scope="session")
def result() -> dict[str, np.ndarray]:
    return swing()


@pytest.fixture
def geometry() -> BodyGeometry:
    return bars()
