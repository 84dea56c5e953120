"""Counts that add up: what parts of a stream give together is what the whole gives.

A tally is a table of `TALLY_SCHEMA`: `number` things of a `part`, equal in all other columns. Two
tallies are added by adding the numbers of equal rows.

| part | subject | item | value | extra | things |
|---|---|---|---|---|---|
| pane | event type | 0 | events in the pane | 0 | panes that hold any |
| keys | key set | 0 | events in the partition | 0 | partitions |
| burst | burst subject | code of the type | length | 0 | bursts |
| local | predicate | 0 | 1 true, 0 not | 0 | events |
| pairs | edge predicate | 0 | 0 | 0 | pairs |
| edge | edge predicate | pairs that passed | hash | pairs that it begins | sampled earlier events |
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum

import numpy as np
import pandas as pd
import pyarrow as pa

from elsinore.catalog.stream import AttributeType
from elsinore.engine.columns import EventColumns
from elsinore.engine.profile.groups import grouped, passing
from elsinore.engine.profile.subjects import BurstSubject, LocalSubject
from elsinore.engine.sorting import ascending
from elsinore.events.table import TYPE_COLUMN

TALLY_SCHEMA = pa.schema(
    [
        pa.field("part", pa.string(), False),
        pa.field("subject", pa.int64(), False),
        pa.field("item", pa.int64(), False),
        pa.field("value", pa.int64(), False),
        pa.field("extra", pa.int64(), False),
        pa.field("number", pa.int64(), False),
    ]
)


class Part(StrEnum):
    """What a row of a tally counts."""

    PANE = "pane"
    KEYS = "keys"
    BURST = "burst"
    LOCAL = "local"
    PAIRS = "pairs"
    EDGE = "edge"


def rows_of_tally(
    part: Part, subject: int, histogram: Mapping[int, int], item: int = 0
) -> pa.Table:
    """The rows of a tally that say how often each value occurs."""
    size = len(histogram)
    columns = [
        [str(part)] * size, [subject] * size, [item] * size, [*histogram], [0] * size,
        [*histogram.values()],
    ]  # fmt: skip
    return pa.table(columns, schema=TALLY_SCHEMA)


def histogram_of(values: np.ndarray) -> dict[int, int]:
    """How often each integer occurs."""
    distinct, times = np.unique(values, return_counts=True)
    return dict(zip(distinct.tolist(), times.tolist(), strict=True))


def pane_sizes(columns: EventColumns, event_type: str, pane: int) -> dict[int, int]:
    """Numbers of events of a type in the panes that hold any, and how many panes have each."""
    times = columns.times[columns.rows_of(event_type)]
    return histogram_of(np.unique(times // pane, return_counts=True)[1])


def partition_sizes(columns: EventColumns, keys: tuple[str, ...]) -> dict[int, int]:
    """Events in the partitions by some attributes, and how many partitions have each number."""
    known = np.ones(len(columns.events), np.bool_)
    frame = {}
    for name in keys:
        column = columns.column(name)
        known &= column.known
        if columns.events.schema.attributes[name] is AttributeType.DOUBLE:
            known &= ~np.isnan(column.values)
        frame[name] = column.values
    sizes = pd.DataFrame(frame)[known].groupby(list(keys), sort=False).size()
    return histogram_of(sizes.to_numpy(np.int64))


def local_passes(columns: EventColumns, subject: LocalSubject) -> dict[int, int]:
    """Events of the subject's type for which its predicate is true (1) and those for which not."""
    events = columns.rows_of(subject.event_type).size
    passed = passing(columns, subject.event_type, [[subject.condition]]).size
    counts = {1: passed, 0: events - passed}
    return {value: number for value, number in counts.items() if number}


def burst_lengths(
    columns: EventColumns, subject: BurstSubject
) -> Iterator[tuple[int, dict[int, int]]]:
    """By code of the event type, how often each length of its bursts occurs.

    The events must hold whole groups of the subject's keys and multiples of its span.
    """
    rows = np.concatenate([passing(columns, *match) for match in subject.matches])
    groups = grouped(columns, subject.keys, subject.span, rows)
    rows, groups = rows[groups >= 0], groups[groups >= 0]
    types = np.asarray(columns.events.table[TYPE_COLUMN])[rows]
    order = ascending(groups, columns.times[rows], types)
    types, groups = types[order], groups[order]
    begins = np.flatnonzero(np.diff(types, prepend=-1) | np.diff(groups, prepend=-1))
    lengths = np.diff(begins, append=types.size)
    for code in np.unique(types):
        yield int(code), histogram_of(lengths[types[begins] == code])
