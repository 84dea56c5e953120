"""GRETA's propagation: aggregates move along the edges of the graph, and no trend is built.

GRETA, Algorithm 2, for each window: an event's count is the sum of its predecessors' counts, plus
one for a START event. The source of the sum depends on the condition of the transition:

- none: one accumulator for all earlier events of the state
- a floor: a sliding sum (`sliding`)
- a comparison of two values: a prefix of a tree (`trees`)
- any other program: the pairs

Events with equal times are computed together before any of them becomes a predecessor or closes
one, so their order does not matter.
"""

from __future__ import annotations

import numpy as np

from elsinore.executors.graph.kernels.graph import NONE, Graph
from elsinore.executors.graph.kernels.guards import may_end, may_start, run_guards
from elsinore.executors.graph.kernels.lanes import (
    add_ended,
    add_over,
    add_own,
    has_trend,
    start_trends,
)
from elsinore.executors.graph.kernels.pairs import find_pairs
from elsinore.executors.graph.kernels.sliding import add_reaching, empty_slides, push
from elsinore.executors.graph.kernels.trees import (
    add_predecessors,
    empty_trees,
    enter_trees,
    fetch_paths,
)
from elsinore.executors.graph.kernels.words import BLOCK
from elsinore.executors.graph.kernels.work import Work
from elsinore.executors.input.kernels.anchors import limits_of
from elsinore.numbers.borrowed import borrow
from elsinore.numbers.compiled import brief, inlined
from elsinore.numbers.rows import Rows, add_row, clear


def propagate(
    graph: Graph, spans: np.ndarray, work: Work, totals: Rows, outgrown: np.ndarray
) -> None:
    """Aggregate the trends of each window.

    Args:
        graph: the graph.
        spans: int64[R, 4], see `entries.fill_spans`; or int64[R, 8], see `anchors.fill_anchors`.
        work: scratch from `make_work` for these spans.
        totals: `Rows` of R rows to write to.
        outgrown: bool[R], set if a count needs more limbs than there are; the totals of such a
            window are invalid.
    """
    pass_over = _plain_windows if work.upkeep.plain else _windows
    pass_over(graph, spans, work, totals, outgrown)


@brief
def _plain_windows(in_graph, spans, in_work, in_totals, outgrown):
    """Run the windows of a plain graph, with accumulators, trees and one timestamp's entries."""
    graph, work, totals = borrow(in_graph), borrow(in_work), borrow(in_totals)
    for row in range(spans.shape[0]):
        high = spans[row, 1]
        over = False
        first = settled = spans[row, 0]
        if row == 0 and work.cursor[0] >= 0:
            first, settled = work.cursor[0], work.cursor[1]
        else:
            _begin(graph, work, totals, row)
        shift, size = domain_of(work.orders, row)
        start, start_end, last, last_end = limits_of(spans, row)
        while first < high and not over:
            after = end_of_instant(graph.times, first, high)
            if settled == first:
                may_start = start <= first < start_end
                for entry in range(first, after):
                    over |= _arrive_plainly(graph, entry, entry - first, shift, may_start, work)
                if over:
                    break
                if work.upkeep.closing:
                    for entry in range(first, after):
                        _close_states(graph, graph.states[entry], work)
                if after < high and work.trees.width > BLOCK:  # narrow nodes are close in memory
                    carriers = work.entries.counts.shape[1]
                    fetch_paths(
                        graph, work.orders, work.trees, after, after + shift, size, carriers
                    )
            while settled < after and not over:  # nothing may be added to an outgrown row
                ends = last <= first < last_end
                over = _settle_plainly(graph, settled, first, shift, size, ends, work, totals, row)
                settled += 1
            if settled == after:
                first = after
        work.cursor[0], work.cursor[1] = first, settled
        outgrown[row] = over


@inlined
def domain_of(orders, row):
    """Return the shift from a span's entries to their indices in `orders`, and its highest rank."""
    if orders.exact.size:
        return orders.shifts[row], orders.sizes[row]
    return np.int64(0), np.int64(0)


