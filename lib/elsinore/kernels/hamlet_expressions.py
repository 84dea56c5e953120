"""Expressions over snapshots: what an event of a shared burst counts, for all sharing queries.

Coefficients of the count, and for each column of weights coefficients of the weighted count over
the snapshots' counts. The paper keeps them in a hash table by event; here each event has a row.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.hamlet_graph import FREE_LOOP, LONG, NO_LOOP
from elsinore.kernels.hamlet_sets import outside_of
from elsinore.kernels.hamlet_weights import weigh_longs
from elsinore.kernels.hamlet_work import FIRST, MAX_SNAPSHOTS, PART, SUM
from elsinore.kernels.rows import LIMIT

#: No coefficient kept exceeds this, so that a sum of two never wraps.
_NARROW = 1 << 58


@inlined
def clear_expression(work, row):
    """Set a row to 0."""
    for c in range(MAX_SNAPSHOTS):
        work.coefficients[row, c] = 0
        for w in range(work.weighted.shape[0]):
            work.weighted[w, row, c] = 0


@inlined
def add_expression(work, row, other, count):
    """Add an expression over `count` snapshots to another; False if a coefficient outgrows."""
    fits = True
    for c in range(count):
        total = work.coefficients[row, c] + work.coefficients[other, c]
        work.coefficients[row, c] = total
        fits &= total < _NARROW
        for w in range(work.weighted.shape[0]):
            total = work.weighted[w, row, c] + work.weighted[w, other, c]
            work.weighted[w, row, c] = total
            fits &= total < _NARROW and total > -_NARROW
    return fits


@inlined
def gather(work, s, loop, count):
    """Set row `PART` to the sum of an event's predecessors in the burst; False if it outgrows.

    `loop` is the program by which they were found, `count` the number of snapshots.
    """
    clear_expression(work, PART)
    if loop == NO_LOOP:
        return True
    if loop == FREE_LOOP:
        return add_expression(work, PART, SUM, count)
    shift = FIRST - work.stores[s]["tail"]
    for h in range(outside_of(work, s, loop), work.tallies[loop]["found"]):
        if not add_expression(work, PART, work.block.sets[loop, h] + shift, count):
            return False
    return True


@inlined
def add_event(graph, work, s, entry, e, loop, count):
    """Make row `e` the expression of an event; False if a coefficient outgrows 64 bits."""
    fits = gather(work, s, loop, count)
    for c in range(count):
        coefficient = work.coefficients[PART, c] + (1 if c == 0 else 0)
        work.coefficients[e, c] = coefficient
        for w in range(work.weighted.shape[0]):
            weight, before = graph.long_weights[w, entry], work.weighted[w, PART, c]
            size = abs(np.float64(weight) * np.float64(coefficient))
            if size + abs(np.float64(before)) > _NARROW:
                fits = False
            else:
                work.weighted[w, e, c] = before + weight * coefficient
    return fits


@inlined
def resolve(graph, work, s, x, snapshots, row, a, b):
    """Add the value of expression `x` to the lanes of queries `a` to `b - 1` of a row."""
    low, high = graph.queries[a]["long_start"], graph.queries[b]["long_start"]
    longs = work.lanes.longs
    for c in range(snapshots):
        factor = work.coefficients[x, c]
        if factor != 0:
            _add_times(longs, row, work.snapshots + c, low, high, factor, work.over)
    for o in range(graph.kinds[s]["own_start"], graph.kinds[s + 1]["own_start"]):
        q, column = graph.owns[o]["query"], graph.owns[o]["column"]
        if q < a or q >= b or graph.owns[o]["kind"] != LONG:
            continue
        width, counts = graph.queries[q]["width"], graph.queries[q]["long_start"]
        for c in range(snapshots):
            weight = work.weighted[column, x, c]
            if weight != 0:
                weigh_longs(
                    longs, row, counts + graph.owns[o]["index"] * width, longs,
                    work.snapshots + c, counts, width, weight, work.over, work.limbs,
                )  # fmt: skip


@outlined
def _add_times(longs, row, source, low, high, factor, over):
    """Add `factor`, a positive number, times the lanes of a row to those of another; int64."""
    target, more, flags = longs[row, low:high], longs[source, low:high], over[low:high]
    limit = LIMIT // factor
    seen, large = False, np.int64(0)
    for v in range(target.size):
        seen |= more[v] > limit or more[v] < -limit
        total = target[v] + more[v] * factor
        large |= total ^ (total >> 63)
        target[v] = total
    if seen or large > LIMIT:
        for v in range(target.size):
            wide = abs(np.float64(more[v]) * np.float64(factor)) > 2.0**61
            if wide or target[v] > LIMIT or target[v] < -LIMIT:
                target[v] = 0
                flags[v] = True
