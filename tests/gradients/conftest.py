"""The models on which derivatives are taken, and their regular and singular points."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax.model import library
from linkax.model.description import (
    FrameDescription,
    MarkerDescription,
    MimicDescription,
    Placement,
)


def random_point(system, seed):
    """Everything that the public functions take, drawn at random."""
    m, rng = system.model, np.random.default_rng(seed)

    def draw(*shape, size=0.5):
        return jnp.asarray(rng.normal(size=shape) * size)

    keys = jax.random.split(jax.random.key(seed), 2)
    q, dv = m.random(keys[0]), draw(m.nv)
    return {
        "system": system,
        "q": q,
        "v": draw(m.nv),
        "a": draw(m.nv),
        "tau": draw(m.nv),
        "wrenches": draw(m.nb, 6),
        "dv": dv,
        "q1": m.integrate(q, draw(m.nv)),
        "point": draw(3),
        "dt": jnp.asarray(0.05),
    }


@pytest.fixture(scope="session")
def draw_point():
    """`random_point`."""
    return random_point


def damped(description, body, unroll=1):
    """The system of a tree with damping in all joints, and with a frame and a marker on a body."""
    for k, joint in enumerate(description.joints):
        joint.damping = 0.1 + 0.05 * k
    tilted = Placement((0.1, -0.2, 0.3), (0.8, 0.0, -0.6, 0.0))
    description.frames.append(FrameDescription("hand", body, tilted))
    description.markers.append(MarkerDescription("mark", body, (0.3, 0.1, -0.2)))
    return lx.build(description, unroll=unroll)


@pytest.fixture(scope="session")
def mixed():
    """A branching tree with every joint type once."""
    return damped(library.random_tree(jax.random.key(0), 8, branching=0.4), "body7")


@pytest.fixture(scope="session")
def hinges():
    """A branching tree of one joint class: every recursion is a scan, with a branch that waits."""
    system = damped(library.random_tree(jax.random.key(5), 6, ("revolute",), 0.6), "body5")
    (run,) = system.model.topology.runs
    assert max(run.keep) >= 0
    return system


@pytest.fixture(scope="session")
def mimics():
    """A branching tree with two mimic joints on one leader, its recursions written out."""
    description = library.random_tree(jax.random.key(2), 5, ("revolute", "prismatic"), 0.4)
    leader, *others = description.joints
    others[1].mimic = MimicDescription(leader.name, -1.5, 0.2)
    others[3].mimic = MimicDescription(leader.name, 0.5, -0.1)
    return damped(description, "body4", unroll=0)
