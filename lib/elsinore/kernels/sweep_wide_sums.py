"""Sums of doubles in the wide sweep: each with an exponent of its own (`algebra`)."""

from __future__ import annotations

import math

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.sweep_bursts import doublings_of
from elsinore.kernels.sweep_digits import top_of
from elsinore.kernels.sweep_program import (
    DOUBLE,
    LINK_START,
    ONCE,
    OWN_END,
    OWN_START,
    RUN_START,
    SIDES,
    SLOTS,
    Link,
    Own,
    Run,
)
from elsinore.kernels.wide import add_scaled, normal

_SIDE = SIDES[DOUBLE]


@inlined
def add_scaled_to(target, row, mantissa, exponent):
    """Add a scaled double to a row of them."""
    fraction, places = normal(mantissa, np.int64(exponent))
    total, scale = add_scaled(target[row, 0], np.int64(target[row, 1]), fraction, places)
    target[row, 0], target[row, 1] = total, scale


@outlined
def add_sums(heads, rows, p, read, sums, reached, burst):
    """Let sums of doubles gain multiples of what reaches them."""
    for slot in range(heads[p, _SIDE + SLOTS]):
        reached[slot, 0] = reached[slot, 1] = 0.0
    for n in range(heads[p, _SIDE + LINK_START], heads[p, _SIDE + RUN_START]):
        slot, source, size = rows[n, Link.SLOT], rows[n, Link.CELL], rows[n, Link.LENGTH]
        for i in range(size):
            add_scaled_to(reached, slot + i, read[source + i, 0], read[source + i, 1])
    for n in range(heads[p, _SIDE + RUN_START], heads[p, _SIDE + OWN_START]):
        slot, cell, size = rows[n, Run.SLOT], rows[n, Run.CELL], rows[n, Run.LENGTH]
        if rows[n, Run.LOOPS]:
            for i in range(size):
                add_scaled_to(reached, slot + i, read[cell + i, 0], read[cell + i, 1])
    for n in range(heads[p, _SIDE + RUN_START], heads[p, _SIDE + OWN_START]):
        slot, cell, size = rows[n, Run.SLOT], rows[n, Run.CELL], rows[n, Run.LENGTH]
        times = np.float64(burst.length)
        if burst.rising and rows[n, Run.LOOPS]:
            times = 2.0**burst.length - 1.0
        for i in range(size):
            more, exponent = reached[slot + i, 0], reached[slot + i, 1]
            if more != 0.0:
                add_scaled_to(sums, cell + i, more * times, exponent)


@outlined
def own_sums(heads, rows, p, events, burst, sums, weights, counted):
    """Add to sums of doubles what events weigh themselves for each trend that reaches them."""
    for n in range(heads[p, _SIDE + OWN_START], heads[p, _SIDE + OWN_END]):
        slot, cell, size = rows[n, Own.SLOT], rows[n, Own.CELL], rows[n, Own.LENGTH]
        column = rows[n, Own.COLUMN]
        together = math.isfinite(weights[column, ONCE])
        shift = doublings_of(burst) if rows[n, Own.LOOPS] else 0
        for event in range(burst.first, burst.first + 1 if together else burst.after):
            if events.codes[event] != events.codes[burst.first]:
                continue
            weight = weights[column, ONCE] if together else events.doubles[column, event]
            if weight == 0.0:  # 0 * inf has no answer
                continue
            scaled, scale = normal(weight, np.int64(0))
            for i in range(size):
                if counted.sizes[slot + i]:
                    count, exponent = top_of(counted, slot + i)
                    fraction, places = normal(count, np.int64(exponent))
                    add_scaled_to(sums, cell + i, scaled * fraction, places + scale + shift)
