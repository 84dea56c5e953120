"""Fills the arrays that the Hamlet kernels read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.engine.columns import EventColumns
from elsinore.engine.entries import StateEntries
from elsinore.engine.hamlet.tables import Tables
from elsinore.engine.run_template import fill_slots, spans_of
from elsinore.engine.sorting import ascending
from elsinore.engine.weights import NO_RANK, EventWeights, weigh_events
from elsinore.kernels.hamlet_graph import QUERY, MergedGraph
from elsinore.sharing.merged import MergedTemplate
from elsinore.timeline import Interval


@dataclass(frozen=True)
class Prepared:
    """A graph and what its numbers mean.

    Attributes:
        graph: the arrays.
        weights: of the events.
        window_owner, window_query: int64[R], partition and query of each window of the graph.
    """

    graph: MergedGraph
    weights: EventWeights
    window_owner: np.ndarray
    window_query: np.ndarray


def prepare(
    merged: MergedTemplate,
    tables: Tables,
    columns: EventColumns,
    entries: StateEntries,
    owned: Interval | None,
) -> Prepared:
    """The graph of a merged template over its entries, with all windows that hold any."""
    queries, partitions = merged.queries, entries.offsets.size - 1
    found = [spans_of(query.window, entries.offsets, entries.times, owned) for query in queries]
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
    weights = weigh_events(tables.columns, columns, entries.rows)
    graph = MergedGraph(
        times=entries.times,
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
        long_weights=weights.longs,
        double_weights=weights.doubles,
        ranks=weights.ranks,
        **tables.arrays,
    )
    return Prepared(graph, weights, owner[order], query[order])


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
        row["ranks_of"] = len(carriers.extremes)
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
