"""GRETA's propagation with 64-bit counts: the first rung of the exact ladder.

GRETA Algorithm 2 per window: an event's count is the sum of its predecessors' counts, plus one for
a START event. A transition without edge predicate reads one accumulator for all earlier events of
its state; one with an edge predicate compares the pairs. Events of equal time are worked out
together before any of them becomes a predecessor, so their order cannot matter.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from elsinore.kernels.pair_program import MAX_STACK, pair_holds

#: No value kept exceeds this, so the sum of two never wraps; beyond it the next rung takes over.
LIMIT = 2**62 - 1


@njit(cache=True)
def _add(counts, sums, ranks, more_counts, more_sums, more_ranks):  # type: ignore[no-untyped-def]
    """Add one row of carriers to another; True if a count outgrew `LIMIT`."""
    over = False
    for k in range(counts.size):
        counts[k] += more_counts[k]
        over |= counts[k] > LIMIT or counts[k] < -LIMIT
    for m in range(sums.size):
        sums[m] += more_sums[m]
    for x in range(ranks.size):
        ranks[x] = min(ranks[x], more_ranks[x])
    return over


@njit(cache=True)
def _own(graph, entry, counts, sums, ranks):  # type: ignore[no-untyped-def]
    """Add what the entry itself contributes for each trend that ends at it."""
    trends = counts[0]
    over = False
    for k in range(counts.size - 1):
        weight = graph.count_weights[k, entry]
        if abs(np.float64(weight) * np.float64(trends)) > 2.0**61:
            over = True
        else:
            counts[k + 1] += weight * trends
            over |= counts[k + 1] > LIMIT or counts[k + 1] < -LIMIT
    for m in range(sums.size):
        weight = graph.sum_weights[m, entry]
        if weight != 0.0:
            sums[m] += weight * trends
    for x in range(ranks.size):
        ranks[x] = min(ranks[x], graph.ranks[x, entry])
    return over


@njit(cache=True)
def propagate_long(graph, spans, buffer, counts, sums, ranks, outgrown):  # type: ignore[no-untyped-def]
    """Aggregate the trends of each span.

    Args:
        graph: a `Graph`.
        spans: int64[R, 4], see `spans.fill_spans`.
        buffer: rows of scratch: the longest span if any state is kept, else the largest number of
            entries with one time.
        counts: int64[R, 1 + K] to write to; the first column counts trends.
        sums: float64[R, M] to write to.
        ranks: int64[R, E] to write to.
        outgrown: bool[R] to write to: the span needs wider counts, its other outputs are void.
    """
    states = graph.starts.size
    keep = graph.kept.any()
    width, doubles, extremes = counts.shape[1], sums.shape[1], ranks.shape[1]
    state_counts = np.zeros((states, width), np.int64)
    state_sums = np.zeros((states, doubles), np.float64)
    state_ranks = np.zeros((states, extremes), np.int64)
    entry_counts = np.zeros((buffer, width), np.int64)
    entry_sums = np.zeros((buffer, doubles), np.float64)
    entry_ranks = np.zeros((buffer, extremes), np.int64)
    members = np.empty((states, buffer if keep else 1), np.int64)
    member_count = np.zeros(states, np.int64)
    stack_l = np.empty(MAX_STACK, np.int64)
    stack_d = np.empty(MAX_STACK, np.float64)
    stack_known = np.empty(MAX_STACK, np.bool_)
    for row in range(spans.shape[0]):
        low, high = spans[row, 0], spans[row, 1]
        state_counts[:] = 0
        state_sums[:] = 0.0
        state_ranks[:] = graph.no_rank
        member_count[:] = 0
        counts[row] = 0
        sums[row] = 0.0
        ranks[row] = graph.no_rank
        over = False
        first = low
        while first < high and not over:
            after = first
            while after < high and graph.times[after] == graph.times[first]:
                after += 1
            base = low if keep else first
            for entry in range(first, after):
                place = entry - base
                state = graph.states[entry]
                entry_counts[place] = 0
                entry_sums[place] = 0.0
                entry_ranks[place] = graph.no_rank
                entry_counts[place, 0] = 1 if graph.starts[state] else 0
                for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
                    earlier = graph.transition_from[t]
                    number = graph.transition_program[t]
                    if number < 0:
                        over |= _add(
                            entry_counts[place], entry_sums[place], entry_ranks[place],
                            state_counts[earlier], state_sums[earlier], state_ranks[earlier],
                        )  # fmt: skip
                        continue
                    program = graph.program[
                        graph.program_start[number] : graph.program_start[number + 1]
                    ]
                    for m in range(member_count[earlier]):
                        before = members[earlier, m]
                        if pair_holds(
                            program, before, entry, graph.slots_l, graph.slots_d, graph.known,
                            stack_l, stack_d, stack_known,
                        ):  # fmt: skip
                            over |= _add(
                                entry_counts[place], entry_sums[place], entry_ranks[place],
                                entry_counts[before - low], entry_sums[before - low],
                                entry_ranks[before - low],
                            )  # fmt: skip
                if entry_counts[place, 0] != 0:
                    over |= _own(
                        graph, entry, entry_counts[place], entry_sums[place], entry_ranks[place]
                    )
            for entry in range(first, after):
                place = entry - base
                if entry_counts[place, 0] == 0:
                    continue
                state = graph.states[entry]
                over |= _add(
                    state_counts[state], state_sums[state], state_ranks[state],
                    entry_counts[place], entry_sums[place], entry_ranks[place],
                )  # fmt: skip
                if graph.kept[state]:
                    members[state, member_count[state]] = entry
                    member_count[state] += 1
                if graph.ends[state]:
                    over |= _add(
                        counts[row], sums[row], ranks[row],
                        entry_counts[place], entry_sums[place], entry_ranks[place],
                    )  # fmt: skip
            first = after
        outgrown[row] = over
