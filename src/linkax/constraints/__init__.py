"""Constraint rows on bodies: joints, loops, distances, couplings, prescribed motions."""
