"""What a segment program will cost by measured costs: operation by operation, as it will run."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log2

import numpy as np

from elsinore.engine.segments.costs import MEASURED, SegmentCosts, planes_for
from elsinore.kernels.segments import SOURCE_ROW, TARGET_ROW, WIDTH
from elsinore.lowering.chains import Symbol, carried, passes
from elsinore.lowering.segments import Lowered, lower_segments
from elsinore.query.bound import Workload
from elsinore.sharing.candidates import Segment
from elsinore.sharing.statistics import Statistics


def predict(
    workload: Workload,
    shared: Sequence[Sequence[Segment]],
    statistics: Statistics,
    costs: SegmentCosts = MEASURED,
) -> float:
    """Nanoseconds per tick of the stream that a workload takes under some shared segments.

    Left out is what no plan changes: reading, sorting, closing windows.
    """
    return sum(
        _program_cost(lower_segments(queries, shared), statistics, costs)
        for queries in passes(workload.queries)
    )


def _program_cost(lowered: Lowered, statistics: Statistics, costs: SegmentCosts) -> float:
    """Each operation in proportion to its events; rows that nothing has reached yet are skipped."""
    program = lowered.program
    owners = np.repeat(np.arange(len(lowered.symbols)), np.diff(program.op_starts))
    often = np.array([statistics.rate(s.type, 1) for s in lowered.symbols])[owners]
    rates = np.array([_window_rate(symbol, statistics) for symbol in lowered.symbols])[owners]
    live, planes = _rows_reached(lowered, rates)
    source = program.ops[:, SOURCE_ROW]
    reached = np.where(source < 0, 1.0, live[source])
    lanes = program.ops[:, WIDTH] * np.where(source < 0, 1, planes[source])
    each = costs.operation + costs.lane * lanes
    return float((often * (reached * each + (1.0 - reached) * costs.skipped)).sum())


def _rows_reached(lowered: Lowered, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How likely each row holds a count at all, and the planes of its counts."""
    ops, rows = lowered.program.ops, lowered.program.rows
    live, bits, depths = np.zeros(rows), np.zeros(rows), np.zeros(rows, np.int64)
    come = np.array([1.0 - exp(-rate) for rate in rates])
    wide = np.array([log2(max(rate, 1.0)) for rate in rates])
    source, target = ops[:, SOURCE_ROW], ops[:, TARGET_ROW]
    first = source < 0
    for _ in range(max(len(chain.symbols) for chain in lowered.chains)):
        np.maximum.at(depths, target, np.where(first, 1, depths[source] + 1))
        np.maximum.at(live, target, np.where(first, 1.0, live[source]) * come)
        longer = np.where(first, 0.0, bits[source]) + wide - np.log2(depths[target])
        np.maximum.at(bits, target, longer)
    return live, np.array([planes_for(size) for size in bits])


def _window_rate(symbol: Symbol, statistics: Statistics) -> float:
    """Mean number of a symbol's events in one window of one partition."""
    keys = [key.attribute for key in carried(symbol).values()]
    whole = statistics.rate(symbol.type, symbol.query.window.within)
    return whole / statistics.partition_count(keys) if keys else whole
