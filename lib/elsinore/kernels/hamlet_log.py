"""Tells an observer what was done: snapshots' values, coefficients, decisions."""

from __future__ import annotations

import numpy as np

from elsinore.kernels.compiled import inlined


@inlined
def _low(longs, row, lane):  # type: ignore[no-untyped-def]
    if longs.ndim == 2:
        return longs[row, lane]
    return np.int64(longs[row, lane, 0])


@inlined
def log_values(graph, work, log, p, snapshot, entry, lanes, row, a, b):  # type: ignore[no-untyped-def]
    """Note a snapshot's value for each open window of queries `a` to `b - 1`."""
    if log.values.shape[0] == 0:
        return
    for q in range(a, b):
        first = graph.window_start[p * work.cursors.size + q]
        for window in range(work.cursors[q]["closing"], work.cursors[q]["opening"]):
            used = log.used[1]
            log.used[1] += 1
            if used < log.values.shape[0]:
                lane = graph.queries[q]["long_start"] + (window - first) % graph.queries[q]["width"]
                log.values[used, 0] = work.ledger[0]
                log.values[used, 1] = snapshot
                log.values[used, 2] = entry
                log.values[used, 3] = q
                log.values[used, 4] = graph.windows[window]
                log.values[used, 5] = _low(lanes.longs, row, lane)


@inlined
def log_coefficient(work, log, entry, snapshot, coefficient):  # type: ignore[no-untyped-def]
    """Note the coefficient of a snapshot in an entry's count, or in the burst's sum (-1)."""
    if log.coefficients.shape[0] == 0:
        return
    used = log.used[2]
    log.used[2] += 1
    if used < log.coefficients.shape[0]:
        log.coefficients[used, 0] = work.ledger[0]
        log.coefficients[used, 1] = entry
        log.coefficients[used, 2] = snapshot
        log.coefficients[used, 3] = coefficient
