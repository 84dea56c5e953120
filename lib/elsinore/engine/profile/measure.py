"""Measures events at hand for the profile of their stream."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.engine.columns import EventColumns
from elsinore.engine.profile.edge_sample import edge_selectivity, grouped, passing
from elsinore.engine.profile.subjects import BurstSubject, LocalSubject, Subjects
from elsinore.engine.sorting import ascending
from elsinore.events import TYPE_COLUMN, EventTable
from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.sharing.profile import (
    BurstLengths,
    LocalSelectivity,
    PartitionSkew,
    Spread,
    StreamProfile,
    TypeRate,
)
from elsinore.timeline import Interval


def measure(events: EventTable, workload: Workload, observed: Interval) -> StreamProfile:
    """The profile of the events of an interval, for the queries of a workload.

    Events outside of the interval, and of types that no query reads, do not count.
    """
    subjects = Subjects.of(workload)
    codes = [workload.schema.type_codes[name] for name in subjects.types]
    inside = events.between(observed.start, observed.end)
    used = np.isin(np.asarray(inside.table[TYPE_COLUMN]), codes)
    columns = EventColumns(EventTable(events.schema, inside.table.filter(pa.array(used))))
    return StreamProfile(
        workload_fingerprint=workload_fingerprint(workload),
        observed=(observed.start, observed.end),
        pane=subjects.pane,
        rates=tuple(_rate(columns, name, subjects.pane, observed) for name in subjects.types),
        bursts=tuple(found for subject in subjects.bursts for found in _bursts(columns, subject)),
        local=tuple(_local(columns, subject) for subject in subjects.local),
        edges=tuple(edge_selectivity(columns, subject) for subject in subjects.edges),
        partitions=tuple(
            PartitionSkew(keys=keys, sizes=_spread(sizes))
            for keys in subjects.key_sets
            if (sizes := _partition_sizes(columns, keys)).size
        ),
    )


def _spread(values: np.ndarray, zeros: int = 0) -> Spread:
    """The spread of positive numbers and of so many zeros."""
    distinct, times = np.unique(values, return_counts=True)
    histogram = dict(zip(distinct.tolist(), times.tolist(), strict=True))
    return Spread.of(histogram | ({0: zeros} if zeros else {}))


def _rate(columns: EventColumns, name: str, pane: int, observed: Interval) -> TypeRate:
    times = columns.times[columns.rows_of(name)]
    sizes = np.unique(times // pane, return_counts=True)[1]
    panes = (observed.end - 1) // pane - observed.start // pane + 1
    return TypeRate(event_type=name, events=_spread(sizes, panes - sizes.size))


def _bursts(columns: EventColumns, subject: BurstSubject) -> Iterator[BurstLengths]:
    rows = np.concatenate([passing(columns, *match) for match in subject.matches])
    groups = grouped(columns, subject.keys, subject.pane, rows)
    rows, groups = rows[groups >= 0], groups[groups >= 0]
    types = np.asarray(columns.events.table[TYPE_COLUMN])[rows]
    order = ascending(groups, columns.times[rows], types)
    types, groups = types[order], groups[order]
    begins = np.flatnonzero(np.diff(types, prepend=-1) | np.diff(groups, prepend=-1))
    lengths = np.diff(begins, append=types.size)
    for name in sorted(name for name, _ in subject.matches):
        own = lengths[types[begins] == columns.events.schema.type_codes[name]]
        if own.size:
            yield BurstLengths(
                event_type=name,
                kleene=subject.kleene,
                queries=subject.queries,
                keys=tuple(key.attribute for key in subject.keys),
                pane=subject.pane,
                lengths=_spread(own),
            )


def _local(columns: EventColumns, subject: LocalSubject) -> LocalSelectivity:
    return LocalSelectivity(
        event_type=subject.event_type,
        condition=subject.text,
        queries=subject.queries,
        events=columns.rows_of(subject.event_type).size,
        passed=passing(columns, subject.event_type, [[subject.condition]]).size,
    )


def _partition_sizes(columns: EventColumns, keys: tuple[str, ...]) -> np.ndarray:
    """int64: events in each partition by some attributes."""
    known = np.ones(len(columns.events), np.bool_)
    frame = {}
    for name in keys:
        column = columns.column(name)
        known &= column.known
        if columns.events.schema.attributes[name] is AttributeType.DOUBLE:
            known &= ~np.isnan(column.values)
        frame[name] = column.values
    sizes = pd.DataFrame(frame)[known].groupby(list(keys), sort=False).size()
    return sizes.to_numpy(np.int64)
