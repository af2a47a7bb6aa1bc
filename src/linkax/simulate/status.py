"""How a run ended, as a value whose members are sentences."""

import equinox as eqx


class Status(eqx.Enumeration):
    """One a sample; `Status.completed` is the only good one."""

    completed = "The run completed all its steps."
    non_finite = (
        "A step gave a state that is not finite: the run was stopped there and holds its last good state; "
        "try a smaller dt or another integrator."
    )
    too_many_substeps = (
        "The adaptive integrator needed more than its allowed number of substeps: the run was stopped "
        "there; loosen the tolerances, raise `max_steps`, or lower dt."
    )
    not_converged = (
        "The equations of a step could not be solved: the run was stopped there and holds its last good "
        "state; try a smaller dt, and check that the loads and constraints can be met."
    )
    open_loops = (
        "The loops could not be closed after a step: the run was stopped there and holds its last good "
        "state; try a smaller dt, or in the embedded formulation other independent coordinates."
    )
    singular = (
        "The Jacobian of a step was singular: the run was stopped there and holds its last good state; where "
        "constraints are redundant use the rank-tolerant solver, else try a smaller dt."
    )
