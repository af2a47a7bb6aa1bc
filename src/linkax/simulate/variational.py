"""The variational integrator of maximal coordinates, stepping a System."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp

from linkax import maximal
from linkax.kinematics.bodies import body_state
from linkax.maximal.discrete import Exponential
from linkax.maximal.joint_loads import JointLoads
from linkax.maximal.momentum_step import momentum_advance
from linkax.maximal.reactions import accelerations
from linkax.maximal.tangent import inertial, tangent_motion
from linkax.maximal.tree import to_tree
from linkax.simulate.base import AbstractIntegrator
from linkax.simulate.status import Status
from linkax.system import MaximalPart, State, System


class Variational(AbstractIntegrator):
    """Order 2, symplectic, constraints closed at every step: for systems in maximal coordinates.

    Between steps the state's `v` are averages over the interval passed; at saved points they are
    instantaneous, from the momenta before and after (document 002's look-ahead) without what the joints
    forbid, and `State.pseudo` has the multipliers. Source: `linkax.maximal.simulate`.
    """

    settings: maximal.Settings = eqx.field(static=True, default=maximal.Settings())

    def prepare(self, system, state):
        """Poses and velocities from the tree coordinates, unless the state has them already."""
        mechanism = _mechanism(system)
        if isinstance(state.pseudo, MaximalPart):
            return state
        start = body_state(system.model, state.q, state.v, state.t)
        m = mechanism.constraints.count
        part = MaximalPart(start, jnp.zeros((m,), state.q.dtype))
        return State(state.t, state.q, state.v, state.z, part)

    def step(self, system, state, controls, dt, active=True):
        """One step of document 002."""
        after, multipliers, info = maximal.advance(
            _driven(system, state, controls), _at_time(state), dt, self.settings, active
        )
        q, v = to_tree(system.model.tree, after, state.q)
        new = State(state.t + dt, q, v, state.z, MaximalPart(after, multipliers))
        return new, _status(info.converged, info.jacobian_singular)

    def report(self, system, state, controls, dt):
        """Instantaneous speeds and the coming interval's multipliers, by a step that is not committed."""
        here = _at_time(state)
        mechanism = _driven(system, state, controls)
        _, multipliers, info = maximal.advance(mechanism, here, dt, self.settings)
        mean = jnp.concatenate([info.point_angular_velocity, info.point_velocity], axis=-1)
        # The mean of the momenta leaves the joints' freedoms by h^2. It is brought back by an impulse of the
        # constraints, as in RATTLE, and keeps its sum; tree speeds of the mean itself would lose momentum.
        again = here.averaged & info.converged
        onto = tangent_motion(mechanism, here, inertial(mechanism, mean), self.settings, again)
        shown = jnp.where(onto.converged, onto.value.motion, mean)
        return _shown(system, state, here, shown[:, 3:], shown[:, :3], multipliers)

    def symmetric(self):
        """The same positions with momenta carried between steps."""
        return VariationalMomentum(self.settings)


class VariationalMomentum(AbstractIntegrator):
    """The variational step from momenta to momenta, as `Composition` uses it: conservative loads only.

    Rotations are written by their exponential, whatever the settings' chart.
    """

    settings: maximal.Settings = eqx.field(static=True, default=maximal.Settings())

    def __check_init__(self):
        object.__setattr__(self, "settings", _exponential(self.settings))

    def prepare(self, system, state):
        """As `Variational`."""
        return Variational(self.settings).prepare(system, state)

    def step(self, system, state, controls, dt, active=True):
        """One step."""
        after, multipliers, good = momentum_advance(
            _driven(system, state, controls), _at_time(state), dt, self.settings, active
        )
        q, v = to_tree(system.model.tree, after, state.q)
        new = State(state.t + dt, q, v, state.z, MaximalPart(after, multipliers))
        return new, _status(good, jnp.zeros((), bool))

    def report(self, system, state, controls, dt):
        """The multipliers of the instant."""
        here = _at_time(state)
        _, multipliers = accelerations(_driven(system, state, controls), here, self.settings)
        return _shown(system, state, here, here.velocity, here.angular_velocity, multipliers)

    def symmetric(self):
        """Itself."""
        return self


def _exponential(settings: maximal.Settings) -> maximal.Settings:
    return dataclasses.replace(settings, chart=Exponential)


def _mechanism(system: System) -> maximal.Mechanism:
    if system.mechanism is None:
        raise ValueError(
            f"The variational integrator needs maximal coordinates, but `{system.name}` was built in the "
            f'{system.formulation} formulation; build it with formulation="maximal".'
        )
    return system.mechanism


def _at_time(state: State) -> maximal.State:
    """The maximal state, at the time that the run counts."""
    return eqx.tree_at(lambda s: s.t, state.pseudo.state, state.t)


def _driven(system: System, state: State, controls) -> maximal.Mechanism:
    """The mechanism with its controls and joint damping acting on the joints."""
    mechanism = _mechanism(system)
    tau = controls(state.t, state)
    if tau is None:
        return mechanism
    model = system.model.tree
    undamped = jnp.zeros((model.topology.tree_nv,), model.dtype)
    driven = JointLoads(model, jnp.asarray(tau, model.dtype), undamped)
    loads = maximal.Loads((mechanism.loads, driven))
    return eqx.tree_at(lambda m: m.loads, mechanism, loads)


def _shown(system: System, state: State, here: maximal.State, velocity, spin, multipliers) -> State:
    point = eqx.tree_at(lambda s: (s.velocity, s.angular_velocity), here, (velocity, spin))
    _, v = to_tree(system.model.tree, point, state.q)
    part = MaximalPart(state.pseudo.state, multipliers)
    return State(state.t, state.q, v, state.z, part)


def _status(good, singular) -> Status:
    failed = Status.where(singular, Status.singular, Status.not_converged)
    return Status.where(good, Status.completed, failed)
