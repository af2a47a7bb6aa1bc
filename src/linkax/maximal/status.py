"""How a run of the variational integrator ended, as a value whose members are sentences."""

import equinox as eqx


class Status(eqx.Enumeration):
    """One a sample; `Status.completed` is the only good one."""

    completed = "The run completed all its steps."
    not_converged = (
        "Newton's iteration of a step did not converge: the run was stopped there; try a smaller dt, and "
        "check that the loads and constraints can be met."
    )
    singular = (
        "The Jacobian of a step was singular and stayed so when shifted: the run was stopped there; for "
        "redundant constraints use the rank-tolerant solver."
    )
    invalid = (
        "The run could not begin: masses must be positive, orientations of unit length, and no body may turn "
        "by half a turn or more in one step."
    )
