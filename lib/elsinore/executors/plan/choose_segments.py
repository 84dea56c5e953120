"""Choose the segments that queries of fixed length share, by measured costs of segment programs.

`elsinore bench segment-costs` measures the constants again and prints them next to the constants
here. docs/internals/sharon.md describes the measurement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, lgamma, log, log2

import numpy as np

from elsinore.choices import Optimizer
from elsinore.executors.linear.chains import passes
from elsinore.executors.linear.kernels.planes import DIGIT
from elsinore.executors.linear.kernels.segments import START, Op
from elsinore.executors.linear.segment_tables import Lowered, lower_segments
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.segments import Segment
from elsinore.sharing.benefit import Savings
from elsinore.sharing.candidates import Candidate, mine_candidates
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.statistics import Statistics


@dataclass(frozen=True, slots=True)
class SegmentCosts:
    """Costs in nanoseconds, on one core of the machine that docs/internals/sharon.md names.

    Attributes:
        operation: the fixed cost of adding a row to another, independent of its width.
        lane: the cost of adding one lane of one plane.
        skipped: the cost of an operation that has nothing to add.
    """

    operation: float = 5.75
    lane: float = 0.215
    skipped: float = 2.0


#: The measured costs.
MEASURED = SegmentCosts()

#: Time limit of the solver in seconds. Its best choice by then is valid.
TIME_LIMIT = 10.0

#: Bits of the counts that a row of one plane holds.
_FIRST_PLANE = 60


def calibrated_savings(candidate: Candidate, workload: Workload, statistics: Statistics) -> Savings:
    """Return the savings of a candidate on this engine, in nanoseconds per tick of the stream.

    Without sharing, each event of the segment costs a query one operation and the addition of its
    lanes, or `skipped` if no prefix has matched yet. With sharing, the operation is paid only once.
    Each query still pays for the addition of its lanes, even if it would have skipped it. If the
    segment begins the queries, the lanes are shared too, which holds for equal windows.

    Combining costs nothing else. The segment reads the row that counts the prefix, and the suffix
    reads the last row of the segment.

    Args:
        candidate: the candidate.
        workload: the queries.
        statistics: rates and numbers of partitions of the stream.
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
        1 + sum(not aggregate.counts_trends for aggregate in query.counted)
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
    """Return the mean number of events of a position in one window of one partition."""
    keys = [key.attribute for key in query.keys if position in key.positions]
    return statistics.rate(query.positions[position].type, query.window.longest, keys)


def _planes(rates: list[float]) -> int:
    """Return the number of planes for the counts of a prefix of length l.

    Such a count is about the product of the rates, divided by l!.
    """
    bits = sum(log2(max(rate, 1.0)) for rate in rates) - lgamma(len(rates) + 1) / log(2)
    return planes_for(bits)


def planes_for(bits: float) -> int:
    """Return the number of planes that counts of some bits need."""
    return 1 + max(0, ceil((bits - _FIRST_PLANE) / DIGIT))


# ---- the cost of whole programs, operation by operation


def predict(
    workload: Workload, shared: Sequence[Sequence[Segment]], statistics: Statistics
) -> float:
    """Return the predicted nanoseconds per tick of the stream for a workload with shared segments.

    Costs that no plan changes are left out: reading, sorting, closing windows.

    Args:
        workload: queries of fixed length.
        shared: the segments, each by its occurrences in the queries that share it.
        statistics: rates and numbers of partitions of the stream.
    """
    return sum(
        _program_cost(lower_segments(queries, shared), statistics)
        for queries in passes(workload.queries)
    )


def _program_cost(lowered: Lowered, statistics: Statistics) -> float:
    """Return the predicted nanoseconds per tick of the stream for one program.

    Each operation costs in proportion to the rate of its events. It is skipped if the row that it
    reads does not hold a count yet.
    """
    ops, owners = lowered.program.ops, lowered.symbol_of
    often = np.array([statistics.rate(s.type, 1) for s in lowered.symbols])[owners]
    rates = np.array([window_rate(s.query, s.position, statistics) for s in lowered.symbols])
    live, planes = _rows_reached(lowered, rates[owners])
    reached, lanes = live[ops[:, Op.SOURCE_ROW]], ops[:, Op.WIDTH] * planes[ops[:, Op.SOURCE_ROW]]
    each = MEASURED.operation + MEASURED.lane * lanes
    return float((often * (reached * each + (1.0 - reached) * MEASURED.skipped)).sum())


def _rows_reached(lowered: Lowered, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the probability that each row holds a count, and the planes of its counts."""
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


# ---- the segments that pay by measured costs, not by the paper's model


def shared_segments(plan: StaticPlan) -> list[list[Segment]]:
    """Return the occurrences of each chosen candidate of a plan in the queries that share it."""
    return [
        [
            Segment(place.query, place.start, plan.by_id[name].pattern)
            for place in plan.by_id[name].shared_occurrences
        ]
        for name in plan.chosen
    ]


def choose_segments(
    workload: Workload,
    statistics: Statistics,
    planned: Sequence[Sequence[Segment]] | None = None,
) -> list[list[Segment]]:
    """Return the segments that make a workload fastest, by measured costs.

    The first choice is the part of a plan that pays or, without a plan, the solver's choice by
    measured savings. It estimates the savings of each segment separately, without the effect on the
    rest of the program. So a segment is then dropped if the program is predicted to be faster
    without it.

    Args:
        workload: queries of fixed length.
        statistics: rates and numbers of partitions of the stream.
        planned: the segments of a static plan, each by its occurrences; None: any segments.

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
    """Return the solver's choice by measured savings instead of the paper's benefit."""
    candidates = mine_candidates(workload)
    if not candidates:
        return []
    from elsinore.sharing.find_plan import Problem, choose  # lazy: slow to load

    savings = {c.id: calibrated_savings(c, workload, statistics) for c in candidates}
    chosen = choose(Problem(candidates, savings, TIME_LIMIT), Optimizer.OPTIMAL)
    return [
        [place for place in option.candidate.occurrences if place.query in option.queries]
        for option in chosen.options
    ]


def _paying(
    planned: Sequence[Sequence[Segment]], workload: Workload, statistics: Statistics
) -> list[list[Segment]]:
    """Return a plan's segments, without segments and queries that lose by measured costs."""
    kept = []
    for places in planned:
        candidate = Candidate("p", places[0].types, tuple(places))
        savings = calibrated_savings(candidate, workload, statistics)
        gaining = [place for place in places if savings.gains[place.query] > 0]
        if len(gaining) > 1 and savings.benefit([place.query for place in gaining]) > 0:
            kept.append(gaining)
    return kept
