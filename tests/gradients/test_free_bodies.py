"""Known failures of other simulators with free and floating bodies: field reports O02, O08 and O37."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from differences import by_operations

import linkax as lx
from linkax import library


H, STEPS = 5e-3, 100
INTEGRATORS = [
    lx.SemiImplicitEuler(),
    lx.LieMidpoint(),
    pytest.param(lx.RungeKutta4(), marks=pytest.mark.slow),
]


@pytest.fixture(scope="module")
def sphere():
    inertia = 0.4 * 1.0 * 0.2**2
    return lx.build(library.free_body((inertia, inertia, inertia), mass=1.0))


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_a_body_at_rest_has_the_derivatives_of_straight_motion(sphere, integrator):
    """O02: identity attitude, no rotation, no gravity; nothing is nan and nothing leaks into position."""
    start = sphere.initial_state()

    def final(q, v):
        state = lx.state_of(q, v)
        run = lx.simulate(sphere, state, dt=H, steps=STEPS, save_every=STEPS, integrator=integrator)
        return run.final.q

    modes = [jax.jacfwd(final, (0, 1)), jax.jacrev(final, (0, 1))]
    for by_q, by_v in jax.jit(lambda q, v: [mode(q, v) for mode in modes])(start.q, start.v):
        np.testing.assert_allclose(by_q[4:, 4:], np.eye(3), atol=1e-13)
        np.testing.assert_allclose(by_v[4:, 3:], STEPS * H * np.eye(3), atol=1e-13)
        np.testing.assert_array_equal(by_q[4:, :4], 0.0)
        np.testing.assert_array_equal(by_v[4:, :3], 0.0)
        # The attitude turns by half the spin times the time, and forgets the quaternion's length.
        np.testing.assert_allclose(by_v[1:4, :3], 0.5 * STEPS * H * np.eye(3), atol=1e-13)
        np.testing.assert_allclose(by_q[:4, :4], np.diag([0.0, 1.0, 1.0, 1.0]), atol=1e-13)


@pytest.fixture(scope="module")
def spinning():
    """A free body whose centre of mass is not its frame's origin, at a random state."""
    description = library.free_body((1.0, 2.0, 2.5), mass=1.3)
    description.bodies[0].com = (0.3, -0.2, 0.4)
    description.gravity = (0.0, 0.0, -9.81)
    system = lx.build(description)
    v = jnp.asarray([0.7, -1.1, 0.4, 0.5, 0.2, -0.3])
    return system, lx.state_of(system.model.random(jax.random.key(1)), v)


@pytest.mark.slow
def test_a_step_has_a_tangent_map_though_coordinates_outnumber_speeds(spinning):
    """O08: 12 x 12 in tangents, and nothing along the quaternion's own direction."""
    system, state = spinning
    model, dt = system.model, 0.05

    def raw(q, v):
        after = lx.step(system, lx.state_of(q, v), None, dt)
        return after.q, after.v

    reached = raw(state.q, state.v)

    def tangent(d):
        q, v = raw(model.integrate(state.q, d[:6]), state.v + d[6:])
        return jnp.concatenate([model.difference(reached[0], q), v - reached[1]])

    # Evaluated operation by operation and in lanes of one shape: seconds, where compiling takes a minute.
    eye, zero, h = jnp.eye(12), jnp.zeros(12), 1e-5
    lanes = by_operations(jax.vmap(tangent))
    plus, minus = lanes(h * eye), lanes(-h * eye)
    forward = by_operations(jax.vmap(lambda e: jax.jvp(tangent, (zero,), (e,))[1]))(eye)
    reverse = by_operations(jax.vmap(lambda w: jax.vjp(tangent, zero)[1](w)[0]))(eye)
    assert forward.shape == (12, 12)
    np.testing.assert_allclose(forward, (plus - minus) / (2.0 * h), atol=1e-8)
    np.testing.assert_allclose(reverse, forward.T, atol=1e-13)
    assert np.linalg.matrix_rank(np.asarray(forward)) == 12
    along = jnp.zeros(7).at[:4].set(state.q[:4])
    _, (dq, dv) = jax.jvp(raw, (state.q, state.v), (along, jnp.zeros(6)))
    np.testing.assert_allclose(jnp.concatenate([dq, dv]), np.zeros(13), atol=1e-14)
    for a, b in zip(raw(state.q + 0.3 * along, state.v), reached, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)


