"""A third of the published robots behave as another library says; `sweep.py` does them all."""

import pytest


pytest.importorskip("pinocchio")

from comparison import TOLERANCE, Comparison, Job, comparisons
from example_robots import robots, title
from sweep import ROOTS, UNREADABLE, readable


# Chosen for what they contain, and for few structures, since each is compiled: 13 functions, 30 to 40
# seconds of one core each.
THIRD = (
    "a1_description/a1",
    "anymal_b_simple_description/anymal",
    "anymal_c_simple_description/anymal",
    "go2_description/go2",
    "hyq_description/hyq_no_sensors",
    "solo_description/solo12",
    "kinova_description/kinova",  # continuous joints among others
    "so_arm_description/so100",
    "so_arm_description/so101",
    "ur_description/ur10_robot",  # its root link is called "world"
    "ur_description/ur3_gripper",
    "ur_description/ur5_robot",
    "asr_twodof_description/TwoDofs",
    "borinot_description/borinot_flying_arm_2",
    "double_pendulum_description/double_pendulum",
    "double_pendulum_description/double_pendulum_continuous",
    "panda_description/panda",  # a mimic joint, sliding fingers
    "panda_description/panda_collision",
    "romeo_description/romeo",  # 24 joints that move nothing, half of them mimics
    "romeo_description/romeo_small",
    "tiago_description/tiago_no_hand",  # slide, hinges and wheels
    "hector_description/quadrotor_base",  # nothing moves on a fixed root
    "iris_description/iris_simple",
)
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.slow,
    pytest.mark.skipif(not robots(), reason="example-robot-data is not installed"),
]


@pytest.fixture(scope="module")
def results() -> dict[tuple[str, str], Comparison]:
    """The comparisons by title and root."""
    paths = [path for path in readable() if title(path) in THIRD]
    done = comparisons(Job(path, root) for path in paths for root in ROOTS)
    return {(title(c.job.path), c.job.root): c for c in done}


def test_there_are_68_robots_and_this_is_a_third_of_them():
    assert len(readable()) == len(robots()) - len(UNREADABLE) == 68
    assert len(set(THIRD)) == 23
    assert set(THIRD) <= {title(path) for path in readable()}


@pytest.mark.parametrize("robot", THIRD)
def test_a_robot_behaves_as_pinocchio_says(robot, results):
    for root in ROOTS:
        c = results[robot, root]
        assert c.nv == 0 or len(c.errors) == 14  # quantities
        worst = max(c.errors, key=lambda key: c.errors[key], default="")
        assert c.worst <= TOLERANCE, f"{worst} on a {root} root is off by {c.worst:.1e}"


def test_the_third_has_all_kinds(results):
    found = list(results.values())
    assert any(c.followers for c in found)
    assert any(c.welded for c in found)
    assert max(c.nv for c in found) > 30
    assert min(c.nv for c in found) == 0


def test_the_count_is_told(results, capsys):
    passed = {robot for robot, _ in results} - {
        k[0] for k, c in results.items() if c.worst > TOLERANCE
    }
    worst = max(c.worst for c in results.values())
    with capsys.disabled():
        print(
            f" {len(passed)} of {len(THIRD)} robots agree with Pinocchio on both roots, worst {worst:.0e} ",
            end="",
        )
    assert len(passed) == len(THIRD)
