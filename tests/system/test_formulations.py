"""One file, three formulations: loops by multipliers, embedded, and in maximal coordinates."""

import dataclasses
import functools as ft
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import linkax as lx
from linkax.constraints.embed import condition, embed, rechart
from linkax.dynamics.nodes import articulated_nodes
from linkax.kinematics.bodies import body_state
from linkax.maximal import Settings
from linkax.maximal.reactions import accelerations as body_accelerations
from linkax.system import closure, multipliers


CONFIGS = Path(__file__).parents[2] / "configs"
FILES = ("four_bar_free", "spatial_slider_crank", "bricard")


@ft.cache
def built(name: str, formulation: str):
    return lx.build(lx.describe(CONFIGS / f"{name}.toml"), formulation)


@jax.jit
def moved(system, q, dv):
    return system.model.integrate(q, dv)


@ft.cache
def start(name: str):
    """A closed state away from the file's own, with speeds: (q, speeds of the tree, independent ones)."""
    system = built(name, "embedded")
    dv = 0.3 * jax.random.normal(jax.random.key(1), (system.model.nv,))
    q = moved(system, system.initial_q, dv)
    v = 2.0 * jax.random.normal(jax.random.key(2), (system.model.nv,))
    return q, jax.jit(lambda s, q, v: s.model.tree_speeds(q, v))(system, q, v), v


@jax.jit
def answers(system, q, v):
    """(accelerations of the tree, multipliers, gaps)."""
    state = lx.state_of(q, v)
    a = lx.accelerations(system, state)
    whole = system.model.tree_accelerations(q, v, a)
    return whole, multipliers(system, state), closure(system, state)


@jax.jit
def maximal_answers(system, q, v):
    at = body_state(system.model, q, v, 0.0)
    return body_accelerations(system.mechanism, at, Settings())


@pytest.mark.parametrize("name", FILES)
def test_accelerations_and_multipliers_agree(name):
    q, v, v_i = start(name)
    a, pull, gaps = answers(built(name, "tree"), q, v)
    b, other, _ = answers(built(name, "embedded"), q, v_i)
    scale = np.abs(a).max()
    assert scale > 0.1
    assert np.abs(gaps).max() < 1e-12
    assert np.abs(a - b).max() < 1e-10 * scale
    bodies, rows = maximal_answers(built(name, "maximal"), q, v)
    tree = built(name, "tree").model
    k = jax.jit(lx.kinematics)(tree, q, v, a)
    assert np.abs(bodies[:, 3:] - k.com_acceleration).max() < 1e-10 * scale
    own = np.asarray(rows)[-len(pull) :]
    if name == "bricard":  # rows follow from each other: only what they do together is unique
        return
    assert np.abs(pull - own).max() < 1e-8 * np.abs(own).max()
    assert np.abs(pull - other).max() < 1e-8 * np.abs(own).max()


def test_the_redundant_loop_exerts_the_same_whatever_the_choice_of_rows():
    q, v, v_i = start("bricard")
    tree, embedded = built("bricard", "tree"), built("bricard", "embedded")
    _, pull, _ = answers(tree, q, v)
    _, other, _ = answers(embedded, q, v_i)
    G = jax.jit(lambda s, q: s.rows.jacobian(s.model, q, jnp.zeros(())))(tree, q)
    pushed, by_others = G.T @ pull, G.T @ other
    assert np.linalg.matrix_rank(np.asarray(G), tol=1e-8) == 4 < len(G)
    assert np.abs(pushed - by_others).max() < 1e-8 * np.abs(pushed).max()


def test_the_crank_is_chosen_wherever_it_can_turn():
    assert built("four_bar_free", "embedded").model.speed_names == ("crank",)
    assert built("spatial_slider_crank", "embedded").model.speed_names == ("crank",)
    assert built("four_bar_free", "embedded").notes == ()


@jax.jit
def run(system):
    return lx.simulate(system, dt=1e-3, steps=100, integrator=lx.RungeKutta4(), save_every=100)


@pytest.mark.parametrize("formulation", ["tree", "embedded"])
def test_the_spatial_slider_crank_runs_as_published(formulation):
    found = run(built("spatial_slider_crank", formulation))
    system = built("spatial_slider_crank", formulation)
    assert found.status == lx.Status.completed
    crank = system.model.coordinate_names.index("crank")
    assert abs(found.q[-1, crank] - 0.5600314820930841) < 1e-9
    assert abs(found.v[-1, 0] - 5.828888134654772) < 1e-8
    assert np.abs(answers(system, found.q[-1], found.v[-1])[2]).max() < 1e-12


