"""Bodies hang on the ground as a tree: who carries whom, in which order, who follows whom."""

from heapq import heapify, heappop, heappush
from typing import NamedTuple

from linkax.joints import JOINTS
from linkax.model.description import GROUND, Description, JointDescription
from linkax.model.naming import suggestion


LOOP_HINT = "a joint that closes a loop belongs under [[loop]]."


class Following(NamedTuple):
    """q = ratio * q_leader + offset, with a leader that follows nobody."""

    leader: str
    ratio: float
    offset: float


def unattached(description: Description) -> list[str]:
    """Names of the bodies that are no joint's child, in the order of the description."""
    children = {joint.child for joint in description.joints}
    return [body.name for body in description.bodies if body.name not in children]


def check_tree(description: Description, noun: str = "Body", hint: str = LOOP_HINT):
    """Each body has at most one parent joint and none carries itself."""
    parent: dict[str, JointDescription] = {}
    for joint in description.joints:
        if joint.child == GROUND:
            raise ValueError(
                f'Joint `{joint.name}` has child "{GROUND}", the ground, which nothing carries; '
                "exchange its parent and child."
            )
        if joint.child in parent:
            raise ValueError(
                f"{noun} `{joint.child}` is the child of both joint `{parent[joint.child].name}` "
                f"and joint `{joint.name}`, a loop in a tree; {hint}"
            )
        parent[joint.child] = joint
    settled: set[str] = {GROUND}
    for body in description.bodies:
        path: list[str] = []
        name = body.name
        while name not in settled and name in parent:
            if name in path:
                loop = [*path[path.index(name) :], name]
                listed = " on ".join(f"`{item}`" for item in loop)
                raise ValueError(f"{noun} {listed} is a loop in a tree; {hint}")
            path.append(name)
            name = parent[name].parent
        settled.update(path)


def check_attached(description: Description):
    """Every body is carried, in the end, by the ground."""
    if loose := unattached(description):
        listed = ", ".join(f"`{name}`" for name in loose)
        raise ValueError(
            f"Nothing connects {listed} to the ground; add a joint with parent "
            f'"{GROUND}" for each, fixed or floating (`with_root` does it for one body).'
        )


def carried_order(description: Description) -> list[str]:
    """Body names, parents before children, and otherwise in the order of the description."""
    place = {body.name: i for i, body in enumerate(description.bodies)}
    children: dict[str, list[str]] = {}
    for joint in description.joints:
        children.setdefault(joint.parent, []).append(joint.child)
    ready = [place[name] for name in children.get(GROUND, [])]
    heapify(ready)
    order: list[str] = []
    while ready:
        name = description.bodies[heappop(ready)].name
        order.append(name)
        for child in children.get(name, []):
            heappush(ready, place[child])
    return order


def followings(description: Description) -> dict[str, Following]:
    """Mimic joints by name, with chains of them resolved to the leader that is free.

    Mimics on fixed joints are left out: what does not move follows nobody.
    """
    joints = {joint.name: joint for joint in description.joints}
    found: dict[str, Following] = {}
    for joint in description.joints:
        if joint.mimic is None or JOINTS[joint.type].nv == 0:
            continue
        ratio, offset, path, follower = 1.0, 0.0, [joint.name], joint
        _check_freedom(joint, joint)
        while follower.mimic is not None:
            mimic = follower.mimic
            # q = ratio q_follower + offset and q_follower = mimic.ratio q_leader + mimic.offset
            ratio, offset = ratio * mimic.ratio, ratio * mimic.offset + offset
            if mimic.leader not in joints:
                raise ValueError(
                    f"Joint `{follower.name}` mimics `{mimic.leader}`, which is no joint;"
                    f"{suggestion(mimic.leader, joints)}"
                )
            if mimic.leader in path:
                _raise_circle(path, mimic.leader)
            path.append(mimic.leader)
            follower = joints[mimic.leader]
            _check_freedom(joint, follower)
        found[joint.name] = Following(follower.name, ratio, offset)
    return found


def _check_freedom(follower: JointDescription, joint: JointDescription):
    if JOINTS[joint.type].nv != 1:
        role = "" if joint is follower else f" of joint `{follower.name}`"
        raise ValueError(
            f"Joint `{joint.name}` takes part in the mimic{role}, but its type `{joint.type}` has "
            f"{JOINTS[joint.type].nv} freedoms; both joints of a mimic have one."
        )


def _raise_circle(path: list[str], leader: str):
    if path[-1] == leader:
        raise ValueError(f"Joint `{leader}` mimics itself; name another joint as its leader.")
    circle = " -> ".join(f"`{name}`" for name in [*path[path.index(leader) :], leader])
    raise ValueError(f"Joints {circle} mimic each other in a circle; one of them must be free.")
