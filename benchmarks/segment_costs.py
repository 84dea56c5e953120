"""Measures what the work of segment programs costs, for `plan.choose_segments.SegmentCosts`.

A-Seq runs with 20 to 120 queries and windows that overlap 1 to 40 times; the time of its kernel per
event is fitted, by least squares over the relative error, to `fixed + operations * operation +
lanes * lane`. What a skipped operation costs is taken from a stream in which no prefix ever
matches.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from benchmarks.claim import Measured, benchmark
from benchmarks.sharon import STREAM, WITHIN, Case, make_events, make_workload
from elsinore.events import EventTable
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import key_codes, make_entries
from elsinore.executors.input.weights import weigh_events
from elsinore.executors.linear.kernels.segments import Op
from elsinore.executors.linear.segment_tables import Lowered, lower_segments
from elsinore.executors.linear.segments import run_segments
from elsinore.executors.plan.choose_segments import MEASURED

ROUNDS = 7
CASES = tuple(
    Case(queries=queries, slide=WITHIN // overlap)
    for queries in (20, 60, 120)
    for overlap in (1, 5, 20, 40)
)


@benchmark(
    "segment-costs",
    "Cost model of segment programs, for the choice of shared segments",
    "A-Seq with 20 to 120 queries, windows that overlap 1 to 40 times; the error of the fit",
    "largest relative error",
)
def fitted() -> Measured:
    """Measured constants beside those in use."""
    lines, seconds = [], []
    for case in CASES:
        lowered = lower_segments(make_workload(case).queries, ())
        lines.append(_amounts(lowered, make_events(case)))
        seconds.append(_nanoseconds(lowered, make_events(case)))
    table, times = np.array(lines), np.array(seconds)
    fixed, operation, lane = np.linalg.lstsq(table / times[:, None], np.ones(times.size))[0]
    skipped = (_nanoseconds(*_never_matching()) - fixed) / lines[-1][1]
    error = np.abs(table @ [fixed, operation, lane] / times - 1).max()
    rows: tuple[dict[str, float | str], ...] = (
        {"constant": "fixed, an event", "measured, ns": float(fixed), "in use, ns": "-"},
        {"constant": "operation", "measured, ns": operation, "in use, ns": MEASURED.operation},
        {"constant": "lane", "measured, ns": lane, "in use, ns": MEASURED.lane},
        {"constant": "skipped", "measured, ns": skipped, "in use, ns": MEASURED.skipped},
    )
    return Measured(float(error), "no results; sharon-choice checks them", rows)


def _amounts(lowered: Lowered, events: EventTable) -> tuple[float, float, float]:
    """1, operations and lanes an event."""
    codes = np.asarray(events.table["_type"])
    counts = np.bincount(codes, minlength=len(STREAM.types)) / codes.size
    share = [counts[STREAM.type_codes[symbol.type]] for symbol in lowered.symbols]
    often = np.array(share)[lowered.symbol_of]
    lanes = lowered.program.ops[:, Op.WIDTH]
    return 1.0, float(often.sum()), float((often * lanes).sum())


def _never_matching() -> tuple[Lowered, EventTable]:
    """The last case without the events that begin its patterns."""
    workload = make_workload(CASES[-1])
    first = {STREAM.type_codes[query.positions[0].type] for query in workload.queries}
    events = make_events(CASES[-1])
    kept = ~np.isin(np.asarray(events.table["_type"]), list(first))
    return lower_segments(workload.queries, ()), replace(events, table=events.table.filter(kept))


def _nanoseconds(lowered: Lowered, events: EventTable) -> float:
    """Best time an event."""
    columns = EventColumns(events)
    codes = key_codes(lowered.chains[0].query, columns)
    entries = make_entries(lowered.placements, codes, columns, lowered.chains[0].query.window)
    weights = weigh_events(lowered.weights, columns, entries.rows, first=1)
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        for _ in run_segments(lowered, entries, weights, None):
            pass
        best = min(best, time.process_time() - began)
    return best / len(events) * 1e9
