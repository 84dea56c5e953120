"""Draws events at random, for the groups that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from elsinore.catalog.stream import AttributeType
from elsinore.events.table import TIME_COLUMN, TYPE_COLUMN
from elsinore.query.bound import BoundQuery, Workload
from elsinore.results.published import group_key
from elsinore.results.row import ResultRow, Value
from elsinore.spark.aggregate_events import engine_columns, events_between, reach_of
from elsinore.spark.tables import Lake
from elsinore.timeline import Instant, Interval


@dataclass(frozen=True, slots=True)
class DrawnGroup:
    """A group of a query that an event at `time` could belong to."""

    query: str
    group_key: str
    time: int


def groups_of_events(
    lake: Lake, workload: Workload, run: Interval, version: int, seed: str, count: int
) -> Iterator[DrawnGroup]:
    """For `count` events that a run can read, the groups of all queries that one event tells.

    A query is passed over for an event that lacks one of its grouping attributes, and a query
    without groups for all events.
    """
    grouped = [query for query in workload.queries if query.group_keys]
    if not grouped:
        return
    attributes = sorted({key.attribute for query in grouped for key in query.group_keys})
    types = frozenset().union(*(query.event_types for query in grouped))
    events = events_between(lake, version, reach_of(grouped, run), types)
    order = F.sha2(F.concat_ws(" ", F.lit(seed), "landing", "file", "position"), 256)
    drawn = events.orderBy(order).limit(count)
    for row in drawn.select(*engine_columns(workload.schema, attributes)).collect():
        event = row.asDict()
        kind = workload.schema.types[event[TYPE_COLUMN]].name
        for query in grouped:
            if _tells_group(query, kind):
                yield DrawnGroup(query.name, _group_of(query, event), event[TIME_COLUMN])


def _tells_group(query: BoundQuery, kind: str) -> bool:
    """Whether an event of a type carries every grouping attribute at some position."""
    return any(
        all(position.index in key.positions for key in query.group_keys)
        for position in query.positions
        if position.type == kind and not position.negated
    )


def _group_of(query: BoundQuery, event: Mapping[str, Any]) -> str:
    group = tuple(
        (str(key.group_label), _value(key.type, event[key.attribute])) for key in query.group_keys
    )
    return group_key(ResultRow(query.name, group, 0, 1, ()))


def _value(kind: AttributeType, value: Any) -> Value:
    if value is None:
        return None
    if kind is AttributeType.TIMESTAMP:
        return Instant(value)
    return value + 0.0 if kind is AttributeType.DOUBLE else value
