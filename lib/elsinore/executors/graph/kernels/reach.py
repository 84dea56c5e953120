"""Find the events that participate in trends, by a pass forward and a pass backward.

An event is **reached** if a trend can begin with it, or if a reached event can come right before
it. A reached event **leads** to an end if a trend can end with it, or if a leading event can come
right after it. Leading events participate. Both passes read the pairs of events that `propagate`
reads, but they need no counts. The check of a transition depends on its condition:

- none: whether there is such an event
- a floor: the time of the newest reached event, or the floor of the oldest leading event
- a comparison of order: the least value of reached events, or the greatest one of leading events
- a comparison for equality: a mark per value
- any other program: forward, the pairs up to the first hit; backward, the pairs with reached events
  that are not yet known to lead to an end

Under skip-till-next-match, all events that can come after an event have one time. If a timestamp
closes all events of a state, both passes drop what they know of its transitions. If events close
one by one, the forward pass lists the events that each timestamp closes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.graph import NONE
from elsinore.executors.graph.kernels.guards import Guards, may_end, may_start, run_guards
from elsinore.executors.graph.kernels.pairs import Pairs, find_pairs
from elsinore.executors.graph.kernels.upkeep import Upkeep
from elsinore.executors.input.kernels.anchors import limits_of
from elsinore.executors.input.kernels.pair_program import BLOCK
from elsinore.executors.output.kernels.members import At, add_member
from elsinore.numbers.borrowed import borrow
from elsinore.numbers.compiled import brief, inlined, outlined

#: Size of the first block of pairs in the search for a hit; the next ones are larger.
_FIRST = 8


class Check(IntEnum):
    """How a transition is checked; `ONE_BY_ONE` if the earlier events close one by one."""

    ALWAYS, FLOOR, ORDER, EQUAL, PAIRS, ONE_BY_ONE = range(6)


class Checks(NamedTuple):
    """The checks of T transitions over N entries.

    Attributes:
        kinds: int64[T], see `Check`.
        floors: int64[T], the floor of `FLOOR`, and of `PAIRS` if there is one; otherwise -1.
        sources, targets: int64[T], the row of `values` with the value of the earlier and of the
            later event, for `ORDER` and `EQUAL`.
        strict: bool[T], for `ORDER`: the earlier value is less; otherwise less or equal.
        marks: int64[T], for `EQUAL`: the row of `ReachWork.marks`.
        values: int64[*, N], in the order of comparison; numbers from 0 for `EQUAL`.
        usable: bool[*, N], whether an entry has a value.
        out_start, outs: int64[S + 1] and int64[T], the transitions from each state.
        listed: bool[S], whether the reached events of a state are listed.
    """

    kinds: np.ndarray
    floors: np.ndarray
    sources: np.ndarray
    targets: np.ndarray
    strict: np.ndarray
    marks: np.ndarray
    values: np.ndarray
    usable: np.ndarray
    out_start: np.ndarray
    outs: np.ndarray
    listed: np.ndarray


class ReachWork(NamedTuple):
    """Scratch for windows of up to W entries.

    Attributes:
        members: int64[S, W], the listed entries by state, in time order; member_count: int64[S].
        reached, leads: bool[W].
        newest: int64[S], time of the newest reached event; `NONE` if there is none.
        known: bool[T], whether the pass has met an event at the transition's near end.
        best: int64[T], the best value or floor of these events.
        marks: int64[*, *], the pass that met each value last.
        closed: int64[W], the timestamp that closes an entry, as an index of entries; -1 for none.
        closed_first: int64[W], an entry that a timestamp closes; closed_next: int64[W], the next
            such entry; -1 for none.
        chosen: int64[W].
        read_row: int64[K], the row of `read` for accumulators that could read an event twice; -1
            for the others. read: int64[*, *], the window that read each event last.
        seen: int64[N], the row that read each entry last; of size 0 if each window is a row.
        windows: int64[2], number of windows and of rows so far.

    The other fields are defined in the modules of their types.
    """

    upkeep: Upkeep
    pairs: Pairs
    guards: Guards
    members: np.ndarray
    member_count: np.ndarray
    reached: np.ndarray
    leads: np.ndarray
    newest: np.ndarray
    known: np.ndarray
    best: np.ndarray
    marks: np.ndarray
    closed: np.ndarray
    closed_first: np.ndarray
    closed_next: np.ndarray
    chosen: np.ndarray
    read_row: np.ndarray
    read: np.ndarray
    seen: np.ndarray
    windows: np.ndarray


@brief
def find_reached(in_graph, spans, in_checks, in_work, in_asked, in_weights, rows_of, in_members):
    """Write a row for each window with a trend; return whether all windows are done.

    `spans` are int64[R, 4], see `entries.fill_spans`. With int64[R, 8], see `anchors.fill_anchors`,
    consecutive windows of a partition and period share a row. `rows_of` is int64[N], the event of
    each entry. If `members` has no room for a window, the next call continues there. It can write
    a second row of the same period, for other events.
    """
    graph, checks, work = borrow(in_graph), borrow(in_checks), borrow(in_work)
    asked, weights, members = borrow(in_asked), borrow(in_weights), borrow(in_members)
    state = members.state
    while state[At.RUN] < spans.shape[0]:
        span = spans[state[At.RUN]]
        low, high = span[0], span[1]
        room = members.events.shape[0] - state[At.LISTED]
        if state[At.ROWS] == members.keys.shape[0] or room < (high - low) * asked.listed[0]:
            return False
        start, start_end, last, last_end = limits_of(spans, state[At.RUN])
        work.windows[0] += 1
        if not _continues(spans, state[At.RUN]):
            work.windows[1] += 1
        _begin(graph, work, low, high)
        _go_forward(graph, checks, work, low, high, start, start_end)
        if _find_ends(graph, checks, work, low, high, last, last_end):
            _go_backward(graph, checks, work, low, high)
            row = state[At.ROWS]
            if row and members.keys[row - 1, 0] == span[2] and members.keys[row - 1, 1] == span[3]:
                row -= 1
            members.keys[row, 0], members.keys[row, 1] = span[2], span[3]
            state[At.ROWS] = row
            _add_members(graph, asked, weights, work, rows_of, low, high, members)
            state[At.ROWS] = row + 1
        state[At.RUN] += 1
    return True


@inlined
def _continues(spans, row):
    """Return whether a window is of the same partition and period as the one before it."""
    before = spans[max(row - 1, 0)]
    return row > 0 and before[2] == spans[row, 2] and before[3] == spans[row, 3]


@outlined
def _begin(graph, work, low, high):
    if work.upkeep.floor_level.size:
        run_guards(
            graph, work.upkeep, work.guards, work.pairs, work.members, work.member_count, low, high
        )
    for state in range(work.newest.size):
        work.newest[state] = NONE
        work.member_count[state] = 0
    for t in range(work.known.size):
        work.known[t] = False
    if work.closed.size:
        for place in range(high - low):
            work.closed[place] = work.closed_first[place] = -1


# ---- forward


@outlined
def _go_forward(graph, checks, work, low, high, start, start_end):
    """Find the reached events; only entries from `start` to before `start_end` start trends."""
    stamp = 2 * work.windows[0]
    first = low
    while first < high:
        after = first + 1
        while after < high and graph.times[after] == graph.times[first]:
            after += 1
        for entry in range(first, after):
            in_trend = graph.guard_of[graph.states[entry]] < 0
            work.reached[entry - low] = in_trend and (
                (
                    start <= entry < start_end
                    and may_start(graph, work.pairs.floors, graph.states[entry], entry - low)
                )
                or _arrives(graph, checks, work, entry, low, stamp)
            )
        if work.closed.size:
            for entry in range(first, after):
                _close_one_by_one(graph, work, entry, first, low)
            for entry in range(first, after):
                _drop_closed(graph, work, entry, low)
        if work.upkeep.closing:
            for entry in range(first, after):
                _close_states(graph, work, graph.states[entry])
        for entry in range(first, after):
            if work.reached[entry - low]:
                _settle(graph, checks, work, entry, stamp)
        first = after


@inlined
def _arrives(graph, checks, work, entry, low, stamp):
    """Return whether an entry can come right after a reached event."""
    state, place, floors = graph.states[entry], entry - low, work.pairs.floors
    for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
        kind, earlier, target = checks.kinds[t], graph.transition_from[t], checks.targets[t]
        newest = work.newest[earlier]
        found = False
        if kind == Check.ALWAYS:
            found = newest != NONE
        elif kind == Check.FLOOR:
            found = newest != NONE and newest >= floors[checks.floors[t], place]
        elif kind == Check.ORDER:
            if work.known[t] and checks.usable[target, entry]:
                value, best = checks.values[target, entry], work.best[t]
                found = best < value or (best == value and not checks.strict[t])
        elif kind == Check.EQUAL:
            if checks.usable[target, entry]:
                found = work.marks[checks.marks[t], checks.values[target, entry]] == stamp
        elif kind == Check.PAIRS:
            found = _any_pair(graph, checks, work, t, entry, low)
        if found:
            return True
    return False


@outlined
def _any_pair(graph, checks, work, t, entry, low):
    """Return whether the program of a transition is true for a listed event, newest first."""
    earlier, program = graph.transition_from[t], graph.transition_program[t]
    listed, end, size = work.members[earlier], work.member_count[earlier], _FIRST
    least = work.pairs.floors[checks.floors[t], entry - low] if checks.floors[t] >= 0 else NONE
    while end > 0 and graph.times[listed[end - 1]] >= least:
        begin = max(0, end - size)
        block = listed[begin:end]
        if find_pairs(graph, work.pairs, program, block, end - begin, entry, low):
            return True
        end, size = begin, min(4 * size, BLOCK)
    return False


@inlined
def _settle(graph, checks, work, entry, stamp):
    """Make a reached entry a predecessor of later entries."""
    state = graph.states[entry]
    work.newest[state] = graph.times[entry]
    if checks.listed[state]:
        work.members[state, work.member_count[state]] = entry
        work.member_count[state] += 1
    for o in range(checks.out_start[state], checks.out_start[state + 1]):
        t = checks.outs[o]
        kind, source = checks.kinds[t], checks.sources[t]
        if kind == Check.ORDER:
            if checks.usable[source, entry]:
                value = checks.values[source, entry]
                if not work.known[t] or value < work.best[t]:
                    work.known[t], work.best[t] = True, value
        elif kind == Check.EQUAL and checks.usable[source, entry]:
            work.marks[checks.marks[t], checks.values[source, entry]] = stamp


@inlined
def _close_states(graph, work, later):
    """Drop the events of all states that an entry in state `later` closes."""
    for t in range(graph.transition_start[later], graph.transition_start[later + 1]):
        if graph.closes[t]:
            work.newest[graph.transition_from[t]] = NONE


@outlined
def _close_one_by_one(graph, work, entry, first, low):
    """Close the events that can come right before an entry, which is then reached.

    `first` is the first entry of its timestamp. The events stay listed for the other entries of
    this timestamp.
    """
    later = graph.states[entry]
    for w in range(work.upkeep.way_start[later], work.upkeep.way_start[later + 1]):
        state = work.upkeep.way_from[w]
        found = _find_way(graph, work, w, work.members[state], work.member_count[state], entry, low)
        if found:
            work.reached[entry - low] = True
        for h in range(found):
            place = work.pairs.hits[h] - low
            if work.closed[place] < 0:
                work.closed[place] = first - low
                work.closed_next[place] = work.closed_first[first - low]
                work.closed_first[first - low] = place


@inlined
def _find_way(graph, work, w, listed, count, entry, low):
    """Write the listed events for which a way out is open to `hits`; return their number."""
    way, pairs = work.upkeep.ways[w], work.pairs
    if graph.open_program[way] >= 0:
        return find_pairs(graph, pairs, graph.open_program[way], listed, count, entry, low)
    floor, found = graph.open_floor[way], 0
    least = pairs.floors[floor, entry - low] if floor >= 0 else NONE
    for c in range(count):
        if graph.times[listed[c]] >= least:
            pairs.hits[found] = listed[c]
            found += 1
    return found


@inlined
def _drop_closed(graph, work, entry, low):
    """Drop closed events of the states that an entry can close from the lists."""
    later = graph.states[entry]
    for w in range(work.upkeep.way_start[later], work.upkeep.way_start[later + 1]):
        state = work.upkeep.way_from[w]
        listed, left = work.members[state], 0
        for c in range(work.member_count[state]):
            if work.closed[listed[c] - low] < 0:
                listed[left] = listed[c]
                left += 1
        work.member_count[state] = left


# ---- backward


@outlined
def _find_ends(graph, checks, work, low, high, last, last_end):
    """Find the reached events that can end a trend; return whether there are any.

    Only entries from `last` to before `last_end` can. They are dropped from the lists.
    """
    found = False
    for place in range(high - low):
        ends = (
            work.reached[place]
            and last <= low + place < last_end
            and may_end(graph, work.pairs.floors, low + place, high - low)
        )
        work.leads[place] = ends
        found |= ends
    if found:
        for state in range(work.newest.size):
            if checks.listed[state]:
                _drop_leading(work, state, 0, work.member_count[state], low)
        for t in range(work.known.size):
            work.known[t] = False
    return found


@inlined
def _drop_leading(work, state, begin, end, low):
    """Drop the events of a list that lead to an end, from index `begin`; `end` is its size."""
    listed, left = work.members[state], begin
    for c in range(begin, end):
        if not work.leads[listed[c] - low]:
            listed[left] = listed[c]
            left += 1
    work.member_count[state] = left


@outlined
def _go_backward(graph, checks, work, low, high):
    """Find the reached events that lead to an end."""
    stamp = 2 * work.windows[0] + 1
    after = high
    while after > low:
        first = after - 1
        while first > low and graph.times[first - 1] == graph.times[first]:
            first -= 1
        for entry in range(first, after):
            place = entry - low
            if work.reached[place] and not work.leads[place]:
                work.leads[place] = _goes_on(graph, checks, work, entry, stamp)
        if work.upkeep.closing:
            for entry in range(first, after):
                _forget_states(graph, checks, work, graph.states[entry])
        for entry in range(first, after):
            if work.leads[entry - low]:
                _offer(graph, checks, work, entry, low, stamp)
                if work.closed.size and work.closed_first[first - low] >= 0:
                    _mark_closed(graph, work, entry, work.closed_first[first - low], low)
        after = first


@inlined
def _goes_on(graph, checks, work, entry, stamp):
    """Return whether a leading event can come right after an entry."""
    state = graph.states[entry]
    for o in range(checks.out_start[state], checks.out_start[state + 1]):
        t = checks.outs[o]
        kind, source = checks.kinds[t], checks.sources[t]
        found = False
        if kind == Check.ALWAYS:
            found = work.known[t]
        elif kind == Check.FLOOR:
            found = work.known[t] and graph.times[entry] >= work.best[t]
        elif kind == Check.ORDER:
            if work.known[t] and checks.usable[source, entry]:
                value, best = checks.values[source, entry], work.best[t]
                found = value < best or (best == value and not checks.strict[t])
        elif kind == Check.EQUAL and checks.usable[source, entry]:
            found = work.marks[checks.marks[t], checks.values[source, entry]] == stamp
        if found:
            return True
    return False


@inlined
def _forget_states(graph, checks, work, later):
    """Drop what is known of the transitions from states that an entry in state `later` closes."""
    for t in range(graph.transition_start[later], graph.transition_start[later + 1]):
        if graph.closes[t]:
            state = graph.transition_from[t]
            for o in range(checks.out_start[state], checks.out_start[state + 1]):
                work.known[checks.outs[o]] = False


@inlined
def _offer(graph, checks, work, entry, low, stamp):
    """Make a leading entry a successor of earlier entries."""
    state = graph.states[entry]
    for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
        kind, target = checks.kinds[t], checks.targets[t]
        if kind == Check.ALWAYS:
            work.known[t] = True
        elif kind == Check.FLOOR:  # floors fall with time, so the last one is the lowest
            work.known[t] = True
            work.best[t] = work.pairs.floors[checks.floors[t], entry - low]
        elif kind == Check.ORDER:
            if checks.usable[target, entry]:
                value = checks.values[target, entry]
                if not work.known[t] or value > work.best[t]:
                    work.known[t], work.best[t] = True, value
        elif kind == Check.EQUAL:
            if checks.usable[target, entry]:
                work.marks[checks.marks[t], checks.values[target, entry]] = stamp
        elif kind == Check.PAIRS:
            _mark_pairs(graph, checks, work, t, entry, low)


@outlined
def _mark_pairs(graph, checks, work, t, entry, low):
    """Find the listed events that a leading entry can come right after; drop them from the list."""
    earlier, program, time = (
        graph.transition_from[t],
        graph.transition_program[t],
        graph.times[entry],
    )
    listed, end = work.members[earlier], work.member_count[earlier]
    while end > 0 and graph.times[listed[end - 1]] >= time:  # no other entry needs them
        end -= 1
    begin = 0
    if checks.floors[t] >= 0:
        least, begin = work.pairs.floors[checks.floors[t], entry - low], end
        while begin > 0 and graph.times[listed[begin - 1]] >= least:
            begin -= 1
    found = find_pairs(graph, work.pairs, program, listed[begin:end], end - begin, entry, low)
    for h in range(found):
        work.leads[work.pairs.hits[h] - low] = True
    work.member_count[earlier] = end
    if found:
        _drop_leading(work, earlier, begin, end, low)


@outlined
def _mark_closed(graph, work, entry, closed, low):
    """Find the events that a leading entry can come right after, if it closes them.

    `closed` is the first of the entries that the entry's timestamp closes.
    """
    later = graph.states[entry]
    for w in range(work.upkeep.way_start[later], work.upkeep.way_start[later + 1]):
        state, count, place = work.upkeep.way_from[w], 0, closed
        while place >= 0:
            if graph.states[low + place] == state and not work.leads[place]:
                work.chosen[count] = low + place
                count += 1
            place = work.closed_next[place]
        found = _find_way(graph, work, w, work.chosen, count, entry, low)
        for h in range(found):
            work.leads[work.pairs.hits[h] - low] = True


# ---- rows


@outlined
def _add_members(graph, asked, weights, work, rows_of, low, high, members):
    """Add the leading events to the next row, each once per accumulator."""
    window = work.windows[1]
    for entry in range(low, high):
        if work.leads[entry - low] and not (work.seen.size and work.seen[entry] == window):
            if work.seen.size:
                work.seen[entry] = window
            state, event = graph.states[entry], rows_of[entry]
            for m in range(asked.state_start[state], asked.state_start[state + 1]):
                k = asked.accumulators[m]
                row = work.read_row[k]
                if row >= 0:
                    if work.read[row, event] == window:
                        continue
                    work.read[row, event] = window
                add_member(asked.columns, k, weights, event, members)
