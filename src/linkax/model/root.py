"""The one body that nothing carries is attached to the ground, fixed or free to move."""

import dataclasses

from linkax.model.description import GROUND, Description, JointDescription
from linkax.model.naming import suggestion
from linkax.model.tree import unattached


ROOTS = ("fixed", "floating")


def with_root(description: Description, root: str, name: str = "root") -> Description:
    """A copy with a joint called `name` from the ground to the body that has no joint of its own.

    `root` is "fixed" or "floating". A description that is attached already needs no fixed root and
    is returned unchanged; it cannot be given a floating one.
    """
    if root not in ROOTS:
        raise ValueError(f"root is `{root}`;{suggestion(root, ROOTS)}")
    loose = unattached(description)
    if len(loose) > 1:
        listed = ", ".join(f"`{body}`" for body in loose)
        raise ValueError(
            f"{len(loose)} bodies are carried by no joint ({listed}), but a root joint carries "
            "one; join the others to it or to the ground."
        )
    if not loose:
        if root == "fixed":
            return description
        attached = [f"`{joint.name}`" for joint in description.joints if joint.parent == GROUND]
        raise ValueError(
            f'root="{root}" needs a body without a joint, but the description is attached to the '
            f'ground by {", ".join(attached[:3])}; use root="fixed" or remove that joint.'
        )
    if any(joint.name == name for joint in (*description.joints, *description.loops)):
        raise ValueError(
            f"The root joint would be called `{name}`, as one of the joints is already; "
            "give it another name."
        )
    joint = JointDescription(name, root, GROUND, loose[0])
    return dataclasses.replace(description, joints=[joint, *description.joints])
