"""The integrator of a run: what the shell or the file names, in the formulation and with its loads."""

import argparse

from linkax.cli.arguments import BadInput, Machine, input_errors, one_of
from linkax.maximal import LoadEvaluation, Settings
from linkax.simulate import INTEGRATORS, AbstractIntegrator, Variational


INTEGRATOR = "semi-implicit-euler"
VARIATIONAL, COMPOSITION, RUNGE_KUTTA = "variational", "composition", "runge-kutta4"


def default(mechanism: Machine) -> str:
    """The integrator where none is named."""
    if mechanism.system.mechanism is not None:
        return VARIATIONAL
    # Order one is for control loops of open robots; mechanisms with loops are run for their motion.
    return RUNGE_KUTTA if _constrained(mechanism) else INTEGRATOR


def _constrained(mechanism: Machine) -> bool:
    system = mechanism.system
    return system.rows.count > 0 or system.model.nodes is not None


def fitting(name: str | None, mechanism: Machine) -> str | None:
    """The file's integrator, unless it speaks of another formulation than the one asked for."""
    maximal = mechanism.system.mechanism is not None
    if name == COMPOSITION and not maximal and _constrained(mechanism):
        # What is composed is another method here, the implicit midpoint, whose iterations hold those that
        # close the loops: 50 to 90 s to compile for a four-bar, against 12 to 15 s of the default.
        said = mechanism.description.run.formulation
        return name if said == mechanism.system.formulation else None
    return name if name == COMPOSITION or (name == VARIATIONAL) == maximal else None


def known_integrator(name: str | None) -> str | None:
    """The file's integrator is read by what reads the option."""
    try:
        return name and one_of(INTEGRATORS, "integrator")(name)
    except argparse.ArgumentTypeError as error:
        raise ValueError(f"{error}") from error


def method(name: str, mechanism: Machine) -> AbstractIntegrator:
    """The integrator of a name, for the formulation and the loads of the file."""
    maximal = mechanism.system.mechanism is not None
    if maximal and name not in (VARIATIONAL, COMPOSITION):
        raise BadInput(
            f"In maximal coordinates the integrator must be {VARIATIONAL} or {COMPOSITION}, but is {name}."
        )
    if not maximal and name == VARIATIONAL:
        raise BadInput(
            f"The integrator {VARIATIONAL} needs --formulation maximal, but {mechanism.path} is run in the "
            f"{mechanism.system.formulation} formulation."
        )
    said = mechanism.description.run.load_evaluation
    if said is None:
        return INTEGRATORS[name]()
    with input_errors(f"{mechanism.path}: [run] load_evaluation: "):
        try:
            evaluation = LoadEvaluation(one_of([m.value for m in LoadEvaluation], "mode")(said))
        except argparse.ArgumentTypeError as error:
            raise ValueError(f"{error}") from error
    if name == VARIATIONAL:
        return Variational(Settings(load_evaluation=evaluation))
    if evaluation is not LoadEvaluation.LEFT and maximal:
        raise BadInput(
            f"{mechanism.path}: [run] load_evaluation is {said}, but {COMPOSITION} takes loads at the ends "
            f"of its steps; use {VARIATIONAL}."
        )
    return INTEGRATORS[name]()
