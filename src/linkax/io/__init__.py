"""Files become descriptions, and descriptions files; results of runs are plain arrays in a file."""

from linkax.io.describe import describe as describe
from linkax.io.motion import (
    Motion as Motion,
    read_motion as read_motion,
    write_motion as write_motion,
)
from linkax.io.results import read_results as read_results, write_results as write_results
from linkax.io.toml import (
    parse_toml as parse_toml,
    read_toml as read_toml,
    write_toml as write_toml,
)
from linkax.io.urdf import parse_urdf as parse_urdf, read_urdf as read_urdf
