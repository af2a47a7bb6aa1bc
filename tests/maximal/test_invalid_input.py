"""What cannot be simulated is refused with a sentence that names it; what is traced ends as a status."""

import dataclasses

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from machines import bodies, compiled, start

import linkax as lx
from linkax import maximal as mx


@pytest.fixture(autouse=True)
def unchecked():
    """The sentences are for users: they run without the type checks that come first in a test run."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def simulated(body=None, state=None, dt=0.01, points=2, **how):
    body = bodies(1.0) if body is None else body
    return mx.simulate(body, start() if state is None else state, dt, points, **how)


NOTHING = mx.Bodies(jnp.zeros(0), jnp.zeros((0, 3, 3)))
NOWHERE = mx.State(np.zeros((0, 3)), np.zeros((0, 4)))


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        ({"body": NOTHING, "state": NOWHERE}, r"`bodies.mass` has shape \(0,\).*a mass a body"),
        (
            {"body": mx.Bodies(jnp.asarray(1.0), jnp.eye(3))},
            r"`bodies.mass` has shape \(\).*a mass a body",
        ),
        (
            {"body": mx.Bodies(jnp.ones(1), jnp.eye(3))},
            r"`bodies.inertia` has shape \(3, 3\).*\(1, 3, 3\)",
        ),
        ({"body": bodies(0.0)}, "Body 0 has mass .*0.0.* must be positive"),
        (
            {"body": bodies(1.0, -2.0), "state": mx.State(np.zeros((2, 3)), np.eye(4)[[0, 0]])},
            "Body 1 has mass .*-2.0.* must be positive",
        ),
        ({"body": bodies(np.nan)}, "Body 0 has mass .*nan.* must be positive"),
        (
            {"body": bodies(1.0, inertia=(1.0, 0.0, 1.0))},
            "Body 0 has an inertia whose smallest principal moment is 0.*positive",
        ),
        (
            {"body": bodies(1.0, inertia=(1.0, np.nan, 1.0))},
            "Body 0 has an inertia whose smallest principal moment is nan.*positive",
        ),
        ({"dt": 0.0}, "`dt` is 0.0, but must be a positive"),
        ({"dt": -0.01}, "`dt` is -0.01, but must be a positive"),
        ({"dt": np.nan}, "`dt` is nan, but must be a positive"),
        ({"dt": np.inf}, "`dt` is inf, but must be a positive"),
        ({"points": 0}, "`points` is 0, but must be a whole number from 1 on"),
        ({"points": 2.0}, "`points` is 2.0, but must be a whole number"),
        ({"points": True}, "`points` is True, but must be a whole number"),
        (
            {"state": mx.State(np.zeros((1, 3)), [[1.0, 1e-6, 0.0, 0.0]])},
            "The orientation of body 0 is a quaternion of length 1.0000000000005.* must be 1",
        ),
        (
            {"state": mx.State(np.zeros((1, 3)), [[np.nan, 0.0, 0.0, 0.0]])},
            "The orientation of body 0 is a quaternion of length nan",
        ),
        (
            {"state": start(w=(0.0, 0.0, 200.0))},
            "Body 0 turns at 200 rad/s, but at dt = 0.01 s .* slower than 2 / dt = 200 rad/s",
        ),
        (
            {"state": mx.State(np.zeros((2, 3)), np.eye(4)[[0, 0]])},
            r"`state.position` has shape \(2, 3\), but must have shape \(1, 3\)",
        ),
        (
            {"state": mx.State(np.zeros((1, 3)), np.eye(4)[:1], np.zeros(3))},
            r"`state.velocity` has shape \(3,\)",
        ),
        (
            {"state": mx.State(np.zeros((5, 1, 3)), np.zeros((5, 1, 4)))},
            r"`state.position` has shape \(5, 1, 3\).*Use `jax.vmap` for a batch",
        ),
        (
            {"jacobian": lambda t, x, q, params: jnp.zeros((1, 6))},
            "`jacobian` is given without a `constraint`",
        ),
        (
            {"constraint": lambda t, x, q, params: x[0, 0]},
            r"`constraint` gives an array of shape \(\), but must give one number a row",
        ),
        (
            {
                "constraint": lambda t, x, q, params: x[0],
                "jacobian": lambda t, x, q, params: jnp.zeros((3, 7)),
            },
            r"`jacobian` gives an array of shape \(3, 7\), but must give \(3, 6\)",
        ),
    ],
)
def test_what_cannot_be_simulated_is_refused(how, sentence):
    with pytest.raises(ValueError, match=sentence):
        simulated(**how)


@pytest.mark.parametrize(
    ("body", "state", "dt", "sentence"),
    [
        (bodies(-1.0), start(), 0.01, "Body 0 has mass"),
        (bodies(1.0), start(), 0.0, "`dt` is 0.0"),
        (bodies(1.0), start(w=(0.0, 300.0, 0.0)), 0.01, "Body 0 turns at 300 rad/s"),
    ],
)
def test_a_single_step_refuses_the_same(body, state, dt, sentence):
    with pytest.raises(ValueError, match=sentence):
        mx.step(body, state, dt)


NUMBERS = [
    "tolerance",
    "difference_step",
    "translation_scale",
    "rotation_scale",
    "shift",
    "rank_tolerance",
]


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_settings_refuse_numbers_that_are_not_positive(name, value):
    with pytest.raises(ValueError, match=f"`{name}` is .*{value!r}.*, but must be a positive"):
        mx.Settings(**{name: value})


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (
            {"difference_step": 0.5, "rotation_scale": 2.0},
            r"`difference_step` \* `rotation_scale` is 1, but .* smaller than 1",
        ),
        ({"max_iterations": 0}, "`max_iterations` is 0, but must be at least 1"),
        ({"max_line_search": -1}, "`max_line_search` is -1, but must be at least 0"),
        ({"solver": 3}, "`solver` is 3, but must be LinearSolver.DENSE, "),
        (
            {"load_evaluation": "left"},
            "`load_evaluation` is 'left', but must be LoadEvaluation.LEFT",
        ),
    ],
)
def test_settings_refuse_what_no_step_can_be_solved_with(how, sentence):
    with pytest.raises(ValueError, match=sentence):
        mx.Settings(**how)


def test_settings_cannot_be_changed_afterwards():
    with pytest.raises(dataclasses.FrozenInstanceError):
        mx.Settings().max_iterations = 0  # pyright: ignore[reportAttributeAccessIssue]


def test_armature_is_refused_as_rows():
    tree = lx.library.random_tree(jax.random.key(2), 2, ("revolute",))
    tree.joints[0].armature, tree.joints[1].armature = 0.0, 0.1
    with pytest.raises(
        ValueError, match=r"Joint `joint1` has armature .* 0.1, which no body in maximal"
    ):
        mx.joint_rows(lx.build(tree).model)


def test_what_is_seen_when_traced_only_ends_as_a_status():
    """Lanes: a good one, then one for each thing that is wrong."""
    good = {"mass": 1.0, "dt": 0.01, "q": 1.0, "w": 1.0, "x": 0.0}
    wrong = [{"mass": -1.0}, {"mass": np.nan}, {"dt": 0.0}, {"q": 1.001}, {"w": 200.0}]
    wrong += [{"w": np.nan}, {"x": np.inf}]
    lanes = [good, *(good | change for change in wrong)]

    def run(lane):
        one = lambda x: jnp.stack([x, 0.0 * lane["mass"], 0.0 * lane["mass"]])[None]
        q = jnp.asarray([[1.0, 0.0, 0.0, 0.0]]) * lane["q"]
        state = mx.State(one(lane["x"]), q, None, jnp.asarray([[1.0, 0.0, 0.0]]) * lane["w"])
        return mx.simulate(mx.Bodies(lane["mass"][None], jnp.ones((1, 3))), state, lane["dt"], 3)

    batch = {k: jnp.asarray([lane[k] for lane in lanes]) for k in good}
    found = jax.device_get(compiled(jax.vmap(run))(batch))
    np.testing.assert_array_equal(found.converged, [True] + [False] * len(wrong))
    np.testing.assert_array_equal(found.completed_steps, [2] + [0] * len(wrong))
    assert (found.status == mx.Status.invalid)[1:].all()
    assert np.isfinite(found.position[0]).all()
