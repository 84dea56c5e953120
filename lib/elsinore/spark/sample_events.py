"""Draws events at random, for the groups that they belong to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.query.bound import BoundQuery, Workload
from elsinore.results.published import group_key
from elsinore.results.row import ResultRow, Value
from elsinore.spark.aggregate_events import reach_of
from elsinore.spark.event_files import event_files
from elsinore.spark.files_in_order import events_in_order
from elsinore.spark.sample_results import seeded_hashes
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
    if not grouped or not count:
        return
    attributes = sorted({key.attribute for query in grouped for key in query.group_keys})
    types = frozenset().union(*(query.event_types for query in grouped))
    reach = reach_of(grouped, run)
    files = event_files(lake, version, reach).readable()
    drawn: pa.Table | None = None
    for batch in events_in_order(files, reach, workload.schema, types, attributes):
        found = _first(_named(pa.table(batch)), seed, count)
        both = found if drawn is None else pa.concat_tables([drawn, found])
        drawn = _first(both, seed, count)
    for event in drawn.to_pylist() if drawn is not None else ():
        kind = workload.schema.types[event[TYPE_COLUMN]].name
        for query in grouped:
            if _tells_group(query, kind):
                yield DrawnGroup(query.name, _group_of(query, event), event[TIME_COLUMN])


def _named(events: pa.Table) -> pa.Table:
    """Events with what tells them apart as a text."""
    parts = [column.cast(pa.string()) for column in events.columns]
    name = pc.binary_join_element_wise(*parts, " ", null_handling="replace")
    return events.append_column("_name", name)


def _first(events: pa.Table, seed: str, count: int) -> pa.Table:
    """Those of the lowest hashes."""
    order = np.argsort(seeded_hashes(seed, events["_name"].to_pylist()), kind="stable")
    return events.take(pa.array(order[:count]))


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
