"""What the events of a burst weigh together.

Let W be the sum of the weights of b events of a state that loops, at rising times. The j-th event
is met by 2^j times what reaches the burst, and what it adds doubles with each event after it: in
all `2^(b-1) * W` times. Where the state does not loop, or the events are of one time, it is W.
"""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined, outlined


@outlined
def weigh(events, first, after, doublings, weights, sum_weights, heavy, no_rank):
    """Weigh the events from `first` to `after` that have the first one's code.

    `doublings` is b - 1 for a burst, and 0 for events of one time. For what is written see
    `sweep_program.Work`.
    """
    code, taken, longs = events.codes[first], 0, events.longs.shape[0]
    for i in range(first, after):
        taken += events.codes[i] == code
    _set(weights, heavy, 0, taken, np.float64(taken), doublings)
    for k in range(longs):
        weight, size = np.int64(0), 0.0
        for i in range(first, after):
            if events.codes[i] == code:
                weight += events.longs[k, i]
                size += abs(np.float64(events.longs[k, i]))
        _set(weights, heavy, k + 1, weight, size, doublings)
    for k in range(events.doubles.shape[0]):
        total = 0.0
        for i in range(first, after):
            if events.codes[i] == code:
                total += events.doubles[k, i]
        sum_weights[k, 0] = total
        sum_weights[k, 1] = total * 2.0**doublings
    for k in range(events.ranks.shape[0]):
        lowest = no_rank
        for i in range(first, after):
            if events.codes[i] == code:
                lowest = min(lowest, events.ranks[k, i])
        weights[longs + 1 + k, 0] = lowest


@inlined
def _set(weights, heavy, column, weight, size, doublings):
    weights[column, 0] = weight
    weights[column, 1] = weight << doublings
    heavy[column] = size * 2.0**doublings
