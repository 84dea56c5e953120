"""The events that sampled results are made of, brought to the driver check by check."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from elsinore.catalog.stream import AttributeType
from elsinore.events.table import EventTable
from elsinore.query.bound import BoundQuery, Key, Workload
from elsinore.spark.aggregate_branches import attributes_read, types_read
from elsinore.spark.aggregate_events import engine_columns, events_between, within
from elsinore.spark.aggregate_worker import event_table
from elsinore.spark.sample import Place
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval, parse_instant

#: A check with more events is not made: the reference holds each as an object.
MAX_EVENTS = 20_000

#: Places asked for in one go: each is a condition on every event.
BATCH = 200

#: Whole windows asked for in one go: their events come to the driver once for each of them.
WHOLE_BATCH = 50

_CHECK = "_check"


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
    types = frozenset().union(*(types_read(workload, query) for query in queries))
    fitting = [
        F.when(within(window) & _fits(workload, query, place), F.lit(number))
        for number, (place, query, window) in enumerate(zip(places, queries, windows, strict=True))
    ]
    attributes = sorted(frozenset().union(*(attributes_read(query) for query in queries)))
    events = (
        events_between(lake, version, hull, types)
        .withColumn(_CHECK, F.explode(F.array_compact(F.array(*fitting))))
        .select(_CHECK, *engine_columns(workload.schema, attributes))
        .persist()
    )
    try:
        sizes = events.groupBy(_CHECK).count()
        too_many = {row[_CHECK] for row in sizes.where(F.col("count") > MAX_EVENTS).collect()}
        table = events.where(~F.col(_CHECK).isin(sorted(too_many))).toArrow()
    finally:
        events.unpersist()
    return [
        None if number in too_many else _part(workload, table, number)
        for number in range(len(places))
    ]


def _part(workload: Workload, table: pa.Table, number: int) -> EventTable:
    return event_table(workload.schema, table.filter(pc.equal(table[_CHECK], number)))


def _fits(workload: Workload, query: BoundQuery, place: Place) -> Column:
    """Whether an event can bear on a place; to be certain, an event is kept where in doubt."""
    kind = F.col("event_type")
    conditions = [kind.isin(sorted(types_read(workload, query)))]
    if not place.whole:
        group = json.loads(place.group_key)
        for key in query.group_keys:
            bound = sorted(_types_bound(query, key))
            same = _is(key, group[str(key.group_label)])
            conditions.append(~kind.isin(bound) | same if bound else F.lit(True))
    return reduce(lambda left, right: left & right, conditions)


def _types_bound(query: BoundQuery, key: Key) -> frozenset[str]:
    """The types whose events carry the key at whatever position they stand."""
    free = {p.type for p in query.positions if p.index not in key.positions}
    return query.event_types - free


def _is(key: Key, value: Any) -> Column:
    """Whether a grouping attribute has a value, given as in a group key."""
    column = F.col(key.attribute)
    if value is None:
        return column.isNull()
    if key.type is AttributeType.TIMESTAMP:
        column, value = F.unix_micros(column), parse_instant(value)
    return column.eqNullSafe(F.lit(value))