@pytest.mark.parametrize("name", ["spatial_slider_crank", "bricard"])
def test_the_recursion_over_nodes_gives_the_same_through_compound_bodies_with_loops(name):
    """Its two ways to accelerations, and the compliance of two bodies inside the compound body."""
    system, (q, _, v) = built(name, "embedded"), start(name)
    bodies = system.model.body_names[-2:]

    def found(model, q, v):
        tau = jnp.zeros_like(v)
        J = jnp.concatenate([lx.jacobian(model, q, body) for body in bodies])
        half = jax.vmap(lambda row: lx.solve_mass_matrix(model, q, row))(J)
        return (
            lx.forward_dynamics(model, q, v, tau),
            articulated_nodes(model, q, v, tau).motions.rates,
            lx.operational_space_compliance(model, q, bodies),
            J @ half.T,
            lx.body_compliances(model, q)[-1],
        )

    compiled = jax.jit(found, compiler_options={"xla_backend_optimization_level": 0})
    rates, same, omega, wanted, own = compiled(system.model, q, v)
    a = lx.accelerations(dataclasses.replace(system, loads=(), elements=()), lx.state_of(q, v))
    scale = np.abs(a).max()
    assert np.abs(rates - a).max() < 1e-11 * scale
    assert np.abs(same - a).max() < 1e-11 * scale
    assert np.abs(omega - wanted).max() < 1e-12 * np.abs(wanted).max()
    assert np.abs(own - wanted[6:, 6:]).max() < 1e-12 * np.abs(wanted).max()
    assert np.abs(wanted[:6, 6:]).max() > 1e-3


@jax.jit
def summed(system, q, v):
    """A sum of squares of accelerations, at coordinates that the numbers of the system close."""
    model = system.model
    if hasattr(model, "closed"):
        q = model.closed(q)
    a = lx.accelerations(system, lx.state_of(q, v))
    return jnp.sum(jnp.square(a))


def test_gradients_of_embedded_accelerations_agree_with_differences():
    system = built("four_bar_free", "embedded")
    q, _, v = start("four_bar_free")

    def of(scale):
        # The length of a bar, and its mass, by leaves of the tree.
        base = system.model.base
        position = base.parent_position.at[1].multiply(1.0 + scale[0])
        changed = (position, base.mass.at[1].multiply(1.0 + scale[1]))
        where = lambda s: (s.model.base.parent_position, s.model.base.mass)
        return summed(eqx.tree_at(where, system, changed), q, v)

    zero = jnp.zeros((2,))
    reverse = jax.jit(jax.grad(of))(zero)
    forward = jax.jit(jax.jacfwd(of))(zero)
    h = 1e-4
    differences = [
        (8.0 * (of(h * e) - of(-h * e)) - (of(2 * h * e) - of(-2 * h * e))) / (12.0 * h)
        for e in jnp.eye(2)
    ]
    assert np.abs(np.asarray(differences)).min() > 1.0
    assert np.allclose(reverse, forward, rtol=1e-9)
    assert np.allclose(reverse, np.asarray(differences), rtol=1e-6)


def test_accelerations_by_multipliers_have_one_derivative_in_both_modes():
    tree = built("four_bar_free", "tree")
    q, v, _ = start("four_bar_free")

    def of(mass, q, v):
        return summed(eqx.tree_at(lambda s: s.model.mass, tree, mass), q, v)

    point = (tree.model.mass, q, v)
    reverse = jax.jit(jax.grad(of, argnums=(0, 1, 2)))(*point)
    forward = jax.jit(jax.jacfwd(of, argnums=(0, 1, 2)))(*point)
    for backward, along in zip(reverse, forward, strict=True):
        assert np.abs(along).max() > 1.0
        assert np.allclose(backward, along, rtol=1e-9, atol=1e-9 * np.abs(along).max())


def test_a_chart_can_be_chosen_anew_and_by_name():
    system = built("four_bar_free", "embedded")
    model, (q, tree_v, _) = system.model, start("four_bar_free")
    other = embed(model.base, model.rows, q=q, independent=["rocker_angle"])
    assert other.speed_names == ("rocker_angle",)
    changed = tree_v[np.asarray(other.independent)]
    assert np.allclose(jax.jit(lambda m, q, v: m.tree_speeds(q, v))(other, q, changed), tree_v)
    assert rechart(other, q).speed_names == ("crank",)
    assert float(jax.jit(condition)(model, q)) < float(jax.jit(condition)(other, q)) * 10.0


def test_what_cannot_be_embedded_is_refused_by_name():
    model = built("four_bar_free", "embedded").model
    rows, tree = model.rows, model.base
    with pytest.raises(ValueError, match="`crank`, `coupler` cannot be the independent ones"):
        embed(tree, rows, q=model.reference, independent=["crank", "coupler"])
    bodies = tree.body_names
    with pytest.raises(ValueError, match=r"passes through body .* outside the group"):
        embed(tree, rows, q=model.reference, groups=[[bodies[0]]])
    with pytest.raises(ValueError, match="are no group"):
        embed(tree, rows, q=model.reference, groups=[[bodies[1], bodies[2]]])
    far = jnp.asarray([0.0, 0.0, 0.0, 50.0])
    with pytest.raises(ValueError, match="cannot be closed near them"):
        embed(tree, rows, q=far)
