"""Steps of every integrator, and runs, have the derivatives of their differences, at singular points too."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from differences import Comparison, directions, stacked

import linkax as lx
from linkax.model.description import (
    BodyDescription,
    Description,
    JointDescription,
    Placement,
)


STILL = (".lower", ".upper", ".effort", ".velocity_limit", ".marker_points")
STILL += (".frame_position", ".frame_quaternion", ".pitch", ".axis", ".weights")


@pytest.fixture(scope="module")
def system():
    """A damped ball joint with armature, its frames off the body's."""
    rows = ((0.2, 0.01, 0.0), (0.01, 0.3, 0.02), (0.0, 0.02, 0.25))
    placement = Placement((0.1, 0.0, 0.2), (0.8, 0.0, 0.6, 0.0))
    arm = BodyDescription("arm", 1.5, (0.1, 0.2, -0.3), rows)
    ball = JointDescription("ball", "spherical", "world", "arm", placement, placement)
    ball.damping, ball.armature = 0.2, 0.1
    return lx.build(Description(bodies=[arm], joints=[ball]))


def points(system):
    """A lively state, rest at the identities, and half turns, each the system's own start; side by side."""
    torques = jnp.asarray([[0.3, -0.2, 0.5], [0.1, 0.4, -0.3]])
    starts = {
        "lively": ([0.8, 0.2, -0.5, 0.3], [1.0, -2.0, 0.5], torques),
        "at rest, identity": ([1.0, 0.0, 0.0, 0.0], [0.0] * 3, 0.0 * torques),
        "half turn": ([0.0, 0.6, 0.0, -0.8], [0.0] * 3, torques),
        "at rest, minus identity": ([-1.0, 0.0, 0.0, 0.0], [0.0] * 3, torques),
    }
    return {
        name: {
            "system": eqx.tree_at(
                lambda s: (s.initial_q, s.initial_v), system, (jnp.asarray(q), jnp.asarray(v))
            ),
            "dt": jnp.asarray(0.04),
            "controls": controls,
        }
        for name, (q, v, controls) in starts.items()
    }


def run_by(integrator):
    """What a run of two steps gives, taken again in the reverse pass."""

    def run(x):
        result = lx.simulate(
            x["system"],
            dt=x["dt"],
            steps=2,
            controls=x["controls"],
            integrator=integrator,
            save_every=2,
        )
        final = result.final
        return {
            "points": jnp.concatenate([result.q, result.v], axis=1),
            "final": jnp.concatenate([final.q, final.v, final.t[None]]),
        }

    return run


@pytest.mark.parametrize(
    "integrator",
    [
        pytest.param(lx.SemiImplicitEuler(), marks=pytest.mark.slow),
        pytest.param(lx.LieMidpoint(), marks=pytest.mark.slow),
        pytest.param(lx.RungeKutta4(), marks=pytest.mark.slow),
    ],
    ids=lambda i: type(i).__name__,
)
def test_runs_have_the_derivatives_of_their_differences_in_both_modes(system, integrator):
    at = points(system)
    names, ways = directions(at["lively"], still=STILL)
    found = Comparison(run_by(integrator), stacked(at.values()), ways)
    found.assert_agrees(names, list(at))
    # In uniform gravity it does not matter where the whole hangs.
    assert found.inert("final", names) == {"system.model.parent_position"}


@pytest.mark.slow
def test_adaptive_runs_have_the_gradient_of_their_differences(system):
    """Reverse mode, through as many substeps as it took; forward mode is not offered by this integrator."""
    at = points(system)["lively"]
    names, ways = directions(at, still=STILL, together=1)
    run = run_by(lx.Adaptive(rtol=1e-11, atol=1e-13))

    def cost(x):
        y = run(x)["final"]
        return jnp.sum(y * jnp.linspace(0.5, 1.5, y.size))

    value, gradient = jax.jit(cost), jax.jit(jax.grad(cost))(at)
    h = 1e-4
    for k, name in enumerate(names):
        way = jax.tree.map(lambda d, k=k: d[k], ways)
        moved = [
            value(jax.tree.map(lambda x, d, s=s: jnp.where(d == 0.0, x, x + s * d), at, way))
            for s in (h, -h)
        ]
        wanted = float(moved[0] - moved[1]) / (2.0 * h)
        pairs = zip(jax.tree.leaves(gradient), jax.tree.leaves(way), strict=True)
        slope = sum(float(jnp.sum(jnp.where(d == 0.0, 0.0, g * d))) for g, d in pairs)
        assert slope == pytest.approx(wanted, rel=1e-6, abs=1e-8), name
