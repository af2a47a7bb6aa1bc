"""Small mechanisms in maximal coordinates whose answers are known."""

import jax.numpy as jnp
import numpy as np

import linkax as lx
from linkax.joints import Revolute
from linkax.math.rotations import quaternion_multiply, rotation_vector_to_quaternion


GRAVITY = 9.81


def about_z(angle):
    half = 0.5 * jnp.asarray(angle, float)
    zero = jnp.zeros_like(half)
    return jnp.stack([jnp.cos(half), zero, zero, jnp.sin(half)], axis=-1)


def joint_rows(
    joint, bodies, parent_points, child_points, parent_rotation=None, child_rotation=None
):
    k = len(bodies)
    upright = jnp.broadcast_to(jnp.eye(3), (k, 3, 3))
    return lx.maximal.JointRows(
        parent_point=jnp.asarray(parent_points, float),
        parent_rotation=upright if parent_rotation is None else parent_rotation,
        child_point=jnp.asarray(child_points, float),
        child_rotation=upright if child_rotation is None else child_rotation,
        pitch=jnp.zeros(k),
        bodies=tuple(bodies),
        joints=(joint,) * k,
    )


def mechanism(bodies, *groups, gravity=(0.0, -GRAVITY, 0.0)):
    return lx.maximal.Mechanism(
        bodies, lx.maximal.in_order(groups), lx.maximal.Gravity(jnp.asarray(gravity))
    )


def rods(masses, lengths):
    """Thin rods along their x axes, with a little inertia about them."""
    m, l = jnp.asarray(masses, float), jnp.asarray(lengths, float)
    across = m * l * l / 12.0
    return lx.maximal.Bodies(m, jnp.stack([1e-2 * across, across, across], axis=-1))


def along_x(lengths):
    l = jnp.asarray(lengths, float)
    return l[:, None] * jnp.asarray([[1.0, 0.0, 0.0]])


def four_bar(ground=4.0, lengths=(1.0, 3.5, 3.0), masses=(1.0, 1.5, 1.2)):
    """Crank, coupler, rocker on four spatial hinges about z: 20 rows of rank 17 on 18 coordinates."""
    half = 0.5 * jnp.asarray(lengths, float)
    zero = jnp.zeros(())
    parents = jnp.stack([zero, half[0], half[1], jnp.asarray(ground, float)])
    children = jnp.stack([-half[0], -half[1], half[2], -half[2]])
    hinges = joint_rows(
        Revolute, ((-1, 0), (0, 1), (1, 2), (-1, 2)), along_x(parents), along_x(children)
    )
    return mechanism(rods(masses, lengths), hinges)


def rocker_angle(crank, above, ground=4.0, lengths=(1.0, 3.5, 3.0)):
    """(rocker's angle, coupler's angle) by two circles, exactly."""
    a, b, c = lengths
    foot = jnp.stack([ground - a * jnp.cos(crank), -a * jnp.sin(crank)])
    d = jnp.sqrt(jnp.sum(foot * foot))
    base = jnp.arctan2(foot[1], foot[0])
    inside = jnp.arccos((d * d + b * b - c * c) / (2 * b * d))
    coupler = base + (inside if above else -inside)
    end = jnp.stack(
        [a * jnp.cos(crank) + b * jnp.cos(coupler), a * jnp.sin(crank) + b * jnp.sin(coupler)]
    )
    return jnp.arctan2(end[1], end[0] - ground), coupler


def four_bar_state(crank, above, ground=4.0, lengths=(1.0, 3.5, 3.0)):
    """The closed configuration, at rest."""
    rocker, coupler = rocker_angle(crank, above, ground, lengths)
    angles = jnp.stack([jnp.asarray(crank, float), coupler, rocker])
    way = jnp.stack([jnp.cos(angles), jnp.sin(angles), jnp.zeros(3)], axis=-1)
    crank_end = lengths[0] * way[0]
    starts = jnp.stack([jnp.zeros(3), crank_end, jnp.asarray([ground, 0.0, 0.0])])
    centres = starts + 0.5 * jnp.stack([jnp.asarray(x, float) for x in lengths])[:, None] * way
    return lx.maximal.State(centres, about_z(angles))


def disturbed(state, size, seed=0):
    """A state with poses off by about `size` and random velocities."""
    draw = np.random.default_rng(seed).standard_normal
    n = state.position.shape[0]
    turn = rotation_vector_to_quaternion(jnp.asarray(size * draw((n, 3))))
    return lx.maximal.State(
        state.position + size * draw((n, 3)),
        quaternion_multiply(state.orientation, turn),
        jnp.asarray(draw((n, 3))),
        jnp.asarray(draw((n, 3))),
        state.t,
    )


def angle_about_z(state, body):
    q = state.orientation[body]
    return 2.0 * jnp.arctan2(q[3], q[0])


def differences(f, x, step=1e-5):
    """The gradient of f by central differences."""
    x = jnp.asarray(x, float)
    units = step * np.eye(x.size).reshape(x.size, *x.shape)
    return np.asarray([(f(x + d) - f(x - d)) / (2.0 * step) for d in units]).reshape(x.shape)