@pytest.fixture(scope="module")
def floating_chain():
    """A floating base with two hinged links, centres of mass off their frames."""
    tree = library.random_tree(jax.random.key(4), 3, ("revolute",), branching=0.0)
    tree.joints[0].type, tree.joints[0].axis, tree.joints[0].armature = "floating", None, None
    model = lx.build(tree, unroll=0).model
    assert float(jnp.abs(model.com).max(1).min()) > 0.01
    return model


@pytest.mark.slow
def test_dynamics_of_a_floating_base_have_the_derivatives_of_their_differences(floating_chain):
    """O37: along tangents of the coordinates; a shift of the whole changes nothing in uniform gravity."""
    model = floating_chain
    rng = np.random.default_rng(0)
    q = model.random(jax.random.key(3))
    v, tau, w = (jnp.asarray(x) for x in rng.normal(size=(3, model.nv)))

    def all_of(d):
        at = model.integrate(q, d)
        a = lx.forward_dynamics(model, at, v, tau)
        return {
            "mass_matrix": lx.mass_matrix(model, at).ravel(),
            "bias_force": lx.bias_force(model, at, v),
            "inverse_dynamics": lx.inverse_dynamics(model, at, v, w),
            "forward_dynamics": a,
            "there and back": lx.inverse_dynamics(model, at, v, a),
        }

    # Evaluated operation by operation and in lanes of one shape: seconds, where compiling takes minutes.
    eye, zero, h = jnp.eye(model.nv), jnp.zeros(model.nv), 1e-4
    lanes = by_operations(jax.vmap(all_of))
    plus, minus = lanes(h * eye), lanes(-h * eye)
    forward = by_operations(jax.vmap(lambda e: jax.jvp(all_of, (zero,), (e,))[1]))(eye)
    np.testing.assert_allclose(plus["there and back"], jnp.stack([tau] * model.nv), rtol=1e-10)
    for name, x in forward.items():
        if name == "there and back":
            np.testing.assert_allclose(x, 0.0, atol=1e-10)
            continue
        size = float(jnp.abs(plus[name]).max())
        wanted = (plus[name] - minus[name]) / (2.0 * h)
        assert float(jnp.abs(wanted).max()) > 0.1
        np.testing.assert_allclose(x / size, wanted / size, atol=1e-6)
        np.testing.assert_allclose(x[3:6] / size, 0.0, atol=1e-13)


def test_a_lane_that_fails_spoils_no_gradient_of_the_others():
    """O05: every lane's gradient is the one it has alone, though a lane beside it is not a number."""
    system = lx.build(library.pendulum())
    start = system.initial_state()
    lanes = jax.tree.map(lambda x: jnp.stack([x] * 3), start)
    lanes = eqx.tree_at(lambda s: s.v, lanes, lanes.v.at[1].set(jnp.nan))

    def cost(state):
        run = lx.simulate(system, state, dt=0.01, steps=4, save_every=3)
        return jnp.sum(run.final.q**2) + jnp.sum(run.q[1] * run.q[2]), run.completed_steps

    whole = jax.value_and_grad(cost, has_aux=True)
    (value, completed), gradient = jax.jit(jax.vmap(whole))(lanes)
    assert [int(c) for c in completed] == [4, 0, 4]
    (alone, _), by_state = jax.jit(whole)(start)
    for lane in (0, 2):
        np.testing.assert_allclose(value[lane], alone, rtol=1e-13)
        for a, b in zip(jax.tree.leaves(gradient), jax.tree.leaves(by_state), strict=True):
            np.testing.assert_allclose(a[lane], b, rtol=1e-12, atol=1e-13)
