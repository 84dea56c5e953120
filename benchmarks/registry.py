"""All benchmarks, in the order of the specification's table; those without a bar come last."""

from __future__ import annotations

from benchmarks import (
    fixed_length,
    from_events,
    greta_cost,
    hamlet_authors,
    increasing,
    many_keys,
    many_queries,
    memory,
    overlap,
    records,
    segment_costs,
    shared_edges,
    sharon,
    start_up,
    static_plan,
    two_cores,
)
from benchmarks.claim import Benchmark

BENCHMARKS: tuple[Benchmark, ...] = (
    many_queries.BURSTS,
    many_queries.ALTERNATING,
    hamlet_authors.BENCHMARK,
    increasing.NARROW,
    increasing.WIDE,
    shared_edges.SHARED,
    shared_edges.DYNAMIC,
    overlap.BENCHMARK,
    sharon.FEW,
    sharon.MANY,
    sharon.OWN_CHOICE,
    fixed_length.BENCHMARK,
    static_plan.BENCHMARK,
    from_events.BENCHMARK,
    two_cores.HOT_KEY,
    two_cores.CORES,
    memory.BENCHMARK,
    many_keys.BENCHMARK,
    start_up.BENCHMARK,
    greta_cost.BENCHMARK,
    segment_costs.BENCHMARK,
    records.AUTO,
    records.HAMLET,
    records.ORDER,
)
