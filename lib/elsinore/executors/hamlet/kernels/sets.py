"""Find the predecessors of an event of a shared burst, by each program of the sharing queries."""

from __future__ import annotations

from elsinore.executors.hamlet.kernels.graph import FREE_LOOP, NO_LOOP
from elsinore.executors.hamlet.kernels.lanes import add_rows
from elsinore.executors.hamlet.kernels.steps import takes
from elsinore.executors.hamlet.kernels.ways import SHARED
from elsinore.executors.hamlet.kernels.work import Ledger
from elsinore.executors.input.kernels.pair_program import BLOCK, Stack, run_step
from elsinore.numbers.borrowed import call
from elsinore.numbers.compiled import inlined

_NONE = -9


@inlined
def find_sets(graph, work, s, entry, ahead, is_first):
    """Find an event's predecessors by each program of the sharing queries, into `Block.sets`.

    Return True if all sharing queries have the same predecessors in the burst, and the same
    predecessors before the burst as the burst's first event (`is_first`). `ahead` is the number of
    the burst's events before the entry's timestamp.
    """
    alike, before = True, _NONE
    start = work.stores[s]["part_start"]
    for i in range(start, start + work.stores[s]["parts"]):
        if work.parts[i]["way"] != SHARED:
            continue
        loop = graph.runs[work.parts[i]["run"]]["loop"]
        if loop >= 0 and work.tallies[loop]["found"] < 0:
            last = work.stores[s]["tail"] + ahead
            work.tallies[loop]["found"] = find_members(graph, work, loop, s, last, entry, loop)
            if is_first:
                work.tallies[loop]["first_found"] = work.tallies[loop]["found"]
                for h in range(work.tallies[loop]["found"]):
                    work.block.first_sets[loop, h] = work.block.sets[loop, h]
            alike &= _same_outside(work, s, loop)
        if before not in (_NONE, loop):
            alike &= _same_inside(work, s, before, loop, ahead)
        before = loop
    return alike


@inlined
def outside_of(work, s, loop):
    """Return how many of the found members are from before the burst; they come first."""
    count, tail = 0, work.stores[s]["tail"]
    while count < work.tallies[loop]["found"] and work.block.sets[loop, count] < tail:
        count += 1
    return count


@inlined
def _same_outside(work, s, loop):
    count = outside_of(work, s, loop)
    same = count == work.tallies[loop]["first_found"]
    if same:
        for h in range(count):
            same &= work.block.sets[loop, h] == work.block.first_sets[loop, h]
    return same


@inlined
def _same_inside(work, s, left, right, ahead):
    same = True
    for number in range(ahead):
        same &= _inside(work, s, left, number) == _inside(work, s, right, number)
    return same


@inlined
def _inside(work, s, loop, number):
    """Return whether event `number` of the burst precedes the current one.

    This depends on the loop of the queries.
    """
    sought = work.stores[s]["tail"] + number
    if loop == NO_LOOP:
        return False
    if loop == FREE_LOOP:
        return work.block.alive[work.stores[s]["start"] + sought]
    low, high = 0, work.tallies[loop]["found"]
    while low < high:
        middle = (low + high) // 2
        if work.block.sets[loop, middle] < sought:
            low = middle + 1
        else:
            high = middle
    return low < work.tallies[loop]["found"] and work.block.sets[loop, low] == sought


# ---- the members of a state that can come right before an entry


@inlined
def find_members(graph, work, number, state, last, later, into):
    """Write the positions below `last` of members that fulfill a program; return their number.

    They are written to row `into` of `Block.sets`.
    """
    first = work.stores[state]["head"]
    found = call(
        work.scan,
        (graph, work.block, number, work.stores[state]["start"], first, last, later, into),
    )
    work.ledger[Ledger.PAIRS] += last - first
    work.stores[state]["looked"] += last - first
    work.stores[state]["found"] += found
    return found


@inlined
def add_members(graph, work, s, entry, ahead, row, a, b):
    """Add to a row the trends that its entry in state `s` receives over transitions with a program.

    A program runs once for all queries that have it, even if they take different entries. `ahead`
    is the number of members after the tail of state `s` that are before the entry's timestamp.
    """
    accepts, into = graph.accepts[entry], work.block.sets.shape[0] - 1
    number, source, found = -1, -1, 0
    for t in range(graph.kinds[s]["pair_start"], graph.kinds[s + 1]["link_start"]):
        low, high = max(a, graph.links[t]["low"]), min(b, graph.links[t]["high"])
        if low >= high or not takes(accepts, graph.links[t]["class"]):
            continue
        if graph.links[t]["program"] != number or graph.links[t]["from"] != source:
            number, source = graph.links[t]["program"], graph.links[t]["from"]
            last = work.stores[source]["tail"] + (ahead if source == s else 0)
            found = find_members(graph, work, number, source, last, entry, into)
        hits = work.block.sets[into, :found]
        add_rows(graph, work.lanes, row, work.stores[source]["base"], hits, low, high, work.over)


def scan(graph, block, number, start, first, last, later, into):
    """Run `find_members` over the members from index `start` of `block.entries`.

    Compiled separately (`address_of`), once for all precision levels. The program must not contain
    `Op.REACHES` or `Op.OPEN`.
    """
    program = graph.program[graph.program_start[number] : graph.program_start[number + 1]]
    members, alive = block.entries[start : start + last], block.alive[start : start + last]
    stack = Stack(block.stack.longs, block.stack.doubles, block.stack.sure)
    hits = block.sets[into]
    found = 0
    for begin in range(first, last, BLOCK):
        entries = members[begin : min(begin + BLOCK, last)]
        step = top = 0
        while step < program.shape[0]:
            step, top = run_step(program, step, graph, entries, later, stack, top)
        for i in range(entries.size):
            hits[found] = begin + i  # without a branch, which is hard to predict
            found += 1 if stack.sure[0, i] and stack.longs[0, i] != 0 and alive[begin + i] else 0
    return found
