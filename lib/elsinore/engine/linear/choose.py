"""What the work of segment programs costs on this engine, as measured, and what is shared by that.

`elsinore bench segment-costs` measures the constants again and prints them beside these;
docs/internals/sharon.md has the measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, lgamma, log, log2

import numpy as np

from elsinore.choices import Optimizer
from elsinore.kernels.segments import START, Op
from elsinore.kernels.segments_lanes import DIGIT
from elsinore.lowering.chains import passes
from elsinore.lowering.segments import Lowered, lower_segments
from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.benefit import Savings
from elsinore.sharing.candidates import Candidate, Segment, mine_candidates
from elsinore.sharing.statistics import Statistics


@dataclass(frozen=True, slots=True)
class SegmentCosts:
    """Nanoseconds, on one core of the machine that docs/internals/sharon.md names.

    Attributes:
        operation: to begin one addition of a row to another, whatever its width.
        lane: to add one lane of one plane.
        skipped: to see that there is nothing to add.
    """

    operation: float = 5.75
    lane: float = 0.215
    skipped: float = 2.0


#: As measured.
MEASURED = SegmentCosts()

#: Seconds for the solver; what it has by then is a valid choice.
TIME_LIMIT = 10.0

#: A row of one plane holds counts of so many bits.
_FIRST_PLANE = 60


def calibrated_savings(candidate: Candidate, workload: Workload, statistics: Statistics) -> Savings:
    """What sharing a candidate saves on this engine, in nanoseconds per tick of the stream.

    By itself a query pays for each event of the segment one operation and the addition of its
    lanes, or one glance where no prefix has matched yet. Sharing it pays the operation once for all
    of them. The lanes remain, even where the query alone had nothing to add; but where the segment
    begins the queries, those with equal windows share the lanes as well. There are no other costs
    of combining: the slot before the segment is where the prefix is counted, and that after it is
    where the suffix reads.
    """
    gains, once = {}, {}
    for place in candidate.occurrences:
        query = workload.by_name[place.query]
        gains[query.name], once[query.name] = _gain_and_once(query, place, statistics)
    return Savings(gains, once)


def _gain_and_once(
    query: BoundQuery, place: Segment, statistics: Statistics
) -> tuple[float, float]:
    lanes = ceil(query.window.within / query.window.slide) * (
        1 + sum(not aggregate.counts_trends for aggregate in query.aggregates)
    )
    rates = [window_rate(query, n, statistics) for n in range(place.stop)]
    gain = once = 0.0
    for position in range(place.start, place.stop):
        often = statistics.rate(query.positions[position].type, 1)
        live = 1.0
        for before in rates[:position]:
            live *= 1.0 - exp(-before)
        added = MEASURED.lane * lanes * _planes(rates[:position])
        alone = live * (MEASURED.operation + added) + (1.0 - live) * MEASURED.skipped
        if place.start == 0:
            gain += often * alone
            once += often * alone
        else:
            gain += often * (alone - added)
            once += often * MEASURED.operation
    return gain, once


def window_rate(query: BoundQuery, position: int, statistics: Statistics) -> float:
    """Mean number of events of a position in one window of one partition."""
    keys = [key.attribute for key in query.keys if position in key.positions]
    return statistics.rate(query.positions[position].type, query.window.within, keys)


def _planes(rates: list[float]) -> int:
    """Planes that the counts of a prefix take: about the product of the rates over l!."""
    bits = sum(log2(max(rate, 1.0)) for rate in rates) - lgamma(len(rates) + 1) / log(2)
    return planes_for(bits)


def planes_for(bits: float) -> int:
    """Planes that counts of so many bits take."""
    return 1 + max(0, ceil((bits - _FIRST_PLANE) / DIGIT))


# ---- whole programs, operation by operation, as they will run


def predict(
    workload: Workload, shared: Sequence[Sequence[Segment]], statistics: Statistics
) -> float:
    """Nanoseconds per tick of the stream that a workload takes under some shared segments.

    Left out is what no plan changes: reading, sorting, closing windows.
    """
    return sum(
        _program_cost(lower_segments(queries, shared), statistics)
        for queries in passes(workload.queries)
    )


def _program_cost(lowered: Lowered, statistics: Statistics) -> float:
    """Each operation in proportion to its events; rows that nothing has reached yet are skipped."""
    ops, owners = lowered.program.ops, lowered.symbol_of
    often = np.array([statistics.rate(s.type, 1) for s in lowered.symbols])[owners]
    rates = np.array([window_rate(s.query, s.position, statistics) for s in lowered.symbols])
    live, planes = _rows_reached(lowered, rates[owners])
    reached, lanes = live[ops[:, Op.SOURCE_ROW]], ops[:, Op.WIDTH] * planes[ops[:, Op.SOURCE_ROW]]
    each = MEASURED.operation + MEASURED.lane * lanes
    return float((often * (reached * each + (1.0 - reached) * MEASURED.skipped)).sum())


def _rows_reached(lowered: Lowered, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How likely each row holds a count at all, and the planes of its counts."""
    ops, rows = lowered.program.ops, lowered.program.rows
    live, bits, depths = np.zeros(rows), np.zeros(rows), np.zeros(rows, np.int64)
    live[START] = 1.0
    come = np.array([1.0 - exp(-rate) for rate in rates])
    wide = np.array([log2(max(rate, 1.0)) for rate in rates])
    source, target = ops[:, Op.SOURCE_ROW], ops[:, Op.TARGET_ROW]
    for _ in range(max(len(chain.symbols) for chain in lowered.chains)):
        np.maximum.at(depths, target, depths[source] + 1)
        np.maximum.at(live, target, live[source] * come)
        np.maximum.at(bits, target, bits[source] + wide - np.log2(depths[target]))
    return live, np.array([planes_for(size) for size in bits])


