"""Runs segment programs: prefix counts of many queries, advanced event by event.

A-Seq (Sharon section 3.2) keeps, for each prefix of a pattern and each START event that has not
expired, a count; an event of position j adds the counts of the prefix before it. Here a count is
kept for each *window begin* that has not expired, since START events between two window begins
expire together: a row of as many lanes as windows are open at once, added as one vector. Sharon's
shared segments (section 3.3) stand side by side in one row: one addition for all queries that
share it. All that is kept is linear, so COUNT(X) and SUM ride in lanes of their own; MIN and MAX
ride as (min, min) in lanes of ranks.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined, kernel, outlined
from elsinore.kernels.segments_lanes import (
    DIGIT,
    LIMIT,
    add_lanes,
    any_trend,
    as_double,
    make_room,
    weigh_lanes,
)

#: Columns of `Program.ops`.
KIND, TARGET, SOURCE, WIDTH, TARGET_ROW, SOURCE_ROW, WEIGHT, WINDOW, SCRATCH = range(9)


class Kind(IntEnum):
    """What an operation does; C, D and R are lanes of counts, doubles and ranks."""

    ADD = 0  # C += m * C
    START = 1  # C of the newest window += m
    WEIGH = 2  # C += weight * C
    START_WEIGHED = 3  # C of the newest window += weight
    ADD_DOUBLES = 4  # D += m * D
    WEIGH_DOUBLES = 5  # D += weight * C
    START_DOUBLES = 6  # D of the newest window += weight
    LOWER = 7  # R = min(R, R)
    LOWER_OWN = 8  # R = min(R, own rank) where C counts any
    START_OWN = 9  # R of the newest window = min(R, own rank)


_ADD, _START, _WEIGH, _START_W, _ADD_D, _WEIGH_D, _START_D, _LOWER, _LOWER_OWN, _START_OWN = map(
    int, Kind
)


class Lanes(NamedTuple):
    """The state of one partition; R rows, and after them one row of scratch an operation.

    Attributes:
        counts: int64[planes, *], see `segments_lanes`.
        doubles: float64[*].
        ranks: int64[*].
        count_starts, double_starts, rank_starts: int64[R + O + 1], where each row begins.
        limbs: int64[R + O], planes that a row has taken.
        bounds: float64[R + O], see `segments_lanes`; 0 for a row that counts nothing.
    """

    counts: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray
    count_starts: np.ndarray
    double_starts: np.ndarray
    rank_starts: np.ndarray
    limbs: np.ndarray
    bounds: np.ndarray


class Program(NamedTuple):
    """What events do, by symbol; Y symbols, O operations, W window clauses, Q queries.

    Attributes:
        rows: R, the number of rows without scratch.
        ops: int64[O, 9], columns as above.
        op_starts: int64[Y + 1], where each symbol's operations begin.
        staged: bool[Y]: some operation reads what another one of the symbol writes.
        windows: int64[W, 5]: WITHIN, SLIDE, open windows at once, first and last window asked for.
        count_columns, double_columns, rank_columns: int64[*], where columns of lanes begin, by
            window clause; count_column_starts, ...: int64[W + 1].
        finals: int64[Q, 8], the queries' last positions, by window clause: see
            `Final`.
        final_starts: int64[W + 1].
    """

    rows: int
    ops: np.ndarray
    op_starts: np.ndarray
    staged: np.ndarray
    windows: np.ndarray
    count_columns: np.ndarray
    double_columns: np.ndarray
    rank_columns: np.ndarray
    count_column_starts: np.ndarray
    double_column_starts: np.ndarray
    rank_column_starts: np.ndarray
    finals: np.ndarray
    final_starts: np.ndarray


class Found(NamedTuple):
    """Result rows to write to: `(partition, window, query)`, digits of counts, doubles, ranks."""

    keys: np.ndarray
    counts: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray


@kernel
def run_steps(program, lanes, steps, first, last, clocks, copied, found):
    """Run the partitions `first` to `last - 1`; all lanes are clear before and after.

    Args:
        program: what events do.
        lanes: the state.
        steps: the events, see `segments_steps`.
        first: the first partition.
        last: the partition to stop before.
        clocks: int64[W, 4], scratch, see `Clock`.
        copied: int64[Y], scratch of -1.
        found: rows to write to; the caller has seen to it that there are enough.

    Returns:
        The number of rows written.
    """
    written = 0
    end_of_time = np.iinfo(np.int64).max
    for partition in range(first, last):
        begin, end = steps.group_offsets[partition], steps.group_offsets[partition + 1]
        if begin == end:
            continue
        clocks[:, Clock.RUNS] = 0
        next_tick = np.iinfo(np.int64).min
        for group in range(begin, end):
            time = steps.instants[group]
            if time >= next_tick:
                written, next_tick = tick(program, lanes, time, clocks, partition, found, written)
            step, after = steps.groups[group], steps.groups[group + 1]
            symbol = steps.symbols[step]
            if after == step + 1 and not program.staged[symbol]:
                for op in range(program.op_starts[symbol], program.op_starts[symbol + 1]):
                    _apply(program, lanes, steps, step, op, clocks, False)
            else:
                _apply_staged(program, lanes, steps, step, after, group, clocks, copied)
        written, _ = tick(program, lanes, end_of_time, clocks, partition, found, written)
        reset_partition(program, lanes)
    return written


@outlined
def _apply_staged(program, lanes, steps, step, after, group, clocks, copied):
    """Read all sources of an instant before any target is written."""
    for i in range(step, after):
        symbol = steps.symbols[i]
        if copied[symbol] != group:
            copied[symbol] = group
            for op in range(program.op_starts[symbol], program.op_starts[symbol + 1]):
                _copy_source(program, lanes, op)
    for i in range(step, after):
        symbol = steps.symbols[i]
        for op in range(program.op_starts[symbol], program.op_starts[symbol + 1]):
            _apply(program, lanes, steps, i, op, clocks, True)


@inlined
def _copy_source(program, lanes, op):
    kind, source = program.ops[op, KIND], program.ops[op, SOURCE]
    row, width = program.ops[op, SOURCE_ROW], program.ops[op, WIDTH]
    scratch = program.ops[op, SCRATCH]
    if row < 0:
        return
    lanes.bounds[program.rows + op] = lanes.bounds[row]
    lanes.limbs[program.rows + op] = lanes.limbs[row]
    if lanes.bounds[row] == 0.0:
        return
    to, origin, size = np.uintp(scratch), np.uintp(source), np.uintp(width)
    if kind == _ADD_D:
        for lane in range(size):
            lanes.doubles[to + lane] = lanes.doubles[origin + lane]
    elif kind == _LOWER:
        for lane in range(size):
            lanes.ranks[to + lane] = lanes.ranks[origin + lane]
    else:
        for plane in range(np.uintp(lanes.limbs[row])):
            for lane in range(size):
                lanes.counts[plane, to + lane] = lanes.counts[plane, origin + lane]


@inlined
def _apply(program, lanes, steps, step, op, clocks, staged):
    """One operation for one step; `staged` reads the copy of the source."""
    ops = program.ops
    kind, target, width = ops[op, KIND], ops[op, TARGET], ops[op, WIDTH]
    target_row = ops[op, TARGET_ROW]
    source, source_row = ops[op, SOURCE], ops[op, SOURCE_ROW]
    if source_row >= 0:
        if staged:
            source, source_row = ops[op, SCRATCH], program.rows + op
        if lanes.bounds[source_row] == 0.0:
            return
    if kind == _ADD:
        count = steps.counts[step]
        added = lanes.bounds[source_row] * count
        if lanes.bounds[target_row] + added >= LIMIT or added >= LIMIT / 2:
            added = make_room(
                lanes.counts, lanes.count_starts, lanes.limbs, lanes.bounds,
                target_row, source_row, np.float64(count),
            )  # fmt: skip
        lanes.bounds[target_row] += added
        limbs = lanes.limbs[source_row]
        lanes.limbs[target_row] = max(lanes.limbs[target_row], limbs)
        add_lanes(lanes.counts, target, source, width, limbs, count)
    elif kind == _START:
        count = steps.counts[step]
        if lanes.bounds[target_row] + count >= LIMIT:
            make_room(
                lanes.counts, lanes.count_starts, lanes.limbs, lanes.bounds,
                target_row, -1, np.float64(count),
            )  # fmt: skip
        lanes.bounds[target_row] += count
        lanes.counts[0, target + clocks[ops[op, WINDOW], Clock.LANE]] += count
    else:
        _apply_weighed(program, lanes, steps, step, op, clocks, source, source_row)


@outlined
def _apply_weighed(  # noqa: C901 (one case a kind)
    program, lanes, steps, step, op, clocks, source, source_row
):
    """The operations of sums and extremes."""
    ops = program.ops
    kind, target, width, number = (
        ops[op, KIND], ops[op, TARGET], ops[op, WIDTH], ops[op, WEIGHT],
    )  # fmt: skip
    if source_row < 0:
        target += clocks[ops[op, WINDOW], Clock.LANE]
    if kind in (_WEIGH, _START_W):
        weight = steps.counts[step] if number < 0 else steps.longs[number, step]
        if weight != 0:
            weigh_lanes(
                lanes.counts, lanes.count_starts, lanes.limbs, lanes.bounds,
                ops[op, TARGET_ROW], source_row, target, source, width, weight,
            )  # fmt: skip
    elif kind == _ADD_D:
        count = np.float64(steps.counts[step])
        for lane in range(np.uintp(width)):
            lanes.doubles[np.uintp(target) + lane] += count * lanes.doubles[np.uintp(source) + lane]
    elif kind == _WEIGH_D:
        _weigh_doubles(lanes, target, source, source_row, width, steps.doubles[number, step])
    elif kind == _START_D:
        lanes.doubles[target] += steps.doubles[number, step]
    elif kind == _LOWER:
        to, origin = np.uintp(target), np.uintp(source)
        for lane in range(np.uintp(width)):
            lanes.ranks[to + lane] = min(lanes.ranks[to + lane], lanes.ranks[origin + lane])
    elif kind == _LOWER_OWN:
        rank = steps.ranks[number, step]
        for lane in range(width):
            if any_trend(lanes.counts, source + lane, lanes.limbs[source_row]):
                lanes.ranks[target + lane] = min(lanes.ranks[target + lane], rank)
    else:
        lanes.ranks[target] = min(lanes.ranks[target], steps.ranks[number, step])


@inlined
def _weigh_doubles(lanes, target, source, source_row, width, weight):
    if weight == 0.0:
        return
    for lane in range(width):  # an infinite weight of no trend is nothing, not NaN
        if any_trend(lanes.counts, source + lane, lanes.limbs[source_row]):
            value = as_double(lanes.counts, source + lane, lanes.limbs[source_row])
            lanes.doubles[target + lane] += weight * value


# ---- windows: lanes that open, windows that close and give their rows
#
# The lane of a START event is that of the newest window that had begun by then. A window's row is
# the sum over the lanes of that window and of all that began after it, taken at the window's end.

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
