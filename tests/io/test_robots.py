"""Published robots are read as another library reads them: masses, inertias, frames at neutral."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from linkax.io import describe
from linkax.model.builder import assemble
from linkax.model.description import Placement
from linkax.model.placement import compose, inverse, rotation_matrix
from linkax.model.root import with_root
from linkax.model.tree import unattached


pin = pytest.importorskip("pinocchio")
pytestmark = pytest.mark.oracle
UNEXPANDED = "ur3.urdf"


def robots() -> list[Path]:
    spec = find_spec("cmeel")
    places = [] if spec is None else [Path(p) for p in spec.submodule_search_locations or ()]
    folders = [place.parent / "cmeel.prefix/share/example-robot-data/robots" for place in places]
    return sorted(path for folder in folders for path in folder.glob("**/*.urdf"))


ROBOTS = robots()


def test_the_collection_is_there():
    if not ROBOTS:
        pytest.skip("example-robot-data is not installed")
    assert len(ROBOTS) > 50


@pytest.mark.parametrize("path", [p for p in ROBOTS if p.name == UNEXPANDED], ids=lambda p: p.stem)
def test_an_unexpanded_robot_says_so(path):
    with pytest.raises(ValueError, match="expand it first"):
        describe(path)


def read(path):
    """What both libraries make of a file; the robot floats unless the file ties it to the world."""
    description = describe(path)
    free = bool(unattached(description))
    assembly = assemble(with_root(description, "floating" if free else "fixed"), massless="weld")
    base = (pin.JointModelFreeFlyer(),) if free else ()
    return description, assembly, pin.buildModelFromUrdf(str(path), *base)


def poses(model) -> list[Placement]:
    """X_WB at the neutral configuration, where F and M of every joint coincide."""
    found: list[Placement] = []
    for i, parent in enumerate(model.topology.parents):
        X_PF, X_BM = (
            Placement(tuple(position[i].tolist()), tuple(quaternion[i].tolist()))
            for position, quaternion in (
                (model.parent_position, model.parent_quaternion),
                (model.child_position, model.child_quaternion),
            )
        )
        X_PB = compose(X_PF, inverse(X_BM))
        found.append(X_PB if parent < 0 else compose(found[parent], X_PB))
    return found


@pytest.mark.parametrize("path", [p for p in ROBOTS if p.name != UNEXPANDED], ids=lambda p: p.stem)
def test_a_robot_is_read_as_pinocchio_reads_it(path):
    description, assembly, theirs = read(path)
    model = assembly.model
    total = sum(inertia.mass for inertia in theirs.inertias)
    assert sum(body.mass for body in description.bodies) == pytest.approx(total, rel=1e-12)

    data = theirs.createData()
    pin.framesForwardKinematics(theirs, data, pin.neutral(theirs))
    bodies = poses(model)
    for k, name in enumerate(model.frame_names):
        frame = Placement(
            tuple(model.frame_position[k].tolist()), tuple(model.frame_quaternion[k].tolist())
        )
        carrier = model.topology.frame_bodies[k]
        pose = frame if carrier < 0 else compose(bodies[carrier], frame)
        expected = data.oMf[theirs.getFrameId(name, pin.FrameType.BODY)]
        np.testing.assert_allclose(pose.position, expected.translation, atol=1e-12)
        np.testing.assert_allclose(rotation_matrix(pose.quaternion), expected.rotation, atol=1e-12)

    if "welded" in " ".join(assembly.notes):
        return  # bodies are lumped differently then
    for i, name in enumerate(model.joint_names):
        joint = 1 if name == "root" and unattached(description) else theirs.getJointId(name)
        expected = theirs.inertias[joint]
        assert model.mass[i] == pytest.approx(expected.mass, rel=1e-12)
        if expected.mass > 0.0:
            np.testing.assert_allclose(model.com[i], expected.lever, atol=1e-12)
        np.testing.assert_allclose(model.inertia[i], expected.inertia, atol=1e-12)
