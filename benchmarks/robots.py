"""The machines that benchmarks are about, as files that every engine reads: hinges and slides, no meshes."""

import sysconfig
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path


DATA = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
FILES = {  # name: (file, floating, joints that are held)
    "panda": ("panda_description/urdf/panda.urdf", False, ("finger",)),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", True, ()),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True, ()),
}


@dataclass(frozen=True)
class Robot:
    """A file, and whether its root floats."""

    name: str
    path: Path
    floating: bool


def robot(name: str) -> Robot:
    """The machine called `name`: one of `FILES`, or `chainN`."""
    folder = Path(tempfile.mkdtemp(prefix="linkax-benchmark-"))
    path = folder / f"{name}.urdf"
    if name.startswith("chain"):
        path.write_text(_chain(int(name.removeprefix("chain"))))
        return Robot(name, path, False)
    if name not in FILES:
        raise SystemExit(f"no machine {name!r}: there are {', '.join(FILES)} and chainN.")
    file, floating, held = FILES[name]
    found = sorted(DATA.rglob(Path(file).name))
    found = [f for f in found if file.split("/")[0] in f.parts]
    if not found:
        raise SystemExit(f"{file} is not there: pip install example-robot-data")
    tree = ET.parse(found[0])
    root = tree.getroot()
    for link in root.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    for extra in ("transmission", "gazebo", "mujoco"):
        for element in root.findall(extra):
            root.remove(element)
    for joint in root.findall("joint"):
        if any(word in joint.get("name", "") for word in held):
            joint.set("type", "fixed")
            for mimic in joint.findall("mimic"):
                joint.remove(mimic)
        for dynamics in joint.findall("dynamics"):
            joint.remove(dynamics)  # engines differ in what they make of damping
    tree.write(path)
    return Robot(name, path, floating)


def _chain(links: int) -> str:
    """A serial chain of hinges about alternating axes."""
    axes = ("0 0 1", "0 1 0", "1 0 0")
    parts = ['<robot name="chain"><link name="base"/>']
    for k in range(links):
        parent = f"link{k - 1}" if k else "base"
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="0.1 0.02 0.15"/><mass value="1.5"/>'
            '<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="0.002" izz="0.025"/></inertial>'
            f'</link><joint name="joint{k}" type="revolute"><parent link="{parent}"/>'
            f'<child link="link{k}"/><origin xyz="0.05 0 0.3" rpy="0.1 0.2 0.3"/>'
            f'<axis xyz="{axes[k % 3]}"/><limit lower="-3" upper="3" effort="100" velocity="10"/></joint>'
        )
    return "".join((*parts, "</robot>"))
