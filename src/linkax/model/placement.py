"""Placements compose exactly in plain numpy: what readers and the builder need before any tracing.

Quaternions are (w, x, y, z) and rotate the frame's axes into its parent's: `X_AC = X_AB @ X_BC` is
`compose(X_AB, X_BC)`. Composing with the identity returns the other placement bit for bit.
"""

import numpy as np

from linkax.model.description import Placement, Triple


IDENTITY = Placement()


def rotation_matrix(quaternion) -> np.ndarray:
    """The matrix (3, 3) of a quaternion (w, x, y, z) of any positive length."""
    w, x, y, z = np.asarray(quaternion, dtype=float)
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return np.array(
        [
            [1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)],
            [s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x)],
            [s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y)],
        ]
    )


def quaternion_of_matrix(matrix) -> tuple[float, float, float, float]:
    """The unit quaternion (w, x, y, z) of a rotation matrix (3, 3), its largest entry positive.

    The largest of the four squares is found first, so that no small number is divided by.
    Source: S. W. Shepperd, Quaternion from rotation matrix, J. Guidance and Control 1 (1978).
    """
    r = np.asarray(matrix, dtype=float)
    trace = r[0, 0] + r[1, 1] + r[2, 2]
    largest = int(np.argmax([trace, r[0, 0], r[1, 1], r[2, 2]]))
    if largest == 0:
        entries = [1.0 + trace, r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]
    else:
        i = largest - 1
        j, k = (i + 1) % 3, (i + 2) % 3
        entries = [0.0] * 4
        entries[0] = r[k, j] - r[j, k]
        entries[1 + i] = 1.0 + 2.0 * r[i, i] - trace
        entries[1 + j] = r[j, i] + r[i, j]
        entries[1 + k] = r[k, i] + r[i, k]
    return unit_quaternion(entries)


def unit_quaternion(quaternion) -> tuple[float, float, float, float]:
    """The quaternion divided by its length."""
    entries = np.asarray(quaternion, dtype=float)
    w, x, y, z = (entries / np.linalg.norm(entries)).tolist()
    return (w, x, y, z)


def multiply(a, b) -> tuple[float, float, float, float]:
    """The quaternion product a * b."""
    aw, ax, ay, az = (float(e) for e in a)
    bw, bx, by, bz = (float(e) for e in b)
    return (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )


def turn(axis, angle: float) -> tuple[float, float, float, float]:
    """The unit quaternion of a turn by `angle` [rad] about a unit axis."""
    half = 0.5 * angle
    x, y, z = (float(e) * float(np.sin(half)) for e in axis)
    return (float(np.cos(half)), x, y, z)


def fixed_axis_quaternion(rpy) -> tuple[float, float, float, float]:
    """The turn about fixed x, then fixed y, then fixed z: R = Rz Ry Rx, as URDF's rpy [rad]."""
    x, y, z = _axis_turns(rpy)
    return multiply(z, multiply(y, x))


def body_axis_quaternion(rpy) -> tuple[float, float, float, float]:
    """The turn about x, the new y, the new z: R = Rx Ry Rz, this library's Euler angles."""
    x, y, z = _axis_turns(rpy)
    return multiply(x, multiply(y, z))


def _axis_turns(rpy):
    return tuple(turn(axis, float(angle)) for axis, angle in zip(np.eye(3), rpy, strict=True))


def compose(a: Placement, b: Placement) -> Placement:
    """X_AC from X_AB and X_BC."""
    if b == IDENTITY:
        return a
    if a == IDENTITY:
        return b
    return Placement(transform_point(a, b.position), multiply(a.quaternion, b.quaternion))


def inverse(a: Placement) -> Placement:
    """X_BA from X_AB; the quaternion is taken to be of unit length."""
    if a == IDENTITY:
        return a
    w, x, y, z = a.quaternion
    back = (w, -x, -y, -z)
    px, py, pz = (-(rotation_matrix(back) @ np.asarray(a.position, dtype=float))).tolist()
    return Placement((px, py, pz), back)


def transform_point(a: Placement, point) -> Triple:
    """The point, given in the placed frame, in the parent's axes from the parent's origin [m]."""
    if a == IDENTITY:
        x, y, z = (float(e) for e in point)
        return (x, y, z)
    moved = rotation_matrix(a.quaternion) @ np.asarray(point, dtype=float)
    x, y, z = (np.asarray(a.position, dtype=float) + moved).tolist()
    return (x, y, z)
