"""Find the events that participate in trends, by two time bounds per state and window.

A **cell** is a state of a template without conditions on pairs of events. An event can be reached
at a cell if a trend can start there, or if an event that a trend can reach at an earlier state is
older. So the least time of these earlier events, `low`, decides. A trend can go on from an event to
an end if it can end there, or if an event at a later state that leads to an end is newer. So the
greatest time of these later events, `high`, decides. An event participates at a cell if both hold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.linear.kernels.sweep_program import WindowRun
from elsinore.executors.output.kernels.members import At, add_member
from elsinore.numbers.compiled import outlined, unlocked

_NEVER = np.iinfo(np.int64).max
_ALWAYS = np.iinfo(np.int64).min


class Cells(NamedTuple):
    """The S states of a template.

    Attributes:
        starts, ends: bool[S], whether a trend can start or end at a cell.
        after_start, afters: int64[S + 1] and int64[*], the cells that can follow each cell.
        before_start, befores: int64[S + 1] and int64[*], the cells that each cell can follow.
        class_start, class_cells: int64[C + 1] and int64[*], the cells of each event class.
    """

    starts: np.ndarray
    ends: np.ndarray
    after_start: np.ndarray
    afters: np.ndarray
    before_start: np.ndarray
    befores: np.ndarray
    class_start: np.ndarray
    class_cells: np.ndarray


class Entered(NamedTuple):
    """N entries by partition, then time.

    Attributes:
        times: int64[N].
        codes: int32[N], the event class.
        rows: int64[N], the number of the event.
        longs, doubles, ranks: int64[*, E], float64[*, E], int64[*, E], weights of E events.
    """

    times: np.ndarray
    codes: np.ndarray
    rows: np.ndarray
    longs: np.ndarray
    doubles: np.ndarray
    ranks: np.ndarray


class Scratch(NamedTuple):
    """The bounds of a window, int64[S] each, and the entry that each accumulator read last."""

    low: np.ndarray
    high: np.ndarray
    read: np.ndarray


@unlocked
def find_members(cells, asked, entered, runs, within, slide, scratch, members):
    """Write a row for each window with a trend; return whether all runs are done.

    `runs` are int64[*, 5], see `sweep_program.WindowRun`. If `members` has no room for a window,
    the next call continues there.
    """
    state, times = members.state, entered.times
    while state[At.RUN] < runs.shape[0]:
        run = runs[state[At.RUN]]
        if not state[At.BEGUN]:
            state[At.ENTRY], state[At.NUMBER] = run[WindowRun.FIRST], run[WindowRun.NUMBER]
            state[At.BEGUN] = 1
        i, number, end = state[At.ENTRY], state[At.NUMBER], run[WindowRun.END]
        while i < end:
            number = max(number, (times[i] - within) // slide + 1)
            if number > run[WindowRun.LAST]:
                break
            start = number * slide
            while i < end and times[i] < start:
                i += 1
            if i == end or times[i] - start >= within:
                continue
            j = i
            while j < end and times[j] - start < within:
                j += 1
            room = members.events.shape[0] - state[At.LISTED]
            if state[At.ROWS] == members.keys.shape[0] or room < (j - i) * asked.listed[0]:
                state[At.ENTRY], state[At.NUMBER] = i, number
                return False
            _look_ahead(cells, entered, i, j, scratch)
            _look_back(cells, entered, i, j, scratch)
            if _add_members(cells, asked, entered, i, j, scratch, members):
                row = state[At.ROWS]
                members.keys[row, 0], members.keys[row, 1] = run[WindowRun.PARTITION], number
                state[At.ROWS] += 1
            number += 1
        state[At.RUN] += 1
        state[At.BEGUN] = 0
    return True


@outlined
def _look_ahead(cells, entered, first, end, scratch):
    """Set `low`. Entries are in order of time, so the first event that reaches a cell is it."""
    low, missing = scratch.low, 0
    for s in range(low.size):
        low[s] = _NEVER
        missing += cells.before_start[s + 1] > cells.before_start[s]
    i = first
    while i < end and missing:
        code, time = entered.codes[i], entered.times[i]
        for n in range(cells.class_start[code], cells.class_start[code + 1]):
            s = cells.class_cells[n]
            if cells.starts[s] or time > low[s]:
                for m in range(cells.after_start[s], cells.after_start[s + 1]):
                    if low[cells.afters[m]] == _NEVER:
                        low[cells.afters[m]] = time
                        missing -= 1
        i += 1


@outlined
def _look_back(cells, entered, first, end, scratch):
    """Set `high`, from the last entry to the first."""
    high, missing = scratch.high, 0
    for s in range(high.size):
        high[s] = _ALWAYS
        missing += cells.after_start[s + 1] > cells.after_start[s]
    i = end - 1
    while i >= first and missing:
        code, time = entered.codes[i], entered.times[i]
        for n in range(cells.class_start[code], cells.class_start[code + 1]):
            s = cells.class_cells[n]
            if cells.ends[s] or time < high[s]:
                for m in range(cells.before_start[s], cells.before_start[s + 1]):
                    if high[cells.befores[m]] == _ALWAYS:
                        high[cells.befores[m]] = time
                        missing -= 1
        i -= 1


@outlined
def _add_members(cells, asked, entered, first, end, scratch, members):
    """Add the participating events to the next row, each once per accumulator.

    Return whether there are any.
    """
    found = False
    for k in range(scratch.read.size):
        scratch.read[k] = -1
    for i in range(first, end):
        code, time = entered.codes[i], entered.times[i]
        for n in range(cells.class_start[code], cells.class_start[code + 1]):
            s = cells.class_cells[n]
            reached = cells.starts[s] or time > scratch.low[s]
            if reached and (cells.ends[s] or time < scratch.high[s]):
                found = True
                for m in range(asked.state_start[s], asked.state_start[s + 1]):
                    k = asked.accumulators[m]
                    if scratch.read[k] != i:
                        scratch.read[k] = i
                        add_member(asked.columns, k, entered, entered.rows[i], members)
    return found
