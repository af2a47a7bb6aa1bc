"""Force elements: document 002's numbers, forces as slopes of energies, finite derivatives everywhere."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from linkax import maximal as mx
from linkax.math.rotations import quaternion_multiply
from linkax.math.stacks import rotations


RNG = np.random.default_rng(5)
EYE = jnp.eye(3)[None]
ORIGIN = jnp.zeros((1, 3))
ONE = mx.Bodies(jnp.ones(1), jnp.ones((1, 3)))
TWO = mx.Bodies(jnp.ones(2), jnp.ones((2, 3)))


def array(*x):
    return jnp.asarray(x, float)


def close(x, expected, tolerance=1e-12):
    np.testing.assert_allclose(x, expected, atol=tolerance, rtol=0)


def single(position=(0.0, 0.0, 0.0), turn=0.0, velocity=(0.0, 0.0, 0.0), spin=0.0):
    q = [[np.cos(turn / 2), 0.0, 0.0, np.sin(turn / 2)]]
    return mx.State(jnp.asarray([position]), q, [velocity], [[0.0, 0.0, spin]])


# Both bodies of every pair, a body and the ground on either side, and one pair twice.
BODIES = ((0, 1), (-1, 0), (1, -1), (0, 1))
K = len(BODIES)


def many(seed):
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(2, 4))
    return mx.State(
        jnp.asarray(rng.normal(size=(2, 3))),
        q / np.linalg.norm(q, axis=1, keepdims=True),
        rng.normal(size=(2, 3)),
        rng.normal(size=(2, 3)),
    )


def sides(tail):
    return jnp.asarray(RNG.normal(size=(K, tail)))


def positive():
    return jnp.asarray(RNG.uniform(0.5, 2.0, K))


SPRINGS = mx.LinearSprings(sides(3), sides(3), positive(), positive(), BODIES)
DAMPERS = mx.LinearDampers(sides(3), sides(3), positive(), BODIES)
TWISTS = mx.TorsionalSprings(
    rotations(sides(4)), rotations(sides(4)), positive(), positive(), BODIES
)
CONSTANT = mx.ConstantLoads(jnp.asarray(RNG.normal(size=(2, 3))), jnp.zeros((2, 3)))
PUSHES = mx.PointForces(sides(3), sides(3), (0, 1, 1, 0))


@pytest.mark.parametrize(("free", "force"), [(1.0, 10.0), (3.0, -10.0)])
def test_a_spring_pulls_and_pushes(free, force):
    spring = mx.LinearSprings(ORIGIN, ORIGIN, array(10.0), array(free), ((-1, 0),))
    at = single((0.0, 2.0, 0.0))
    close(jnp.stack(spring.results(ONE, at)), [[2.0], [0.0], [force]])
    close(spring.wrenches(ONE, at), [[0.0, 0.0, 0.0, 0.0, -force, 0.0]])
    reverse = mx.LinearSprings(ORIGIN, ORIGIN, array(10.0), array(free), ((0, -1),))
    close(reverse.wrenches(ONE, at), [[0.0, 0.0, 0.0, 0.0, -force, 0.0]])


def test_a_damper_feels_the_rate_along_its_line_only():
    damper = mx.LinearDampers(ORIGIN, ORIGIN, array(2.0), ((-1, 0),))
    at = single((0.0, 2.0, 0.0), velocity=(7.0, 3.0, -5.0))
    close(jnp.stack(damper.results(ONE, at)), [[2.0], [3.0], [6.0]])
    close(damper.wrenches(ONE, at), [[0.0, 0.0, 0.0, 0.0, -6.0, 0.0]])


def test_a_point_off_the_centre_moves_with_its_body_and_feels_a_moment():
    # The body's x axis points along the world's y: its point is at (0, 1, 0), and moves by -2 along x.
    damper = mx.LinearDampers(
        array(3.0, 1.0, 0.0)[None], array(1.0, 0.0, 0.0)[None], array(2.0), ((-1, 0),)
    )
    at = single(turn=np.pi / 2, spin=2.0)
    close(jnp.stack(damper.results(ONE, at)), [[3.0], [2.0], [4.0]])
    close(damper.wrenches(ONE, at), [[0.0, 0.0, -4.0, 4.0, 0.0, 0.0]])


def test_torsional_elements_turn_back():
    at = single(turn=0.4, spin=0.3)
    spring = mx.TorsionalSprings(EYE, EYE, array(10.0), array(0.1), ((-1, 0),))
    close(jnp.stack(spring.results(ONE, at)), [[0.4], [0.3], [-3.0]])
    close(spring.wrenches(ONE, at), [[0.0, 0.0, -3.0, 0.0, 0.0, 0.0]])
    damper = mx.TorsionalDampers(EYE, EYE, array(2.0), ((-1, 0),))
    close(jnp.stack(damper.results(ONE, at)), [[0.4], [0.3], [-0.6]])
    parent = mx.TorsionalDampers(EYE, EYE, array(2.0), ((0, -1),))
    close(parent.wrenches(ONE, at), [[0.0, 0.0, -0.6, 0.0, 0.0, 0.0]])


def test_forces_and_torques_act_in_their_axes():
    at = single(turn=np.pi / 2)
    push = mx.PointForces(array(1.0, 0.0, 0.0)[None], array(2.0, 0.0, 0.0)[None], (0,))
    close(push.wrenches(ONE, at), [[0.0, 0.0, -2.0, 2.0, 0.0, 0.0]])
    twist = mx.BodyTorques(array(1.0, 2.0, 3.0)[None], (0,))
    close(twist.wrenches(ONE, at), [[1.0, 2.0, 3.0, 0.0, 0.0, 0.0]])
    both = mx.ConstantLoads(array(1.0, 2.0, 3.0)[None], array(4.0, 5.0, 6.0)[None])
    close(both.wrenches(ONE, at), [[4.0, 5.0, 6.0, 1.0, 2.0, 3.0]])


@pytest.mark.parametrize("load", [SPRINGS, CONSTANT, PUSHES], ids=["spring", "constant", "push"])
def test_the_force_is_minus_the_slope_of_the_energy(load):
    at = many(3)

    @jax.jit
    def slope(load):
        def energy(d):
            half = 0.5 * d[:, :3]
            turn = jnp.concatenate([jnp.ones((2, 1)), half], axis=-1)
            q = quaternion_multiply(at.orientation, turn)
            return load.potential_energy(TWO, mx.State(at.position + d[:, 3:], q))

        return jax.grad(energy)(jnp.zeros((2, 6)))

    close(load.wrenches(TWO, at), -slope(load))


def test_a_torsional_spring_on_its_hinge_follows_its_energy():
    spring = mx.TorsionalSprings(EYE, EYE, array(10.0), array(0.1), ((-1, 0),))

    def energy(turn):
        q = [[jnp.cos(turn / 2), 0.0, 0.0, jnp.sin(turn / 2)]]
        return spring.potential_energy(ONE, mx.State(ORIGIN, q))

    value, slope = jax.value_and_grad(energy)(0.4)
    close(value, 0.45)
    close(slope, 3.0)


@pytest.mark.parametrize("load", [SPRINGS, DAMPERS, TWISTS], ids=["spring", "damper", "twist"])
def test_elements_between_bodies_add_no_momentum(load):
    """Forces and moments about the world origin of an element between two bodies cancel."""
    inner = jax.tree.map(lambda x: x[:1], load)
    object.__setattr__(inner, "bodies", BODIES[:1])
    at = many(4)
    w = inner.wrenches(TWO, at)
    assert np.linalg.norm(w) > 0.1
    close(w[:, 3:].sum(0), np.zeros(3))
    moments = jnp.einsum("nij,nj->ni", rotations(at.orientation), w[:, :3])
    close((moments + jnp.cross(at.position, w[:, 3:])).sum(0), np.zeros(3))


def test_several_elements_on_one_body_add_up():
    at = many(6)
    total = np.zeros((2, 6))
    for i, pair in enumerate(BODIES):
        one = jax.tree.map(lambda x, i=i: x[i : i + 1], SPRINGS)
        object.__setattr__(one, "bodies", (pair,))
        total = total + one.wrenches(TWO, at)
    close(SPRINGS.wrenches(TWO, at), total)


def test_values_and_gradients_are_finite_where_the_points_coincide():
    spring = mx.LinearSprings(ORIGIN, ORIGIN, array(10.0), array(1.0), ((-1, 0),))
    damper = mx.LinearDampers(ORIGIN, ORIGIN, array(2.0), ((-1, 0),))

    @jax.jit
    def slope(load, at):
        def size(load, at):
            return jnp.sum(load.wrenches(ONE, at)) + load.potential_energy(ONE, at)

        moving = (at.position, at.orientation, at.velocity, at.angular_velocity)
        return jax.grad(lambda load, s: size(load, mx.State(*s)), argnums=(0, 1))(load, moving)

    at = single(velocity=(1.0, 0.0, 0.0))
    for load in (spring, damper):
        close(load.wrenches(ONE, at), np.zeros((1, 6)))
        for leaf in jax.tree.leaves(slope(load, at)):
            assert np.all(np.isfinite(leaf))
