"""Sums of doubles in the wide sweep: each with an exponent of its own (`algebra`)."""

from __future__ import annotations

import math

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.sweep_digits import top_of
from elsinore.kernels.sweep_program import (
    DOUBLE,
    LINK_START,
    OWN_END,
    OWN_START,
    RUN_START,
    SLOTS,
    side,
)
from elsinore.kernels.wide import add_scaled, normal

_SIDE = side(DOUBLE)


@inlined
def add_scaled_to(target, row, mantissa, exponent):
    """Add a scaled double to a row of them."""
    fraction, places = normal(mantissa, np.int64(exponent))
    total, scale = add_scaled(target[row, 0], np.int64(target[row, 1]), fraction, places)
    target[row, 0], target[row, 1] = total, scale


@outlined
def add_sums(heads, rows, p, read, sums, reached, length, burst):
    """Let sums of doubles gain multiples of what reaches them."""
    for slot in range(heads[p, _SIDE + SLOTS]):
        reached[slot, 0] = reached[slot, 1] = 0.0
    for n in range(heads[p, _SIDE + LINK_START], heads[p, _SIDE + RUN_START]):
        slot, source, size = rows[n, 0], rows[n, 1], rows[n, 2]
        for i in range(size):
            add_scaled_to(reached, slot + i, read[source + i, 0], read[source + i, 1])
    for n in range(heads[p, _SIDE + RUN_START], heads[p, _SIDE + OWN_START]):
        slot, cell, size, loops = rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3]
        for i in range(size):
            if loops:
                add_scaled_to(reached, slot + i, read[cell + i, 0], read[cell + i, 1])
    for n in range(heads[p, _SIDE + RUN_START], heads[p, _SIDE + OWN_START]):
        slot, cell, size, loops = rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3]
        times = 2.0**length - 1.0 if burst and loops else np.float64(length)
        for i in range(size):
            more, exponent = reached[slot + i, 0], reached[slot + i, 1]
            if more != 0.0:
                add_scaled_to(sums, cell + i, more * times, exponent)


@outlined
def own_sums(
    heads, rows, p, doublings, events, first, after, sums, weights, counted, counted_sizes
):
    """Add to sums of doubles what events weigh themselves for each trend that reaches them."""
    for n in range(heads[p, _SIDE + OWN_START], heads[p, _SIDE + OWN_END]):
        cell, source, size, column = rows[n, 0], rows[n, 1], rows[n, 2], rows[n, 3]
        together = math.isfinite(weights[column, 0])
        shift = doublings if rows[n, 4] else 0
        for event in range(first, first + 1 if together else after):
            if events.codes[event] != events.codes[first]:
                continue
            weight = weights[column, 0] if together else events.doubles[column, event]
            if weight == 0.0:  # 0 * inf has no answer
                continue
            scaled, scale = normal(weight, np.int64(0))
            for i in range(size):
                if counted_sizes[source + i]:
                    count, exponent = top_of(counted, counted_sizes, source + i)
                    fraction, places = normal(count, np.int64(exponent))
                    add_scaled_to(sums, cell + i, scaled * fraction, places + scale + shift)
