"""Compiled sweeps, segments and doublings, over arrays only."""
