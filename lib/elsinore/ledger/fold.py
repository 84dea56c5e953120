"""The state of each hour: the last row of each state, from rows of the ledger in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import DataError
from elsinore.ledger.rows import OF_STREAM, Flags, Longs, State, hours_from, longs, one_of
from elsinore.timeline import HOUR

_STATES = tuple(State)
_PUBLISHED = _STATES.index(State.PUBLISHED)


@dataclass(frozen=True)
class LastRows:
    """The last row of one state for each hour that has one.

    Attributes:
        hours: first instants of the hours, ascending.
        order: for each, when the row was appended; greater is later, also across states.
        rows: the rows, in the order of `hours`.
    """

    hours: Longs
    order: Longs
    rows: pa.Table

    def longs(self, column: str) -> Longs:
        """Return a column of integers or timestamps; -1 for NULL."""
        return longs(self.rows[column])

    def order_of(self, hours: Longs) -> Longs:
        """Return when the last row of each hour was appended; -1 for hours without one."""
        return lookup(self.hours, self.order, hours)

    def where(self, wanted: Flags) -> LastRows:
        """Return some of the rows."""
        return LastRows(self.hours[wanted], self.order[wanted], self.rows.filter(pa.array(wanted)))


@dataclass(frozen=True)
class Failures:
    """Hours whose last attempt failed.

    Attributes:
        last: their last failures.
        tries: for each, the number of failures since the hour last succeeded.
    """

    last: LastRows
    tries: Longs


@dataclass(frozen=True)
class Fold:
    """The state of the hours of a stream and of one workload.

    Attributes:
        last: by state, the last rows; failed rows of the workload only.
        failed: hours of the workload whose last attempt failed.
        failed_ingests: hours of files whose last ingest failed.
        began: when the first row of the workload was appended, comparable with `LastRows.order`;
            None if there is none.
        publications: for each published hour, how many times it was published.
    """

    last: Mapping[State, LastRows]
    failed: Failures
    failed_ingests: Failures
    began: int | None
    publications: Longs

    def __getitem__(self, state: State) -> LastRows:
        return self.last[state]

    @property
    def known(self) -> Longs:
        """The hours that have a row of any state, ascending."""
        found = [one.hours for one in (*self.last.values(), self.failed_ingests.last)]
        return np.unique(np.concatenate(found))


def fold(rows: pa.Table, workload: str = "") -> Fold:
    """Return the state of each hour.

    Args:
        rows: rows of the ledger, in any order. Columns that later functions do not use can be left
            out, except `version`, `workload`, `hour` and `state`.
        workload: name of the workload whose results are asked for. Rows of other workloads are
            ignored; without a name, only the states of the stream are known.

    Raises:
        DataError: a row has an unknown state, of a later release.
    """
    of_workload = one_of(rows["workload"], ["", workload])
    rows = rows if of_workload.all() else rows.filter(pa.array(of_workload))
    codes = longs(pc.index_in(rows["state"].cast(pa.string()), pa.array(_STATES, pa.string())))
    if (codes < 0).any():
        raise DataError(
            "the table hours contains states that this release does not know",
            hint="install the release that wrote them, or a later one",
        )
    hours = hours_from(rows["hour"])
    order = longs(rows["version"]) * len(_STATES) + codes
    is_own = ~one_of(rows["workload"], [""])
    is_failed = codes == _STATES.index(State.FAILED)
    every = _Rows(rows, hours, order)
    last = {
        state: every.last(np.flatnonzero((codes == code) & (is_own | (state in OF_STREAM))))
        for code, state in enumerate(_STATES)
    }
    progress = (State.AGGREGATED, State.VALIDATED, State.PUBLISHED)
    return Fold(
        last,
        every.failures(is_failed & is_own, last[State.PUBLISHED], [last[one] for one in progress]),
        every.failures(is_failed & ~is_own, last[State.INGESTED], [last[State.INGESTED]]),
        int(order[is_own].min()) if is_own.any() else None,
        _count(last[State.PUBLISHED].hours, hours[(codes == _PUBLISHED) & is_own]),
    )


def _count(hours: Longs, places: Longs) -> Longs:
    """Return how often each of some sorted hours is one of `places`."""
    return np.bincount(np.searchsorted(hours, places), minlength=len(hours))


@dataclass(frozen=True)
class _Rows:
    rows: pa.Table
    hours: Longs
    order: Longs

    def last(self, places: Longs) -> LastRows:
        """Return the last of the rows at some places, for each hour."""
        places = places[np.lexsort((self.order[places], self.hours[places]))]
        hours = self.hours[places]
        is_last = np.append(hours[1:] != hours[:-1], np.ones(min(len(hours), 1), np.bool_))
        places = places[is_last]
        return LastRows(self.hours[places], self.order[places], self.rows.take(pa.array(places)))

    def failures(
        self, is_failed: Flags, success: LastRows, progress: Sequence[LastRows]
    ) -> Failures:
        """Return the failures of hours that have failed since they last made progress.

        Their attempts are counted since the last success, because a later attempt that gets
        further and fails again is another attempt at the same hour.
        """
        places = np.flatnonzero(is_failed)
        places = places[self.order[places] > success.order_of(self.hours[places])]
        last = self.last(places)
        is_behind = np.ones(len(last.hours), np.bool_)
        for one in progress:
            is_behind &= last.order > one.order_of(last.hours)
        at = np.searchsorted(last.hours, self.hours[places])
        tries = np.bincount(at, minlength=len(last.hours))
        return Failures(last.where(is_behind), tries[is_behind])


# ---- arithmetic on sorted hours


def lookup(keys: Longs, values: Longs, wanted: Longs, absent: int = -1) -> Longs:
    """Return the values of some keys; `absent` for others. `keys` ascend and are distinct."""
    if not len(keys):
        return np.full(len(wanted), absent, np.int64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, values[at], absent)


def is_in(keys: Longs, wanted: Longs) -> Flags:
    """Return whether each value is one of some keys. `keys` ascend."""
    if not len(keys):
        return np.zeros(len(wanted), np.bool_)
    return keys[np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)] == wanted


def reached(hours: Longs, by: Longs, reach: int) -> tuple[Longs, Longs]:
    """Return for each of some hours which of the sorted `hours` its windows reach.

    Args:
        hours: ascending.
        by: hours in which windows end.
        reach: how many hours before their own the windows reach.

    Returns:
        The start and the end of a range of places in `hours`, for each hour of `by`.

    >>> reached(np.array([0, 3 * HOUR]), np.array([2 * HOUR, 3 * HOUR]), 2)
    (array([0, 1]), array([1, 2]))
    """
    starts = np.searchsorted(hours, by - reach * HOUR)
    return starts, np.searchsorted(hours, by, side="right")


def range_max(values: Longs, starts: Longs, ends: Longs, absent: int = -1) -> Longs:
    """Return the maximum of `values[start:end]` for each range; `absent` for empty ranges.

    It looks up two overlapping ranges whose length is a power of two, so that the costs do not grow
    with the length of the ranges.

    >>> range_max(np.array([3, 1, 2]), np.array([0, 1, 2]), np.array([3, 3, 2])).tolist()
    [3, 2, -1]
    """
    found = np.full(len(starts), absent, np.int64)
    lengths = ends - starts
    level, width, longest = values, 1, int(lengths.max(initial=0))
    while width <= longest:
        chosen = np.flatnonzero((lengths >= width) & (lengths < 2 * width))
        found[chosen] = np.maximum(level[starts[chosen]], level[ends[chosen] - width])
        level = np.maximum(level[:-width], level[width:])
        width *= 2
    return found


def is_any(hours: Longs, by: Longs, reach: int) -> Flags:
    """Return for each hour of `by` whether its windows reach one of the sorted `hours`."""
    starts, ends = reached(hours, by, reach)
    return ends > starts
