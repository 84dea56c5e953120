"""A burst of a state without edge predicates in closed form.

What enters the burst is a snapshot (Definition 3.9), one value x for each lane. Without ties the
burst's events count x, 2x, 4x, ... (Hamlet Table 3), and all of them together (2^b - 1) x; m events
at one instant count alike, and multiply what comes after by 1 + m. The coefficients are worked out
once for all queries that take the same events. A weighted count s rides along: where w are the
weights, an instant adds `m * s + w * n`, so that the burst adds `(F - 1) * s + D * n`.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_graph import FREE_LOOP
from elsinore.kernels.hamlet_lanes import add_lanes, clear_lanes
from elsinore.kernels.hamlet_log import log_coefficient, log_values
from elsinore.kernels.hamlet_steps import (
    enter,
    enter_burst,
    enter_event,
    own,
    repeat,
    settle,
    takes,
)
from elsinore.kernels.hamlet_weights import add_weighted, multiply_longs
from elsinore.kernels.rows import counts_any

#: Columns of `Work.long_sums` and `Work.double_sums`: of the burst so far, of the present instant.
_BURST, _INSTANT = range(2)
_NARROW = 2.0**58
_ONE = np.int64(1)


def step_collapsed(graph, work, s, first, after, a, b):
    """Work out a burst event by event; 0. Compiled apart."""
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
    """Work out a burst for queries `low` to `high - 1` of run `r` together; 0 if too wide, else 1.

    Compiled apart. Rows of `stage`: what enters, what a part of the burst adds, what all of it
    adds.
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
    """Sum up the events of one time that a class takes; where they end, and how many they are."""
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
    """Take an instant into the coefficients; False, and nothing done, if they grow too large."""
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
    """Add what a part of a burst comes to; where it loops, that enters the next part too."""
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
    """A part without any event has no extremes."""
    for x in range(graph.queries[low]["rank_start"], graph.queries[high]["rank_start"]):
        lanes.ranks[more, x] = graph.no_rank


@inlined
def _outgrow(graph, work, low, high):
    """Leave the burst of all windows with a trend to the next rung."""
    for q in range(low, high):
        for lane in range(
            graph.queries[q]["long_start"],
            graph.queries[q]["long_start"] + graph.queries[q]["width"],
        ):
            work.over[lane] |= counts_any(work.lanes.counts, work.stage, lane)
