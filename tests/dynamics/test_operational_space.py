"""Compliances by recursion are J M^-1 J^T; masses and inverses made of them keep what they promise."""

import functools as ft

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from operational_trees import (
    CHEAPLY,
    LANES,
    POINTS,
    State,
    answers,
    asked_of,
    hinges,
    mimics,
    mixed,
    results,
    states,
)

import linkax as lx
from linkax.model.description import GROUND, BodyDescription, JointDescription, Placement


# Nine bodies of all types are written out: a minute of one core to compile.
ALL_TYPES = pytest.param(mixed, marks=pytest.mark.slow)
TREES = pytest.mark.parametrize("make", [ALL_TYPES, hinges, mimics], ids=lambda m: m.__name__)

cheaply = ft.partial(jax.jit, compiler_options=CHEAPLY)
once = cheaply(results)


def close(found, right, digits=1e-12):
    """Equal to `digits` of the largest entry."""
    np.testing.assert_allclose(found, right, rtol=0.0, atol=digits * np.abs(right).max())


def through(J, M):
    """J M^-1 J^T, lanes first."""
    return J @ np.linalg.solve(M, np.swapaxes(J, -1, -2))


# --- against dense matrices ---


@TREES
def test_a_body_gives_way_as_its_jacobian_says(make):
    _, _, found = answers(make)
    close(found["bodies"], through(found["twists"], found["M"][:, None]))


@TREES
def test_bodies_give_way_to_forces_on_one_another_as_their_jacobians_say(make):
    model, _, found = answers(make)
    right = through(found["J"], found["M"])
    assert np.abs(right[:, :6, 24:]).max() > 0.01 * np.abs(right).max()  # off the diagonal
    close(found["compliance"], right)
    ground = slice(12, 18)
    assert asked_of(model)[2] == "wall"
    assert not found["compliance"][:, ground].any()
    assert not found["compliance"][:, :, ground].any()


@TREES
def test_diagonal_blocks_are_those_of_the_bodies(make):
    model, _, found = answers(make)
    assert asked_of(model)[4] == 2
    assert POINTS[4] == (0.0, 0.0, 0.0)
    close(found["compliance"][:, 24:, 24:], found["bodies"][:, 2])


@TREES
def test_a_compliance_is_symmetric(make):
    _, _, found = answers(make)
    for name in ("bodies", "compliance"):
        np.testing.assert_array_equal(found[name], np.swapaxes(found[name], -1, -2))


def test_bodies_on_different_parts_of_the_ground_do_not_feel_one_another():
    model, _, found = answers(hinges)
    assert 0 not in model.topology.ancestors[5]
    q = states(model).q[0]
    both = compliance_of_pair(model, q)
    assert np.abs(both[:6, :6]).max() > 0.1
    assert not both[:6, 6:].any()
    close(both[6:, 6:], found["bodies"][0, 5])


@cheaply
def compliance_of_pair(model, q):
    return lx.operational_space_compliance(model, q, [0, 5])


# --- numbers found by hand ---


def two_links() -> lx.Model:
    """Two hinges about z a metre apart, a unit mass with a unit inertia a metre beyond each."""
    unit = lx.library.diagonal(1.0, 1.0, 1.0)
    z, along = (0.0, 0.0, 1.0), Placement((1.0, 0.0, 0.0))
    description = lx.Description("two links")
    description.bodies = [BodyDescription(name, 1.0, (1.0, 0.0, 0.0), unit) for name in "ab"]
    description.joints = [
        JointDescription("first", "revolute", GROUND, "a", axis=z),
        JointDescription("second", "revolute", "a", "b", parent_frame=along, axis=z),
    ]
    return lx.build(description).model


@ft.cache
def found_by_hand():
    model = two_links()

    @cheaply
    def services(model, q):
        # The wrist at the stretched arm: two joints about z move x not at all and y and the angle both.
        planar = [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]]
        B = jnp.asarray(planar, model.dtype)
        return (
            lx.body_compliances(model, q),
            lx.effective_mass_matrix(model, q, ["b"], [4]),
            lx.effective_mass_matrix(model, q, ["b"], B, [(1.0, 0.0, 0.0)]),
            lx.consistent_inverse(model, q, jnp.eye(1, 2)),
            lx.consistent_inverse(model, q, jnp.asarray([[1.0, 0.0], [2.0, 0.0]])),
        )

    return jax.device_get(services(model, jnp.zeros(2)))


def test_the_compliance_of_two_links_is_that_found_by_hand():
    compliance = found_by_hand()[0][1]
    right = np.zeros((6, 6))
    right[2, 2], right[2, 4], right[4, 2], right[4, 4] = 0.6, -0.2, -0.2, 0.4
    # M^-1 = [[.4, -.6], [-.6, 1.4]] and J = [[1, 1], [1, 0]]: .4 - 1.2 + 1.4, .4 - .6, .4.
    np.testing.assert_allclose(compliance, right, atol=1e-14)


def test_the_effective_mass_of_two_links_is_that_found_by_hand():
    np.testing.assert_allclose(found_by_hand()[1], [[2.5]], rtol=1e-14)


def test_a_direction_that_the_joints_cannot_move_has_no_mass_but_the_others_have_theirs():
    """B J = [[1, 1], [0, 0], [2, 1]] at the point (1, 0, 0) of the second link."""
    mass = found_by_hand()[2]
    J = np.array([[1.0, 1.0], [2.0, 1.0]])
    M = np.array([[7.0, 3.0], [3.0, 2.0]])
    right = np.linalg.inv(J).T @ M @ np.linalg.inv(J)
    np.testing.assert_allclose(mass[np.ix_([0, 2], [0, 2])], right, rtol=1e-13)
    assert not mass[1].any()
    assert not mass[:, 1].any()