@inlined
def _settle_plainly(graph, entry, first, shift, size, ends, work, totals, row):
    """Make an entry a predecessor, like `_settle`, with only accumulators and trees."""
    over = False
    state, place = graph.states[entry], entry - first
    if has_trend(graph.lanes, work.entries.counts, place):
        if work.upkeep.collected[state]:
            over |= add_row(work.states, state, work.entries, place)
        over |= enter_trees(
            work.orders, work.trees, state, entry + shift, size, work.entries, place
        )
        if ends and graph.ends[state]:
            over |= add_ended(graph.lanes, state, totals, row, work.entries, place)
    return over


@inlined
def _arrive_plainly(graph, entry, place, shift, may_start, work):
    """Compute an entry's row, like `_arrive`, without comparing pairs; return True if outgrown."""
    state = graph.states[entry]
    clear(work.entries, place, graph.no_rank)
    if may_start and graph.starts[state]:
        start_trends(graph.lanes, state, work.entries.counts, place)
    over = False
    for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
        if work.orders.transition_tree[t] >= 0:
            over |= add_predecessors(
                graph, work.orders, work.trees, t, entry + shift, work.entries, place
            )
        else:
            earlier = graph.transition_from[t]
            over |= add_over(graph.lanes, t, work.entries, place, work.states, earlier)
    if has_trend(graph.lanes, work.entries.counts, place):
        over |= add_own(graph, entry, work.entries, place, work.limbs)
    return over


@brief
def _windows(in_graph, spans, in_work, in_totals, outgrown):
    """Run the windows of any graph."""
    graph, work, totals = borrow(in_graph), borrow(in_work), borrow(in_totals)
    for row in range(spans.shape[0]):
        low, high = spans[row, 0], spans[row, 1]
        _begin(graph, work, totals, row)
        open_all(work.pairs.closed, high - low)
        run_guards(
            graph, work.upkeep, work.guards, work.pairs, work.members, work.member_count, low, high
        )
        for state in range(graph.starts.size):
            work.member_count[state] = 0
        over = False
        shift, size = domain_of(work.orders, row)
        first = low
        start, start_end, last, last_end = limits_of(spans, row)
        while first < high and not over:
            after = end_of_instant(graph.times, first, high)
            starts, ends = start <= first < start_end, last <= first < last_end
            for entry in range(first, after):
                if graph.guard_of[graph.states[entry]] < 0:
                    over |= _arrive(graph, entry, low, shift, starts, work)
            for entry in range(first, after):
                close_events(
                    graph, work.upkeep, work.pairs, work.members, work.member_count, entry, low
                )
                if work.upkeep.closing:
                    _close_states(graph, graph.states[entry], work)
            for entry in range(first, after):
                if graph.guard_of[graph.states[entry]] < 0:
                    over |= _settle(graph, entry, low, high, shift, size, ends, work, totals, row)
            first = after
        outgrown[row] = over


@inlined
def _begin(graph, work, totals, row):
    """Start a window without any trend."""
    clear(totals, row, graph.no_rank)
    for state in range(graph.starts.size):
        clear(work.states, state, graph.no_rank)
    for slide in range(work.slides.head.size):
        work.slides.head[slide] = work.slides.split[slide] = 0
        clear(work.slides.newer, slide, graph.no_rank)
    empty_trees(graph, work.orders, work.trees, work.states.counts.shape[1], row)


@inlined
def end_of_instant(times, first, high):
    """Return the index after the entries at the timestamp of entry `first`."""
    after = first + 1
    while after < high and times[after] == times[first]:
        after += 1
    return after


@inlined
def _close_states(graph, later, work):
    """Drop the events of all states that an entry in state `later` closes."""
    for t in range(graph.transition_start[later], graph.transition_start[later + 1]):
        if graph.closes[t]:
            state = graph.transition_from[t]
            clear(work.states, state, graph.no_rank)
            work.member_count[state] = 0
            empty_slides(graph, work.upkeep, work.slides, state)


