"""The machines that benchmarks are about, as files that every engine reads: hinges and slides, no meshes."""

import sysconfig
import tempfile
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path

import numpy as np


DATA = Path(sysconfig.get_path("purelib")) / "cmeel.prefix/share/example-robot-data/robots"
FILES = {  # name: (file, floating, joints that are held)
    "panda": ("panda_description/urdf/panda.urdf", False, ("finger",)),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", True, ()),
    "g1": ("g1_description/urdf/g1_29dof_rev_1_0.urdf", True, ()),
}

AXES = ("xx", "yy", "zz", "xy", "xz", "yz")


@dataclass(frozen=True)
class Robot:
    """A file, and whether its root floats."""

    name: str
    path: Path
    floating: bool


def robot(name: str) -> Robot:
    """The machine called `name`: one of `FILES`, `chainN` or `treeN`."""
    folder = Path(tempfile.mkdtemp(prefix="linkax-benchmark-"))
    path = folder / f"{name}.urdf"
    for kind, write in (("chain", _chain), ("tree", _tree)):
        if name.startswith(kind) and name.removeprefix(kind).isdigit():
            path.write_text(write(int(name.removeprefix(kind))))
            return Robot(name, path, False)
    if name not in FILES:
        raise SystemExit(f"no machine {name!r}: there are {', '.join(FILES)}, chainN and treeN.")
    _write_simplified(name, path)
    return Robot(name, path, FILES[name][1])


def _write_simplified(name: str, path: Path) -> None:
    """A published robot without shapes, damping and what only some engines read."""
    file, _, held = FILES[name]
    found = sorted(DATA.rglob(Path(file).name))
    found = [f for f in found if file.split("/")[0] in f.parts]
    if not found:
        raise SystemExit(f"{file} is not there: pip install example-robot-data")
    tree = ET.parse(found[0])
    root = tree.getroot()
    for link in root.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
        _make_physical(link)
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


def _make_physical(link: ET.Element) -> None:
    """A rigid body's inertia for a link with a mass that has none; its trace stays.

    The root of ANYmal B has a millionth of a kilogramme, so as not to be massless, and a tensor of nine equal
    entries. That one has two eigenvalues of zero, some say just below, and MuJoCo, MJX and Brax refuse it.
    It is held to a body of 16 kg, so that the motion is the same to some 1e-7.
    """
    mass, tensor = link.find("inertial/mass"), link.find("inertial/inertia")
    if mass is None or tensor is None or float(mass.get("value", "0")) <= 0.0:
        return
    xx, yy, zz, xy, xz, yz = (float(tensor.get(f"i{k}", "0")) for k in AXES)
    least, middle, most = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if least > 0.0 and least + middle >= most * (1.0 - 1e-6):
        return
    for key, value in zip(AXES, 3 * [(xx + yy + zz) / 3.0] + 3 * [0.0], strict=True):
        tensor.set(f"i{key}", repr(value))


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


def _tree(links: int) -> str:
    """A branching tree of hinges and slides about random axes; the same number of links, the same tree."""
    rng = np.random.default_rng(links)

    def text(numbers) -> str:
        return " ".join(repr(float(x)) for x in numbers)

    parts = ['<robot name="tree"><link name="base"/>']
    for k in range(links):
        # Three in ten branch off any earlier link, the others go on from the last.
        before = int(rng.integers(-1, k)) if k and rng.random() < 0.3 else k - 1
        parent = f"link{before}" if before >= 0 else "base"
        # Two in three turn. Second moments of mass are drawn, so that the triangle inequality holds.
        kind = "revolute" if rng.random() < 2 / 3 else "prismatic"
        mass, moments = rng.uniform(0.5, 2.0), rng.uniform(0.01, 0.04, 3)
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        inertia = turn @ np.diag(mass * (moments.sum() - moments)) @ turn.T
        entries = " ".join(
            f'i{key}="{float(inertia["xyz".index(key[0]), "xyz".index(key[1])])!r}"' for key in AXES
        )
        axis = rng.normal(size=3)
        parts.append(
            f'<link name="link{k}"><inertial><origin xyz="{text(rng.uniform(-0.2, 0.2, 3))}"/>'
            f'<mass value="{float(mass)!r}"/><inertia {entries}/></inertial></link>'
            f'<joint name="joint{k}" type="{kind}"><parent link="{parent}"/><child link="link{k}"/>'
            f'<origin xyz="{text(rng.uniform(-0.5, 0.5, 3))}" rpy="{text(rng.uniform(-1.5, 1.5, 3))}"/>'
            f'<axis xyz="{text(axis / np.linalg.norm(axis))}"/>'
            '<limit lower="-3" upper="3" effort="100" velocity="10"/></joint>'
        )
    return "".join((*parts, "</robot>"))
