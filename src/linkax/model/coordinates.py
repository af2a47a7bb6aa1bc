"""What the joints of a model do with coordinates, joint class by joint class, without a recursion."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from linkax.model.topology import Topology
from linkax.model.traverse import take


def _positions(topology: Topology, counts: str) -> dict[int, int]:
    """First index of each independent body's entries in the public q or v."""
    start, place = {}, 0
    for body in topology.free_bodies:
        start[body] = place
        place += getattr(topology.joints[body], counts)
    return start


def _by_class(topology: Topology, method: str, arguments, kinds: str, result: str) -> Array:
    """Applies a joint method to each class, bodies side by side.

    `arguments` are public arrays, `kinds` says of each whether it holds coordinates (q) or speeds (v).
    """
    starts = {kind: _positions(topology, f"n{kind}") for kind in "qv"}
    columns, places = [], []
    for joint, bodies in topology.classes:
        free = [body for body in bodies if body in starts["q"]]
        if not free or joint.nq == 0:
            continue
        lanes = [
            tuple(
                take(x, [starts[kind][body] + k for body in free])
                for k in range(getattr(joint, f"n{kind}"))
            )
            for x, kind in zip(arguments, kinds, strict=True)
        ]
        for k, column in enumerate(getattr(joint, method)(*lanes)):
            columns.append(column)
            places += [starts[result][body] + k for body in free]
    if not columns:
        return jnp.zeros((0,), arguments[0].dtype)
    return take(jnp.concatenate(columns), [int(i) for i in np.argsort(places)])


def integrate(topology: Topology, q: Array, dv: Array) -> Array:
    """See `Model.integrate`."""
    return _by_class(topology, "integrate", (q, dv), "qv", "q")


def difference(topology: Topology, q0: Array, q1: Array) -> Array:
    """See `Model.difference`."""
    return _by_class(topology, "difference", (q0, q1), "qq", "v")


def rate(topology: Topology, q: Array, v: Array) -> Array:
    """See `Model.rate`."""
    return _by_class(topology, "rate", (q, v), "qv", "q")


def neutral(topology: Topology, dtype) -> Float[Array, " nq"]:
    """See `Model.neutral`."""
    values = [x for body in topology.free_bodies for x in topology.joints[body].neutral()]
    return jnp.asarray(values, dtype).reshape(topology.nq)


def random(topology: Topology, key: PRNGKeyArray, dtype) -> Float[Array, " nq"]:
    """See `Model.random`."""
    keys = jax.random.split(key, max(1, len(topology.free_bodies)))
    samples = [
        topology.joints[body].random(keys[i], dtype) for i, body in enumerate(topology.free_bodies)
    ]
    return jnp.concatenate([jnp.zeros((0,), dtype), *samples])


def expand(topology: Topology, x: Array, ratio: Array, offset: Array | None, counts: str) -> Array:
    """Independent coordinates or speeds (or their duals' motions) to those of the whole tree.

    Followers become ratio times their leader, plus the offset where one is given.
    """
    if not topology.followers:
        return x
    start = _positions(topology, counts)
    followers = dict(topology.followers)
    order = [body for body, _ in topology.followers]
    leading = take(x, [start[leader] for _, leader in topology.followers]) * ratio
    extended = jnp.concatenate([x, leading if offset is None else leading + offset])
    places: list[int] = []
    for body, joint in enumerate(topology.joints):
        if body in followers:
            places.append(x.shape[0] + order.index(body))
        else:
            places += [start[body] + k for k in range(getattr(joint, counts))]
    return take(extended, places)


def project(topology: Topology, x: Array, ratio: Array) -> Array:
    """The transpose of `expand` for speeds: forces of the whole tree to those of the independent speeds.

    Works along the first axis of x, whatever follows it.
    """
    if not topology.followers:
        return x
    tree, start = topology.v_slots.start, _positions(topology, "nv")
    kept = [tree[b] + k for b in topology.free_bodies for k in range(topology.joints[b].nv)]
    base = take(x, kept)
    moved = take(x, [tree[follower] for follower, _ in topology.followers])
    moved = moved * ratio.reshape((-1,) + (1,) * (x.ndim - 1))
    return base.at[np.asarray([start[leader] for _, leader in topology.followers])].add(moved)
