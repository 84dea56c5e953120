"""Runs queries of fixed length over the events of a table: the executors aseq and sharon."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.columns import EventColumns
from elsinore.engine.key_codes import KeyCodes
from elsinore.engine.segments.entries import make_entries
from elsinore.engine.segments.rows import by_query, combine_groups, partial_rows
from elsinore.engine.segments.run import run_segments
from elsinore.engine.weights import weigh_events
from elsinore.events import EventTable
from elsinore.lowering.chains import group_names, named_keys, passes
from elsinore.lowering.segments import Lowered, lower_segments
from elsinore.query.bound import BoundQuery
from elsinore.results.partial import PARTIAL_SCHEMA
from elsinore.sharing.candidates import Segment
from elsinore.sharing.plan import StaticPlan
from elsinore.template.support import require_aseq
from elsinore.timeline import Interval


def aggregate_segments(
    queries: Sequence[BoundQuery],
    events: EventTable | EventColumns,
    shared: Sequence[Sequence[Segment]] | None = None,
    *,
    owned: Interval | None = None,
) -> pa.Table:
    """Unfinished rows (`results.partial`) of queries over all events of a table.

    Args:
        queries: what aseq can run.
        events: in any order; all partitions together.
        shared: the segments of a plan, each with its places in the queries that share it, no two of
            which overlap (`shared_segments`); None for A-Seq, which shares nothing.
        owned: only the windows that end in this interval; None for every window.

    Raises:
        UnsupportedQueryError: a query needs what these executors lack; see `require_aseq`.
    """
    require_aseq(queries, "aseq" if shared is None else "sharon")
    return run_passes(lower_passes(queries, shared or ()), EventColumns.of(events), owned)


def lower_passes(
    queries: Sequence[BoundQuery], shared: Sequence[Sequence[Segment]]
) -> tuple[Lowered, ...]:
    """A program for all queries whose keys have the same names (`chain.named_keys`)."""
    return tuple(lower_segments(members, shared) for members in passes(queries))


def run_passes(
    lowered: Sequence[Lowered], columns: EventColumns, owned: Interval | None
) -> pa.Table:
    """Runs programs, each in one pass over the events; see `aggregate_segments`."""
    tables = [PARTIAL_SCHEMA.empty_table()]
    for program in lowered:
        tables += _run_pass(program, columns, owned)
    return pa.concat_tables(tables)


def _run_pass(lowered: Lowered, columns: EventColumns, owned: Interval | None) -> list[pa.Table]:
    keys = named_keys(lowered.chains[0].query)
    codes = {name: KeyCodes.of(keys[name], columns) for name in sorted(keys)}
    entries = make_entries(lowered.chains, lowered.symbols, codes, columns)
    weights = weigh_events(lowered.weights, columns)
    chunks = list(run_segments(lowered, entries, weights, columns, owned))
    tables = []
    for chain, rows in zip(
        lowered.chains, by_query(chunks, len(lowered.chains)), strict=bool(chunks)
    ):
        groups = [entries.keys[name] for name in group_names(chain.query)]
        rows = combine_groups(rows, groups, entries.offsets.size - 1)
        table, overflowed = partial_rows(rows, chain, weights.extremes, entries.keys, codes)
        tables.append(table)
        if overflowed.size:
            tables.append(_redone(chain.query, columns.events, np.unique(overflowed)))
    return tables


def _redone(query: BoundQuery, events: EventTable, numbers: np.ndarray) -> pa.Table:
    """The rows of windows whose sums outgrow a double: greta's ladder has wide exponents."""
    low, high = query.window.bounds(int(numbers[0])), query.window.bounds(int(numbers[-1]))
    table = aggregate_query(
        query, events.between(low.start, high.end), owned=Interval(low.end - 1, high.end)
    )
    starts = pa.array(numbers * query.window.slide)
    return table.filter(pc.is_in(table["window_start"], value_set=starts))


def shared_segments(plan: StaticPlan) -> list[list[Segment]]:
    """What a plan shares: for each chosen candidate its place in each query that shares it."""
    return [
        [
            Segment(place.query, place.start, plan.by_id[name].pattern)
            for place in plan.by_id[name].shared_occurrences
        ]
        for name in plan.chosen
    ]
