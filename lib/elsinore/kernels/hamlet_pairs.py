"""Finds the members of a state that may come right before an entry."""

from __future__ import annotations

from elsinore.kernels.compiled import inlined
from elsinore.kernels.hamlet_block import scan


@inlined
def find_members(graph, work, number, state, first, last, later, hits):  # type: ignore[no-untyped-def]
    """Write the places of the members for which a program is true; how many they are.

    Args:
        graph: a `MergedGraph`.
        work: a `Work`.
        number: the program's number.
        state: the earlier state.
        first: place of the first member looked at.
        last: place after the last one.
        later: the later entry.
        hits: int64[room] to write to.
    """
    program = graph.program[graph.program_start[number] : graph.program_start[number + 1]]
    return scan(
        program, work.entries[state], work.alive[state], first, last, later, graph.slots_l,
        graph.slots_d, graph.known, work.longs, work.doubles, work.sure, work.one_long,
        work.one_double, work.one_sure, hits,
    )  # fmt: skip
