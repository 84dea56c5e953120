"""Sweeps the events once for all collapsed queries that are partitioned alike."""

from elsinore.engine.sweep.aggregate import aggregate_sweep
from elsinore.lowering.sweep import SweepSet, sweep_refusals, sweep_sets

__all__ = ["SweepSet", "aggregate_sweep", "sweep_refusals", "sweep_sets"]
