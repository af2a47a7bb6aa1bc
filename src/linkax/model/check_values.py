"""Values of a description are finite floats of the right shape, or an error names where they stand."""

import math

import numpy as np

from linkax.model.description import GROUND, Placement, Triple
from linkax.model.naming import suggestion


# Quaternions and perpendicular axes typed with seven digits pass; a forgotten component does not.
UNIT_TOLERANCE = 1e-6


def check_known(name: str, bodies: list[str], where: str, role: str):
    """The name is that of a body or of the ground, or an error lists near matches."""
    if name != GROUND and name not in bodies:
        raise ValueError(
            f"{where} has {role} `{name}`, which is no body;{suggestion(name, [*bodies, GROUND])}"
        )


def every(sequence) -> tuple[float, ...]:
    """A sequence of a checked joint, which is always complete."""
    return () if sequence is None else sequence


def sequence(value, count: int, default: float, where: str, key: str) -> tuple[float, ...]:
    """One entry a speed or coordinate, from a number, a sequence or None."""
    if value is None:
        return (default,) * count
    entries = _floats(value, where, key)
    if entries.ndim == 0:
        entries = np.full(count, float(entries))
    if entries.shape != (count,):
        raise ValueError(
            f"{where} has {key}={value}, but a joint of this type takes one number or {count}."
        )
    if np.isnan(entries).any() or (not math.isinf(default) and np.isinf(entries).any()):
        raise ValueError(f"{where} has {key}={value}, but it must be finite.")
    return tuple(entries.tolist())


def placement(placement: Placement, where: str, key: str) -> Placement:
    """The placement with a quaternion of unit length to the last digit."""
    position = triple(placement.position, where, f"{key} position")
    entries = tuple(array(placement.quaternion, (4,), where, f"{key} quaternion").tolist())
    return Placement(position, unit(entries, where, f"a {key} whose quaternion"))


def unit(quaternion, where: str, what: str) -> tuple[float, float, float, float]:
    """The quaternion of unit length to the last digit."""
    w, x, y, z = quaternion
    length = math.hypot(w, x, y, z)
    if abs(length - 1.0) > UNIT_TOLERANCE:
        raise ValueError(f"{where} has {what} (w, x, y, z) has length {length:.9g}; it must be 1.")
    return (w / length, x / length, y / length, z / length)


def real(value, where: str, key: str) -> float:
    """A finite number."""
    return float(array(value, (), where, key))


def not_negative(value, where: str, key: str) -> float:
    """A finite number from zero on."""
    number = real(value, where, key)
    if number < 0.0:
        raise ValueError(f"{where} has {key}={number:g}, but it may not be negative.")
    return number


def triple(value, where: str, key: str) -> Triple:
    """Three finite numbers."""
    x, y, z = array(value, (3,), where, key).tolist()
    return (x, y, z)


def array(value, shape: tuple[int, ...], where: str, key: str) -> np.ndarray:
    """Finite numbers of this shape."""
    array = _floats(value, where, key)
    if array.shape != shape:
        wanted = {(): "a number", (3,): "3 numbers", (4,): "4 numbers", (3, 3): "3x3 numbers"}[
            shape
        ]
        raise ValueError(f"{where} has {key}={value}, but it is {wanted}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{where} has {key}={value}, but it must be finite.")
    return array


def _floats(value, where: str, key: str) -> np.ndarray:
    try:
        array = np.asarray(value)
        if array.dtype.kind in "iuf":
            return array.astype(float)
    except ValueError:  # ragged rows
        pass
    raise ValueError(f"{where} has {key}={value!r}, but it consists of numbers.")
