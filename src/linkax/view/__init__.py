"""Pictures of a run: a page that plays it, and plots. Imported only when asked for."""

from linkax.view.html import page_of, write_html
from linkax.view.plot import write_plot
from linkax.view.scene import BodyGeometry, Box, Rod, Scene, Sphere, Triad, scene_of


__all__ = [
    "BodyGeometry",
    "Box",
    "Rod",
    "Scene",
    "Sphere",
    "Triad",
    "page_of",
    "scene_of",
    "write_html",
    "write_plot",
]
