"""Run the queries of one sharable set over the events of a table: the executor Hamlet."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from elsinore.events import EventTable
from elsinore.executors.aggregates import accumulators_of
from elsinore.executors.hamlet.decisions import DYNAMIC, Decisions
from elsinore.executors.hamlet.kernels.extent import measure
from elsinore.executors.hamlet.kernels.graph import QUERY, MergedGraph
from elsinore.executors.hamlet.kernels.propagate import (
    addresses_for,
    prepare_work,
    share_propagation,
)
from elsinore.executors.hamlet.kernels.work import Output, bytes_of_members
from elsinore.executors.hamlet.observe import Observer
from elsinore.executors.hamlet.tables import Tables, make_tables
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import StateEntries, at_states, key_codes, make_entries
from elsinore.executors.input.slots import fill_slots, spans_of
from elsinore.executors.input.weights import NO_RANK, EventWeights, weigh_events
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.window_rows import Groups, Reading, WindowRows, partial_rows
from elsinore.numbers.rows import make_rows
from elsinore.query.bound import BoundQuery
from elsinore.sharing.sharable import SharableSet
from elsinore.sorting import ascending
from elsinore.timeline import Interval

#: Maximum number of bytes for the members of open windows.
LARGEST_SCRATCH = 2**30


def aggregate_set(
    queries: Tables | SharableSet | Sequence[BoundQuery],
    events: EventTable | EventColumns,
    *,
    owned: Interval | None = None,
    decisions: Decisions = DYNAMIC,
    observer: Observer | None = None,
) -> list[PartialRows] | None:
    """Aggregate sharable queries over the events of a table.

    Args:
        queries: one sharable set, its queries, or its tables.
        events: events in any order, of all partitions.
        owned: compute only windows that end in this interval; None for every window.
        decisions: decides which queries share a burst.
        observer: receives a record of the run; None for no record.

    Returns:
        Partial rows. Events that edge predicates may compare are
        stored with a value per window of each query. None if they need more than `LARGEST_SCRATCH`
        bytes.

    Raises:
        ParameterError: the queries are not one sharable set.
    """
    columns = EventColumns.of(events)
    tables = queries if isinstance(queries, Tables) else make_tables(queries)
    merged = tables.found.merged
    codes = key_codes(merged.queries[0], columns)
    entries = make_entries(merged.placements, codes, columns, merged.queries[0].window)
    placed = at_states(entries, merged.placements, merged.merged_places)
    if not placed.rows.size:
        return []
    prepared = prepare(tables, columns, placed, owned)
    groups = entries.group_texts(merged.queries[0], codes)
    if observer is not None:
        observer.times = columns.times[placed.rows]
        observer.groups = groups.to_pylist()
    grouped = Groups.of(groups)
    readings = [Reading(q, grouped, prepared.weights.meanings(q)) for q in merged.queries]
    parts: list[WindowRows] = []
    for rows in _climb(prepared, decisions, observer or Observer(room=0)):
        if rows is None:
            return None
        parts.append(rows)
    return partial_rows(parts, readings)


def _climb(
    prepared: Prepared, decisions: Decisions, observer: Observer
) -> Iterator[WindowRows | None]:
    """Yield the rows of windows that have a trend, by precision level.

    Yield None and stop if a level needs more than `LARGEST_SCRATCH` bytes.
    """
    graph, limbs = prepared.graph, 1
    reach = int(graph.queries["within"].max())
    states = graph.kinds.size - 1
    extent = measure(graph.offsets, graph.times, graph.states, states, reach)
    left = np.arange(graph.windows.size)
    while left.size:
        part = _with_windows(prepared, left)
        if bytes_of_members(part, extent, limbs) > LARGEST_SCRATCH:
            yield None
            return
        work, output = prepare_work(part, extent, limbs), _output(part, limbs)
        arguments = part, work, output, decisions.policy(graph, limbs), observer.log(part, limbs)
        began = time.thread_time()
        share_propagation(*arguments, addresses_for(*arguments))
        observer.seconds[limbs] = time.thread_time() - began
        if limbs == 1:
            observer.take(arguments[-1], work)
        counts = output.lanes.counts
        has_trend = counts.any(axis=tuple(range(1, counts.ndim)))
        # Most windows of sparse streams have no trend, so all their rows are not copied.
        found = np.flatnonzero(has_trend & ~output.outgrown)
        yield WindowRows(prepared.keys[left[found]], *(lane[found] for lane in output.lanes))
        left, limbs = left[output.outgrown], 2 * limbs


def _with_windows(prepared: Prepared, chosen: np.ndarray) -> MergedGraph:
    graph = prepared.graph
    if chosen.size == graph.windows.size:
        return graph
    owners, _, queries = prepared.keys[chosen].T
    places = owners * (graph.queries.size - 1) + queries
    cells = np.bincount(places, minlength=graph.window_start.size - 1)
    return graph._replace(windows=graph.windows[chosen], window_start=_offsets(cells))


def _output(graph: MergedGraph, limbs: int) -> Output:
    size, kinds = graph.windows.size, ("longs_of", "doubles_of", "ranks_of")
    longs, doubles, ranks = (int(graph.queries[name].max()) for name in kinds)
    lanes = make_rows(size, longs, doubles, ranks, limbs, graph.no_rank)
    return Output(lanes, np.zeros(size, np.bool_))


# ---- the arrays that the kernels read


@dataclass(frozen=True)
class Prepared:
    """A graph, and the meaning of its numbers."""

    graph: MergedGraph  #: the arrays
    weights: EventWeights  #: the weights of the events
    keys: np.ndarray  #: int64[R, 3], one row per window of the graph, see `WindowRows`


def prepare(
    tables: Tables, columns: EventColumns, entries: StateEntries, owned: Interval | None
) -> Prepared:
    """Return the graph of a set over its entries, with all windows that contain an entry.

    Args:
        tables: the compiled set.
        columns: the events.
        entries: the entries of the set's states, by partition and time.
        owned: compute only windows that end in this interval; None for every window.
    """
    queries, partitions = tables.found.merged.queries, entries.offsets.size - 1
    keys = np.concatenate([_keys(n, query, entries, owned) for n, query in enumerate(queries)])
    keys = keys[ascending(keys[:, 0], keys[:, 2])]
    places = keys[:, 0] * len(queries) + keys[:, 2]
    cells = np.bincount(places, minlength=partitions * len(queries))
    within = np.array([q.window.within for q in queries], np.int64)
    slide = np.array([q.window.slide for q in queries], np.int64)
    most = cells.reshape(partitions, len(queries)).max(axis=0)
    width = np.maximum(np.minimum(-(-within // slide), most), 1)
    longs, doubles, known = fill_slots(
        tuple(tables.programs.slots), columns, entries.rows, entries.states
    )
    weights = weigh_events(tables.columns, columns, entries.rows)
    graph = MergedGraph(
        times=entries.times,
        states=entries.states,
        accepts=entries.accepts,
        offsets=entries.offsets,
        window_start=_offsets(cells),
        windows=keys[:, 1].copy(),
        slots_l=longs,
        slots_d=doubles,
        known=known,
        no_rank=NO_RANK,
        queries=_queries(queries, width),
        long_weights=weights.longs,
        double_weights=weights.doubles,
        ranks=weights.ranks,
        **tables.arrays,
    )
    return Prepared(graph, weights, keys)


def _keys(
    number: int, query: BoundQuery, entries: StateEntries, owned: Interval | None
) -> np.ndarray:
    """Return the windows of a query that contain an entry, see `WindowRows.keys`."""
    spans = spans_of(query, entries.offsets, entries.times, owned)
    keys = np.empty((len(spans), 3), np.int64)
    keys[:, :2] = spans[:, 2:]
    keys[:, 2] = number
    return keys


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _queries(queries: Sequence[BoundQuery], width: np.ndarray) -> np.ndarray:
    size = len(queries)
    found = np.zeros(size + 1, QUERY)
    for q, query in enumerate(queries):
        row, columns = found[q], accumulators_of(query).columns
        row["slide"], row["within"] = query.window.slide, query.window.within
        row["width"], row["types"] = width[q], len(query.event_types)
        row["longs_of"], row["doubles_of"], row["ranks_of"] = map(len, columns)
    for kind in ("long", "double", "rank"):
        found[f"{kind}_start"] = _offsets(found[f"{kind}s_of"][:size] * width)
    return found
