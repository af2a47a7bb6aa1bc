"""A floating tree that mixes all joint types, and all that is asked of it, from one compiled function."""

import functools as ft
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

import linkax as lx
from linkax import library
from linkax.model import Description
from linkax.model.description import GROUND, BodyDescription, JointDescription


LANES = 6
BODIES = 8  # on the base, one of each type of joint that moves
POINT = (0.3, -0.2, 0.1)
# Evaluated once: LLVM's optimisations would cost a third more time than they could save.
CHEAPLY = {"xla_backend_optimization_level": 0}
# Directions in which the state is moved: along the motion, along it at constant speeds, and along w.
MOTION, COASTING, ASIDE = 0, 1, 2


def afloat(tree: Description) -> Description:
    """The tree with all that stood on the ground on a floating base of its own instead."""
    base = BodyDescription("base", 3.0, (0.1, -0.2, 0.05), library.diagonal(0.2, 0.3, 0.35))
    for joint in tree.joints:
        joint.parent = "base" if joint.parent == GROUND else joint.parent
    tree.bodies.insert(0, base)
    tree.joints.insert(0, JointDescription("root", "floating", GROUND, "base"))
    tree.gravity = (0.3, -0.7, -9.81)
    return tree


class Asked(NamedTuple):
    """States, lanes first."""

    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray
    w: np.ndarray  # another vector of speeds
    wrenches: np.ndarray  # on two bodies


class Answers(NamedTuple):
    """What the model says, lanes first."""

    model: lx.Model
    asked: Asked
    pushed: tuple[int, int]  # the bodies that the wrenches act on
    found: dict[str, Any]
    moving: dict[str, Any]  # of (q, v)
    rates: dict[
        str, Any
    ]  # their derivatives in the three directions; axes (lanes, directions, ...)


def _asked(model: lx.Model, pushed: tuple[int, int]) -> Asked:
    rng = np.random.default_rng(7)
    q = jax.vmap(model.random)(jax.random.split(jax.random.key(1), LANES))
    v, tau, w = rng.uniform(-1.0, 1.0, (3, LANES, model.nv))
    wrenches = np.zeros((LANES, model.nb, 6))
    wrenches[:, pushed] = rng.uniform(-5.0, 5.0, (LANES, 2, 6))
    return Asked(np.asarray(q), v, 3.0 * tau, w, wrenches)


def _moving(model: lx.Model, q, v) -> dict[str, Any]:
    """What is differentiated in time."""
    k = lx.kinematics(model, q, v)
    return {
        "kinetic": lx.kinetic_energy(model, q, v),
        "potential": lx.potential_energy(model, q),
        "momentum": lx.momentum(model, q, v),
        "center_of_mass": lx.center_of_mass(model, q),
        "kinematics": k,
        "point_velocity": lx.jacobian(model, q, model.nb - 1, POINT) @ v,
    }


@ft.cache
def answers() -> Answers:
    """Evaluated once a session; eight types of joints make it the dearest function to compile."""
    model = lx.build(afloat(library.random_tree(jax.random.key(3), BODIES))).model
    last = model.nb - 1
    pushed = (last // 2, last)
    asked = _asked(model, pushed)

    def everything(q, v, tau, w, wrenches):
        a = lx.forward_dynamics(model, q, v, tau, wrenches)
        free, more = jax.vmap(lambda x: lx.inverse_dynamics(model, q, v, x))(jnp.stack([a, a + w]))
        found = {
            "a": a,
            "tau": lx.inverse_dynamics(model, q, v, a, wrenches),
            "tau_free": free,
            "tau_more": more,
            "M": lx.mass_matrix(model, q),
            "solved": lx.solve_mass_matrix(model, q, w),
            "bias": lx.bias_force(model, q, v),
            "gravity": lx.gravity_force(model, q),
            "centroidal": lx.centroidal_momentum(model, q, v),
            "kinematics": lx.kinematics(model, q, v, a),
            "pushed": jnp.stack([lx.jacobian(model, q, body) for body in pushed]),
            "jacobian": lx.jacobian(model, q, last, POINT),
            "jacobian_bias": lx.jacobian_bias(model, q, v, last, POINT),
        }
        still = jnp.zeros_like(v)
        along = (
            jnp.stack([model.rate(q, v), model.rate(q, v), model.rate(q, w)]),
            jnp.stack([a, still, still]),
        )
        pushforward = jax.vmap(lambda *d: jax.jvp(ft.partial(_moving, model), (q, v), d)[1])
        return found, _moving(model, q, v), pushforward(*along)

    compiled = jax.jit(jax.vmap(everything), compiler_options=CHEAPLY)
    results = jax.device_get(compiled(*asked))
    return Answers(model, asked, pushed, *results)
