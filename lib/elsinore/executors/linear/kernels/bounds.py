"""Find the events that participate in trends, by two time bounds per state and window.

An event can be reached at a state if a trend can start there, or if an event that a trend can reach
at an earlier state is older. So the least time of these earlier events, `low`, decides. A trend can
go on from an event to an end if it can end there, or if an event at a later state that leads to an
end is newer. So the greatest time of these later events, `high`, decides. An event participates at
a state if both hold. So the participating events of a state and an event class are consecutive.

The events of a window are sorted by event class, once for all queries. A query then takes time
logarithmic in their number, except for extremes, sums of doubles and lists of events.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.kinds import Kind
from elsinore.executors.linear.kernels.sweep_program import WindowRun
from elsinore.executors.output.kernels.members import PART, At, add_member
from elsinore.numbers.compiled import inlined, outlined, unlocked

_NEVER = np.iinfo(np.int64).max
_ALWAYS = np.iinfo(np.int64).min
_LOW = (1 << PART) - 1


class States(NamedTuple):
    """The S states of Q queries.

    Attributes:
        query_start: int64[Q + 1], the states of each query, in the order of their depth.
        starts, ends: bool[S], whether a trend can start or end at a state.
        code_start, codes: int64[S + 1] and int64[*], the event classes of each state.
        after_start, afters: int64[S + 1] and int64[*], the other states that can follow each state;
            no starts.
        before_start, befores: the same for the states that each state can follow; no ends.
    """

    query_start: np.ndarray
    starts: np.ndarray
    ends: np.ndarray
    code_start: np.ndarray
    codes: np.ndarray
    after_start: np.ndarray
    afters: np.ndarray
    before_start: np.ndarray
    befores: np.ndarray


class Spots(NamedTuple):
    """Event classes, each with states of a query and the accumulators that count its events there.

    Attributes:
        query_start: int64[Q + 1], the spots of each query.
        codes: int64[M], the event class.
        state_start, states: int64[M + 1] and int64[*], one or more states.
        asked_start, accumulators: int64[M + 1] and int64[*].
        columns: int64[K, 3], see `members.Asked`.
        listed: int64[1], see `members.Asked`.
        weight_start, weights: int64[C + 1] and int64[*], the columns of integer weights that
            accumulators read of each event class.
    """

    query_start: np.ndarray
    codes: np.ndarray
    state_start: np.ndarray
    states: np.ndarray
    asked_start: np.ndarray
    accumulators: np.ndarray
    columns: np.ndarray
    listed: np.ndarray
    weight_start: np.ndarray
    weights: np.ndarray


class Entered(NamedTuple):
    """N entries by partition, then time.

    Attributes:
        times: int64[N].
        codes: int32[N], the event class.
        rows: int64[N], the number of the event.
        longs: int64[*, N], integer weights.
        doubles, ranks: float64[*, E] and int64[*, E], weights of E events.
    """

    times: np.ndarray
    codes: np.ndarray
    rows: np.ndarray
    longs: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray


class Scratch(NamedTuple):
    """The events of a window, sorted by event class, then by time.

    Attributes:
        begin, end: int64[C], the events of each class.
        present: int64[C], the classes that have events, and `amount` int64[1], their number.
        times, rows: int64[L], see `Entered`; `rows` is empty if no accumulator reads it.
        totals: int64[*, L, 2], for each column of integer weights the sums over the events of the
            class so far, in the parts of `members.PART`.
        low, high: int64[S], the bounds of each state.
    """

    begin: np.ndarray
    end: np.ndarray
    present: np.ndarray
    amount: np.ndarray
    times: np.ndarray
    rows: np.ndarray
    totals: np.ndarray
    low: np.ndarray
    high: np.ndarray


@unlocked
def find_members(states, spots, entered, runs, within, slide, scratch, members):
    """Write a row for each query and window with a trend; return whether all runs are done.

    `runs` are int64[*, 5], see `sweep_program.WindowRun`. If `members` has no room for a window,
    the next call continues there.
    """
    state, times, queries = members.state, entered.times, states.query_start.size - 1
    while state[At.RUN] < runs.shape[0]:
        run = runs[state[At.RUN]]
        if not state[At.BEGUN]:
            state[At.ENTRY], state[At.NUMBER] = run[WindowRun.FIRST], run[WindowRun.NUMBER]
            state[At.BEGUN] = 1
        i, number, end = state[At.ENTRY], state[At.NUMBER], run[WindowRun.END]
        j = i
        while i < end:
            number = max(number, (times[i] - within) // slide + 1)
            if number > run[WindowRun.LAST]:
                break
            start = number * slide
            while i < end and times[i] < start:
                i += 1
            if i == end or times[i] - start >= within:
                continue
            j = max(i, j)
            while j < end and times[j] - start < within:
                j += 1
            room = members.events.shape[0] - state[At.LISTED]
            full = state[At.ROWS] + queries > members.keys.shape[0]
            if full or room < (j - i) * spots.listed[0]:
                state[At.ENTRY], state[At.NUMBER] = i, number
                return False
            _sort(spots, entered, i, j, scratch)
            for q in range(queries):
                if _look_ahead(states, q, scratch):
                    _look_back(states, q, scratch)
                    _add_members(states, spots, q, entered, scratch, members)
                    keys = members.keys[state[At.ROWS]]
                    keys[0], keys[1], keys[2] = run[WindowRun.PARTITION], number, q
                    state[At.ROWS] += 1
            number += 1
        state[At.RUN] += 1
        state[At.BEGUN] = 0
    return True


@outlined
def _sort(spots, entered, first, after, scratch):
    """Sort the events of a window by class, and add up their integer weights."""
    begin, end, present = scratch.begin, scratch.end, scratch.present
    for n in range(scratch.amount[0]):
        begin[present[n]] = end[present[n]] = 0
    amount = 0
    for i in range(first, after):
        code = entered.codes[i]
        if end[code] == 0:
            present[amount] = code
            amount += 1
        end[code] += 1
    scratch.amount[0] = amount
    place = 0
    for n in range(amount):
        size = end[present[n]]
        begin[present[n]] = end[present[n]] = place
        place += size
    for i in range(first, after):
        code = entered.codes[i]
        place = end[code]
        end[code] = place + 1
        scratch.times[place] = entered.times[i]
        if scratch.rows.size:
            scratch.rows[place] = entered.rows[i]
        for n in range(spots.weight_start[code], spots.weight_start[code + 1]):
            source = spots.weights[n]
            value = entered.longs[source, i]
            total = scratch.totals[source, place]
            total[0], total[1] = value >> PART, value & _LOW
            if place > begin[code]:
                total[0] += scratch.totals[source, place - 1, 0]
                total[1] += scratch.totals[source, place - 1, 1]


@inlined
def _look_ahead(states, query, scratch):
    """Set `low` of the states of a query; return whether a trend reaches an end."""
    first, after = states.query_start[query], states.query_start[query + 1]
    low = scratch.low
    for s in range(first, after):
        low[s] = _NEVER
    found, changed = False, True
    while changed:
        changed = False
        for s in range(first, after):
            if states.starts[s] or low[s] != _NEVER:
                time = _first_time(states, s, scratch)
                if time != _NEVER:
                    found |= states.ends[s]
                    for n in range(states.after_start[s], states.after_start[s + 1]):
                        t = states.afters[n]
                        if time < low[t]:
                            low[t] = time
                            changed |= t < s
    return found


@inlined
def _look_back(states, query, scratch):
    """Set `high` of the states of a query."""
    first, after = states.query_start[query], states.query_start[query + 1]
    high = scratch.high
    for s in range(first, after):
        high[s] = _ALWAYS
    changed = True
    while changed:
        changed = False
        for s in range(after - 1, first - 1, -1):
            leads = states.ends[s] or high[s] != _ALWAYS
            if leads and states.before_start[s + 1] > states.before_start[s]:
                time = _last_time(states, s, scratch)
                if time != _ALWAYS:
                    for n in range(states.before_start[s], states.before_start[s + 1]):
                        t = states.befores[n]
                        if time > high[t]:
                            high[t] = time
                            changed |= t > s


@inlined
def _first_time(states, s, scratch):
    """Return the time of the first event that a trend can reach at a state."""
    found = _NEVER
    for n in range(states.code_start[s], states.code_start[s + 1]):
        code = states.codes[n]
        end = scratch.end[code]
        place = _begin_at(states, s, code, scratch)
        if place < end:
            found = min(found, scratch.times[place])
    return found


@inlined
def _last_time(states, s, scratch):
    """Return the time of the last event at a state from which a trend can go on to an end."""
    found = _ALWAYS
    for n in range(states.code_start[s], states.code_start[s + 1]):
        code = states.codes[n]
        place = _end_at(states, s, code, scratch)
        if place > scratch.begin[code]:
            found = max(found, scratch.times[place - 1])
    return found


@inlined
def _begin_at(states, s, code, scratch):
    """Return the first event of a class that a trend can reach at a state."""
    first, after = scratch.begin[code], scratch.end[code]
    if states.starts[s]:
        return first
    while first < after:
        middle = (first + after) >> 1
        if scratch.times[middle] > scratch.low[s]:
            after = middle
        else:
            first = middle + 1
    return first


@inlined
def _end_at(states, s, code, scratch):
    """Return the end of the events of a class from which a trend at a state can go on to an end."""
    first, after = scratch.begin[code], scratch.end[code]
    if states.ends[s]:
        return after
    while first < after:
        middle = (first + after) >> 1
        if scratch.times[middle] < scratch.high[s]:
            first = middle + 1
        else:
            after = middle
    return first


@inlined
def _add_members(states, spots, query, entered, scratch, members):
    """Add the participating events of a query to the next row, each once per accumulator."""
    for m in range(spots.query_start[query], spots.query_start[query + 1]):
        code, first = spots.codes[m], spots.state_start[m]
        if scratch.begin[code] == scratch.end[code]:
            continue
        if spots.state_start[m + 1] == first + 1:
            s = spots.states[first]
            begin = _begin_at(states, s, code, scratch)
            end = _end_at(states, s, code, scratch)
            if begin < end:
                _add_range(spots, m, begin, end, entered, scratch, members)
            continue
        for place in range(scratch.begin[code], scratch.end[code]):
            if _participates(states, spots, m, scratch.times[place], scratch):
                _add_range(spots, m, place, place + 1, entered, scratch, members)


@inlined
def _participates(states, spots, m, time, scratch):
    """Return whether an event participates at any state of a spot."""
    for n in range(spots.state_start[m], spots.state_start[m + 1]):
        s = spots.states[n]
        if (states.starts[s] or time > scratch.low[s]) and (
            states.ends[s] or time < scratch.high[s]
        ):
            return True
    return False


@inlined
def _add_range(spots, m, begin, end, entered, scratch, members):
    """Add consecutive events of a class to the accumulators of a spot."""
    row, code = members.state[At.ROWS], spots.codes[m]
    for n in range(spots.asked_start[m], spots.asked_start[m + 1]):
        k = spots.accumulators[n]
        kind, source, column = spots.columns[k, 0], spots.columns[k, 1], spots.columns[k, 2]
        if kind == Kind.INTEGER:
            added = members.longs[row, column]
            if source < 0:
                added[1] += end - begin
            else:
                totals = scratch.totals[source]
                added[0] += totals[end - 1, 0]
                added[1] += totals[end - 1, 1]
                if begin > scratch.begin[code]:
                    added[0] -= totals[begin - 1, 0]
                    added[1] -= totals[begin - 1, 1]
        else:
            for place in range(begin, end):
                add_member(spots.columns, k, entered, scratch.rows[place], members)
