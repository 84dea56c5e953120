"""Compares one entry with earlier ones by a pair program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.comparisons import is_comparison, scan_comparison
from elsinore.kernels.compiled import outlined
from elsinore.kernels.graph import Graph
from elsinore.kernels.pair_program import MAX_STACK, Columns, Op, Stack, pair_holds


class Pairs(NamedTuple):
    """Scratch for programs, and what they may read beside the graph, of one window of W entries.

    Attributes:
        stack: of `MAX_STACK` places.
        hits: int64[W], the entries found last.
        floors: int64[F, W + 1], each floor at each entry, and at the window's end.
        closing: int64[*, W], when each entry was closed, by closing slot; `NEVER` while it is open.
    """

    stack: Stack
    hits: np.ndarray
    floors: np.ndarray
    closing: np.ndarray


def make_pairs(graph: Graph, buffer: int) -> Pairs:
    """Scratch for windows of up to `buffer` entries."""
    read = graph.program[graph.program[:, 0] == Op.OPEN, 1]
    slots = max(int(graph.open_slot.max(initial=-1)), int(read.max(initial=-1))) + 1
    return Pairs(
        Stack(np.empty(MAX_STACK, np.int64), np.empty(MAX_STACK), np.empty(MAX_STACK, np.bool_)),
        np.empty(buffer, np.int64),
        np.empty((graph.floor_contiguous.size, buffer + 1), np.int64),
        np.empty((slots, buffer), np.int64),
    )


@outlined
def find_pairs(graph, pairs, number, candidates, count, later, low):
    """Write the earlier entries for which a program is true to `pairs.hits`; how many they are.

    Args:
        graph: a `Graph`.
        pairs: a `Pairs`.
        number: the program's number.
        candidates: int64[*], earlier entries, of which the first `count` are looked at.
        count: see `candidates`.
        later: the later entry.
        low: the window's first entry.
    """
    program = graph.program[graph.program_start[number] : graph.program_start[number + 1]]
    columns = Columns(
        graph.times, graph.slots_l, graph.slots_d, graph.known, pairs.floors, pairs.closing
    )
    hits, found = pairs.hits, 0
    if is_comparison(program):
        return scan_comparison(program, columns, candidates, count, later, hits)
    stack = Stack(pairs.stack.longs, pairs.stack.doubles, pairs.stack.sure)
    for c in range(count):
        if pair_holds(program, columns, stack, candidates[c], later, low):
            hits[found] = candidates[c]
            found += 1
    return found
