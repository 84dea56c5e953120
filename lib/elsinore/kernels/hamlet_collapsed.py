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
from elsinore.kernels.hamlet_graph import FREE_LOOP, takes
from elsinore.kernels.hamlet_lanes import add_lanes, add_own, add_times, clear_lanes, counts_any
from elsinore.kernels.hamlet_steps import arrive, settle

#: Columns of `Work.sums`: of the burst so far, of the present instant.
_BURST, _INSTANT = range(2)
_NARROW = 2.0**58
_ONE = np.int64(1)


def share_collapsed(graph, work, lanes, s, r, first, after, low, high):
    """Work out a burst for queries `low` to `high - 1` of run `r` together; 0 if too wide, else 1.

    Called by address. With 0 nothing was done. Where coefficients outgrow 64 bits, the burst is cut
    into parts.
    """
    run, wide = graph.runs[r], lanes.longs.ndim == 3
    if wide and graph.queries[low]["double_start"] < graph.queries[high]["double_start"]:
        return 0
    accepts, loops = _ONE << run["class"], run["loop"] == FREE_LOOP
    entered, part, before = work.snapshots, work.stage, work.stage + 1
    arrive(graph, lanes, s, accepts, entered, low, high)
    clear_lanes(graph, lanes, before, low, high)
    _forget_burst(work)
    factor, begin = _ONE, first
    while begin < after:
        begin, taken = _take_instant(graph, work, begin, after, run["class"])
        if taken == 0:
            continue
        if not _advance(work, factor, taken, loops):
            if not wide:
                _outgrow(graph, work, lanes, low, high)
                return 1
            _make_part(graph, work, lanes, s, accepts, factor, part, low, high)
            add_lanes(graph, lanes, before, part, low, high)
            if loops:
                add_lanes(graph, lanes, entered, part, low, high)
            _forget_burst(work)
            factor = _ONE
            if not _advance(work, factor, taken, loops):
                return 0
        factor = factor * (1 + taken) if loops else factor + taken
    _make_part(graph, work, lanes, s, accepts, factor, part, low, high)
    if wide:
        add_lanes(graph, lanes, part, before, low, high)
    settle(graph, work, lanes, s, accepts, part, low, high)
    return 1


@inlined
def _forget_burst(work):
    sums = work.sums
    for c in range(sums.longs.shape[0]):
        sums.longs[c, _BURST] = 0
    for d in range(sums.doubles.shape[0]):
        sums.doubles[d, _BURST] = 0.0
    for x in range(sums.ranks.shape[0]):
        sums.ranks[x, _BURST] = np.iinfo(np.int64).max


@inlined
def _take_instant(graph, work, begin, after, bit):
    """Sum up the events of one time that a class takes; where they end, and how many they are."""
    sums, weights = work.sums, graph.weights
    for c in range(sums.longs.shape[0]):
        sums.longs[c, _INSTANT] = 0
        work.heavy[c] = 0.0
    for d in range(sums.doubles.shape[0]):
        sums.doubles[d, _INSTANT] = 0.0
    for x in range(sums.ranks.shape[0]):
        sums.ranks[x, _INSTANT] = np.iinfo(np.int64).max
    end, taken = begin, 0
    while end < after and graph.times[end] == graph.times[begin]:
        if takes(graph.accepts[end], bit):
            taken += 1
            for c in range(sums.longs.shape[0]):
                sums.longs[c, _INSTANT] += weights.longs[c, end]
                work.heavy[c] += abs(np.float64(weights.longs[c, end]))
            for d in range(sums.doubles.shape[0]):
                sums.doubles[d, _INSTANT] += weights.doubles[d, end]
            for x in range(sums.ranks.shape[0]):
                sums.ranks[x, _INSTANT] = min(sums.ranks[x, _INSTANT], weights.ranks[x, end])
        end += 1
    return end, taken


@inlined
def _advance(work, factor, taken, loops):
    """Take an instant into the coefficients; False, and nothing done, if they grow too large."""
    sums, grown, times = work.sums, _ONE, _ONE
    if loops:
        grown, times = _ONE + taken, factor
    if np.float64(factor) * (1.0 + taken) > _NARROW:
        return False
    for c in range(sums.longs.shape[0]):
        size = abs(np.float64(sums.longs[c, _BURST])) * grown + work.heavy[c] * times
        if size > _NARROW:
            return False
    for c in range(sums.longs.shape[0]):
        sums.longs[c, _BURST] = sums.longs[c, _BURST] * grown + sums.longs[c, _INSTANT] * times
    for d in range(sums.doubles.shape[0]):
        summed = sums.doubles[d, _BURST] * grown + sums.doubles[d, _INSTANT] * times
        sums.doubles[d, _BURST] = summed
    for x in range(sums.ranks.shape[0]):
        sums.ranks[x, _BURST] = min(sums.ranks[x, _BURST], sums.ranks[x, _INSTANT])
    return True


@inlined
def _make_part(graph, work, lanes, s, accepts, factor, part, low, high):
    """Make a row what a part of a burst comes to."""
    clear_lanes(graph, lanes, part, low, high)
    if factor == 1:  # no event
        return
    entered, first, after = work.snapshots, graph.queries[low], graph.queries[high]
    start = first["long_start"]
    add_times(lanes, part, start, entered, start, after["long_start"], factor - 1)
    for d in range(first["double_start"], after["double_start"]):
        lanes.doubles[part, d] = lanes.doubles[entered, d] * (factor - 1)
    for x in range(first["rank_start"], after["rank_start"]):
        lanes.ranks[part, x] = lanes.ranks[entered, x]
    add_own(graph, lanes, s, accepts, part, entered, work.sums, _BURST, low, high)


@inlined
def _outgrow(graph, work, lanes, low, high):
    """Leave the burst of all windows with a trend to the next rung."""
    for q in range(low, high):
        start = graph.queries[q]["long_start"]
        for lane in range(start, start + graph.queries[q]["width"]):
            lanes.over[lane] |= counts_any(lanes.longs, work.snapshots, lane)
