"""Run segment programs: prefix counts of many queries, advanced burst by burst.

A-Seq (Sharon, section 3.2) stores a count for each prefix of a pattern and each START event that
has not expired. An event of position j adds the counts of the prefix before it. Here a count is
stored for each *window begin* that has not expired, because START events between two window begins
expire together. So a prefix is a row with one lane per open window, and rows are added as vectors.
Sharon's shared segments (section 3.3) are next to each other in one row: one addition serves all
queries that share it. All values are linear, so COUNT(X) and SUM have separate lanes. MIN and MAX
have lanes of ranks, with minimum as the addition.

Events, bursts and output rows are the same as in the sweep (`sweep_program`). The sweep starts each
window from the beginning; here windows are lanes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.executors.linear.kernels.digits import is_zero
from elsinore.executors.linear.kernels.planes import (
    LIMIT,
    add_plane,
    add_up,
    any_trend,
    as_double,
    make_room,
    weigh_lanes,
)
from elsinore.executors.linear.kernels.sweep_program import (
    LONG,
    RANK,
    End,
    State,
    Total,
    burst_at,
    instant_at,
    single,
    weigh,
)
from elsinore.numbers.compiled import inlined, outlined, unlocked

#: A burst whose weights can add up to more is applied event by event.
_HEAVY = 2.0**61
_NO_RANK = np.iinfo(np.int64).max
_END_OF_TIME = np.iinfo(np.int64).max

#: Kinds of operations; C, D and R are lanes of counts, doubles and ranks of a row.
ADD = 0  # C += m * C
WEIGH = 1  # C += weight * C
ADD_DOUBLES = 2  # D += m * D
WEIGH_DOUBLES = 3  # D += weight * C
LOWER = 4  # R = min(R, R)
LOWER_OWN = 5  # R = min(R, own rank) if C is not 0

#: The row, of one lane, that START reads: it always counts one trend.
START = 0


class Op(IntEnum):
    """Columns of `Program.ops`.

    WEIGHT is an index of `Weighed.weights`, or of `Weighed.sums` for doubles. WINDOW determines the
    lane of the target: the window clause if the operation reads `START`, otherwise the number after
    the last clause.
    """

    KIND, TARGET, SOURCE, WIDTH, TARGET_ROW, SOURCE_ROW = range(6)
    WEIGHT, WINDOW, SCRATCH, SCRATCH_ROW = range(6, 10)


class EventClass(IntEnum):
    """Columns of `Program.classes`.

    BEGIN and END are the range of its operations. STAGED: an operation reads a row that an earlier
    one writes. APART: no operation reads a row that another one writes, so events at several
    timestamps can be applied together. WEIGHTED: an operation needs the weights of events.
    """

    BEGIN, END, STAGED, APART, WEIGHTED = range(5)


class Clause(IntEnum):
    """Columns of `Program.windows`.

    WITHIN, SLIDE, the number of open windows, the first and last requested window, the range of its
    queries, and the range of its columns of lanes.
    """

    WITHIN, SLIDE, OPEN, FIRST, LAST, QUERY, QUERY_END, COLUMN, COLUMN_END = range(9)


class Clock(IntEnum):
    """Columns of clocks: the newest window that has begun, its lane, the next window to close."""

    NEWEST, LANE, CLOSING = range(3)


#: Columns of `Program.columns`. `ROW` is a column of `Program.ends`, after the columns of `End`,
#: whose cells are lanes here.
KIND, LANE = range(2)
ROW = len(End)


class Lanes(NamedTuple):
    """The state of one partition: R rows, and after them one row of scratch per operation.

    Attributes:
        counts: int64[planes, *], see `planes`; doubles: float64[*]; ranks: int64[*].
        count_starts, double_starts, rank_starts: int64[R + O + 1], the first lane of each row.
        limbs: int64[R + O], planes in use by each row.
        bounds: float64[R + O], see `planes`; 0 for a row that counts nothing.
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
    """The operations of events, by class; O operations, W window clauses, Q queries.

    Attributes:
        rows: R, the number of rows without scratch.
        classes: int64[*, 5], see `EventClass`.
        ops: int64[*, 10], see `Op`; each class has separate rows.
        windows: int64[W, 9], see `Clause`.
        columns: int64[*, 2], the kind (`sweep_program.LONG` and so on) and the first lane of all
            columns of lanes, by window clause.
        totals: int64[Q, 4], see `sweep_program.Total`, by window clause.
        ends: int64[*, 4], see `End` and `ROW`.
    """

    rows: int
    classes: np.ndarray
    ops: np.ndarray
    windows: np.ndarray
    columns: np.ndarray
    totals: np.ndarray
    ends: np.ndarray


