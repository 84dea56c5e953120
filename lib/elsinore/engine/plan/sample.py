"""Bursts and selectivities of sharable sets, from a sample of the events at hand."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.engine.plan.alike import alike
from elsinore.engine.profile.measure import measure
from elsinore.engine.profile.subjects import Subjects
from elsinore.events import TIME_COLUMN, EventTable
from elsinore.lowering.sharable import SharableSet, sharable_sets
from elsinore.query.bound import Workload
from elsinore.sharing.observe import observed_interval
from elsinore.sharing.profile import StreamProfile

#: Events looked at for a set, about.
SAMPLE = 4_096

#: A share of all events that is looked at, at most: looking must cost little beside the run.
LARGEST_SHARE = 0.05


def sample_profiles(
    workload: Workload, events: EventTable, *, sample: int = SAMPLE
) -> tuple[StreamProfile, ...]:
    """For each sharable set the profile of some events: a stretch of some of its partitions.

    Sampled are whole partitions by one key, so that bursts stay whole, and of these a stretch of
    time from the middle. The same events give the same profiles. Very few events give none.

    Args:
        workload: the queries.
        events: in any order.
        sample: how many events to look at for a set, about; fewer where the stream is short.
    """
    size = min(sample, int(len(events) * LARGEST_SHARE))
    if size < 1:
        return ()
    profiles = []
    for found in sharable_sets([each.run for each in alike(workload.queries)]).sets:
        chosen = _chosen(found, workload, events, size)
        if len(chosen):
            part = Workload(workload.schema, found.queries)
            profiles.append(measure(chosen, part, observed_interval(chosen)))
    return tuple(profiles)


def _chosen(found: SharableSet, workload: Workload, events: EventTable, size: int) -> EventTable:
    """About `size` events of some partitions of a set."""
    table = events.table
    subjects = Subjects.of(Workload(workload.schema, found.queries))
    keys = subjects.bursts[0].keys if subjects.bursts else ()
    if keys:
        table = _of_some_values(table, keys[0].attribute, size)
    stretch = _middle(np.asarray(table[TIME_COLUMN]), size)
    return EventTable(events.schema, table.filter(pa.array(stretch)))


def _of_some_values(table: pa.Table, attribute: str, size: int) -> pa.Table:
    """The events of as many values of a key as hold about so many events."""
    column = table[attribute]
    counts = pc.value_counts(column)
    values, numbers = counts.field(0), np.asarray(counts.field(1))
    order = np.random.default_rng(len(values)).permutation(len(values))
    upto = np.searchsorted(np.cumsum(numbers[order]), size) + 1
    return table.filter(pc.is_in(column, value_set=values.take(pa.array(order[:upto]))))


def _middle(times: np.ndarray, size: int) -> np.ndarray:
    """bool: the events of a stretch of time in the middle that holds about so many."""
    if times.size <= size:
        return np.ones(times.size, np.bool_)
    low, high = (times.size - size) // 2, (times.size + size) // 2
    begin, end = np.partition(times, (low, high - 1))[[low, high - 1]]
    return (times >= begin) & (times <= end)
