"""What the events of a burst weigh together.

Let W be the sum of the weights of b events of a state that loops, at rising times. The j-th event
is met by 2^j times what reaches the burst, and what it adds doubles with each event after it: in
all `2^(b-1) * W` times. Where the state does not loop, or the events are of one time, it is W.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, outlined
from elsinore.kernels.sweep_program import DOUBLED, ONCE


@outlined
def weigh(events, burst, doublings, weights, no_rank):
    """Weigh a burst's events, and `2**doublings` times that where slots loop."""
    first, after, longs = burst.first, burst.after, events.longs.shape[0]
    code, taken = events.codes[first], 0
    for i in range(first, after):
        taken += events.codes[i] == code
    _set(weights, 0, taken, np.float64(taken), doublings)
    for k in range(longs):
        weight, size = np.int64(0), 0.0
        for i in range(first, after):
            if events.codes[i] == code:
                weight += events.longs[k, i]
                size += abs(np.float64(events.longs[k, i]))
        _set(weights, k + 1, weight, size, doublings)
    for k in range(events.doubles.shape[0]):
        total = 0.0
        for i in range(first, after):
            if events.codes[i] == code:
                total += events.doubles[k, i]
        weights.doubles[k, ONCE] = total
        weights.doubles[k, DOUBLED] = total * 2.0**doublings
    for k in range(events.ranks.shape[0]):
        lowest = no_rank
        for i in range(first, after):
            if events.codes[i] == code:
                lowest = min(lowest, events.ranks[k, i])
        weights.longs[longs + 1 + k, ONCE] = lowest


@inlined
def _set(weights, column, weight, size, doublings):
    weights.longs[column, ONCE] = weight
    weights.longs[column, DOUBLED] = weight << doublings
    weights.heavy[column] = size * 2.0**doublings