@unlocked
def run_lanes(program, lanes, events, offsets, clocks, weighed, found):
    """Write the rows of all windows of all partitions until the output is full.

    `lanes` must be clear, and are clear in the end. `offsets` are the first entries of the
    partitions. The last of the `clocks`, int64[W + 1, 3], never moves. Return whether all is done.
    If not, call again with rows to spare; `found.state` records where to continue.
    """
    state, rows = found.state, np.int64(0)
    partition, i = state[State.RUN], state[State.ENTRY]
    while partition < offsets.size - 1:
        end = offsets[partition + 1]
        if not state[State.BEGUN]:
            i = offsets[partition]
            if i == end:
                partition += 1
                continue
            _start_clocks(program, clocks, events.times[i])
            state[State.BEGUN] = 1
        while True:
            time = events.times[i] if i < end else _END_OF_TIME
            rows, upcoming = _tick(program, lanes, time, clocks, partition, found, rows)
            if upcoming < time:
                state[State.RUN], state[State.ENTRY], state[State.ROWS] = partition, i, rows
                return False
            if i == end:
                break
            i = _apply_events(program, lanes, events, i, end, upcoming, clocks, weighed)
        _clear_rows(program, lanes)
        partition += 1
        state[State.BEGUN] = 0
    state[State.RUN], state[State.ROWS] = partition, rows
    return True


# ---- the effects of events


@inlined
def _apply_events(program, lanes, events, first, after, end, clocks, weighed):
    """Apply the events before `end` to the lanes; return the first entry at or after `end`."""
    i = first
    while i < after and events.times[i] < end:
        number = events.class_of[events.codes[i]]
        if number < 0:
            i += 1
            continue
        if program.classes[number, EventClass.APART]:
            burst = burst_at(events, i, after, end)
        else:
            burst = instant_at(events, i, after)
        if _is_simple(program, events, number, burst, weighed):
            _run_operations(program, lanes, number, burst.length, clocks, weighed, False)
        else:
            _apply_staged(program, lanes, events, burst, clocks, weighed)
        i = burst.after
    return i


@inlined
def _is_simple(program, events, number, burst, weighed):
    """Return whether a burst needs only one run of its class's operations; if so, it is weighed."""
    if burst.length == 0 or program.classes[number, EventClass.STAGED]:
        return False
    if program.classes[number, EventClass.WEIGHTED]:
        weigh(events, burst, weighed, _NO_RANK)
        for n in range(weighed.heavy.size if burst.length > 1 else 0):
            if weighed.heavy[n] >= _HEAVY:
                return False
    return True


@outlined
def _apply_staged(program, lanes, events, burst, clocks, weighed):
    """Apply each event of a burst; all sources are read before any target is written."""
    for i in range(burst.first, burst.after):
        number = events.class_of[events.codes[i]]
        if number >= 0:
            _copy_sources(program, lanes, number)
    for i in range(burst.first, burst.after):
        number = events.class_of[events.codes[i]]
        if number >= 0:
            if program.classes[number, EventClass.WEIGHTED]:
                weigh(events, single(i), weighed, _NO_RANK)
            _run_operations(program, lanes, number, np.int64(1), clocks, weighed, True)


@inlined
def _copy_sources(program, lanes, number):
    """Copy the sources of a class's operations to their rows of scratch."""
    begin, end = program.classes[number, EventClass.BEGIN], program.classes[number, EventClass.END]
    for n in range(begin, end):
        op = program.ops[n]
        row, copy = op[Op.SOURCE_ROW], op[Op.SCRATCH_ROW]
        lanes.bounds[copy], lanes.limbs[copy] = lanes.bounds[row], lanes.limbs[row]
        if lanes.bounds[row] == 0.0:
            continue
        to, origin, size = np.uintp(op[Op.SCRATCH]), np.uintp(op[Op.SOURCE]), np.uintp(op[Op.WIDTH])
        if op[Op.KIND] == ADD_DOUBLES:
            for lane in range(size):
                lanes.doubles[to + lane] = lanes.doubles[origin + lane]
        elif op[Op.KIND] == LOWER:
            for lane in range(size):
                lanes.ranks[to + lane] = lanes.ranks[origin + lane]
        else:
            for plane in range(np.uintp(lanes.limbs[row])):
                for lane in range(size):
                    lanes.counts[plane, to + lane] = lanes.counts[plane, origin + lane]


