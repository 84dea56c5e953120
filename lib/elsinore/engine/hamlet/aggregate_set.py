"""Runs the queries of one sharable set over the events of a table: the Hamlet executor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from elsinore.engine.aggregate import aggregate_query
from elsinore.engine.climb import Totals
from elsinore.engine.columns import EventColumns
from elsinore.engine.entries import StateEntries, at_states, key_codes, make_entries
from elsinore.engine.hamlet.decisions import DYNAMIC, Decisions
from elsinore.engine.hamlet.observe import Observer, run_observed
from elsinore.engine.hamlet.tables import Tables, make_tables
from elsinore.engine.partial_rows import partial_rows
from elsinore.engine.run_template import fill_slots, spans_of
from elsinore.engine.sorting import ascending
from elsinore.engine.weights import NO_RANK, EventWeights, weigh_events
from elsinore.errors import ParameterError
from elsinore.events import EventTable
from elsinore.kernels.hamlet_graph import QUERY, MergedGraph, Weights
from elsinore.kernels.hamlet_work import Output, bytes_of_members, measure
from elsinore.kernels.rows import Rows, make_rows
from elsinore.query.bound import BoundQuery
from elsinore.results.partial import PARTIAL_SCHEMA, merge_partials
from elsinore.sharing.sharable import SharableSet, sharable_set
from elsinore.timeline import Interval

#: Bytes that the members of open windows may take.
LARGEST_SCRATCH = 2**30


def aggregate_set(
    queries: Sequence[BoundQuery] | SharableSet,
    events: EventTable | EventColumns,
    *,
    owned: Interval | None = None,
    decisions: Decisions = DYNAMIC,
    observer: Observer | None = None,
) -> pa.Table:
    """Unfinished rows (`results.partial`) of sharable queries over all events of a table.

    Where the events that edge predicates may ask for, with a value for each window of each query,
    take more than `LARGEST_SCRATCH`, every query is run by greta instead.

    Args:
        queries: one sharable set.
        events: in any order; all partitions together.
        owned: only the windows that end in this interval; None for every window.
        decisions: how to decide which queries share a burst.
        observer: is told what was done.

    Raises:
        ParameterError: the queries are not one sharable set.
    """
    found = queries if isinstance(queries, SharableSet) else sharable_set(queries)
    if found is None:
        raise ParameterError("the queries are not one sharable set")
    columns = EventColumns.of(events)
    return run_set(make_tables(found), columns, owned=owned, decisions=decisions, observer=observer)


def run_set(
    tables: Tables,
    columns: EventColumns,
    *,
    owned: Interval | None = None,
    decisions: Decisions = DYNAMIC,
    observer: Observer | None = None,
) -> pa.Table:
    """Runs a set; see `aggregate_set`."""
    merged = tables.found.merged
    codes = key_codes(merged.queries[0], columns)
    entries = make_entries(merged.standings, codes, columns)
    placed = at_states(entries, merged.standings, merged.merged_places)
    if not placed.rows.size:
        return PARTIAL_SCHEMA.empty_table()
    prepared = prepare(tables, columns, placed, owned)
    groups = entries.group_texts(merged.queries[0], codes)
    if observer is not None:
        observer.times, observer.groups = placed.times, groups.to_pylist()
    rungs = _climb(prepared, decisions, observer)
    if rungs is None:
        each = [aggregate_query(query, columns, owned=owned) for query in tables.found.queries]
        return pa.concat_tables(each)
    rows = _rows(tables, groups, prepared, rungs)
    return merge_partials(pa.concat_tables([PARTIAL_SCHEMA.empty_table(), *rows]))


@dataclass(frozen=True)
class _Rung:
    """Windows that were worked out with counts of one width: their queries' numbers, and totals."""

    asking: np.ndarray
    totals: Totals


