"""Queries without conditions on pairs of events: what an event does is linear in all counts.

Collapsed queries are swept window by window or by panes (`sweep`); those of fixed length keep their
windows side by side in lanes (`segments`: A-Seq and Sharon). Entries, bursts and rows are the same.
"""

from elsinore.engine.linear.segments import aggregate_segments
from elsinore.engine.linear.sweep import aggregate_sweep
from elsinore.lowering.sweep import SweepSet, sweep_refusals, sweep_sets

__all__ = ["SweepSet", "aggregate_segments", "aggregate_sweep", "sweep_refusals", "sweep_sets"]
