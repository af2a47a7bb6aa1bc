"""Energies, momenta and the centre of mass."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.kinematics.frames import Kinematics, kinematics
from linkax.model.abstract import AbstractModel
from linkax.model.constants import mat3, vec3
from linkax.model.inputs import conform
from linkax.model.model import Model
from linkax.spatial.vector import Vec3, cross, dot


def total_mass(model: AbstractModel) -> Float[Array, ""]:
    """The mass of all moving bodies [kg]."""
    return jnp.sum(model.tree.mass)


def center_of_mass(model: AbstractModel, q: Float[Array, " nq"]) -> Float[Array, "3"]:
    """The centre of mass of all moving bodies, world axes [m]."""
    return _weighted(model.tree, kinematics(model, q).com) / total_mass(model)


def _weighted(model: Model, x: Float[Array, "nb 3"]) -> Float[Array, "3"]:
    return jnp.sum(model.mass[:, None] * x, axis=0)


def _spin(model: Model, k: Kinematics) -> tuple[Vec3, Vec3]:
    """(angular velocity, angular momentum about the own centre of mass) of all bodies, body axes."""
    assert k.angular_velocity is not None
    R = mat3(k.rotation)
    w = R.transposed @ vec3(k.angular_velocity)
    i = 0.5 * (model.inertia + jnp.swapaxes(model.inertia, -1, -2))
    return w, mat3(i) @ w


def momentum(
    model: AbstractModel, q: Float[Array, " nq"], v: Float[Array, " nv"]
) -> Float[Array, "6"]:
    """[angular momentum about the world origin; linear momentum], world axes [N m s, N s].

    Reflected rotor inertia (armature) stores no momentum here: its rotors' real axes are not known.
    """
    return _momentum_about(model.tree, kinematics(model, q, v), jnp.zeros((3,), model.dtype))


def centroidal_momentum(
    model: AbstractModel, q: Float[Array, " nq"], v: Float[Array, " nv"]
) -> Float[Array, "6"]:
    """`momentum` about the centre of mass instead of the world origin."""
    k = kinematics(model, q, v)
    return _momentum_about(model.tree, k, _weighted(model.tree, k.com) / total_mass(model))


def _momentum_about(model: Model, k: Kinematics, point: Float[Array, "3"]) -> Float[Array, "6"]:
    assert k.com_velocity is not None
    _, own = _spin(model, k)
    R = mat3(k.rotation)
    linear = vec3(model.mass[:, None] * k.com_velocity)
    angular = R @ own + cross(vec3(k.com - point[None]), linear)
    return jnp.stack([jnp.sum(x) for x in (*angular, *linear)])


def mechanical_energy(
    model: AbstractModel, q: Float[Array, " nq"], v: Float[Array, " nv"]
) -> Float[Array, "2"]:
    """(`kinetic_energy`, `potential_energy`) from one pass over the bodies [J]."""
    q, v = conform(model, q=q, v=v)
    k = kinematics(model, q, v)
    return jnp.stack([_kinetic(model.tree, k, model.tree_speeds(q, v)), _potential(model.tree, k)])


def kinetic_energy(
    model: AbstractModel, q: Float[Array, " nq"], v: Float[Array, " nv"]
) -> Float[Array, ""]:
    """v^T M v / 2 [J], armature included."""
    q, v = conform(model, q=q, v=v)
    return _kinetic(model.tree, kinematics(model, q, v), model.tree_speeds(q, v))


def potential_energy(model: AbstractModel, q: Float[Array, " nq"]) -> Float[Array, ""]:
    """The gravitational energy [J], zero with all mass at the world origin."""
    return _potential(model.tree, kinematics(model, q))


def _kinetic(model: Model, k: Kinematics, tree_v: Float[Array, " tree_nv"]) -> Float[Array, ""]:
    assert k.com_velocity is not None
    w, own = _spin(model, k)
    velocity = vec3(k.com_velocity)
    rotors = jnp.sum(model.armature * tree_v * tree_v)
    return 0.5 * (jnp.sum(dot(w, own) + model.mass * dot(velocity, velocity)) + rotors)


def _potential(model: Model, k: Kinematics) -> Float[Array, ""]:
    return -jnp.sum(model.gravity * _weighted(model, k.com))
