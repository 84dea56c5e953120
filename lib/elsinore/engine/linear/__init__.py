"""Run queries without conditions on pairs of events: each event is a linear map on all counts.

`sweep` runs collapsed queries (without edge predicates or NOT) window by window, or by panes.
`segments` runs queries of fixed length with all open windows in lanes (A-Seq and Sharon). Both use
the same entries, bursts and rows.
"""

from elsinore.engine.linear.sweep import aggregate_sweep
from elsinore.lowering.sweep import SweepSet, sweep_refusals, sweep_sets

__all__ = ["SweepSet", "aggregate_sweep", "sweep_refusals", "sweep_sets"]
