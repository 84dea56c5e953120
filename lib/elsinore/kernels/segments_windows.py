"""Windows of segment programs: lanes that open, windows that close and give their rows.

The lane of a START event is that of the newest window that had begun by then. A window's row is the
sum over the lanes of that window and of all that began after it, taken at the window's end.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.segments_lanes import DIGIT

#: Columns of `Program.windows`.
WITHIN, SLIDE, OPEN, FIRST, LAST = range(5)
_NO_RANK = np.iinfo(np.int64).max


class Clock(IntEnum):
    """Columns of clocks: newest window begun, its lane, whether the clock runs, next to close."""

    NEWEST, LANE, RUNS, CLOSING = range(4)


class Final(IntEnum):
    """Columns of `Program.finals`; of counts, doubles and ranks the first lane and the columns."""

    WINDOW, ROW, COUNT_LANE, COUNTS, DOUBLE_LANE, DOUBLES, RANK_LANE, RANKS = range(8)


@outlined
def tick(program, lanes, time, clocks, partition, found, written):
    """Move all clocks to an instant.

    Returns:
        The number of rows written by now, and the next instant at which a window begins or ends.
    """
    last_instant = np.iinfo(np.int64).max
    upcoming = last_instant
    for w in range(program.windows.shape[0]):
        within, slide, lanes_open = (
            program.windows[w, WITHIN], program.windows[w, SLIDE], program.windows[w, OPEN],
        )  # fmt: skip
        newest = clocks[w, Clock.NEWEST]
        number = time // slide
        if clocks[w, Clock.RUNS] == 0:
            clocks[w, Clock.RUNS] = 1
        else:
            closing = clocks[w, Clock.CLOSING]
            while closing <= newest and (time == last_instant or closing * slide + within <= time):
                if program.windows[w, FIRST] <= closing <= program.windows[w, LAST]:
                    written = _close(program, lanes, w, closing, newest, partition, found, written)
                closing += 1
            if time == last_instant:
                continue
            for opened in range(max(newest + 1, number - lanes_open + 1), number + 1):
                _clear_lane(program, lanes, w, opened % lanes_open)
        clocks[w, Clock.NEWEST] = number
        clocks[w, Clock.LANE] = number % lanes_open
        closing = (time - within) // slide + 1
        clocks[w, Clock.CLOSING] = closing
        upcoming = min(upcoming, (number + 1) * slide, closing * slide + within)
    return written, upcoming


@inlined
def _close(program, lanes, window, number, newest, partition, found, written):
    """Write the rows of a window's queries that have a trend."""
    lanes_open = program.windows[window, OPEN]
    for q in range(program.final_starts[window], program.final_starts[window + 1]):
        row, base = program.finals[q, Final.ROW], program.finals[q, Final.COUNT_LANE]
        if lanes.bounds[row] == 0.0:
            continue
        limbs = lanes.limbs[row]
        if not _total(lanes, base, limbs, number, newest, lanes_open, found.counts[written, 0]):
            continue
        key = found.keys[written]
        key[0], key[1], key[2] = partition, number, q
        for k in range(1, program.finals[q, Final.COUNTS]):
            first = base + k * lanes_open
            _total(lanes, first, limbs, number, newest, lanes_open, found.counts[written, k])
        for k in range(program.finals[q, Final.DOUBLES]):
            value = 0.0
            for begun in range(number, newest + 1):
                lane = program.finals[q, Final.DOUBLE_LANE] + k * lanes_open + begun % lanes_open
                value += lanes.doubles[lane]
            found.doubles[written, k] = value
        for k in range(program.finals[q, Final.RANKS]):
            rank = _NO_RANK
            for begun in range(number, newest + 1):
                lane = program.finals[q, Final.RANK_LANE] + k * lanes_open + begun % lanes_open
                rank = min(rank, lanes.ranks[lane])
            found.ranks[written, k] = rank
        written += 1
    return written


@inlined
def _total(lanes, base, limbs, number, newest, lanes_open, out):
    """Sum lanes into digits of 30 bits, the last one signed; whether it is not 0."""
    out[:] = 0
    for plane in range(limbs):
        for begun in range(number, newest + 1):
            value = lanes.counts[plane, base + begun % lanes_open]
            high = value >> DIGIT
            out[plane] += value - (high << DIGIT)
            out[plane + 1] += high
    some = False
    for digit in range(out.size - 1):
        carried = out[digit] >> DIGIT
        out[digit] -= carried << DIGIT
        out[digit + 1] += carried
        some |= out[digit] != 0
    return some or out[out.size - 1] != 0


@inlined
def _clear_lane(program, lanes, window, lane):
    """Forget the START events of an expired lane."""
    low, high = program.count_column_starts[window], program.count_column_starts[window + 1]
    planes = 1
    for row in range(program.rows):
        planes = max(planes, lanes.limbs[row])
    for plane in range(planes):
        for column in range(low, high):
            lanes.counts[plane, program.count_columns[column] + lane] = 0
    low, high = program.double_column_starts[window], program.double_column_starts[window + 1]
    for column in range(low, high):
        lanes.doubles[program.double_columns[column] + lane] = 0.0
    low, high = program.rank_column_starts[window], program.rank_column_starts[window + 1]
    for column in range(low, high):
        lanes.ranks[program.rank_columns[column] + lane] = _NO_RANK


@outlined
def reset_partition(program, lanes):
    """Clear the rows that were written, so that the next partition can begin."""
    for row in range(program.rows):
        if lanes.bounds[row] == 0.0:
            continue
        for plane in range(lanes.limbs[row]):
            lanes.counts[plane, lanes.count_starts[row] : lanes.count_starts[row + 1]] = 0
        lanes.doubles[lanes.double_starts[row] : lanes.double_starts[row + 1]] = 0.0
        lanes.ranks[lanes.rank_starts[row] : lanes.rank_starts[row + 1]] = _NO_RANK
        lanes.limbs[row] = 1
        lanes.bounds[row] = 0.0
