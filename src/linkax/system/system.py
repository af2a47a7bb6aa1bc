"""The whole machine: a model, the elements that act on it, markers and an initial state."""

import difflib

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from linkax.dynamics import forward_dynamics, mechanical_energy
from linkax.forces import AbstractElement
from linkax.kinematics import Kinematics
from linkax.kinematics.bodies import body_state
from linkax.maximal import Mechanism
from linkax.model import Model
from linkax.system.state import State


class System(eqx.Module):
    """A machine in one formulation, with its elements; every physical number is a leaf.

    Without actuators of its own it is driven by one generalised force a speed: `nu` = `nv`.
    """

    model: Model
    elements: tuple[AbstractElement, ...]
    initial_q: Float[Array, " nq"]
    initial_v: Float[Array, " nv"]
    effort: Float[
        Array, " nv"
    ]  # what the description allows a joint to exert; informative [N m or N]
    velocity_limit: Float[Array, " nv"]  # informative [rad/s or m/s]
    marker_points: Float[Array, "nm 3"]  # in body axes [m]
    marker_names: tuple[str, ...] = eqx.field(static=True)
    marker_bodies: tuple[int, ...] = eqx.field(static=True)
    name: str = eqx.field(static=True)
    notes: tuple[str, ...] = eqx.field(static=True)
    formulation: str = eqx.field(static=True, default="tree")
    mechanism: Mechanism | None = None  # in maximal coordinates: bodies, joint and loop rows, loads

    @property
    def nu(self) -> int:
        """Number of controls."""
        return self.model.nv

    @property
    def control_names(self) -> tuple[str, ...]:
        """One name a control."""
        return self.model.speed_names

    def initial_state(self) -> State:
        """The state that the description starts from, at time zero."""
        dtype = self.model.dtype
        return State(jnp.zeros((), dtype), self.initial_q, self.initial_v, jnp.zeros((0,), dtype))

    def marker_index(self, name: str) -> int:
        """The index of a marker by name."""
        if name in self.marker_names:
            return self.marker_names.index(name)
        near = difflib.get_close_matches(name, self.marker_names, n=3) or self.marker_names[:12]
        raise ValueError(f"There is no marker `{name}`; there are {', '.join(near) or 'none'}.")

    def marker_positions(self, k: Kinematics) -> Float[Array, "nm 3"]:
        """The markers in world axes, given the bodies' kinematics [m]."""
        bodies = jnp.asarray(self.marker_bodies, int)
        R = jnp.concatenate([k.rotation, jnp.eye(3, dtype=k.rotation.dtype)[None]])[bodies]
        p = jnp.concatenate([k.position, jnp.zeros((1, 3), k.position.dtype)])[bodies]
        return p + (R * self.marker_points[:, None, :]).sum(-1)


def generalised_forces(
    system: System, state: State, controls: Float[Array, " nu"] | None = None
) -> Float[Array, " nv"]:
    """Everything that acts on the speeds beside inertia and gravity: controls and elements [N m or N]."""
    tau = jnp.zeros_like(state.v) if controls is None else controls
    for element in system.elements:
        tau = tau + element.generalised_force(system.model, state.q, state.v)
    return tau


def accelerations(
    system: System, state: State, controls: Float[Array, " nu"] | None = None
) -> Float[Array, " nv"]:
    """The rates of the speeds with everything acting: controls, elements, inertia and gravity.

    `controls` are generalised forces [N m or N], zero if None.
    """
    if system.mechanism is not None:
        raise ValueError(
            f"`{system.name}` is in maximal coordinates, which have no accelerations of tree coordinates: "
            "step it by Variational, or by Composition of it."
        )
    tau = generalised_forces(system, state, controls)
    return forward_dynamics(system.model, state.q, state.v, tau)


def derivatives(
    system: System, state: State, controls: Float[Array, " nu"] | None = None
) -> tuple[Float[Array, " nq"], Float[Array, " nv"], Float[Array, " nz"]]:
    """(q_dot, v_dot, z_dot): the time derivatives of the integrated part of the state."""
    v_dot = accelerations(system, state, controls)
    return system.model.rate(state.q, state.v), v_dot, jnp.zeros_like(state.z)


def energy(system: System, state: State) -> Float[Array, "2"]:
    """(kinetic, potential) [J]: gravity and the elements' stored energy make up the potential."""
    kinetic, potential = mechanical_energy(system.model, state.q, state.v)
    if system.mechanism is not None:
        at = body_state(system.model, state.q, state.v, state.t)
        potential = system.mechanism.loads.potential_energy(system.mechanism.bodies, at)
    for element in system.elements:
        potential = potential + element.potential_energy(system.model, state.q)
    return jnp.stack([kinetic, potential])
