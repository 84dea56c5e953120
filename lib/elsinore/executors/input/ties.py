"""Count events with equal times that nothing orders: they are never adjacent in a trend."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.key_codes import KeyCodes
from elsinore.query.bound import BoundQuery, Key
from elsinore.query.print_query import count_of
from elsinore.query.syntax import Pattern, bounds_of, parts_of

#: Maximum number of events that are counted exactly. Beyond it, a sample of times with about this
#: number of events is counted.
_SAMPLE = 1 << 14
#: A smaller share is not reported.
_LITTLE = 0.01
#: Mixes the bits of times, so that a sample is not of whole seconds only (Knuth, 2^64 / golden).
_ODD = np.uint64(0x9E3779B97F4A7C15)

_Ints = npt.NDArray[np.int64]


class Ties(NamedTuple):
    """Count of the events that share their time with another event of their partition."""

    queries: tuple[str, ...]  #: queries with these event types and keys
    keys: tuple[str, ...]  #: the attributes that partition the events
    events: int  #: events of the types
    tied: int  #: events that share their time; an estimate if `is_estimate`
    cut: int  #: tied events whose nanoseconds differ, which are cut off
    is_estimate: bool = False

    @property
    def are_many(self) -> bool:
        """Return whether the share is large enough to report."""
        return self.tied > _LITTLE * self.events

    def joined(self, other: Ties) -> Ties:
        """Return the sum of these counts and counts of other times, for the same queries."""
        return self._replace(
            events=self.events + other.events,
            tied=self.tied + other.tied,
            cut=self.cut + other.cut,
            is_estimate=self.is_estimate or other.is_estimate,
        )

    @property
    def text(self) -> str:
        """Return the count in a sentence."""
        about = "about " if self.is_estimate else ""
        of_keys = f" ({', '.join(self.keys)})" if self.keys else ""
        verb = "shares its time" if self.tied == 1 else "share their time"
        return (
            f"{about}{self.tied:,} of {count_of(self.events, 'event')} {verb} with another event "
            f"of their partition{of_keys}; events with equal times are never adjacent"
        )

    @property
    def text_of_cut(self) -> str:
        """Return in a sentence how many tie because nanoseconds are cut off."""
        about = "about " if self.is_estimate else ""
        verb = "shares its time" if self.cut == 1 else "share their time"
        return (
            f"{about}{self.cut:,} of {count_of(self.events, 'event')} {verb} with another event "
            "only because times are cut off to the microsecond"
        )


def ties_of(
    queries: Iterable[BoundQuery], events: EventTable, nanoseconds: np.ndarray | None = None
) -> list[Ties]:
    """Count the events that share their time, for each set of event types and keys of queries.

    Events that `time.then` of the schema orders do not share their time here.

    A query whose trends are single events has no ties. If there are many events, the counts of a
    sample of the times are scaled up.

    Args:
        queries: queries over the stream of the events.
        events: typed events in any order.
        nanoseconds: int16[N], the nanoseconds that were cut off each time; None if all are 0.
    """
    names: dict[tuple[frozenset[str], tuple[Key, ...]], list[str]] = defaultdict(list)
    keys: dict[tuple[frozenset[str], tuple[str, ...]], tuple[Key, ...]] = {}
    for query in queries:
        if _has_pairs(query):
            types = frozenset(p.type for p in query.positions if not p.negated)
            own = _partition_keys(query)
            own = keys.setdefault((types, tuple(key.attribute for key in own)), own)
            names[types, own].append(query.name)
    if not names or not len(events):
        return []
    times = np.asarray(events.table[TIME_COLUMN])
    sample = _sampled(times)
    if events.schema.then_field is not None:
        ranks = EventColumns.of(events).ranks
        times = _grouped(times) * (int(ranks.max()) + 1) + ranks
    codes = np.asarray(events.table[TYPE_COLUMN])
    numbers = np.bincount(codes, minlength=len(events.schema.types))
    found = []
    for (types, own), of_queries in names.items():
        is_of = np.zeros(len(events.schema.types), np.bool_)
        is_of[[events.schema.type_codes[name] for name in types]] = True
        number = int(numbers[is_of].sum())
        rows = sample[is_of[codes[sample]]]
        tied, cut = _count(rows, times, own, events, nanoseconds)
        scale = number / max(len(rows), 1)
        attributes = tuple(key.attribute for key in own)
        found.append(
            Ties(
                tuple(of_queries), attributes, number, round(tied * scale), round(cut * scale),
                len(sample) < len(times),
            )
        )  # fmt: skip
    return found


def _has_pairs(query: BoundQuery) -> bool:
    """Return whether a trend can have more than one event."""
    return sum(not p.negated for p in query.positions) > 1 or _repeats(query.pattern)


def _repeats(pattern: Pattern) -> bool:
    bounds = bounds_of(pattern)
    is_loop = bounds is not None and bounds[1] != 1
    return is_loop or any(map(_repeats, parts_of(pattern)))


def _partition_keys(query: BoundQuery) -> tuple[Key, ...]:
    """Return the attributes that are keys of all events of a trend, in their order."""
    positive = {position.index for position in query.positions if not position.negated}
    plain = [key for key in query.keys if key.value is None]
    by_name = {key.attribute: key for key in plain if positive <= key.positions}
    return tuple(by_name[name] for name in sorted(by_name))


def _sampled(times: _Ints) -> _Ints:
    """Return the rows of all events, or of the events at some times."""
    part = len(times) // _SAMPLE
    if part <= 1:
        return np.arange(len(times))
    return np.flatnonzero(times.view(np.uint64) * _ODD < np.uint64(2**64 // part))


def _count(
    rows: _Ints,
    times: _Ints,
    keys: Sequence[Key],
    events: EventTable,
    nanoseconds: np.ndarray | None,
) -> tuple[int, int]:
    """Return how many rows tie, and how many tie only without their nanoseconds."""
    groups = _grouped(times[rows])
    shared = _is_shared(groups)
    rows, groups = rows[shared], groups[shared]  # others cannot tie in a partition either
    if not rows.size:
        return 0, 0
    names = [key.attribute for key in keys]
    columns = EventColumns(
        EventTable(events.schema, events.table.select(names).take(pa.array(rows)))
    )
    usable = np.ones(rows.size, np.bool_)
    for key in keys:
        codes = KeyCodes.of(key, columns)
        usable &= codes.usable | (not key.equivalence)
        groups = _grouped(groups * codes.size + codes.values)
    groups, rows = groups[usable], rows[usable]
    tied = _is_shared(groups)
    if nanoseconds is None:
        return int(tied.sum()), 0
    exact = _is_shared(_grouped(groups * 1_000 + nanoseconds[rows]))
    return int(tied.sum()), int((tied & ~exact).sum())


def _grouped(values: _Ints) -> _Ints:
    """Return group numbers from 0 on, equal for equal values."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _is_shared(groups: _Ints) -> npt.NDArray[np.bool_]:
    """Return which rows share their group with another row."""
    shared: npt.NDArray[np.bool_] = np.bincount(groups)[groups] > 1
    return shared
