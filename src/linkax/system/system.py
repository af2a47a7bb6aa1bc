"""The whole machine: a model, the elements that act on it, markers and an initial state."""

import difflib
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from linkax.constraints.assembly import close, shortest
from linkax.constraints.embedded import EmbeddedModel
from linkax.constraints.multipliers import Constrained, constrained_dynamics
from linkax.constraints.tree_rows import NO_ROWS, TreeConstraints, about_origins
from linkax.dynamics import forward_dynamics, mechanical_energy
from linkax.forces import AbstractElement
from linkax.forces.loads import AbstractLoad
from linkax.kinematics import Kinematics
from linkax.kinematics.bodies import State as BodyState, bodies_of, body_state
from linkax.kinematics.side_by_side import place
from linkax.maximal import Mechanism
from linkax.model import AbstractModel
from linkax.system.state import State


class System(eqx.Module):
    """A machine in one formulation, with its elements; every physical number is a leaf.

    Without actuators of its own it is driven by one generalised force a speed of its tree: in the embedded
    formulation too, so that the same controls drive a machine in every formulation.
    """

    model: AbstractModel
    elements: tuple[AbstractElement, ...]
    initial_q: Float[Array, " nq"]
    initial_v: Float[Array, " nv"]
    effort: Float[
        Array, " nu"
    ]  # what the description allows a joint to exert; informative [N m or N]
    velocity_limit: Float[Array, " nu"]  # informative [rad/s or m/s]
    marker_points: Float[Array, "nm 3"]  # in body axes [m]
    weights: Float[Array, " nv"]  # how easily each coordinate changes when rows are closed
    marker_names: tuple[str, ...] = eqx.field(static=True)
    marker_bodies: tuple[int, ...] = eqx.field(static=True)
    name: str = eqx.field(static=True)
    notes: tuple[str, ...] = eqx.field(static=True)
    formulation: str = eqx.field(static=True, default="tree")
    mechanism: Mechanism | None = None  # in maximal coordinates: bodies, joint and loop rows, loads
    rows: TreeConstraints = NO_ROWS  # that act by multipliers: loops of a tree, prescribed motions
    loads: tuple[AbstractLoad, ...] = ()  # on the bodies

    @property
    def nu(self) -> int:
        """Number of controls."""
        return self.model.tree.nv

    @property
    def control_names(self) -> tuple[str, ...]:
        """One name a control."""
        return self.model.tree.speed_names

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
    """What acts on the speeds beside inertia, gravity and loads on bodies: controls and elements.

    [N m or N] on the model's own speeds; `controls` are on those of the tree.
    """
    model = system.model
    if controls is None:
        tau = jnp.zeros_like(state.v)
    else:
        tau = controls if model.nodes is None else model.project(state.q, controls)
    for element in system.elements:
        tau = tau + element.generalised_force(system.model, state.q, state.v)
    return tau


def accelerations(
    system: System, state: State, controls: Float[Array, " nu"] | None = None
) -> Float[Array, " nv"]:
    """The rates of the speeds with everything acting: controls, elements, inertia and gravity.

    `controls` are generalised forces [N m or N], zero if None.
    """
    return constrained_accelerations(system, state, controls).acceleration


def constrained_accelerations(
    system: System, state: State, controls: Float[Array, " nu"] | None = None
) -> Constrained:
    """`accelerations`, and the multipliers of the rows that act by them."""
    if system.mechanism is not None:
        raise ValueError(
            f"`{system.name}` is in maximal coordinates, which have no accelerations of tree coordinates: "
            "step it by Variational, or by Composition of it."
        )
    tau, wrenches = generalised_forces(system, state, controls), wrenches_of(system, state)
    model, rows = system.model, system.rows
    if rows.count == 0 and model.nodes is None:
        a = forward_dynamics(model, state.q, state.v, tau, wrenches)
        return Constrained(a, jnp.zeros((0,), a.dtype))
    return constrained_dynamics(model, rows, state.q, state.v, tau, wrenches, state.t)


def wrenches_of(system: System, state: State) -> Float[Array, "nb 6"] | None:
    """What the loads do to the bodies: [torque about the body-frame origin; force], world axes."""
    if not system.loads:
        return None
    model = system.model
    bodies, here = bodies_of(model), _moving_bodies(system, state)
    total = jnp.zeros((model.nb, 6), model.dtype)
    for load in system.loads:
        total = total + load.wrenches(bodies, here)
    return about_origins(place(model.tree, model.tree_coordinates(state.q)), total)


def _moving_bodies(system: System, state: State) -> BodyState:
    return body_state(system.model, state.q, state.v, state.t)


def settled(system: System, state: State, active: Any = True) -> tuple[State, Bool[Array, ""]]:
    """The state brought back onto its rows, and whether it is closed.

    A step of an integrator leaves positions and speeds off by its own error, which would add up. Embedded
    loops are closed by every step; whether they could be is what is told of them.
    """
    model, rows, weights = system.model, system.rows, system.weights
    good = closed_loops(model, state.q)
    if rows.count == 0:
        return state, good
    # Embedded loops and the other rows are closed together, on the tree: closing the others by moving the
    # independent coordinates would take a Newton iteration at each evaluation of another, at five times the
    # time to compile.
    tree = model.tree
    if isinstance(model, EmbeddedModel):
        rows, weights = model.solved_rows.followed_by(rows), model.weights
    met = close(tree, rows, state.q, state.t, weights, active & good)
    G = rows.chosen(rows.jacobian(tree, met.value, state.t))
    tree_v = model.tree_speeds(met.value, state.v)
    opening = rows.chosen(rows.velocity_residual(tree, met.value, tree_v, state.t))
    change = shortest(G, opening, weights)
    if isinstance(model, EmbeddedModel):
        change = change[np.asarray(model.independent, int)]
    return State(state.t, met.value, state.v - change, state.z, state.pseudo), good & met.converged


def closure(system: System, state: State) -> Float[Array, " m"]:
    """The gaps of all loops and motions, embedded ones first [m or rad]."""
    model = system.model
    gaps = [system.rows.position_residual(model, state.q, state.t)]
    if isinstance(model, EmbeddedModel):
        gaps.insert(0, model.rows.position_residual(model.tree, state.q, state.t))
    return jnp.concatenate(gaps)


def closed_loops(model: AbstractModel, q: Float[Array, " nq"]) -> Bool[Array, ""]:
    """Whether a model's own loops are closed at q; those of an open tree are."""
    if not isinstance(model, EmbeddedModel):
        return jnp.ones((), bool)
    return model.closure(q) < model.tolerance(q)


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
    if system.loads:
        here = _moving_bodies(system, state)
        for load in system.loads:
            potential = potential + load.potential_energy(bodies_of(system.model), here)
    for element in system.elements:
        potential = potential + element.potential_energy(system.model, state.q)
    return jnp.stack([kinetic, potential])
