"""Rods and four-bars that tests of linkages share."""

import functools as ft
import sys
from pathlib import Path

import numpy as np

from linkax import linkage
from linkax.maximal.linkage import Joint, JointType, Link, Placement


sys.path.append(str(Path(__file__).parents[1] / "oracles"))
import closed_loops as loops


R = JointType.REVOLUTE
ROOT = Placement()


def rod(length, mass, width=0.0):
    """Along x from its origin, a frame at each end."""
    I = mass * (length**2 + width**2) / 12.0
    return Link(mass, (length / 2, 0.0, 0.0), (I, I, I), [ROOT, Placement((length, 0.0, 0.0))])


@ft.cache
def four_bar(angle, width=0.0, planar=True, order=(0, 1, 2, 3)):
    """Ground, crank, coupler, rocker, the links in another order if wanted; every joint is a hinge."""
    bar = loops.FourBar(width=width)
    x, y = bar.directions(angle).T
    crank, coupler, rocker = np.arctan2(y, x)
    links = [Link(frames=[ROOT, Placement((bar.ground, 0.0, 0.0))])]
    links += [rod(L, m, width) for L, m in zip(bar.lengths, bar.masses, strict=True)]
    ends = [(0, 0, 1, 0), (1, 1, 2, 0), (2, 1, 3, 1), (3, 0, 0, 1)]
    place = {link: i for i, link in enumerate(order)}
    joints = [Joint(R, place[p], f, place[c], m) for p, f, c, m in ends]
    q = [crank, coupler - crank, rocker - coupler, -rocker]
    return linkage.closed([links[i] for i in order], joints, place[0], q, planar=planar)
