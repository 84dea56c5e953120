"""Run a burst of a state without edge predicates in closed form.

The trends that enter the burst are a snapshot (Definition 3.9), with a value x per lane. Without
ties, the burst's events count x, 2x, 4x, ... (Hamlet, Table 3), and their sum is (2^b - 1) x. The m
events at one timestamp have equal counts, and multiply all later counts by 1 + m. The coefficients
are computed once for all queries that take the same events.

A weighted count s is computed at the same time. Let n be the count, w the weights of a timestamp, F
the factor of the counts and D the coefficient of the weights. A timestamp adds `m * s + w * n`, so
the burst adds `(F - 1) * s + D * n`.
"""

from __future__ import annotations

import numpy as np

from elsinore.executors.hamlet.kernels.graph import FREE_LOOP
from elsinore.executors.hamlet.kernels.lanes import add_lanes, clear_lanes
from elsinore.executors.hamlet.kernels.log import log_coefficient, log_values
from elsinore.executors.hamlet.kernels.steps import (
    enter,
    enter_burst,
    enter_event,
    own,
    repeat,
    settle,
    takes,
)
from elsinore.executors.hamlet.kernels.weights import add_weighted, multiply_longs
from elsinore.numbers.compiled import inlined
from elsinore.numbers.rows import counts_any

#: Columns of `Work.long_sums` and `Work.double_sums`: the burst so far, the current timestamp.
_BURST, _INSTANT = range(2)
_NARROW = 2.0**58
_ONE = np.int64(1)


def step_collapsed(graph, work, s, first, after, a, b):
    """Run a burst event by event for queries `a` to `b - 1`; return 0. Compiled separately."""
    entered, begin = work.snapshots + 0, first
    spared = enter_burst(graph, work, s, first, after, entered, a, b)
    while begin < after:
        end = begin + 1
        while end < after and graph.times[end] == graph.times[begin]:
            end += 1
        for entry in range(begin, end):
            row, accepts = work.stage + entry - begin, graph.accepts[entry]
            enter_event(graph, work, s, accepts, row, spared, entered, a, b)
            own(graph, work, s, entry, accepts, row, a, b)
        for entry in range(begin, end):
            settle(graph, work, s, graph.accepts[entry], work.stage + entry - begin, a, b)
        begin = end
    return 0


def share_collapsed(graph, work, log, s, r, first, after, low, high):
    """Run a burst for queries `low` to `high - 1` of run `r` together; return 1.

    Return 0, without a change to states and totals, if the numbers are too wide. Rows of `stage`:
    the trends that enter, the trends that a part of the burst adds, the trends that all of it adds.
    This function is compiled separately.
    """
    bit, loops = graph.runs[r]["class"], graph.runs[r]["loop"] == FREE_LOOP
    wide = work.limbs.size > 1
    if wide and graph.queries[low]["double_start"] < graph.queries[high]["double_start"]:
        return 0
    enter(graph, work, s, _ONE << bit, work.stage + 0, low, high)
    repeat(graph, work, s, _ONE << bit, work.stage + 0, low, high)
    clear_lanes(graph, work.lanes, work.stage + 2, low, high)
    log_values(graph, work, log, 0, -1, work.stage + 0, low, high)
    _reset(work)
    factor, begin = _ONE, first
    while begin < after:
        end, taken = _instant(graph, work, begin, after, bit)
        begin_log = begin
        begin = end
        if taken == 0:
            continue
        if not _advance(work, factor, taken, loops):
            if not wide:
                _outgrow(graph, work, low, high)
                return 1
            _add_burst(graph, work, s, factor, loops, low, high)
            _reset_long(work)
            factor = _ONE
            if not _advance(work, factor, taken, loops):
                return 0
        for entry in range(begin_log, end):
            if takes(graph.accepts[entry], bit):
                log_coefficient(work, log, entry, 0, factor if loops else _ONE)
        factor = factor * (1 + taken) if loops else factor + taken
    log_coefficient(work, log, -1, 0, factor - 1)
    _add_burst(graph, work, s, factor, loops, low, high)
    settle(graph, work, s, _ONE << bit, work.stage + 2, low, high)
    return 1


@inlined
def _reset(work):
    _reset_long(work)
    for d in range(work.double_sums.shape[0]):
        work.double_sums[d, _BURST] = 0.0
    for x in range(work.lowest.shape[0]):
        work.lowest[x, _BURST] = np.iinfo(np.int64).max


