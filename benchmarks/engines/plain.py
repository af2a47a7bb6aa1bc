"""The recursion as most JAX libraries write it: 6x6 matrices, a Python loop over bodies, `vmap` over samples.

The baseline that linkax is measured against. It shares the joint types and the worked-out constants of the
linkax model, so that both engines simulate the same machine, and none of its arithmetic.
"""

import functools as ft
from typing import NamedTuple

import jax
import jax.numpy as jnp

import linkax as lx
from linkax.joints import Travel
from linkax.model.constants import constants_of


# Longer trees are scanned where they are serial; their unrolled form compiles for a minute.
LONGEST_UNROLLED = 50


def _cross(p):
    zero = jnp.zeros_like(p[0])
    return jnp.stack(
        [
            jnp.stack([zero, -p[2], p[1]]),
            jnp.stack([p[2], zero, -p[0]]),
            jnp.stack([-p[1], p[0], zero]),
        ]
    )


def _motion_to_child(R, p):
    """The 6x6 matrix that takes motions to a frame with pose (R, p): Featherstone 2008, eq. 2.24."""
    back = R.T
    return jnp.block([[back, jnp.zeros((3, 3), R.dtype)], [-back @ _cross(p), back]])


def _inertia(row):
    """Mass, first moment and rotational inertia about the origin as a 6x6 matrix."""
    m, h = row[0], _cross(row[1:4])
    xx, yy, zz, xy, xz, yz = row[4:]
    rotational = jnp.stack([jnp.stack(r) for r in ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))])
    return jnp.block([[rotational, h], [h.T, m * jnp.eye(3, dtype=row.dtype)]])


def _cross_motion(v):
    w, u = _cross(v[:3]), _cross(v[3:])
    return jnp.block([[w, jnp.zeros((3, 3), v.dtype)], [u, w]])


def _vector(scalars, dtype):
    return jnp.stack([jnp.asarray(x, dtype) for x in scalars])


def _joint(kind, q, v, placement, dtype):
    """(X from parent to child, S as 6 x nv, the bias acceleration S' v)."""
    R_tree, p_tree, travel = placement[:9].reshape(3, 3), placement[9:12], Travel(*placement[12:])
    X = kind.transform(tuple(q), travel)
    R = R_tree @ _vector(X.rotation, dtype).reshape(3, 3)
    p = p_tree + R_tree @ _vector(X.translation, dtype)
    columns = [_vector((*s.angular, *s.linear), dtype) for s in kind.subspace(tuple(q), travel)]
    change = kind.bias(tuple(q), tuple(v), travel)
    return (
        _motion_to_child(R, p),
        jnp.stack(columns, axis=1),
        _vector((*change.angular, *change.linear), dtype),
    )


class Constants(NamedTuple):
    """What does not change between samples."""

    model: lx.Model
    placement: jax.Array  # (nb, 14)
    inertia: jax.Array  # (nb, 10)
    rise: jax.Array  # (6,) the ground's acceleration against gravity


def _unrolled(c: Constants, q, v, tau):
    """Featherstone 2008, table 7.1, one body after the other."""
    t, dtype = c.model.topology, c.model.dtype
    spans = [
        (slice(a, a + n), slice(b, b + m))
        for a, n, b, m in zip(*t.q_slots[:2], *t.v_slots[:2], strict=True)
    ]
    moved = []
    for i, (joint, parent) in enumerate(zip(t.joints, t.parents, strict=True)):
        qs, vs = spans[i]
        X, S, bias = _joint(joint, q[qs], v[vs], c.placement[i], dtype)
        across = S @ v[vs]
        velocity = across if parent < 0 else X @ moved[parent][2] + across
        moved.append((X, S, velocity, bias + _cross_motion(velocity) @ across))
    inertia = [_inertia(row) for row in c.inertia]
    force = [-_cross_motion(m[2]).T @ (I @ m[2]) for m, I in zip(moved, inertia, strict=True)]
    kept = [()] * t.nb
    for i in reversed(range(t.nb)):
        X, S, _, change = moved[i]
        U = inertia[i] @ S
        D = S.T @ U + jnp.diag(c.model.armature[spans[i][1]])
        inverse = 1.0 / D if D.shape == (1, 1) else jnp.linalg.inv(D)
        u = tau[spans[i][1]] - S.T @ force[i]
        kept[i] = (U, inverse, u)
        parent = t.parents[i]
        if parent >= 0:
            felt = inertia[i] - U @ inverse @ U.T
            inertia[parent] = inertia[parent] + X.T @ felt @ X
            passed = force[i] + felt @ change + U @ (inverse @ u)
            force[parent] = force[parent] + X.T @ passed
    accelerations, qdd = [], []
    for i, parent in enumerate(t.parents):
        (X, S, _, change), (U, inverse, u) = moved[i], kept[i]
        a = X @ (c.rise if parent < 0 else accelerations[parent]) + change
        qdd.append(inverse @ (u - U.T @ a))
        accelerations.append(a + S @ qdd[i])
    return jnp.concatenate(qdd)


def _scanned(c: Constants, q, v, tau):
    """The same for a serial chain of one joint type, under `scan`."""
    dtype = c.model.dtype
    (joint,) = set(c.model.topology.joints)

    def outward(velocity, x):
        at, row, qi, vi = x
        X, S, bias = _joint(joint, qi[None], vi[None], at, dtype)
        across = S[:, 0] * vi
        velocity = X @ velocity + across
        inertia = _inertia(row)
        force = -_cross_motion(velocity).T @ (inertia @ velocity)
        return velocity, (X, S[:, 0], bias + _cross_motion(velocity) @ across, inertia, force)

    def inward(children, x):
        X, s, change, own, own_force, rotor, torque = x
        inertia, force = children[0] + own, children[1] + own_force
        U = inertia @ s
        D = s @ U + rotor
        u = torque - s @ force
        felt = inertia - jnp.outer(U, U) / D
        return (X.T @ felt @ X, X.T @ (force + felt @ change + U * (u / D))), (U, D, u)

    def accelerate(a, x):
        X, s, change, U, D, u = x
        a = X @ a + change
        qdd = (u - U @ a) / D
        return a + s * qdd, qdd

    nothing = jnp.zeros(6, dtype)
    _, moved = jax.lax.scan(outward, nothing, (c.placement, c.inertia, q, v))
    rows = (*moved, c.model.armature, tau)
    _, kept = jax.lax.scan(inward, (jnp.zeros((6, 6), dtype), nothing), rows, reverse=True)
    return jax.lax.scan(accelerate, c.rise, (*moved[:3], *kept))[1]


def forward_dynamics(model: lx.Model):
    """f(q, v, tau) of one sample."""
    t, known = model.topology, constants_of(model)
    tables = (jnp.stack(columns, axis=1) for columns in (known.placement, known.inertia))
    rise = jnp.concatenate([jnp.zeros(3, model.dtype), -model.gravity])
    constants = Constants(model, *tables, rise)
    serial = t.parents == tuple(range(-1, t.nb - 1)) and len(set(t.joints)) == 1
    recursion = _scanned if serial and t.nb > LONGEST_UNROLLED else _unrolled
    return ft.partial(recursion, constants)
