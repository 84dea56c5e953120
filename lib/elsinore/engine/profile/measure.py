"""Measures events that are all at hand: the profile of files, without a lake."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from elsinore.engine.columns import EventColumns
from elsinore.engine.profile.assemble import assemble
from elsinore.engine.profile.edge_sample import edge_tally
from elsinore.engine.profile.subjects import Subjects
from elsinore.engine.profile.tally import (
    Part,
    burst_lengths,
    local_passes,
    pane_sizes,
    partition_sizes,
    rows_of_tally,
)
from elsinore.events.table import TYPE_COLUMN, EventTable
from elsinore.query.bound import Workload
from elsinore.sharing.profile import StreamProfile
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
    return assemble(workload, observed, _tallies(columns, subjects))


def _tallies(columns: EventColumns, subjects: Subjects) -> Iterator[pa.Table]:
    for number, name in enumerate(subjects.types):
        yield rows_of_tally(Part.PANE, number, pane_sizes(columns, name, subjects.pane))
    for number, keys in enumerate(subjects.key_sets):
        yield rows_of_tally(Part.KEYS, number, partition_sizes(columns, keys))
    yield from tally_local(columns, subjects)
    for number in range(len(subjects.bursts)):
        yield from tally_bursts(columns, subjects, number)
    for number, edge in enumerate(subjects.edges):
        yield from edge_tally(columns, number, edge)


def tally_local(columns: EventColumns, subjects: Subjects) -> Iterator[pa.Table]:
    """Tallies of all predicates on single events; any part of the events will do."""
    for number, subject in enumerate(subjects.local):
        yield rows_of_tally(Part.LOCAL, number, local_passes(columns, subject))


def tally_bursts(columns: EventColumns, subjects: Subjects, number: int) -> Iterator[pa.Table]:
    """Tallies of the bursts of one set of queries, from events that hold whole groups."""
    for code, lengths in burst_lengths(columns, subjects.bursts[number]):
        yield rows_of_tally(Part.BURST, number, lengths, item=code)
