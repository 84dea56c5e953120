"""Hamlet's executor: one pass over the events of a partition for all queries of a sharable set.

Algorithm 1 over bursts instead of events: a maximal run of events of one type between two borders
of windows is a unit (Definition 4.1), for which it is decided which queries share it. Events of
equal time that are of several types are no part of a burst.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined, kernel, outlined
from elsinore.kernels.hamlet_coefficients import chosen_high, share_coefficients
from elsinore.kernels.hamlet_collapsed import share_collapsed, step_collapsed
from elsinore.kernels.hamlet_decide import decide
from elsinore.kernels.hamlet_edges import keep_members, share_adjacency, take_members
from elsinore.kernels.hamlet_graph import MergedGraph
from elsinore.kernels.hamlet_steps import instant, make_room
from elsinore.kernels.hamlet_windows import begin_partition, close_all, pass_border
from elsinore.kernels.hamlet_work import Log, Output, Work

#: Bursts for which coefficients are not tried again after there were too many snapshots.
_PATIENCE = 16


class Policy(NamedTuple):
    """How to decide.

    Attributes:
        mode: of `hamlet_decide`.
        costs: float64[COSTS], see there.
        given: bool[*, k], for `GIVEN` the queries that share, burst by burst and over again.
        longest: events of a burst at most; a longer run makes several.
    """

    mode: int
    costs: np.ndarray
    given: np.ndarray
    longest: int


def share_propagation(
    graph: MergedGraph, work: Work, output: Output, policy: Policy, log: Log
) -> None:
    """Aggregate the trends of each window of `graph.windows`."""
    _partitions(graph, work, output, policy, log)


@inlined
def _end_of_instant(times, first, end):  # type: ignore[no-untyped-def]
    after = first + 1
    while after < end and times[after] == times[first]:
        after += 1
    return after


@inlined
def _end_of_burst(graph, first, end, border, longest):  # type: ignore[no-untyped-def]
    """Where the burst that begins with an entry ends; at its begin if there is none."""
    s, after = np.int64(graph.states[first]), first
    if not graph.kinds[s]["alone"]:
        return first
    while after < end and graph.states[after] == s and graph.times[after] < border:
        if after - first >= longest and graph.times[after] != graph.times[after - 1]:
            break
        after += 1
    if after < end and graph.times[after] == graph.times[after - 1]:  # a tie across types
        time = graph.times[after]
        while after > first and graph.times[after - 1] == time:
            after -= 1
    return after


@kernel
def _partitions(graph, work, output, policy, log):  # type: ignore[no-untyped-def]
    queries = work.cursors.size
    for p in range(graph.offsets.size - 1):
        if graph.window_start[p * queries] == graph.window_start[(p + 1) * queries]:
            continue
        begin_partition(graph, work, p)
        first, end = graph.offsets[p], graph.offsets[p + 1]
        border = np.iinfo(np.int64).min
        while first < end:
            if graph.times[first] >= border:
                border = pass_border(graph, work, output, p, graph.times[first])
                if work.ledger[15] == 0:  # no window is open: on to the next that opens
                    while first < end and graph.times[first] < border:
                        first += 1
                    continue
            after = _end_of_burst(graph, first, end, border, policy.longest)
            if after > first:
                _burst(graph, work, policy, log, p, np.int64(graph.states[first]), first, after)
                work.ledger[0] += 1
            else:
                after = _end_of_instant(graph.times, first, end)
                instant(graph, work, p, first, after)
                work.ledger[8] += after - first
                work.ledger[10] = -1
                work.ledger[13] = 0
            first = after
        close_all(graph, work, output, p)


@outlined
def _burst(graph, work, policy, log, p, s, first, after):  # type: ignore[no-untyped-def]
    chosen = decide(graph, work, log, policy, p, s, first, after)
    if graph.kinds[s]["plain"]:
        _plain_burst(graph, work, log, p, s, first, after)
        return
    make_room(graph, work, s, after - first)
    take_members(graph, work, s, first, after)
    used = 0
    if chosen and work.stores[s]["skips"] == 0:
        used = _by_coefficients(work.lanes.longs, graph, work, log, p, s, first, after)
        work.ledger[5] += max(used - 1, 0)
        work.stores[s]["skips"] = _PATIENCE if used == 0 else 0
    elif work.stores[s]["skips"] > 0:
        work.stores[s]["skips"] -= 1
    if used == 0:
        take_members(graph, work, s, first, after)
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        a, high = graph.runs[r]["low"], graph.runs[r]["high"]
        while a < high:
            b = max(chosen_high(work, a, high), a + 1)
            if used == 0 or not work.cursors[a]["chosen"]:
                share_adjacency(graph, work, p, s, first, after, a, b)
            a = b
    keep_members(graph, work, s, first, after)


@inlined
def _plain_burst(graph, work, log, p, s, first, after):  # type: ignore[no-untyped-def]
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        a, high = graph.runs[r]["low"], graph.runs[r]["high"]
        while a < high:
            b = max(chosen_high(work, a, high), a + 1)
            if not work.cursors[a]["chosen"] or not share_collapsed(
                graph, work, log, p, s, r, first, after, a, b
            ):
                step_collapsed(graph, work, p, s, first, after, a, b)
            a = b
    work.ledger[4] += 1


@inlined
def _by_coefficients(longs, graph, work, log, p, s, first, after):  # type: ignore[no-untyped-def]
    """The snapshots that a burst took as expressions over them; 0 if it must not be done so."""
    if longs.ndim == 3:
        return 0
    if graph.kinds[s]["foreign"]:
        return 0
    for r in range(graph.kinds[s]["run_start"], graph.kinds[s + 1]["run_start"]):
        for q in range(graph.runs[r]["low"], graph.runs[r]["high"]):
            query = graph.queries[q]
            if work.cursors[q]["chosen"] and (query["doubles_of"] or query["ranks_of"]):
                return 0
    values, coefficients = log.used[1], log.used[2]
    used = share_coefficients(graph, work, log, p, s, first, after)
    if used == 0:
        log.used[1], log.used[2] = values, coefficients
    return used
