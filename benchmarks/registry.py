"""All benchmarks, in the order of the specification's table; those without a target come last.

Besides those that are run by their names alone, and stand on no page.
"""

from __future__ import annotations

from benchmarks import (
    auto,
    calendar,
    hamlet,
    increasing,
    many_queries,
    order,
    sessions,
    sharon,
    spans,
    two_cores,
    uniques,
)
from benchmarks.claim import Benchmark
from benchmarks.expressions import expressions
from benchmarks.fixed_length import fixed_length
from benchmarks.frames import frames
from benchmarks.from_events import from_events
from benchmarks.greta_cost import cost_by_construct
from benchmarks.hamlet_authors import authors_setting
from benchmarks.landing import landing
from benchmarks.many_keys import many_keys
from benchmarks.memory import memory
from benchmarks.overlap import overlapping
from benchmarks.parameters import thresholds
from benchmarks.quantifiers import counters, quantifiers
from benchmarks.segment_costs import fitted
from benchmarks.start_up import show_help, start_up
from benchmarks.static_plan import LARGEST, STATIC_PLAN
from benchmarks.varpulis_shapes import shapes

BENCHMARKS: tuple[Benchmark, ...] = (
    many_queries.bursts,
    many_queries.alternating,
    authors_setting,
    shapes,
    increasing.NARROW,
    increasing.WIDE,
    order.shared_order,
    hamlet.shared_edges,
    hamlet.dynamic,
    overlapping,
    thresholds,
    sharon.FEW,
    sharon.MANY,
    sharon.OWN_CHOICE,
    fixed_length,
    STATIC_PLAN,
    from_events,
    frames,
    two_cores.hot_key,
    two_cores.two_cores,
    memory,
    landing,
    many_keys,
    start_up,
    show_help,
    cost_by_construct,
    fitted,
    auto.picks,
    hamlet.decisions,
    order.by_order,
)

BY_NAME: tuple[Benchmark, ...] = (
    *(LARGEST, sharon.QUICK_CHOICE, order.pairs_or_trees),
    *(quantifiers, counters, expressions, uniques.uniques, uniques.shared),
    *(spans.speed, spans.shared, spans.wide, spans.compared, spans.chained),
    *(spans.suse, spans.memory, sessions.sessions, calendar.windows),
)
