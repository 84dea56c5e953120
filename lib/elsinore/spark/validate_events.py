"""The events that sampled results are made of, read from the files of `events` without Spark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.query.bound import BoundQuery, Key, Workload
from elsinore.spark.aggregate_branches import attributes_read, types_read
from elsinore.spark.aggregate_worker import event_table
from elsinore.spark.event_files import event_files
from elsinore.spark.files_in_order import events_in_order
from elsinore.spark.sample import Place
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval, parse_instant

#: A check with more events is not made: the reference holds each as an object.
MAX_EVENTS = 20_000

#: Places whose events are in memory at a time.
BATCH = 250


def events_of_places(
    lake: Lake, workload: Workload, version: int, places: Sequence[Place]
) -> list[EventTable | None]:
    """For each place the events that can bear on it, at a version of `events`.

    Those are the events of its window and of the query's types that do not belong to another group
    for certain. None where there are more than `MAX_EVENTS`.
    """
    if not places:
        return []
    queries = [workload.by_name[place.query] for place in places]
    windows = [query.window.bounds(p.window) for query, p in zip(queries, places, strict=True)]
    hull = Interval(min(w.start for w in windows), max(w.end for w in windows))
    files = [
        file
        for file in event_files(lake, version, hull).readable()
        if any(file.first < window.end and window.start <= file.last for window in windows)
    ]
    types = frozenset().union(*(types_read(workload, query) for query in queries))
    attributes = sorted(frozenset().union(*(attributes_read(query) for query in queries)))
    found: list[list[pa.Table]] = [[] for _ in places]
    sizes = [0] * len(places)
    for batch in events_in_order(files, hull, workload.schema, types, attributes):
        times = np.asarray(batch[TIME_COLUMN])
        for number, window in enumerate(windows):
            if not batch.num_rows or window.end <= times[0] or times[-1] < window.start:
                continue
            first, end = np.searchsorted(times, [window.start, window.end])
            inside = pa.table(batch.slice(first, end - first))
            fitting = inside.filter(_fits(workload, queries[number], places[number], inside))
            sizes[number] += fitting.num_rows
            if sizes[number] > MAX_EVENTS:
                found[number] = []
            else:
                found[number].append(fitting)
    return [
        None if size > MAX_EVENTS else _joined(workload, parts)
        for size, parts in zip(sizes, found, strict=True)
    ]


def _joined(workload: Workload, parts: list[pa.Table]) -> EventTable:
    if not parts:
        return EventTable.of(workload.schema, ())
    joined = pa.concat_tables(parts, promote_options="permissive")
    return event_table(workload.schema, joined.unify_dictionaries())


def _fits(workload: Workload, query: BoundQuery, place: Place, events: pa.Table) -> pa.ChunkedArray:
    """Whether an event can bear on a place; to be certain, an event is kept where in doubt."""
    codes = workload.schema.type_codes
    kind = events[TYPE_COLUMN]
    fits = _is_in(kind, [codes[name] for name in sorted(types_read(workload, query))])
    if not place.whole:
        group = json.loads(place.group_key)
        for key in query.group_keys:
            bound = [codes[name] for name in sorted(_types_bound(query, key))]
            same = _is(key, group[str(key.group_label)], events[key.attribute])
            fits = pc.and_(fits, pc.or_(pc.invert(_is_in(kind, bound)), same))
    return fits


def _types_bound(query: BoundQuery, key: Key) -> frozenset[str]:
    """The types whose events carry the key at whatever position they stand."""
    free = {p.type for p in query.positions if p.index not in key.positions}
    return query.event_types - free


def _is(key: Key, value: Any, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Whether a grouping attribute has a value, given as in a group key.

    As the engine has it: NULL is NULL, NaN is NaN, and -0.0 is 0.0.
    """
    if key.type is AttributeType.TIMESTAMP and value is not None:
        value = parse_instant(value)
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if key.type is AttributeType.DOUBLE:
        column = pc.add(column, 0.0)
    return _is_in(column, [value])


def _is_in(column: pa.ChunkedArray, values: list[Any]) -> pa.ChunkedArray:
    return pc.is_in(column, pa.array(values, column.type))
