"""Positions of events by which each session is a window of its own.

The position of an event is the number of its session times `SESSION_POSITIONS`, plus the rank of
its time. So executors run queries with sessions like queries with tumbling windows: the events of a
session are in one window, in the order of time. Sessions of different owners have different
numbers. After a run, `output.session_bounds` replaces the
numbers by the bounds of the sessions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.executors.input.columns import EventColumns, plain_values
from elsinore.executors.input.kernels.entries import is_sorted
from elsinore.executors.input.kernels.sessions import find_sessions
from elsinore.executors.input.key_codes import KeyCodes
from elsinore.executors.input.numbering import numbered
from elsinore.query.bound import Key
from elsinore.sorting import ascending
from elsinore.windows import SESSION_POSITIONS, Session, Window

#: Longer than any time between two events.
_NO_LIMIT = 2**63 - 1


class Sessions(NamedTuple):
    """The S sessions of a table."""

    starts: np.ndarray  #: int64[S], the time of the first event
    ends: np.ndarray  #: int64[S], the last time plus the gap, or the start of the next session


def times_of(columns: EventColumns) -> np.ndarray:
    """Return int64[N], the times of events, in memory as kernels expect it."""
    return plain_values(columns.events.table[TIME_COLUMN], np.int64)


def order_of(columns: EventColumns) -> np.ndarray:
    """Return int64[N], numbers in the order of events: times, or ranks with `time.then`."""
    is_ordered = columns.events.schema.then_field is not None
    return ranks_of(columns) if is_ordered else times_of(columns)


def positions_of(columns: EventColumns, window: Window) -> np.ndarray:
    """Return int64[N], the positions of the events (`windows`)."""
    if window.session is None:
        return columns.positions(window)
    session = window.session

    def find() -> np.ndarray:
        positions, sessions = _find(columns, session)
        columns.once((Sessions, session), lambda: sessions)
        return positions

    return columns.latest("positions", session, find)


def sessions_of(columns: EventColumns, session: Session) -> Sessions:
    """Return the sessions of a table; they are found once for all queries."""
    return columns.once((Sessions, session), lambda: _find(columns, session)[1])


def ranks_of(columns: EventColumns) -> np.ndarray:
    """Return int64[N], the rank of each event in the order of events, from 0; ties are equal."""
    return columns.once(ranks_of, lambda: _ranks(columns))


def _ranks(columns: EventColumns) -> np.ndarray:
    times = times_of(columns)
    if columns.events.schema.then_field is not None and times.size:
        moments = np.unique(times, return_inverse=True)[1].astype(np.int64)
        times = moments * (int(columns.ranks.max()) + 1) + columns.ranks
    if not is_sorted(times):
        return np.unique(times, return_inverse=True)[1].astype(np.int64)
    ranks = np.zeros(times.size, np.int64)
    np.cumsum(times[1:] != times[:-1], out=ranks[1:])
    return ranks


def _find(columns: EventColumns, session: Session) -> tuple[np.ndarray, Sessions]:
    """Return the positions of the events as int64[N], and the sessions.

    Events in no session have positions that they share with events of the first session.
    """
    times = times_of(columns)
    order = np.empty(0, np.int64) if is_sorted(times) else ascending(times)
    owners, size = _owners(columns, session)
    limits = np.array([session.gap, session.up_to or _NO_LIMIT, SESSION_POSITIONS])
    positions, bounds = np.empty(times.size, np.int64), np.empty((times.size, 2), np.int64)
    latest = np.full((size, 3), -1)
    count = find_sessions(order, times, owners, limits, latest, positions, bounds)
    if columns.events.schema.then_field is not None:  # the kernel has ranked times
        positions = positions // SESSION_POSITIONS * SESSION_POSITIONS + ranks_of(columns)
    starts, ends = bounds[:count].T.copy()
    return positions, Sessions(starts, ends)


def _owners(columns: EventColumns, session: Session) -> tuple[np.ndarray, int]:
    """Return the owner of each event as int64[N], -1 if it is in no session; and their number."""
    schema = columns.events.schema
    is_of = np.zeros(len(schema.types), np.bool_)
    is_of[[schema.type_codes[name] for name in session.types]] = True
    inside = is_of[plain_values(columns.events.table[TYPE_COLUMN], np.int32)]
    keys = (Key(name, schema.attributes[name], frozenset()) for name in session.keys)
    codes = [KeyCodes.of(key, columns) for key in keys]
    for each in codes:
        inside &= each.usable
    if len(codes) == 1:
        return np.where(inside, codes[0].values, -1).astype(np.int64), codes[0].size
    numbers, rows = numbered([each.values for each in codes], inside.size)
    return np.where(inside, numbers, -1), rows.size
