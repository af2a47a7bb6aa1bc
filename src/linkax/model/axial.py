"""Coordinates that are an angle about a joint's axis or the slide along it, found by name."""

from collections.abc import Sequence
from typing import NamedTuple

from linkax.joints import AbstractJoint


class AxialCoordinate(NamedTuple):
    """Coordinate `place` of joint number `joint`; an angle where it `turns`, else a slide."""

    joint: int
    place: int
    turns: bool


def axial_coordinates(
    names: Sequence[str], kinds: Sequence[type[AbstractJoint]]
) -> dict[str, AxialCoordinate]:
    """Those of all joints, by the names that a model gives its coordinates.

    Where a joint bears the name of another's coordinate, the name means the joint.
    """
    found: dict[str, AxialCoordinate] = {}
    for single in (False, True):
        for i, (name, kind) in enumerate(zip(names, kinds, strict=True)):
            if (kind.nq == 1) is single:
                for k, turns in enumerate(kind.axial):
                    suffix = kind.coordinate_suffixes[k]
                    own = f"{name}_{suffix}" if suffix else name
                    found[own] = AxialCoordinate(i, k, turns)
    return found
