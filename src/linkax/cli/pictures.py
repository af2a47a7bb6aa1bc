"""Results as pages and pictures."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from linkax.cli.arguments import BadInput
from linkax.model import Model
from linkax.system import System


def geometry_of(model: Model):
    """What a scene needs to know of a model: each joint sits at X_PF on its parent."""
    from linkax.view import BodyGeometry

    return BodyGeometry(
        model.body_names,
        np.array(model.topology.parents, int),
        *(
            np.asarray(x, float)
            for x in (model.mass, model.com, model.inertia, model.parent_position)
        ),
    )


def sample(results: Mapping[str, np.ndarray], lane: int) -> dict[str, np.ndarray]:
    """One lane of a batch's results; the results themselves where there is no batch."""
    times = results.get("t")
    if times is None or times.ndim < 2:
        return dict(results)
    if not 0 <= lane < len(times):
        raise BadInput(f"There is no lane {lane}: they run from 0 to {len(times) - 1}.")
    shared = ("body_names", "coordinate_names", "speed_names", "reaction_names", "settings")
    return {key: value if key in shared else value[lane] for key, value in results.items()}


def write_page(system: System, results: Mapping[str, np.ndarray], path: Path) -> Path:
    """The page that plays one sample."""
    from linkax.view import scene_of, write_html

    scene = scene_of(results, geometry_of(system.model.tree), title=system.name)
    return write_html(scene, path)


def write_picture(results: Mapping[str, np.ndarray], path: Path) -> Path:
    """The picture of one sample's coordinates, speeds and energies."""
    from linkax.view import write_plot

    return write_plot(results, path)
