"""A model in single precision computes in single precision, though JAX may hold doubles."""

import jax
import jax.numpy as jnp
import pytest

import linkax as lx
from linkax import library


@pytest.fixture(scope="module")
def system():
    kinds = ("floating", "planar", "helical", "universal")
    description = library.random_tree(jax.random.key(1), 4, kinds)
    for joint in description.joints:
        joint.damping = 0.1
    return lx.build(description, dtype=jnp.float32)


def doubles(jaxpr):
    """(operation, shape) of every double that a traced function makes, inside its loops and rules too."""
    found = set()
    for equation in jaxpr.eqns:
        for out in equation.outvars:
            if getattr(out.aval, "dtype", None) == jnp.float64:
                found.add((equation.primitive.name, out.aval.shape))
        for value in jax.tree.leaves(dict(equation.params), is_leaf=lambda x: hasattr(x, "eqns")):
            inner = getattr(value, "jaxpr", value)
            found |= doubles(inner) if hasattr(inner, "eqns") else set()
    return found


def run(system, q, v):
    start = lx.state_of(q, v)
    done = lx.simulate(system, start, dt=0.01, steps=3, save_every=2, integrator=lx.RungeKutta4())
    return done.q, done.t, done.final.v


FUNCTIONS = {
    "forward dynamics": lambda s, q, v: lx.accelerations(s, lx.state_of(q, v), v),
    "inverse dynamics": lambda s, q, v: lx.inverse_dynamics(s.model, q, v, v),
    "mass matrix": lambda s, q, v: lx.mass_matrix(s.model, q),
    "kinematics": lambda s, q, v: vars(lx.kinematics(s.model, q, v, v)),
    "jacobian": lambda s, q, v: lx.jacobian(s.model, q, 3, (0.1, 0.2, 0.3)),
    "body compliances": lambda s, q, v: lx.body_compliances(s.model, q),
    "effective mass": lambda s, q, v: lx.effective_mass_matrix(s.model, q, [3, 1], [0, 4, 11]),
    "joint forces": lambda s, q, v: lx.joint_forces(s.model, q, v, v),
    "momentum": lambda s, q, v: lx.centroidal_momentum(s.model, q, v),
    "energy": lambda s, q, v: lx.energy(s, lx.state_of(q, v)),
    "coordinates": lambda s, q, v: (s.model.integrate(q, v), s.model.difference(q, 2.0 * q)),
    "run": run,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_double_appears_in_a_single_precision_model(system, name):
    q = system.model.random(jax.random.key(0))
    v = jnp.ones((system.model.nv,), jnp.float32)
    assert q.dtype == jnp.float32
    found = doubles(jax.make_jaxpr(FUNCTIONS[name])(system, q, v).jaxpr)
    assert not found, found
