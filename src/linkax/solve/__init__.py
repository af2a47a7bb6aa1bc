"""Roots by Newton's method and linear solves, dense and block-sparse; nothing here knows mechanics."""

from linkax.solve import block_sparse as block_sparse, dense as dense
from linkax.solve.newton import (
    Budget as Budget,
    Equations as Equations,
    Root as Root,
    root as root,
)