def _climb(
    prepared: Prepared, decisions: Decisions, observer: Observer | None
) -> list[_Rung] | None:
    """Every window on the lowest rung that holds it; None if they take too much room."""
    graph, limbs, rungs = prepared.graph, 1, []
    extent = measure(graph)
    most = [int(graph.queries[name].max()) for name in ("longs_of", "doubles_of", "ranks_of")]
    left = np.arange(graph.windows.size)
    while left.size:
        part = _with_windows(prepared, left)
        if bytes_of_members(part, extent, limbs) > LARGEST_SCRATCH:
            return None
        longs, doubles, ranks = most
        rows = make_rows(left.size, longs, doubles, ranks, limbs)
        output = Output(rows, np.zeros(left.size, np.bool_))
        run_observed(part, output, decisions.policy(graph, limbs), (extent, limbs), observer)
        held = ~output.outgrown
        totals = Totals(prepared.spans[left], rows).where(held)
        rungs.append(_Rung(prepared.asking[left[held]], totals))
        left, limbs = left[output.outgrown], 2 * limbs
    return rungs


def _with_windows(prepared: Prepared, chosen: np.ndarray) -> MergedGraph:
    graph = prepared.graph
    queries = graph.queries.size - 1
    cells = np.bincount(
        prepared.spans[chosen, 2] * queries + prepared.asking[chosen],
        minlength=graph.window_start.size - 1,
    )
    return graph._replace(windows=graph.windows[chosen], window_start=_offsets(cells))


def _rows(
    tables: Tables, groups: pa.Array, prepared: Prepared, rungs: Sequence[_Rung]
) -> Iterator[pa.Table]:
    """Partial rows of all queries."""
    for q, query in enumerate(tables.found.merged.queries):
        carriers, sizes = tables.carriers[q], prepared.graph.queries[q]
        meanings = prepared.weights.meanings(carriers)
        for rung in rungs:
            found = rung.totals.where(np.flatnonzero(rung.asking == q))
            counts, *scaled, ranks = found.rows
            sums, exponents = (column[:, : sizes["doubles_of"]] for column in scaled)
            own = Rows(
                counts[:, : sizes["longs_of"]], sums, exponents, ranks[:, : sizes["ranks_of"]]
            )
            found = Totals(found.spans, own).with_trend()
            if len(found.spans):
                yield from partial_rows(query, carriers, groups, meanings, [found])


# ---- the arrays that the kernels read


@dataclass(frozen=True)
class Prepared:
    """A graph and what its numbers mean.

    Attributes:
        graph: the arrays.
        weights: of the events.
        spans: int64[R, 4], see `kernels.entries`, the windows of the graph.
        asking: int64[R], whose windows they are: numbers of queries.
    """

    graph: MergedGraph
    weights: EventWeights
    spans: np.ndarray
    asking: np.ndarray


def prepare(
    tables: Tables,
    columns: EventColumns,
    entries: StateEntries,
    owned: Interval | None,
) -> Prepared:
    """The graph of a set over its entries, with all windows that hold any."""
    queries, partitions = tables.found.merged.queries, entries.offsets.size - 1
    found = [spans_of(query.window, entries.offsets, entries.times, owned) for query in queries]
    spans, asking = np.concatenate(found), np.repeat(np.arange(len(queries)), [*map(len, found)])
    order = ascending(spans[:, 2], asking)
    spans, asking = spans[order], asking[order]
    cells = np.bincount(spans[:, 2] * len(queries) + asking, minlength=partitions * len(queries))
    most = cells.reshape(partitions, len(queries)).max(axis=0)
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
        windows=spans[:, 3].copy(),
        slots_l=longs,
        slots_d=doubles,
        known=known,
        no_rank=NO_RANK,
        queries=_queries(queries, tables, most),
        weights=Weights(weights.longs, weights.doubles, weights.ranks),
        **tables.arrays,
    )
    return Prepared(graph, weights, spans, asking)


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _queries(queries: Sequence[BoundQuery], tables: Tables, most: np.ndarray) -> np.ndarray:
    """The table of queries, which have at most so many windows in a partition."""
    found = np.zeros(len(queries) + 1, QUERY)
    own = found[:-1]
    own["slide"] = [query.window.slide for query in queries]
    own["within"] = [query.window.within for query in queries]
    own["types"] = [len(query.event_types) for query in queries]
    own["longs_of"] = [1 + len(each.counts) for each in tables.carriers]
    own["doubles_of"] = [len(each.sums) for each in tables.carriers]
    own["ranks_of"] = [len(each.extremes) for each in tables.carriers]
    overlap = -(-own["within"] // own["slide"])
    own["width"] = np.maximum(np.minimum(overlap, most), 1)
    for kind in ("long", "double", "rank"):
        found[f"{kind}_start"] = _offsets(own[f"{kind}s_of"] * own["width"])
    return found
