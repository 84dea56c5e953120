"""Add participating events to rows: sums, extremes, and lists of events."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.executors.kinds import Kind
from elsinore.numbers.compiled import outlined

#: The code of accumulators whose events are listed. Others have the code of their `Kind`.
LISTED = len(Kind)

#: Integers are added up in two parts: this number of low bits, and the rest.
PART = 32
_LOW = (1 << PART) - 1
#: Sums of doubles are also added up with this factor, in case they overflow.
SCALE = 64
_SCALED = 2.0**-SCALE


class Asked(NamedTuple):
    """The K accumulators.

    Attributes:
        state_start, accumulators: int64[S + 1] and int64[*], the accumulators that count the events
            of each state.
        columns: int64[K, 3], kind, column of weights (-1 if each event adds 1), column of the row.
        listed: int64[1], number of accumulators of the kind `LISTED`.
    """

    state_start: np.ndarray
    accumulators: np.ndarray
    columns: np.ndarray
    listed: np.ndarray


class Weights(NamedTuple):
    """The weights of N events: int64[*, N], float64[*, N], int64[*, N]."""

    longs: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray


class At(IntEnum):
    """Indices of `Members.state`: where to continue, and how much is written."""

    RUN, ENTRY, NUMBER, BEGUN, ROWS, LISTED = range(6)


class Members(NamedTuple):
    """Rows of windows with a trend.

    Attributes:
        keys: int64[R, 3], see `window_rows.WindowRows`.
        longs: int64[R, *, 2], the high and low parts of integers.
        sums: float64[R, *, 2], sums of doubles, and the same scaled by `2**-SCALE`.
        ranks: int64[R, *].
        events: int64[*, 3], the participating events of `LISTED` accumulators: the row, the
            accumulator, the event.
        state: int64[*], see `At`.
    """

    keys: np.ndarray
    longs: np.ndarray
    sums: np.ndarray
    ranks: np.ndarray
    events: np.ndarray
    state: np.ndarray


@outlined
def add_member(columns, k, weights, event, members):
    """Add an event to an accumulator of the row that is being written.

    Args:
        columns: see `Asked`.
        k: the accumulator.
        weights: named tuple with the fields of `Weights`.
        event: the number of the event there.
        members: the rows.
    """
    row, kind, source, column = members.state[At.ROWS], columns[k, 0], columns[k, 1], columns[k, 2]
    if kind == Kind.INTEGER:
        value = weights.longs[source, event] if source >= 0 else np.int64(1)
        members.longs[row, column, 0] += value >> PART
        members.longs[row, column, 1] += value & _LOW
    elif kind == Kind.DOUBLE:
        members.sums[row, column, 0] += weights.doubles[source, event]
        members.sums[row, column, 1] += weights.doubles[source, event] * _SCALED
    elif kind == Kind.RANK:
        rank = weights.ranks[source, event]
        if rank < members.ranks[row, column]:
            members.ranks[row, column] = rank
    else:
        number = members.state[At.LISTED]
        listed = members.events[number]
        listed[0], listed[1], listed[2] = row, k, event
        members.state[At.LISTED] += 1
