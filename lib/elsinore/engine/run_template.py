"""Runs one template of a query over the events of a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from elsinore.catalog.stream import StreamSchema
from elsinore.engine.build_graph import Extremes, build_graph
from elsinore.engine.climb import Totals, climb
from elsinore.engine.columns import EventColumns
from elsinore.engine.key_codes import KeyCodes, in_one_coding
from elsinore.engine.partitions import Entries, column_of, partition
from elsinore.kernels.spans import find_spans
from elsinore.lowering.carriers import Carriers
from elsinore.lowering.layout import lay_out
from elsinore.query.automaton import may_meet
from elsinore.query.bound import BoundQuery, Key, Position
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


# ---- under `contiguous`: the last event of the partition before each entry

#: No event before.
NONE = np.iinfo(np.int64).min


def last_events(
    query: BoundQuery,
    schema: StreamSchema,
    codes: Sequence[KeyCodes],
    columns: EventColumns,
    entries: Entries,
) -> np.ndarray:
    """int64[N]: the time of the last event strictly before each entry, in its partition.

    An event lies in a partition by the keys that it carries at one of its type's aliases, and,
    where the pattern does not name the type, by the unscoped keys that the type has.
    """
    distinct, ranks = np.unique(columns.times, return_inverse=True)
    last = np.full(entries.rows.size, NONE, np.int64)
    carried = set(entries.partitions.columns)
    for keys, types in _types_by_keys(query, schema).items():
        rows = np.concatenate([columns.rows_of(name) for name in types])
        for number in keys:
            rows = rows[codes[number].usable[rows]]
        if not rows.size:
            continue
        shared = {column_of(n): codes[n].values[rows] for n in keys if column_of(n) in carried}
        events = pd.DataFrame(shared, index=range(rows.size))
        of_event, of_partition = in_one_coding(events, entries.partitions, list(shared))
        placed = np.unique(of_event * distinct.size + ranks[rows])
        sought = of_partition[entries.owners] * distinct.size + ranks[entries.rows]
        found = placed[np.maximum(np.searchsorted(placed, sought) - 1, 0)]
        inside = (found < sought) & (found // distinct.size == sought // distinct.size)
        last = np.maximum(last, np.where(inside, distinct[found % distinct.size], NONE))
    return last


def _types_by_keys(query: BoundQuery, schema: StreamSchema) -> dict[tuple[int, ...], list[str]]:
    """The types of the stream by the keys that part their events from others.

    A type that could stand at several aliases is found under the keys of each of them.
    """
    found: dict[tuple[int, ...], list[str]] = {}
    keys = {number: key for number, key in enumerate(query.keys) if _parts(query, key)}
    for name in schema.by_name:
        for place in _places(query, name):
            carried = (n for n, key in keys.items() if _binds(query, schema, key, name, place))
            types = found.setdefault(tuple(carried), [])
            if name not in types:
                types.append(name)
    return found


def _places(query: BoundQuery, name: str) -> list[Position | None]:
    """Where an event of a type could stand: in a trend, else under NOT, else nowhere (None)."""
    places = [position for position in query.positions if position.type == name]
    return [*([p for p in places if not p.negated] or places)] or [None]


def _binds(
    query: BoundQuery, schema: StreamSchema, key: Key, name: str, place: Position | None
) -> bool:
    if place is not None:
        return place.index in key.positions
    return name in schema.carriers(key.attribute) and not _left_out(query, schema, key)


def _left_out(query: BoundQuery, schema: StreamSchema, key: Key) -> list[Position]:
    """The positions of trends whose events have a key's attribute and may carry any value."""
    types = schema.carriers(key.attribute)
    everywhere = (p for p in query.positions if p.type in types and not p.negated)
    return [position for position in everywhere if position.index not in key.positions]


def _parts(query: BoundQuery, key: Key) -> bool:
    """Whether a key keeps events apart: not where it binds one event of a trend alone."""
    if key.group_label is not None:
        return True
    bound = frozenset(query.positions[index].alias for index in key.positions)
    return any(aliases <= bound for aliases in may_meet(query.pattern))
