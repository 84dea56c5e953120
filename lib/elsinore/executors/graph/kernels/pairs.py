"""Compare one entry with earlier ones by a pair program."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.graph.kernels.graph import Graph
from elsinore.executors.input.kernels.pair_program import BLOCK, Op, Stack, make_stack, run_step
from elsinore.numbers.compiled import outlined


class Pairs(NamedTuple):
    """Scratch for programs, and their inputs except for the graph, for a window of W entries.

    Attributes:
        stack: the stack of the programs.
        hits: int64[W], the entries found last.
        floors: int64[F, W + 1], each floor at each entry, and at the window's end.
        closed: bool[*, W], whether each entry is closed, by closing slot.
    """

    stack: Stack
    hits: np.ndarray
    floors: np.ndarray
    closed: np.ndarray


def make_pairs(graph: Graph, buffer: int) -> Pairs:
    """Return scratch for windows of up to `buffer` entries."""
    return Pairs(
        make_stack(graph.program, graph.program_start, buffer),
        np.empty(buffer, np.int64),
        np.empty((graph.floor_contiguous.size, buffer + 1), np.int64),
        np.empty((int(graph.open_slot.max(initial=-1)) + 1, buffer), np.bool_),
    )


@outlined
def find_pairs(graph, pairs, number, candidates, count, later, low):
    """Write the earlier entries for which a program is true to `pairs.hits`; return their number.

    The program runs on the first `count` of `candidates`, int64[*]. `low` is the window's first
    entry.
    """
    program = graph.program[graph.program_start[number] : graph.program_start[number + 1]]
    stack, hits, found = pairs.stack, pairs.hits, 0
    for begin in range(0, count, BLOCK):
        entries = candidates[begin : min(begin + BLOCK, count)]
        step = top = 0
        while step < program.shape[0]:
            op, slot = program[step, 0], program[step, 1]
            if op != Op.REACHES and op != Op.OPEN:
                step, top = run_step(program, step, graph, entries, later, stack, top)
                continue
            floor = pairs.floors[slot, later - low] if op == Op.REACHES else 0
            for i in range(entries.size):
                if op == Op.REACHES:
                    stack.longs[top, i] = graph.times[entries[i]] >= floor
                else:
                    stack.longs[top, i] = not pairs.closed[slot, entries[i] - low]
                stack.sure[top, i] = True
            step, top = step + 1, top + 1
        for i in range(entries.size):
            hits[found] = entries[i]  # without a branch, which is hard to predict
            found += 1 if stack.sure[0, i] and stack.longs[0, i] != 0 else 0
    return found