@inlined
def _run_operations(program, lanes, number, count, clocks, weighed, staged):
    """Run a class's operations for `count` events; `staged` reads the copies of the sources."""
    begin, end = program.classes[number, EventClass.BEGIN], program.classes[number, EventClass.END]
    for n in range(begin, end):
        op = program.ops[n]
        source_row = op[Op.SCRATCH_ROW] if staged else op[Op.SOURCE_ROW]
        if lanes.bounds[source_row] == 0.0:
            continue
        source = op[Op.SCRATCH] if staged else op[Op.SOURCE]
        target = op[Op.TARGET] + clocks[op[Op.WINDOW], Clock.LANE]
        if op[Op.KIND] != ADD:
            _weigh_operation(lanes, op, target, source, source_row, count, weighed)
            continue
        target_row = op[Op.TARGET_ROW]
        added = lanes.bounds[source_row] * count
        if lanes.bounds[target_row] + added >= LIMIT or added >= LIMIT / 2:
            added = make_room(
                lanes.counts, lanes.count_starts, lanes.limbs, lanes.bounds,
                target_row, source_row, np.float64(count),
            )  # fmt: skip
        lanes.bounds[target_row] += added
        limbs = lanes.limbs[source_row]
        lanes.limbs[target_row] = max(lanes.limbs[target_row], limbs)
        for plane in range(np.uintp(limbs)):
            add_plane(lanes.counts, plane, target, plane, source, op[Op.WIDTH], count)


@outlined
def _weigh_operation(lanes, op, target, source, source_row, count, weighed):
    """Run an operation of a sum or an extreme."""
    kind, width, number = op[Op.KIND], op[Op.WIDTH], op[Op.WEIGHT]
    if kind == WEIGH:
        if weighed.weights[number] != 0:
            weigh_lanes(
                lanes.counts, lanes.count_starts, lanes.limbs, lanes.bounds,
                op[Op.TARGET_ROW], source_row, target, source, width, weighed.weights[number],
            )  # fmt: skip
    elif kind == ADD_DOUBLES:
        for lane in range(np.uintp(width)):
            more = lanes.doubles[np.uintp(source) + lane]
            lanes.doubles[np.uintp(target) + lane] += np.float64(count) * more
    elif kind == WEIGH_DOUBLES:
        _weigh_doubles(lanes, target, source, source_row, width, weighed.sums[number])
    elif kind == LOWER:
        to, origin = np.uintp(target), np.uintp(source)
        for lane in range(np.uintp(width)):
            lanes.ranks[to + lane] = min(lanes.ranks[to + lane], lanes.ranks[origin + lane])
    else:
        rank = weighed.weights[number]
        for lane in range(width):
            if any_trend(lanes.counts, source + lane, lanes.limbs[source_row]):
                lanes.ranks[target + lane] = min(lanes.ranks[target + lane], rank)


@inlined
def _weigh_doubles(lanes, target, source, source_row, width, weight):
    if weight == 0.0:
        return
    for lane in range(width):  # an infinite weight of 0 trends is 0, not NaN
        if any_trend(lanes.counts, source + lane, lanes.limbs[source_row]):
            value = as_double(lanes.counts, source + lane, lanes.limbs[source_row])
            lanes.doubles[target + lane] += weight * value


# ---- windows: lanes open, windows close and write their rows
#
# A START event counts in the lane of the newest window that has begun. At the end of a window, its
# row is the sum of its lane and of the lanes of all later windows that have begun.


@inlined
def _start_clocks(program, clocks, time):
    """Set the clocks to a timestamp, with nothing to close and nothing to clear."""
    for w in range(program.windows.shape[0]):
        clocks[w, Clock.NEWEST] = time // program.windows[w, Clause.SLIDE]
        clocks[w, Clock.CLOSING] = clocks[w, Clock.NEWEST] + 1


