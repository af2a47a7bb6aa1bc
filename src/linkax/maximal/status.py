"""How runs and assemblies ended, as values whose members are sentences."""

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


class AssemblyStatus(eqx.Enumeration):
    """One a sample; `AssemblyStatus.closed` is the only good one."""

    closed = "Every constraint is met to rounding."
    stuck = (
        "No step brought the constraints nearer to closing: the parts do not reach each other, or the "
        "start is too far from a configuration that closes."
    )
    unfinished = "The constraints were still closing when the iterations ran out: allow more."
    invalid = (
        "The assembly could not begin: masses and weights must be positive, positions and velocities finite, "
        "and orientations not zero."
    )
