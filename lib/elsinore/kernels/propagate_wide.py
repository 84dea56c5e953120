"""GRETA's propagation with counts of L limbs: the upper rungs of the exact ladder.

The same steps as `propagate_long`; integers are `wide` limbs, sums of doubles are scaled, so that
neither wraps nor overflows. The caller tries 2 limbs (128 bit) first, then doubles L.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from elsinore.kernels.pair_program import MAX_STACK, pair_holds
from elsinore.kernels.wide import (
    add_product,
    add_scaled,
    add_wide,
    is_zero,
    normal,
    to_scaled,
)


@njit(cache=True)
def _add(  # type: ignore[no-untyped-def]
    counts, sums, exponents, ranks, more_counts, more_sums, more_exponents, more_ranks
):
    """Add one row of carriers to another; True if a count needs more limbs."""
    over = False
    for k in range(counts.shape[0]):
        over |= add_wide(counts[k], more_counts[k])
    for m in range(sums.size):
        sums[m], exponents[m] = add_scaled(
            sums[m], exponents[m], more_sums[m], more_exponents[m]
        )
    for x in range(ranks.size):
        ranks[x] = min(ranks[x], more_ranks[x])
    return over


@njit(cache=True)
def _own(graph, entry, counts, sums, exponents, ranks, scratch):  # type: ignore[no-untyped-def]
    """Add what the entry itself contributes for each trend that ends at it."""
    over = False
    for k in range(counts.shape[0] - 1):
        weight = graph.count_weights[k, entry]
        if weight != 0:
            over |= add_product(counts[k + 1], counts[0], weight, scratch)
    if sums.size:
        trends, exponent = to_scaled(counts[0])
        for m in range(sums.size):
            weight = graph.sum_weights[m, entry]
            if weight != 0.0:
                fraction, shift = normal(weight, 0)
                product, places = normal(fraction * trends, shift + exponent)
                sums[m], exponents[m] = add_scaled(sums[m], exponents[m], product, places)
    for x in range(ranks.size):
        ranks[x] = min(ranks[x], graph.ranks[x, entry])
    return over


@njit(cache=True)
def propagate_wide(  # type: ignore[no-untyped-def]
    graph, spans, buffer, counts, sums, exponents, ranks, outgrown
):
    """Aggregate the trends of each span.

    Args:
        graph, spans, buffer, ranks, outgrown: as for `propagate_long`.
        counts: uint64[R, 1 + K, L] to write to, two's complement.
        sums, exponents: float64[R, M] and int64[R, M] to write to; `sum * 2**exponent`.
    """
    states = graph.starts.size
    keep = graph.kept.any()
    width, limbs = counts.shape[1], counts.shape[2]
    doubles, extremes = sums.shape[1], ranks.shape[1]
    state_counts = np.zeros((states, width, limbs), np.uint64)
    state_sums = np.zeros((states, doubles), np.float64)
    state_exponents = np.zeros((states, doubles), np.int64)
    state_ranks = np.zeros((states, extremes), np.int64)
    entry_counts = np.zeros((buffer, width, limbs), np.uint64)
    entry_sums = np.zeros((buffer, doubles), np.float64)
    entry_exponents = np.zeros((buffer, doubles), np.int64)
    entry_ranks = np.zeros((buffer, extremes), np.int64)
    members = np.empty((states, buffer if keep else 1), np.int64)
    member_count = np.zeros(states, np.int64)
    scratch = np.empty(limbs, np.uint64)
    stack_l = np.empty(MAX_STACK, np.int64)
    stack_d = np.empty(MAX_STACK, np.float64)
    stack_known = np.empty(MAX_STACK, np.bool_)
    for row in range(spans.shape[0]):
        low, high = spans[row, 0], spans[row, 1]
        state_counts[:] = 0
        state_sums[:] = 0.0
        state_exponents[:] = 0
        state_ranks[:] = graph.no_rank
        member_count[:] = 0
        counts[row] = 0
        sums[row] = 0.0
        exponents[row] = 0
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
                entry_exponents[place] = 0
                entry_ranks[place] = graph.no_rank
                entry_counts[place, 0, 0] = 1 if graph.starts[state] else 0
                for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
                    earlier = graph.transition_from[t]
                    number = graph.transition_program[t]
                    if number < 0:
                        over |= _add(
                            entry_counts[place], entry_sums[place], entry_exponents[place],
                            entry_ranks[place], state_counts[earlier], state_sums[earlier],
                            state_exponents[earlier], state_ranks[earlier],
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
                            there = before - low
                            over |= _add(
                                entry_counts[place], entry_sums[place], entry_exponents[place],
                                entry_ranks[place], entry_counts[there], entry_sums[there],
                                entry_exponents[there], entry_ranks[there],
                            )  # fmt: skip
                if not is_zero(entry_counts[place, 0]):
                    over |= _own(
                        graph, entry, entry_counts[place], entry_sums[place],
                        entry_exponents[place], entry_ranks[place], scratch,
                    )  # fmt: skip
            for entry in range(first, after):
                place = entry - base
                if is_zero(entry_counts[place, 0]):
                    continue
                state = graph.states[entry]
                over |= _add(
                    state_counts[state], state_sums[state], state_exponents[state],
                    state_ranks[state], entry_counts[place], entry_sums[place],
                    entry_exponents[place], entry_ranks[place],
                )  # fmt: skip
                if graph.kept[state]:
                    members[state, member_count[state]] = entry
                    member_count[state] += 1
                if graph.ends[state]:
                    over |= _add(
                        counts[row], sums[row], exponents[row], ranks[row],
                        entry_counts[place], entry_sums[place], entry_exponents[place],
                        entry_ranks[place],
                    )  # fmt: skip
            first = after
        outgrown[row] = over
