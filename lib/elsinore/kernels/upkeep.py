"""What propagation must keep of each state's events, told from the graph alone.

A state whose ways out are all unconditional needs one accumulator, whatever the number of its
events; one with a floor on its way out a **slide** (see `sliding`); one with a program on its way
out that no tree answers, or whose events close one by one, a list of its events.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.graph import Graph
from elsinore.kernels.orders import Orders
from elsinore.kernels.pair_program import Op


class Upkeep(NamedTuple):
    """Read-only tables beside a `Graph`; J slides, L open lists, W ways out.

    Attributes:
        plain: whether accumulators are all that is needed, and nothing of a window but one instant.
        guards: number of guards.
        closing: whether any transition closes the events of a state.
        collected: bool[S], whether the state's accumulator is read.
        kept: bool[S], whether the state's events are listed.
        slide_start: int64[S + 1], where each state's slides begin; those of trend states first.
        slide_state: int64[J].
        slide_of: int64[T], the slide that a transition reads, -1 if it reads none.
        floor_level: int64[F], how many guards, from number 0 on, must be run before the floor.
        way_start: int64[S + 1], where the ways that *lead to* each state begin in `ways`.
        ways: int64[W], number of the way in the graph; way_list: int64[W], its open list.
        list_start: int64[S + 1], where each state's open lists begin; list_state, list_slot:
            int64[L].
        retires: bool[S], whether an event closed for all slots of its state is of no more use.
    """

    plain: bool
    guards: int
    closing: bool
    collected: np.ndarray
    kept: np.ndarray
    slide_start: np.ndarray
    slide_state: np.ndarray
    slide_of: np.ndarray
    floor_level: np.ndarray
    way_start: np.ndarray
    ways: np.ndarray
    way_list: np.ndarray
    list_start: np.ndarray
    list_state: np.ndarray
    list_slot: np.ndarray
    retires: np.ndarray


def find_upkeep(graph: Graph, orders: Orders) -> Upkeep:
    """The upkeep of a graph, but for what is kept in trees."""
    states, sources = graph.starts.size, graph.transition_from
    programmed = graph.transition_program >= 0
    floored = ~programmed & (graph.transition_floor >= 0)
    ordered = orders.transition_tree >= 0
    programmed &= ~ordered
    listed = np.zeros(states, np.bool_)
    listed[sources[programmed]] = True
    trend = graph.guard_of < 0
    listed[sources[floored]] |= trend[sources[floored]]
    listed |= np.diff(graph.open_start) > 0
    collected = np.zeros(states, np.bool_)
    collected[sources[~programmed & ~floored & ~ordered]] = True
    slides = sorted(set(zip(sources[floored], graph.transition_floor[floored], strict=True)))
    slide_of = np.full(sources.size, -1, np.int64)
    for t in np.flatnonzero(floored):
        slide_of[t] = slides.index((sources[t], graph.transition_floor[t]))
    slide_state = np.array([state for state, _ in slides], np.int64)
    lists = _open_lists(graph)
    return Upkeep(
        plain=not (listed.any() or slides or graph.floor_contiguous.size or (~trend).any()),
        guards=int(graph.guard_of.max(initial=-1)) + 1,
        closing=bool(graph.closes.any()),
        collected=collected,
        kept=listed,
        slide_start=_starts(slide_state, states),
        slide_state=slide_state,
        slide_of=slide_of,
        floor_level=_floor_levels(graph),
        way_start=_starts(np.sort(graph.open_state), states),
        ways=np.argsort(graph.open_state, kind="stable").astype(np.int64),
        way_list=np.array([lists.index(way) for way in _ways(graph)], np.int64),
        list_start=_starts(np.array([state for state, _ in lists], np.int64), states),
        list_state=np.array([state for state, _ in lists], np.int64),
        list_slot=np.array([slot for _, slot in lists], np.int64),
        retires=_retiring(graph, lists),
    )


def _starts(ascending: np.ndarray, size: int) -> np.ndarray:
    """Where each of the numbers 0 to `size` begins in an ascending list."""
    return np.searchsorted(ascending, np.arange(size + 1)).astype(np.int64)


def _floor_levels(graph: Graph) -> np.ndarray:
    levels = np.zeros(graph.floor_contiguous.size, np.int64)
    for floor in range(levels.size):
        first, last = graph.floor_set_start[floor : floor + 2]
        used = graph.set_guards[graph.set_guard_start[first] : graph.set_guard_start[last]]
        levels[floor] = used.max(initial=-1) + 1
    return levels


def _ways(graph: Graph) -> list[tuple[int, int]]:
    """State and closing slot of each way out."""
    states = np.repeat(np.arange(graph.starts.size), np.diff(graph.open_start))
    return list(zip(states.tolist(), graph.open_slot.tolist(), strict=True))


def _open_lists(graph: Graph) -> list[tuple[int, int]]:
    return sorted(set(_ways(graph)))


def _retiring(graph: Graph, lists: list[tuple[int, int]]) -> np.ndarray:
    """States all of whose ways out ask for one of the state's closing slots to be open."""
    retires = np.isin(np.arange(graph.starts.size), [state for state, _ in lists])
    needed = [
        _needed_slots(graph.program[first:after].tolist())
        for first, after in zip(graph.program_start[:-1], graph.program_start[1:], strict=True)
    ]
    for state, program in zip(graph.transition_from, graph.transition_program, strict=True):
        own = {slot for owner, slot in lists if owner == state}
        retires[state] &= program >= 0 and bool(needed[program] & own)
    return retires


def _needed_slots(program: list[list[int]]) -> set[int]:
    """Closing slots that must be open wherever a program is true."""
    stack: list[set[int]] = []
    for op, argument in program:
        if op <= Op.OPEN:
            stack.append({argument} if op == Op.OPEN else set())
        elif op in (Op.AND, Op.OR):
            right = stack.pop()
            stack[-1] = stack[-1] | right if op == Op.AND else stack[-1] & right
        elif op >= Op.AND:
            stack.pop()
            stack[-1] = set()
        elif op != Op.IS_TRUE:
            stack[-1] = set()
    return stack[0]