# ---- the segments that pay by these costs, not by the paper's model


def choose_segments(
    workload: Workload,
    statistics: Statistics,
    planned: Sequence[Sequence[Segment]] | None = None,
) -> list[list[Segment]]:
    """The segments with which a workload should be quickest by measured costs.

    They are what pays of a plan, or, without one, the solver's choice by measured savings; of these
    those without which the program is predicted to be quicker are left out. A segment's savings are
    estimated by itself; what it does to the program shows only in there.

    Raises:
        ParameterError: the statistics lack a type of the workload.
    """
    if planned is None:
        kept = _solved(workload, statistics)
    else:
        kept = _paying(planned, workload, statistics)
    best = predict(workload, kept, statistics)
    for places in list(kept):
        others = [other for other in kept if other is not places]
        cost = predict(workload, others, statistics)
        if cost < best:
            kept, best = others, cost
    return kept


def _solved(workload: Workload, statistics: Statistics) -> list[list[Segment]]:
    """What the static plan's solver chooses by measured savings instead of the paper's benefit."""
    candidates = mine_candidates(workload)
    if not candidates:
        return []
    from elsinore.sharing.find_plan import Problem, choose  # the solver takes its time to load

    savings = {c.id: calibrated_savings(c, workload, statistics) for c in candidates}
    chosen = choose(Problem(candidates, savings, TIME_LIMIT), Optimizer.OPTIMAL)
    return [
        [place for place in option.candidate.occurrences if place.query in option.queries]
        for option in chosen.options
    ]


def _paying(
    planned: Sequence[Sequence[Segment]], workload: Workload, statistics: Statistics
) -> list[list[Segment]]:
    """A plan's segments, without the queries and segments that lose by measured costs."""
    kept = []
    for places in planned:
        candidate = Candidate("p", places[0].types, tuple(places))
        savings = calibrated_savings(candidate, workload, statistics)
        gaining = [place for place in places if savings.gains[place.query] > 0]
        if len(gaining) > 1 and savings.benefit([place.query for place in gaining]) > 0:
            kept.append(gaining)
    return kept
