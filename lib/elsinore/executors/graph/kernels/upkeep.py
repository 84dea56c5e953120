"""Find the data that propagation must keep of each state's events, from the graph.

A state whose ways out are all unconditional needs one accumulator, whatever the number of its
events. A state with a floor on a way out needs a **slide** (see `sliding`). A state needs a list of
its events if a way out has a program that no tree evaluates, or if its events close one by one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.graph.kernels.orders import Orders


class Upkeep(NamedTuple):
    """Read-only tables for a `Graph`; J slides, W ways out.

    Attributes:
        plain: whether accumulators and trees are enough, and entries of only one timestamp.
        guards: number of guards.
        closing: whether any transition closes the events of a state.
        collected: bool[S], whether the state's accumulator is read.
        kept: bool[S], whether the state's events are listed.
        slide_start: int64[S + 1], the range of each state's slides; slides of trend states first.
        slide_state: int64[J].
        slide_of: int64[T], the slide that a transition reads, -1 if it reads none.
        floor_level: int64[F], how many guards, from number 0 on, must be run before the floor.
        way_start: int64[S + 1], the range in `ways` of the ways that *lead to* each state.
        ways: int64[W], number of the way in the graph; way_from: int64[W], the state it leaves.
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
    way_from: np.ndarray


def find_upkeep(graph: Graph, orders: Orders) -> Upkeep:
    """Return the tables of a graph; `orders` has the transitions that trees evaluate."""
    states, sources = graph.starts.size, graph.transition_from
    programmed = graph.transition_program >= 0
    floored = graph.transition_floor >= 0
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
    ways = np.argsort(graph.open_state, kind="stable").astype(np.int64)
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
        ways=ways,
        way_from=np.repeat(np.arange(states), np.diff(graph.open_start))[ways],
    )


def _starts(ascending: np.ndarray, size: int) -> np.ndarray:
    """Return the index at which each of the numbers 0 to `size` begins in an ascending list."""
    return np.searchsorted(ascending, np.arange(size + 1)).astype(np.int64)


def _floor_levels(graph: Graph) -> np.ndarray:
    """Return, for each floor, how many guards must be run before it."""
    levels = np.zeros(graph.floor_contiguous.size, np.int64)
    for floor in range(levels.size):
        first, last = graph.floor_set_start[floor : floor + 2]
        used = graph.set_guards[graph.set_guard_start[first] : graph.set_guard_start[last]]
        levels[floor] = used.max(initial=-1) + 1
    return levels
