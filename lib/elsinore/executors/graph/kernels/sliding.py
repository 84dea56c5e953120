"""Sums over the events of a state that reach a rising floor, without subtraction.

Minima and rounded sums cannot be subtracted. So a **slide** keeps its events on two stacks: each
older event has the sum of it and all later older ones (suffix sums), and the newer events have one
sum. When a floor passes the last older event, the newer ones become the older ones. Each event is
added twice at most, whatever the number of events (a queue of two stacks).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.lanes import rows_for
from elsinore.executors.graph.kernels.upkeep import Upkeep
from elsinore.numbers.compiled import inlined
from elsinore.numbers.rows import Rows, add_row, clear, copy_row


class Slides(NamedTuple):
    """Two stacks for each of J slides of trend states, over the members of its state.

    Attributes:
        head: int64[J], the first member that reaches the floor.
        split: int64[J], the first newer member.
        older: a row for each slide and member, `slide * width + member`.
        newer: a row for each slide.
        width: the most members of a slide.
    """

    head: np.ndarray
    split: np.ndarray
    older: Rows
    newer: Rows
    width: int


def make_slides(graph: Graph, upkeep: Upkeep, buffer: int, limbs: int) -> Slides:
    """Return slides for windows of up to `buffer` entries."""
    count = int(np.count_nonzero(graph.guard_of[upkeep.slide_state] < 0))
    return Slides(
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        rows_for(graph, count * buffer, limbs),
        rows_for(graph, count, limbs),
        buffer,
    )


@inlined
def empty_slides(graph, upkeep, slides, state):
    """Empty all slides of a state whose members are dropped."""
    for slide in range(upkeep.slide_start[state], upkeep.slide_start[state + 1]):
        slides.head[slide] = slides.split[slide] = 0
        clear(slides.newer, slide, graph.no_rank)


@inlined
def push(upkeep, slides, state, entries, place):
    """Add a new member's row to all slides of its state; return True if outgrown."""
    over = False
    for slide in range(upkeep.slide_start[state], upkeep.slide_start[state + 1]):
        over |= add_row(slides.newer, slide, entries, place)
    return over


@inlined
def add_reaching(graph, slides, slide, floor, members, count, entries, low, place):
    """Add the rows of the members that reach a floor to row `place`; return True if outgrown.

    The members are the first `count` of `members`, int64[*]: entries of the slide's state in time
    order. `floor` is the time to reach, and never falls within a window.
    """
    head, split = slides.head[slide], slides.split[slide]
    over = False
    if head < count and graph.times[members[head]] < floor:
        if graph.times[members[count - 1]] < floor:  # as after a NOT of one event
            head = split = count
            clear(slides.newer, slide, graph.no_rank)
        else:
            while graph.times[members[head]] < floor:
                head += 1
            if head > split:
                over = _turn(graph, slides, slide, members, head, count, entries, low)
                split = count
        slides.head[slide], slides.split[slide] = head, split
    if head < split:
        over |= add_row(entries, place, slides.older, slide * slides.width + head)
    if split < count:
        over |= add_row(entries, place, slides.newer, slide)
    return over


@inlined
def _turn(graph, slides, slide, members, head, count, entries, low):
    """Make all members from `head` the older ones; return True if outgrown."""
    over = False
    base = slide * slides.width
    copy_row(slides.older, base + count - 1, entries, members[count - 1] - low)
    for m in range(count - 2, head - 1, -1):
        copy_row(slides.older, base + m, slides.older, base + m + 1)
        over |= add_row(slides.older, base + m, entries, members[m] - low)
    clear(slides.newer, slide, graph.no_rank)
    return over
