"""Runs one query over the events of a table: the greta executor."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from elsinore.engine.build_graph import Extremes, build_graph
from elsinore.engine.climb import Totals, climb
from elsinore.engine.columns import EventColumns
from elsinore.engine.partitions import Entries, partition
from elsinore.events.table import EventTable
from elsinore.kernels.spans import find_spans
from elsinore.lowering.carriers import Carriers, carriers_of
from elsinore.lowering.edge_programs import lower_edges
from elsinore.query.bound import BoundQuery
from elsinore.results.partial import PARTIAL_SCHEMA, encode_extreme, merge_partials
from elsinore.template.support import require_greta
from elsinore.template.template import build_template
from elsinore.timeline import Interval


def aggregate_query(
    query: BoundQuery, events: EventTable, *, owned: Interval | None = None
) -> pa.Table:
    """Unfinished rows (`results.partial`) of a query over all events of a table.

    Args:
        query: a query that greta can run.
        events: in any order; all partitions together.
        owned: only the windows that end in this interval; None for every window.

    Raises:
        UnsupportedQueryError: the query needs what greta lacks; see `require_greta`.
    """
    require_greta([query])
    template, carriers = build_template(query), carriers_of(query)
    columns = EventColumns(events)
    entries = partition(query, template, columns)
    if entries is None:
        return PARTIAL_SCHEMA.empty_table()
    graph, extremes = build_graph(template, lower_edges(template), carriers, columns, entries)
    spans = _spans(query, graph.times, entries, owned)
    rungs = climb(graph, spans)
    rows = [_partial_rows(query, entries, totals, carriers, extremes) for totals in rungs]
    return merge_partials(pa.concat_tables([PARTIAL_SCHEMA.empty_table(), *rows]))


def _spans(
    query: BoundQuery, times: np.ndarray, entries: Entries, owned: Interval | None
) -> np.ndarray:
    whole = np.iinfo(np.int64)
    first, last = int(whole.min), int(whole.max)
    if owned is not None:
        numbers = query.window.ending_in(owned)
        first, last = numbers.start, numbers.stop - 1
    window = query.window
    return find_spans(entries.offsets, times, window.within, window.slide, first, last)


def _partial_rows(
    query: BoundQuery,
    entries: Entries,
    totals: Totals,
    carriers: Carriers,
    extremes: list[Extremes],
) -> pa.Table:
    size = totals.spans.shape[0]
    starts = totals.spans[:, 3] * query.window.slide
    values = [
        [_extreme_text(meaning, rank) for rank in totals.rows.ranks[:, number]]
        for number, meaning in enumerate(extremes)
    ]
    smallest, largest = values[: len(carriers.minima)], values[len(carriers.minima) :]
    sums = pa.StructArray.from_arrays(
        [pa.array(totals.rows.sums.ravel()), pa.array(totals.rows.exponents.ravel())],
        names=["mantissa", "exponent"],
    )
    columns = [
        pa.array([query.name] * size, pa.string()),
        pa.array([entries.groups[owner] for owner in totals.spans[:, 2]], pa.string()),
        pa.array(starts, pa.int64()),
        pa.array(starts + query.window.within, pa.int64()),
        _lists(_digits(totals.rows.counts), size),
        _lists(sums, size),
        _lists(_by_row(smallest), size),
        _lists(_by_row(largest), size),
    ]
    return pa.Table.from_arrays(columns, schema=PARTIAL_SCHEMA)


def _lists(flat: pa.Array, size: int) -> pa.ListArray:
    """`size` lists of equal length out of one array."""
    length = len(flat) // size if size else 0
    offsets = pa.array(np.arange(size + 1, dtype=np.int32) * length, pa.int32())
    return pa.ListArray.from_arrays(offsets, flat)


def _digits(counts: np.ndarray) -> pa.Array:
    """Decimal text of exact integers, row by row."""
    if counts.ndim == 2:
        return pa.array(counts.ravel()).cast(pa.string())
    wide = counts.reshape(-1, counts.shape[2])
    return pa.array(
        [str(int.from_bytes(limbs.tobytes(), "little", signed=True)) for limbs in wide],
        pa.string(),
    )


def _by_row(columns: list[list[str | None]]) -> pa.Array:
    return pa.array([text for row in zip(*columns, strict=True) for text in row], pa.string())


def _extreme_text(meaning: Extremes, rank: int) -> str | None:
    value = meaning.value(rank)
    return None if value is None else encode_extreme(value)