@inlined
def _arrive(graph, entry, low, shift, starts, work):
    """Compute an entry's row from its predecessors (GRETA, Theorem 2); return True if outgrown."""
    place, state = entry - low, graph.states[entry]
    clear(work.entries, place, graph.no_rank)
    if starts and may_start(graph, work.pairs.floors, state, place):
        start_trends(graph.lanes, state, work.entries.counts, place)
    over = False
    for t in range(graph.transition_start[state], graph.transition_start[state + 1]):
        earlier, slide = graph.transition_from[t], work.upkeep.slide_of[t]
        members, count = work.members[earlier], work.member_count[earlier]
        if work.orders.transition_tree[t] >= 0:
            over |= add_predecessors(
                graph, work.orders, work.trees, t, entry + shift, work.entries, place
            )
        elif graph.transition_program[t] >= 0:
            program = graph.transition_program[t]
            found = find_pairs(graph, work.pairs, program, members, count, entry, low)
            for h in range(found):
                over |= add_row(work.entries, place, work.entries, work.pairs.hits[h] - low)
        elif slide >= 0:
            bound = work.pairs.floors[graph.transition_floor[t], place]
            over |= add_reaching(
                graph, work.slides, slide, bound, members, count, work.entries, low, place
            )
        else:
            over |= add_row(work.entries, place, work.states, earlier)
    if has_trend(graph.lanes, work.entries.counts, place):
        over |= add_own(graph, entry, work.entries, place, work.limbs)
    return over


@inlined
def _settle(graph, entry, low, high, shift, size, ends, work, totals, row):
    """Make an entry a predecessor of later entries, and add it to the total if it is an END event.

    Return True if outgrown.
    """
    over = False
    place, state = entry - low, graph.states[entry]
    if has_trend(graph.lanes, work.entries.counts, place):
        upkeep = work.upkeep
        if upkeep.collected[state]:
            over |= add_row(work.states, state, work.entries, place)
        over |= enter_trees(
            work.orders, work.trees, state, entry + shift, size, work.entries, place
        )
        if upkeep.kept[state]:
            work.members[state, work.member_count[state]] = entry
            work.member_count[state] += 1
            over |= push(upkeep, work.slides, state, work.entries, place)
        if ends and may_end(graph, work.pairs.floors, entry, high - low):
            over |= add_row(totals, row, work.entries, place)
    return over


# ---- skip-till-next-match: an event closes when another event could have followed it. If every way
# ---- out of a state is open to all of its events alike, one timestamp closes them all. Otherwise
# ---- they close one by one, separately for each of a few slots, which `Op.OPEN` reads


@inlined
def open_all(closed, size):
    """Start a window of `size` entries: no entry is closed for any slot."""
    for slot in range(closed.shape[0]):
        for place in range(size):
            closed[slot, place] = False


@inlined
def close_events(graph, upkeep, pairs, members, member_count, entry, low):
    """Close all earlier events that an entry could extend; drop events closed for all slots.

    Every way out of a state whose events close one by one requires an open slot.
    """
    later = graph.states[entry]
    for w in range(upkeep.way_start[later], upkeep.way_start[later + 1]):
        way, state = upkeep.ways[w], upkeep.way_from[w]
        program, floor = graph.open_program[way], graph.open_floor[way]
        closed = pairs.closed[graph.open_slot[way]]
        listed, count = members[state], member_count[state]
        if program >= 0:
            found = find_pairs(graph, pairs, program, listed, count, entry, low)
            for h in range(found):
                closed[pairs.hits[h] - low] = True
        else:
            bound = pairs.floors[floor, entry - low] if floor >= 0 else NONE
            for c in range(count):
                if graph.times[listed[c]] >= bound:
                    closed[listed[c] - low] = True
        still_open = 0
        for c in range(count):
            if _is_open(graph, pairs.closed, state, listed[c] - low):
                listed[still_open] = listed[c]
                still_open += 1
        member_count[state] = still_open


@inlined
def _is_open(graph, closed, state, place):
    """Return whether an entry in a state is open for any of the state's slots."""
    for way in range(graph.open_start[state], graph.open_start[state + 1]):
        if not closed[graph.open_slot[way], place]:
            return True
    return False
