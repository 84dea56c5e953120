"""Log the work of the Hamlet kernels: values of snapshots, coefficients, decisions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from elsinore.executors.hamlet.kernels.graph import table
from elsinore.executors.hamlet.kernels.work import Ledger
from elsinore.numbers.compiled import inlined

#: Number of columns of `Log.decisions`.
DECISION = 12

#: Values of snapshots (entry -1: graphlet level), and coefficients (entry -1: the burst's sum).
VALUE = table("burst", "snapshot", "entry", "query", "window", "value")
COEFFICIENT = table("burst", "entry", "snapshot", "coefficient")

#: Indices of `Log.used`.
DECISIONS, VALUES, COEFFICIENTS = range(3)


class Log(NamedTuple):
    """Logged rows; arrays without rows disable a log.

    Attributes:
        decisions: int64[*, DECISION]: burst, partition, state, first entry, b, n, s_p, s_c, k, g,
            t, number of sharing queries.
        costs: float64[*, 2], with sharing and without.
        shares: bool[*, k], the queries that share.
        values, coefficients: `VALUE`[*], `COEFFICIENT`[*].
        used: int64[3], the rows needed by `decisions`, `values` and `coefficients`.
    """

    decisions: np.ndarray
    costs: np.ndarray
    shares: np.ndarray
    values: np.ndarray
    coefficients: np.ndarray
    used: np.ndarray


def make_log(queries: int, decisions: int, rows: int) -> Log:
    """Return a log with room for `decisions` decisions, and `rows` values and coefficients."""
    return Log(
        np.zeros((decisions, DECISION), np.int64),
        np.zeros((decisions, 2)),
        np.zeros((decisions, queries), np.bool_),
        np.zeros(rows, VALUE),
        np.zeros(rows, COEFFICIENT),
        np.zeros(3, np.int64),
    )


@inlined
def _low(longs, row, lane):
    if longs.ndim == 2:
        return longs[row, lane]
    return np.int64(longs[row, lane, 0])


@inlined
def log_values(graph, work, log, snapshot, entry, row, a, b):
    """Log a snapshot's value for each open window of queries `a` to `b - 1`."""
    if log.values.shape[0] == 0:
        return
    for q in range(a, b):
        lane = work.cursors[q]["lane"]
        for window in range(work.cursors[q]["closing"], work.cursors[q]["opening"]):
            used = log.used[VALUES]
            log.used[VALUES] += 1
            if used < log.values.shape[0]:
                log.values[used]["burst"] = work.ledger[Ledger.BURSTS]
                log.values[used]["snapshot"] = snapshot
                log.values[used]["entry"] = entry
                log.values[used]["query"] = q
                log.values[used]["window"] = graph.windows[window]
                log.values[used]["value"] = _low(
                    work.lanes.counts, row, graph.queries[q]["long_start"] + lane
                )
            lane += 1
            if lane == graph.queries[q]["width"]:
                lane = 0


@inlined
def log_coefficient(work, log, entry, snapshot, coefficient):
    """Log the coefficient of a snapshot in an entry's count, or in the burst's sum (entry -1)."""
    if log.coefficients.shape[0] == 0:
        return
    used = log.used[COEFFICIENTS]
    log.used[COEFFICIENTS] += 1
    if used < log.coefficients.shape[0]:
        log.coefficients[used]["burst"] = work.ledger[Ledger.BURSTS]
        log.coefficients[used]["entry"] = entry
        log.coefficients[used]["snapshot"] = snapshot
        log.coefficients[used]["coefficient"] = coefficient
