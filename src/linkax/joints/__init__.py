"""Joint types: one file, one joint. `JOINTS` maps the names used in descriptions to the classes."""

from linkax.joints.base import AbstractJoint as AbstractJoint, Travel as Travel
from linkax.joints.cylindrical import Cylindrical as Cylindrical
from linkax.joints.fixed import Fixed as Fixed
from linkax.joints.floating import Floating as Floating
from linkax.joints.helical import Helical as Helical
from linkax.joints.one_freedom import OneFreedom as OneFreedom
from linkax.joints.planar import Planar as Planar
from linkax.joints.prismatic import Prismatic as Prismatic
from linkax.joints.revolute import Revolute as Revolute
from linkax.joints.spherical import Spherical as Spherical
from linkax.joints.universal import Universal as Universal


JOINTS: dict[str, type[AbstractJoint]] = {
    joint.name: joint
    for joint in (
        Fixed,
        Revolute,
        Prismatic,
        Helical,
        Cylindrical,
        Universal,
        Planar,
        Spherical,
        Floating,
    )
}

# Types that one type covers, at a little more arithmetic a body.
COVERED_BY: dict[type[AbstractJoint], type[AbstractJoint]] = {
    Revolute: OneFreedom,
    Prismatic: OneFreedom,
    Helical: OneFreedom,
}
