"""One self-contained HTML page plays a scene: it holds its data and its code and loads nothing.

The page is `page.html` with `figures.js`, `page.js` and the three.js bundle pasted in. It says what
it did, for tests and for whoever embeds it: `window.linkaxReady`, `window.linkaxState` {frame,
frames, bodies, drawn}, and the same as `data-linkax-*` attributes of its body, with
`data-linkax-error` where a script failed. `drawn` counts the pictures made, and stays 0 in a
browser without WebGL 2. The address `run.html#frame=12` opens the page at that frame, at rest.
"""

import html
import json
import os
import re
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from linkax.view.scene import Box, Floats, Rod, Scene, Shape, Sphere, Triad


def write_html(scene: Scene, path: str | os.PathLike[str], max_frames: int = 600) -> Path:
    """Write the page that plays `scene` to `path` and return the path; about 0.6 MB plus the data.

    At most `max_frames` points are kept, spread evenly over the run, first and last included; the
    page moves smoothly between them. Points with a non-finite value are left out; the page says how
    many. Raises ValueError where nothing is left to draw, FileNotFoundError without the folder.
    """
    path = Path(path)
    page = page_of(scene, max_frames)
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"cannot write the page {path}: the folder {path.parent} does not exist"
        )
    path.write_text(page, encoding="utf-8")
    return path


def page_of(scene: Scene, max_frames: int = 600) -> str:
    """The text of the page that `write_html` writes, e.g. for a frame in a notebook."""
    data = page_data(scene, max_frames)
    folder = resources.files("linkax.view")
    parts = {
        "TITLE": html.escape(scene.title),
        "THREE": folder.joinpath("three", "three.bundle.min.js").read_text(encoding="utf-8"),
        # In a script element only "<" could end the data early.
        "DATA": json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"),
        "FIGURES": folder.joinpath("figures.js").read_text(encoding="utf-8"),
        "PAGE": folder.joinpath("page.js").read_text(encoding="utf-8"),
    }
    template = folder.joinpath("page.html").read_text(encoding="utf-8")
    # One pass, so that nothing in a title or in the data is taken for a mark.
    return re.sub(r"\{\{(TITLE|THREE|DATA|FIGURES|PAGE)\}\}", lambda mark: parts[mark[1]], template)


def page_data(scene: Scene, max_frames: int = 600) -> dict[str, Any]:
    """What the page embeds: names, shapes, and the kept frames, flat, in single precision."""
    if max_frames < 1:
        raise ValueError(f"`max_frames` must be 1 or more, but is {max_frames}")
    points, bodies = scene.position.shape[:2]
    if points == 0 or bodies == 0:
        raise ValueError(
            f"the scene `{scene.title}` has {points} points of {bodies} bodies; "
            "a page needs at least one of each"
        )
    time, position, quaternion, dropped = _finite_frames(scene)
    finite = time.size
    if finite > max_frames:
        kept = np.unique(np.round(np.linspace(0, finite - 1, max_frames)).astype(int))
        time, position, quaternion = time[kept], position[kept], quaternion[kept]

    notes = []
    if dropped:
        verb = "was" if dropped == 1 else "were"
        notes.append(f"{dropped} of {points} points had non-finite values and {verb} left out.")
    if time.size < finite:
        notes.append(f"{time.size} of {finite} points are shown.")
    return {
        "title": scene.title,
        "names": list(scene.names),
        "parents": list(scene.parents),
        "shapes": [[_shape(shape) for shape in body] for body in scene.shapes],
        "joints": [
            _numbers(point) if np.isfinite(point).all() else None for point in scene.joint_points
        ],
        "time": _numbers(time),
        "position": _numbers(position),
        "quaternion": _numbers(quaternion),
        "notes": notes,
    }


def _finite_frames(scene: Scene) -> tuple[Floats, Floats, Floats, int]:
    """The frames that can be drawn, quaternions normalised, and how many could not."""
    # What overflows single precision is as good as infinite to a picture.
    largest = float(np.finfo(np.float32).max) ** 0.5
    norms = np.linalg.norm(scene.quaternion, axis=-1, keepdims=True)
    drawable = (
        np.isfinite(scene.time)
        & (np.abs(scene.position) < largest).all(axis=(1, 2))
        & (np.isfinite(norms) & (norms > 0.0)).all(axis=(1, 2))
    )
    dropped = int((~drawable).sum())
    if dropped == drawable.size:
        raise ValueError(
            f"all {dropped} points of the scene `{scene.title}` have non-finite values; "
            "a page needs at least one finite point"
        )
    time = scene.time[drawable]
    backward = np.flatnonzero(np.diff(time) < 0.0)
    if backward.size:
        i = int(backward[0])
        raise ValueError(
            f"the times of the scene `{scene.title}` must not decrease, "
            f"but {time[i]:g} s is followed by {time[i + 1]:g} s"
        )
    quaternion = scene.quaternion[drawable] / norms[drawable]
    return time, scene.position[drawable], quaternion, dropped


def _shape(shape: Shape) -> dict[str, Any]:
    match shape:
        case Box(center, half, rotation):
            return {
                "kind": "box",
                "center": _numbers(center),
                "half": _numbers(half),
                "rotation": _numbers(rotation),
            }
        case Sphere(center, radius):
            return {"kind": "sphere", "center": _numbers(center), "radius": radius}
        case Rod(start, end, radius):
            return {
                "kind": "rod",
                "start": _numbers(start),
                "end": _numbers(end),
                "radius": radius,
            }
        case Triad(length):
            return {"kind": "triad", "length": length}


def _numbers(values: Floats) -> list[float]:
    """Flat, with six significant digits: what single precision holds."""
    return [float(f"{value:.6g}") for value in np.ravel(values)]
