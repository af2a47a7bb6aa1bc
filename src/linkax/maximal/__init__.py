"""Maximal coordinates: one pose a body, constraints as rows, the variational integrator of document 002."""

from linkax.constraints.expression import (
    AbstractTimeFunction as AbstractTimeFunction,
    Expression as Expression,
    UserFunction as UserFunction,
    Waves as Waves,
)
from linkax.constraints.joint_rows import JointRows as JointRows
from linkax.constraints.motion_rows import (
    AngleRows as AngleRows,
    Coordinate as Coordinate,
    CoordinateRows as CoordinateRows,
    CouplingRows as CouplingRows,
    DistanceRows as DistanceRows,
)
from linkax.constraints.planar_rows import (
    PlanarBodyRows as PlanarBodyRows,
    PlanarJointRows as PlanarJointRows,
    PlanarKind as PlanarKind,
)
from linkax.constraints.rows import (
    AbstractRows as AbstractRows,
    Constraints as Constraints,
    in_order as in_order,
)
from linkax.forces.elements import (
    AxialResult as AxialResult,
    BodyTorques as BodyTorques,
    ConstantLoads as ConstantLoads,
    LinearDampers as LinearDampers,
    LinearSprings as LinearSprings,
    PointForces as PointForces,
    TorsionalDampers as TorsionalDampers,
    TorsionalResult as TorsionalResult,
    TorsionalSprings as TorsionalSprings,
)
from linkax.forces.loads import (
    AbstractLoad as AbstractLoad,
    Gravity as Gravity,
    Loads as Loads,
)
from linkax.kinematics.bodies import (
    Bodies as Bodies,
    Poses as Poses,
    State as State,
    bodies_of as bodies_of,
    body_state as body_state,
)
from linkax.kinematics.joint_frames import JointFrames as JointFrames
from linkax.maximal.assembly import (
    Assembled as Assembled,
    assemble as assemble,
)
from linkax.maximal.history import History as History, run as run, simulate as simulate
from linkax.maximal.mechanism import (
    Mechanism as Mechanism,
    kinetic_energy as kinetic_energy,
    redundant as redundant,
)
from linkax.maximal.settings import (
    LinearSolver as LinearSolver,
    LoadEvaluation as LoadEvaluation,
    Settings as Settings,
)
from linkax.maximal.status import AssemblyStatus as AssemblyStatus, Status as Status
from linkax.maximal.step import Step as Step, advance as advance, step as step
from linkax.maximal.tree import (
    joint_rows as joint_rows,
    to_tree as to_tree,
)
from linkax.maximal.velocities import (
    consistent as consistent,
    project_velocities as project_velocities,
    velocity_residual as velocity_residual,
)


to_maximal = body_state  # the way there, beside `to_tree`, the way back
