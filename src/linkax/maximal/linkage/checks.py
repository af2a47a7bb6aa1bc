"""What is refused when a linkage is built or given an element."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from linkax.joints import AbstractJoint
from linkax.kinematics.bodies import State
from linkax.maximal.checks import known
from linkax.maximal.linkage.describe import JointType, Link
from linkax.model.description import Placement
from linkax.model.placement import rotation_matrix, unit_quaternion


PLANAR = (JointType.REVOLUTE, JointType.PRISMATIC, JointType.FIXED)


def checked_link(link: Link, where: str, moving: bool) -> Link:
    """The link with its inertia as a full matrix and unit quaternions; one that moves needs a mass."""
    com = numbers(link.com, (3,), where, "com")
    inertia = np.asarray(link.inertia, float)
    if inertia.shape == (3,):
        inertia = np.diag(inertia)
    inertia = numbers(inertia, (3, 3), where, "inertia")
    mass = float(numbers(link.mass, (), where, "mass"))
    if moving and not mass > 0.0:
        raise ValueError(f"{where} has mass {mass:g} kg, but a moving link's must be positive.")
    if moving:
        lowest = float(np.linalg.eigvalsh(0.5 * (inertia + inertia.T))[0])
        if not lowest > 0.0:
            raise ValueError(
                f"{where} has an inertia whose smallest principal moment is {lowest:g}, but a moving "
                "link's must be positive."
            )
    frames = [_checked_frame(f, f"{where}, frame {i},") for i, f in enumerate(link.frames)]
    return dataclasses.replace(link, mass=mass, com=com, inertia=inertia, frames=frames)


def _checked_frame(frame: Placement, where: str) -> Placement:
    x, y, z = numbers(frame.position, (3,), where, "position").tolist()
    quaternion = numbers(frame.quaternion, (4,), where, "quaternion")
    if not np.linalg.norm(quaternion) > 0.0:
        raise ValueError(f"{where} has the quaternion zero, but it must have a length.")
    return Placement((x, y, z), unit_quaternion(quaternion))


def numbers(value, shape: tuple[int, ...], where: str, key: str) -> np.ndarray:
    """Finite numbers of this shape."""
    array = np.asarray(value, float)
    if array.shape != shape:
        raise ValueError(f"{where} has {key} of shape {array.shape}, but it must be {shape}.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{where} has {key}={value!r}, but it must be finite.")
    return array


def placed(
    links: Sequence[Link], link: int, frame: int, where: str, role: str = "link"
) -> Placement:
    """A frame of a link, both given by index."""
    check_index(link, len(links), where, f"{role} link" if role != "link" else role, "links")
    check_index(frame, len(links[link].frames), where, f"{role} frame", f"frames of link {link}")
    return links[link].frames[frame]


def check_index(index, count: int, where: str, role: str, among: str, lowest: int = 0) -> None:
    """A whole number from `lowest` on and below `count`."""
    whole = isinstance(index, (int, np.integer)) and not isinstance(index, bool)
    if not (whole and lowest <= index < count):
        raise ValueError(
            f"{where} has {role} {index!r}, but there are {count} {among}: valid are whole numbers from "
            f"{lowest} to {count - 1}."
        )


def check_variables(joints: Sequence[type[AbstractJoint]], q) -> list[np.ndarray]:
    """The variables of each joint."""
    counts = [joint.nq for joint in joints]
    total = sum(counts)
    values = np.asarray(q, float)
    if values.shape != (total,):
        raise ValueError(
            f"`q` has shape {values.shape}, but the {len(joints)} joints have {total} variables together, "
            f"{(total,)}."
        )
    if not np.all(np.isfinite(values)):
        raise ValueError(f"`q` is {values.tolist()}, but every variable must be finite.")
    return np.split(values, np.cumsum(counts)[:-1]) if counts else []


def check_type(kind: Any, where: str, planar: bool) -> None:
    """A type that the model has."""
    valid = PLANAR if planar else tuple(JointType)
    if kind not in valid:
        model = "planar" if planar else "spatial"
        names = ", ".join(str(k) for k in valid)
        raise ValueError(f"{where} of a {model} linkage is {kind!r}, but must be one of {names}.")


def check_closed(ends: Sequence[tuple[int, Placement, Placement]], dtype) -> None:
    """The two places of a frame by both ways around each loop are one."""
    real = jnp.result_type(float) if dtype is None else dtype
    tolerance = math.sqrt(float(jnp.finfo(real).eps))
    for i, one, other in ends:
        gap = float(np.linalg.norm(np.subtract(one.position, other.position)))
        between = rotation_matrix(one.quaternion).T @ rotation_matrix(other.quaternion)
        # The Frobenius distance to the identity is sqrt(8) sin(angle / 2).
        chord = float(np.linalg.norm(between - np.eye(3))) / math.sqrt(8.0)
        angle = 2.0 * math.asin(min(chord, 1.0))
        size = max(1.0, float(np.abs(one.position).max()))
        if gap > tolerance * size or angle > tolerance:
            raise ValueError(
                f"`q` does not close the loop at joint {i}: its frames are {gap:.3g} m and {angle:.3g} rad "
                f"apart, but must coincide within {tolerance * size:.1g} m and {tolerance:.1g} rad."
            )


def check_satisfied(rows: np.ndarray, state: State) -> None:
    """The rows vanish at the start; of a closed linkage they can only fail where it leaves the plane."""
    largest = float(np.max(np.abs(rows), initial=0.0))
    size = max(1.0, float(jnp.max(jnp.abs(state.position))))
    tolerance = math.sqrt(float(jnp.finfo(state.position.dtype).eps)) * size
    if not largest <= tolerance:
        raise ValueError(
            f"The linkage violates its constraints by {largest:.3g} at the start, but they must hold within "
            f"{tolerance:.1g}; the links of a planar linkage have their z axes along the world's."
        )


def check_coefficient(value: jax.Array, where: str, key: str) -> None:
    """A number from zero on, where it is known."""
    number = known(value)
    if value.shape != ():
        raise ValueError(f"{where} has {key} of shape {value.shape}, but it must be a number.")
    if number is not None and not (np.isfinite(number) and number >= 0.0):
        raise ValueError(f"{where} has {key}={float(number):g}, but it may not be negative.")
