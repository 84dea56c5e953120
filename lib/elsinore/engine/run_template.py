"""Runs one template of a query over the events of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elsinore.engine.build_graph import Extremes, build_graph
from elsinore.engine.climb import Totals, climb
from elsinore.engine.columns import EventColumns
from elsinore.engine.contiguity import last_events
from elsinore.engine.key_codes import KeyCodes
from elsinore.engine.partitions import Entries, partition
from elsinore.kernels.spans import find_spans
from elsinore.lowering.carriers import Carriers
from elsinore.lowering.layout import lay_out
from elsinore.query.bound import BoundQuery
from elsinore.template.template import Template
from elsinore.timeline import Interval
from elsinore.windows import Window


@dataclass(frozen=True)
class Propagated:
    """What a template came to.

    Attributes:
        entries: the events, by partition.
        extremes: the meaning of the extremes' ranks.
        rungs: the windows that have a trend, by the width of their counts.
    """

    entries: Entries
    extremes: list[Extremes]
    rungs: list[Totals]


def run_template(
    query: BoundQuery,
    template: Template,
    carriers: Carriers,
    codes: Sequence[KeyCodes],
    columns: EventColumns,
    owned: Interval | None,
) -> Propagated | None:
    """The carriers of every window of every partition; None where there can be no trend.

    Args:
        query: the query that the template is of.
        template: its states and transitions.
        carriers: what rides along the transitions.
        codes: the query's keys, in their order.
        columns: the events.
        owned: only the windows that end in this interval; None for every window.
    """
    entries = partition(query, template, codes, columns)
    if entries is None:
        return None
    last: np.ndarray = np.empty(0, np.int64)
    if template.contiguous:
        last = last_events(query, columns.events.schema, codes, columns, entries)
    layout = lay_out(template)
    graph, extremes = build_graph(template, layout, carriers, columns, entries, last)
    spans = spans_of(query.window, entries.offsets, graph.times, owned)
    return Propagated(entries, extremes, climb(graph, spans, layout.orders))


def spans_of(
    window: Window, offsets: np.ndarray, times: np.ndarray, owned: Interval | None
) -> np.ndarray:
    """int64[*, 4], see `kernels.spans`: the windows that end in `owned` and hold an entry.

    Args:
        window: the window clause.
        offsets: int64[P + 1], where each partition's entries begin.
        times: of the entries.
        owned: None for every window.
    """
    return find_spans(offsets, times, window.within, window.slide, *window.owned(owned))
