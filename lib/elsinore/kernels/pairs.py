"""Compares one entry with earlier ones by a pair program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.graph import Graph
from elsinore.kernels.pair_program import MAX_STACK, Columns, Op, Stack, compare, pair_holds


class Pairs(NamedTuple):
    """Scratch for programs, and what they may read beside the graph, of one window of W entries.

    Attributes:
        stack: of `MAX_STACK` places.
        hits: int64[W], the entries found last.
        floors: int64[F, W + 1], each floor at each entry, and at the window's end.
        closed: bool[*, W], whether each entry is closed, by closing slot.
    """

    stack: Stack
    hits: np.ndarray
    floors: np.ndarray
    closed: np.ndarray


def make_pairs(graph: Graph, buffer: int) -> Pairs:
    """Scratch for windows of up to `buffer` entries."""
    return Pairs(
        Stack(np.empty(MAX_STACK, np.int64), np.empty(MAX_STACK), np.empty(MAX_STACK, np.bool_)),
        np.empty(buffer, np.int64),
        np.empty((graph.floor_contiguous.size, buffer + 1), np.int64),
        np.empty((int(graph.open_slot.max(initial=-1)) + 1, buffer), np.bool_),
    )


@outlined
def find_pairs(graph, pairs, number, candidates, count, later, low):
    """Write the earlier entries for which a program is true to `pairs.hits`; how many they are.

    The first `count` of `candidates`, int64[*], are looked at.
    """
    program = graph.program[graph.program_start[number] : graph.program_start[number + 1]]
    columns = Columns(
        graph.times, graph.slots_l, graph.slots_d, graph.known, pairs.floors, pairs.closed
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


# ---- the commonest program, one comparison, without its interpreter: 5 ns a pair, its addition
# ---- included, against 13


@inlined
def is_comparison(program):
    """Whether a program only compares a slot of the earlier event with one of the later."""
    if program.shape[0] != 3:
        return False
    first, second, last = program[0, 0], program[1, 0], program[2, 0]
    if first > second:
        first, second = second, first
    sides = (first == Op.EARLIER_L and second == Op.LATER_L) or (
        first == Op.EARLIER_D and second == Op.LATER_D
    )
    return sides and last >= Op.EQUAL_L and last <= Op.AT_MOST_D


@inlined
def scan_comparison(program, columns, candidates, count, later, hits):
    """Write the candidates that compare as asked to `hits`; how many they are."""
    flipped = program[0, 0] >= Op.LATER_L
    own, other = (program[1, 1], program[0, 1]) if flipped else (program[0, 1], program[1, 1])
    op, known = program[2, 0], columns.known
    if not known[other, later]:
        return 0
    if op < Op.EQUAL_D:
        values, bound = columns.slots_l[own], columns.slots_l[other, later]
        return _scan(op - Op.EQUAL_L, flipped, values, bound, known[own], candidates, count, hits)
    numbers, limit = columns.slots_d[own], columns.slots_d[other, later]
    return _scan(op - Op.EQUAL_D, flipped, numbers, limit, known[own], candidates, count, hits)


@inlined
def _scan(which, flipped, values, bound, known, candidates, count, hits):
    found = 0
    for c in range(count):
        value = values[candidates[c]]
        holds = compare(which, bound, value) if flipped else compare(which, value, bound)
        numbers = value == value and bound == bound
        hits[found] = candidates[c]
        found += 1 if holds != 0 and numbers and known[candidates[c]] else 0
    return found
