"""Runs the queries of one swept set over the events of a table."""

from __future__ import annotations

import pyarrow as pa

from elsinore.engine.columns import EventColumns
from elsinore.engine.sweep.entries import make_entries
from elsinore.engine.sweep.pieces import make_stretches, sweep_pieces
from elsinore.engine.sweep.rows import (
    Meaning,
    combine_groups,
    groups_are_apart,
    swept_tables,
    wide_tables,
)
from elsinore.engine.sweep.run import events_of
from elsinore.engine.sweep.wide import run_wide
from elsinore.engine.weights import weigh_events
from elsinore.events import EventTable
from elsinore.lowering.sweep import SweepSet
from elsinore.lowering.sweep_tables import lower_window
from elsinore.results.partial import PARTIAL_SCHEMA, merge_partials
from elsinore.timeline import Interval


def aggregate_sweep(
    found: SweepSet,
    events: EventTable | EventColumns,
    *,
    owned: Interval | None = None,
    threads: int = 1,
    panes: bool | None = None,
) -> pa.Table:
    """Unfinished rows (`results.partial`) of swept queries over all events of a table.

    Args:
        found: queries that are partitioned alike.
        events: in any order; all partitions together.
        owned: only the windows that end in this interval; None for every window.
        threads: how many may work side by side; one partition may be shared out among them.
        panes: whether overlapping windows of COUNT(*) are products of panes; None where that is
            predicted to cost less.
    """
    columns = EventColumns.of(events)
    entries = make_entries(found, columns)
    apart, again = groups_are_apart(entries.groups), False
    parts = [PARTIAL_SCHEMA.empty_table()]
    for window in dict.fromkeys(query.window for query in found.queries):
        lowered = lower_window(found, window, entries.symbols)
        weights = weigh_events(lowered.tables.columns, columns, entries.rows, first=1)
        swept_events = events_of(lowered.symbols, entries, weights)
        pieces = make_stretches(entries, window, owned, threads)
        swept = list(sweep_pieces(lowered, swept_events, pieces, window, panes))
        rows, left = combine_groups(swept, entries.groups, apart)
        wide = run_wide(lowered, swept_events, [piece.outgrown for piece in swept], window)
        meaning = Meaning(lowered.members, window, entries.groups, weights.extremes)
        parts += swept_tables(rows, meaning)
        parts += wide_tables(wide, meaning)
        again |= left or bool(wide)
    table = pa.concat_tables(parts)
    return merge_partials(table) if again and not apart else table