@inlined
def _reset_long(work):
    for c in range(work.long_sums.shape[0]):
        work.long_sums[c, _BURST] = 0


@inlined
def _instant(graph, work, begin, after, bit):
    """Sum the weights of the events at one timestamp that a class takes.

    Return the end of the timestamp, and the number of events taken.
    """
    for c in range(work.long_sums.shape[0]):
        work.long_sums[c, _INSTANT] = 0
        work.heavy[c] = 0.0
    for d in range(work.double_sums.shape[0]):
        work.double_sums[d, _INSTANT] = 0.0
    end, taken = begin, 0
    while end < after and graph.times[end] == graph.times[begin]:
        if takes(graph.accepts[end], bit):
            taken += 1
            for c in range(work.long_sums.shape[0]):
                work.long_sums[c, _INSTANT] += graph.long_weights[c, end]
                work.heavy[c] += abs(np.float64(graph.long_weights[c, end]))
            for d in range(work.double_sums.shape[0]):
                work.double_sums[d, _INSTANT] += graph.double_weights[d, end]
            for x in range(work.lowest.shape[0]):
                work.lowest[x, _BURST] = min(work.lowest[x, _BURST], graph.ranks[x, end])
        end += 1
    return end, taken


@inlined
def _advance(work, factor, taken, loops):
    """Include a timestamp in the coefficients.

    Return False, with nothing done, if they grow too large.
    """
    grown = np.float64(factor) * (1.0 + taken)
    if grown > _NARROW:
        return False
    before, now = (1 + taken, factor) if loops else (_ONE, _ONE)
    longs, doubles = work.long_sums, work.double_sums
    for c in range(longs.shape[0]):
        if abs(np.float64(longs[c, _BURST])) * before + work.heavy[c] * now > _NARROW:
            return False
    for c in range(longs.shape[0]):
        longs[c, _BURST] = longs[c, _BURST] * before + longs[c, _INSTANT] * now
    for d in range(doubles.shape[0]):
        doubles[d, _BURST] = doubles[d, _BURST] * before + doubles[d, _INSTANT] * now
    return True


@inlined
def _add_burst(graph, work, s, factor, loops, low, high):
    """Add the trends of a part of a burst; if the state loops, they also enter the next part."""
    lanes, now, more, all_of_it = work.lanes, work.stage, work.stage + 1, work.stage + 2
    multiply_longs(
        lanes.counts, more, lanes.counts, now, graph.queries[low]["long_start"],
        graph.queries[high]["long_start"], factor - 1, work.over,
    )  # fmt: skip
    for d in range(graph.queries[low]["double_start"], graph.queries[high]["double_start"]):
        lanes.sums[more, d] = lanes.sums[now, d] * (factor - 1)
        lanes.exponents[more, d] = 0
    for x in range(graph.queries[low]["rank_start"], graph.queries[high]["rank_start"]):
        lanes.ranks[more, x] = lanes.ranks[now, x]
    for o in range(graph.kinds[s]["own_start"], graph.kinds[s + 1]["own_start"]):
        if low <= graph.owns[o]["query"] and graph.owns[o]["query"] < high:
            weights = work.long_sums, work.double_sums, work.lowest
            add_weighted(graph, o, weights, _BURST, lanes, more, now, work.over, work.limbs)
    if factor == 1:
        _forget_ranks(graph, lanes, more, low, high)
    add_lanes(graph, lanes, all_of_it, lanes, more, low, high, work.over)
    if loops:
        add_lanes(graph, lanes, now, lanes, more, low, high, work.over)


@inlined
def _forget_ranks(graph, lanes, more, low, high):
    """Clear the extremes of a part without events."""
    for x in range(graph.queries[low]["rank_start"], graph.queries[high]["rank_start"]):
        lanes.ranks[more, x] = graph.no_rank


@inlined
def _outgrow(graph, work, low, high):
    """Flag all windows with a trend in this burst, to recompute them with wider counts."""
    for q in range(low, high):
        for lane in range(
            graph.queries[q]["long_start"],
            graph.queries[q]["long_start"] + graph.queries[q]["width"],
        ):
            work.over[lane] |= counts_any(work.lanes.counts, work.stage, lane)