def test_the_consistent_inverse_of_two_links_is_that_found_by_hand():
    np.testing.assert_allclose(found_by_hand()[3], [[1.0], [-1.5]], rtol=1e-14)


def test_the_consistent_inverse_of_redundant_rows_is_still_an_inverse():
    J, inverse = np.array([[1.0, 0.0], [2.0, 0.0]]), found_by_hand()[4]
    np.testing.assert_allclose(J @ inverse @ J, J, atol=1e-14)
    np.testing.assert_allclose(inverse @ J @ inverse, inverse, atol=1e-14)


# --- effective masses and consistent inverses ---


@ft.cache
def of_hand():
    """(J, inverse, effective mass) of two rows of the hand on the tree of hinges, and M."""
    model, at, found = answers(hinges)

    @cheaply
    def services(model, q):
        J = lx.jacobian(model, q, "hand")[3:5]
        inverse = lx.consistent_inverse(model, q, J)
        return J, inverse, lx.effective_mass_matrix(model, q, ["hand"], [3, 4])

    return (*jax.device_get(services(model, at.q[0])), found["M"][0])


def test_an_effective_mass_is_the_inverse_along_its_rows():
    J, _, mass, M = of_hand()
    close(mass, np.linalg.inv(through(J, M)), 1e-12)


def test_a_consistent_inverse_moves_what_it_says_with_least_energy():
    J, inverse, _, M = of_hand()
    np.testing.assert_allclose(J @ inverse, np.eye(2), atol=1e-12)
    # Least energy: M x is normal to every speed that J does not see.
    unseen = np.eye(J.shape[1]) - np.linalg.pinv(J) @ J
    momentum = M @ inverse
    assert np.abs(unseen).max() > 0.1
    assert np.abs(unseen.T @ momentum).max() <= 1e-12 * np.abs(momentum).max()


# --- how the functions compose ---


def test_a_batch_is_a_loop():
    model, at, found = answers(hinges)
    for lane in range(LANES):
        alone = once(model, State(*(x[lane] for x in at)))
        for name, value in alone.items():
            close(found[name][lane], value, 1e-12)


def moved(tree, way, scale):
    return jax.tree.map(lambda x, dx: x + scale * dx, tree, way)


@cheaply
def derivatives(point, way, weights):
    """(values at four steps along, tangent, the cotangent's product with the way)."""
    steps = 1e-3 * jnp.asarray([-2.0, -1.0, 1.0, 2.0])
    flat = lambda x: jnp.concatenate([y.ravel() for y in results(*x).values()])
    along = jax.lax.map(lambda h: flat(moved(point, way, h)), steps)
    value, tangent = jax.jvp(flat, (point,), (way,))
    (gradient,) = jax.vjp(flat, point)[1](weights[: value.shape[0]])
    paired = jax.tree.map(lambda g, d: jnp.sum(g * d), gradient, way)
    return along, tangent, sum(jax.tree.leaves(paired), jnp.zeros(()))


@pytest.mark.slow  # three functions of four recursions: a minute of one core to compile
def test_both_derivatives_by_every_leaf_agree_with_central_differences():
    model, at, _ = answers(hinges)
    rng = np.random.default_rng(4)
    point = (model, State(*(x[0] for x in at)))
    # Limits are infinite and act on nothing.
    way = jax.tree.map(
        lambda x: jnp.asarray(np.where(np.isfinite(x), rng.normal(size=x.shape), 0.0)) * 0.3, point
    )
    weights = jnp.asarray(rng.normal(size=2000))
    along, tangent, paired = jax.device_get(derivatives(point, way, weights))
    slope = np.array([1.0, -8.0, 8.0, -1.0]) @ along / 12e-3
    assert np.abs(tangent).max() > 1.0
    close(tangent, slope, 1e-7)
    n = tangent.shape[0]
    right = weights[:n] @ tangent
    assert abs(paired - right) <= 1e-11 * np.abs(np.asarray(weights)[:n] * tangent).sum()


def test_single_precision_gives_the_same_to_its_digits():
    model = hinges(jnp.float32)
    _, at, found = answers(hinges)
    single = State(*(x[0].astype(jnp.float32) for x in at))
    for name, value in once(model, single).items():
        assert value.dtype == jnp.float32
        close(value, found[name][0], 2e-5)


# --- what is refused ---


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda m, q: lx.operational_space_compliance(m, q, "b"), "`bodies` lists bodies"),
        (lambda m, q: lx.operational_space_compliance(m, q, ["c"]), "There is no body `c`"),
        (
            lambda m, q: lx.operational_space_compliance(m, q, ["b"], [(0.0, 0.0, 0.0)] * 2),
            "2 entries for 1 bodies",
        ),
        (lambda m, q: lx.effective_mass_matrix(m, q, ["b"], [6]), r"\[6\]; .* 0 to 5"),
        (lambda m, q: lx.effective_mass_matrix(m, q, ["b"], np.eye(3)), r"\(3, 3\); .* 6 columns"),
        (lambda m, q: lx.consistent_inverse(m, q, jnp.eye(3)), r"\(3, 3\); .* 2 here"),
    ],
    ids=["one body", "unknown body", "points", "row", "matrix", "jacobian"],
)
def test_what_does_not_fit_is_named(call, says):
    with pytest.raises(ValueError, match=says):
        call(two_links(), jnp.zeros(2))


def test_nothing_asked_is_an_empty_answer():
    model = two_links()
    q = jnp.zeros(2)
    assert lx.operational_space_compliance(model, q, []).shape == (0, 0)
    assert lx.effective_mass_matrix(model, q, ["b"], []).shape == (0, 0)
