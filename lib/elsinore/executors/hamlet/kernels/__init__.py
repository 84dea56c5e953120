"""Compiled shared propagation of a sharable set, over arrays only."""
