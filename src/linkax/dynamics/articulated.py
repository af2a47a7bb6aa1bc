"""The articulated-body recursions of one body, in the three parts that can be used apart.

The matrix part depends on q only and yields the factorisation of the mass matrix; the filter part carries
forces to the ground through it, the smoother part carries accelerations back to the tips (Jain 2011,
chapters 6 and 7; Featherstone 2008, section 7.3). In Jain's letters: U = P H*, D = H P H*, nu = D^-1 eps.
"""

from typing import NamedTuple

from linkax.math import ldl
from linkax.math.scalar import Scalar, add, subtract
from linkax.spatial.inertia import ArticulatedInertia
from linkax.spatial.motion import Force, Motion, combine, power
from linkax.spatial.vector import Vec3


Scalars = tuple[Scalar, ...]


class BodyFactor(NamedTuple):
    """One body's share of the factorised mass matrix."""

    U: tuple[Force, ...]  # articulated inertia times the joint's subspace
    D: ldl.Factor  # of S^T U plus the armature


def factor_body(
    inertia: ArticulatedInertia,
    subspace: tuple[Motion, ...],
    armature: Scalars,
) -> tuple[BodyFactor, ArticulatedInertia]:
    """The factor of a body with all that it carries, and its inertia as felt across the joint."""
    U = tuple(inertia @ column for column in subspace)
    D = [[power(s, u) for u in U] for s in subspace]
    for k, rotor in enumerate(armature):
        D[k][k] = add(D[k][k], rotor)
    f = BodyFactor(U, ldl.factor(D))
    return f, inertia.minus_outer(U, weights(f))


def weights(f: BodyFactor) -> tuple[Force, ...]:
    """The columns of U D^-1."""
    weighted = [ldl.solve(f.D, row) for row in zip(*(_flat(u) for u in f.U), strict=True)]
    return tuple(_force(tuple(row[k] for row in weighted)) for k in range(len(f.U)))


def _flat(force: Force) -> Scalars:
    return (*force.angular, *force.linear)


def _force(values: Scalars) -> Force:
    return Force(Vec3(*values[:3]), Vec3(*values[3:]))


def filter_body(
    f: BodyFactor, subspace: tuple[Motion, ...], tau: Scalars, bias: Force
) -> tuple[Scalars, Force]:
    """epsilon = tau - S^T bias, and the part of the bias force that the joint passes on."""
    excess = tuple(subtract(t, power(s, bias)) for t, s in zip(tau, subspace, strict=True))
    passed = bias
    for u, nu in zip(f.U, ldl.solve(f.D, excess), strict=True):
        passed = passed + u * nu
    return excess, passed


def smooth_body(
    f: BodyFactor, subspace: tuple[Motion, ...], excess: Scalars, carried: Motion
) -> tuple[Scalars, Motion]:
    """The joint's acceleration and its body's, given the acceleration that the body is carried with.

    D^-1 (epsilon - U^T a) in one solve; keeping nu = D^-1 epsilon of the filter would save a multiplication
    for one freedom and cost a second triangular solve for six.
    """
    inertial = tuple(power(carried, u) for u in f.U)
    qdd = ldl.solve(f.D, tuple(subtract(e, i) for e, i in zip(excess, inertial, strict=True)))
    return qdd, carried + combine(subspace, qdd)