@outlined
def _tick(program, lanes, time, clocks, partition, found, rows):
    """Advance all clocks to a timestamp.

    Returns:
        The number of rows written so far, and the next time at which a window begins or ends. An
        earlier time means that the output has no room for a window's rows.
    """
    upcoming = _END_OF_TIME
    for w in range(program.windows.shape[0]):
        clause, clock = program.windows[w], clocks[w]
        within, slide, newest = clause[Clause.WITHIN], clause[Clause.SLIDE], clock[Clock.NEWEST]
        closing = clock[Clock.CLOSING]
        while closing <= newest and closing * slide + within <= time:
            if clause[Clause.FIRST] <= closing <= clause[Clause.LAST]:
                queries = clause[Clause.QUERY_END] - clause[Clause.QUERY]
                if rows + queries > found.keys.shape[0]:
                    clock[Clock.CLOSING] = closing
                    return rows, time - 1
                rows = _close(program, lanes, clause, closing, newest, partition, found, rows)
            closing += 1
        clock[Clock.CLOSING] = closing
        if time == _END_OF_TIME:
            continue
        number = time // slide
        for opened in range(max(newest, number - clause[Clause.OPEN]) + 1, number + 1):
            _clear_lane(program, lanes, clause, opened % clause[Clause.OPEN])
        clock[Clock.NEWEST], clock[Clock.LANE] = number, number % clause[Clause.OPEN]
        clock[Clock.CLOSING] = closing = (time - within) // slide + 1
        upcoming = min(upcoming, (number + 1) * slide, closing * slide + within)
    return rows, upcoming


@inlined
def _close(program, lanes, clause, number, newest, partition, found, rows):
    """Write the rows of a window's queries that have a trend; return the total number of rows."""
    width = clause[Clause.OPEN]
    for query in range(clause[Clause.QUERY], clause[Clause.QUERY_END]):
        total = program.totals[query]
        row = program.ends[total[Total.BEGIN], ROW]
        if lanes.bounds[row] == 0.0:
            continue
        limbs, longs, key = lanes.limbs[row], found.longs[rows], found.keys[rows]
        base = program.ends[total[Total.BEGIN], End.CELL]
        add_up(lanes.counts, base, limbs, width, number, newest, longs[0])
        if is_zero(longs, 0):
            continue
        key[0], key[1], key[2] = partition, number, query
        for n in range(total[Total.NEXT_BEGIN], total[Total.NEXT_END]):
            base, column = program.ends[n, End.CELL], program.ends[n, End.COLUMN]
            if program.ends[n, End.KIND] == LONG:
                add_up(lanes.counts, base, limbs, width, number, newest, longs[column])
            elif program.ends[n, End.KIND] == RANK:
                for begun in range(number, newest + 1):
                    rank = lanes.ranks[base + begun % width]
                    found.ranks[rows, column] = min(found.ranks[rows, column], rank)
            else:
                for begun in range(number, newest + 1):
                    found.sums[rows, column, 0] += lanes.doubles[base + begun % width]
        rows += 1
    return rows


@inlined
def _clear_lane(program, lanes, clause, lane):
    """Remove the START events of an expired lane."""
    planes = 1
    for row in range(program.rows):
        planes = max(planes, lanes.limbs[row])
    for n in range(clause[Clause.COLUMN], clause[Clause.COLUMN_END]):
        kind, cleared = program.columns[n, KIND], program.columns[n, LANE] + lane
        if kind == LONG:
            for plane in range(planes):
                lanes.counts[plane, cleared] = 0
        elif kind == RANK:
            lanes.ranks[cleared] = _NO_RANK
        else:
            lanes.doubles[cleared] = 0.0


@outlined
def _clear_rows(program, lanes):
    """Clear the rows that were written, so that the next partition can begin."""
    for row in range(START + 1, program.rows):
        if lanes.bounds[row] == 0.0:
            continue
        for plane in range(lanes.limbs[row]):
            lanes.counts[plane, lanes.count_starts[row] : lanes.count_starts[row + 1]] = 0
        lanes.doubles[lanes.double_starts[row] : lanes.double_starts[row + 1]] = 0.0
        lanes.ranks[lanes.rank_starts[row] : lanes.rank_starts[row + 1]] = _NO_RANK
        lanes.limbs[row] = 1
        lanes.bounds[row] = 0.0
