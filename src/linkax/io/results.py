"""The result of a run as a file of plain arrays (.npz), without pickles, that NumPy alone can read.

Keys and shapes, time-major; in a batch all but the names and the settings lead with (lanes,):
`t` (points,) [s]; `q`, `v` (points, nq or nv); `position`, `com`, `com_velocity`
(points, bodies, 3) in world axes, of the body-frame origin and of the centre of mass; `orientation`
(points, bodies, 4), quaternions w x y z, body to world, continuous in time; `angular_velocity`
(points, bodies, 3) in body axes; `multipliers` (points, rows); `reactions` (points, joints, 6), the
wrench [moment about its centre; force] of each joint and loop on its child, world axes, named by
`reaction_names`; `closure` (points,), the largest residual of
joints and loops; `energy` (points, 2), kinetic and potential [J]; `marker/NAME` (points, 3); `status` (),
zero where the run completed; `status_sentence` (); `completed_steps` (); `body_names`,
`coordinate_names`, `speed_names`; `settings` (), JSON.
"""

import os
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike


# Words that NumPy's own writer takes for options, not for arrays.
RESERVED = ("file", "allow_pickle")


def write_results(path: str | os.PathLike[str], results: Mapping[str, ArrayLike]) -> Path:
    """Write arrays, numbers and strings by name to `path`, exactly there, and return it.

    Raises ValueError for what is no plain array, FileNotFoundError without the folder.
    """
    path = Path(path)
    arrays = {name: np.asarray(value) for name, value in results.items()}
    for name, array in arrays.items():
        if name in RESERVED:
            raise ValueError(f"No result can be called `{name}`; give it another name.")
        if array.dtype.hasobject:
            raise ValueError(
                f"The result `{name}` holds Python objects, but must be a plain array of numbers "
                "or strings."
            )
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: the folder {path.parent} does not exist."
        )
    with path.open("wb") as stream:
        # pyright takes the arrays for values of `allow_pickle`, the writer's one option.
        np.savez(stream, **arrays)  # pyright: ignore[reportArgumentType]
    return path


def read_results(path: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """The arrays of a result file by name.

    `FileNotFoundError` where there is no such file; `ValueError`, one sentence that begins with the
    path, where it is no result file.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file.")
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path}: this is no result file (.npz).")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: np.asarray(archive[name]) for name in archive.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: the result file cannot be read: {error}.") from error
