"""Fills the arrays that the Hamlet kernels read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.engine.build_graph import NO_RANK, Extremes
from elsinore.engine.columns import Column, EventColumns
from elsinore.engine.hamlet.entries import MergedEntries
from elsinore.engine.hamlet.tables import Tables
from elsinore.engine.slots import fill_slots, stack_rows
from elsinore.engine.sorting import ascending
from elsinore.kernels.hamlet_graph import QUERY, MergedGraph
from elsinore.kernels.spans import find_spans
from elsinore.lowering.carriers import Weight
from elsinore.lowering.merged import MergedTemplate
from elsinore.timeline import Interval
from elsinore.windows import Window


@dataclass(frozen=True)
class Prepared:
    """A graph and what its numbers mean.

    Attributes:
        graph: the arrays.
        extremes: the meaning of the ranks of each column.
        window_owner, window_query: int64[R], partition and query of each window of the graph.
    """

    graph: MergedGraph
    extremes: list[Extremes]
    window_owner: np.ndarray
    window_query: np.ndarray


def prepare(
    merged: MergedTemplate,
    tables: Tables,
    columns: EventColumns,
    entries: MergedEntries,
    owned: Interval | None,
) -> Prepared:
    """The graph of a merged template over its entries, with all windows that hold any."""
    times = columns.times[entries.rows]
    queries, partitions = merged.queries, entries.offsets.size - 1
    found = [_windows(query.window, times, entries, owned) for query in queries]
    owner = np.concatenate([spans[:, 2] for spans in found])
    number = np.concatenate([spans[:, 3] for spans in found])
    query = np.repeat(np.arange(len(queries)), [len(spans) for spans in found])
    order = ascending(owner, query)
    cells = np.bincount(owner * len(queries) + query, minlength=partitions * len(queries))
    within = np.array([q.window.within for q in queries], np.int64)
    slide = np.array([q.window.slide for q in queries], np.int64)
    most = cells.reshape(partitions, len(queries)).max(axis=0)
    width = np.maximum(np.minimum(-(-within // slide), most), 1)
    longs, doubles, known = fill_slots(
        tuple(tables.programs.slots), columns, entries.rows, entries.states
    )
    weights, extremes = _weights(tables, columns, entries)
    graph = MergedGraph(
        times=times,
        states=entries.states,
        accepts=entries.accepts,
        offsets=entries.offsets,
        window_start=_offsets(cells),
        windows=number[order],
        slots_l=longs,
        slots_d=doubles,
        known=known,
        no_rank=NO_RANK,
        queries=_queries(merged, tables, width),
        **_programs(tables),
        **weights,
        **tables.arrays,
    )
    return Prepared(graph, extremes, owner[order], query[order])


def _windows(
    window: Window, times: np.ndarray, entries: MergedEntries, owned: Interval | None
) -> np.ndarray:
    whole = np.iinfo(np.int64)
    first, last = int(whole.min), int(whole.max)
    if owned is not None:
        numbers = window.ending_in(owned)
        first, last = numbers.start, numbers.stop - 1
    return find_spans(
        entries.offsets,
        times,
        window.within,
        window.slide,
        first,
        last,
    )


def _offsets(lengths: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def _queries(merged: MergedTemplate, tables: Tables, width: np.ndarray) -> np.ndarray:
    size = len(merged.queries)
    found = np.zeros(size + 1, QUERY)
    for q, (query, carriers) in enumerate(zip(merged.queries, tables.carriers, strict=True)):
        row = found[q]
        row["slide"], row["within"] = query.window.slide, query.window.within
        row["width"], row["types"] = width[q], len(query.event_types)
        row["longs_of"], row["doubles_of"] = 1 + len(carriers.counts), len(carriers.sums)
        row["ranks_of"] = len(carriers.minima) + len(carriers.maxima)
    for kind in ("long", "double", "rank"):
        found[f"{kind}_start"] = _offsets(found[f"{kind}s_of"][:size] * width)
    return found


def _programs(tables: Tables) -> dict[str, np.ndarray]:
    programs = tables.programs.programs
    steps = [step for program in programs for step in program]
    return {
        "program_start": _offsets(np.array([len(program) for program in programs], np.int64)),
        "program": np.array(steps, np.int64).reshape(-1, 2),
    }


def _weights(
    tables: Tables, columns: EventColumns, entries: MergedEntries
) -> tuple[dict[str, np.ndarray], list[Extremes]]:
    size = entries.rows.size
    longs = [_long_weights(weight, name, columns, entries) for weight, name in tables.columns.longs]
    doubles = []
    for _, name in tables.columns.doubles:
        column = _read(name, columns, entries)
        doubles.append(np.where(column.known, column.values, 0.0))
    extremes = []
    for name, largest in tables.columns.ranks:
        column = _read(name, columns, entries)
        extremes.append(Extremes(column, column.known, largest=largest))
    ranks = [extreme.ranks for extreme in extremes]
    return {
        "long_weights": stack_rows(longs, size, np.int64),
        "double_weights": stack_rows(doubles, size, np.float64),
        "ranks": stack_rows(ranks, size, np.int64),
    }, extremes


def _long_weights(
    weight: Weight, name: str | None, columns: EventColumns, entries: MergedEntries
) -> np.ndarray:
    if weight is Weight.EVENT:
        return np.ones(entries.rows.size, np.int64)
    column = _read(name, columns, entries)
    known = column.known
    return known.astype(np.int64) if weight is Weight.PRESENT else column.values * known


def _read(name: str | None, columns: EventColumns, entries: MergedEntries) -> Column:
    assert name is not None
    return columns.column(name).take(entries.rows)
