"""What the work of segment programs costs on this engine, as measured.

`python -m benchmarks.segment_costs` measures the constants again and prints them beside these;
docs/sharon.md has the measurement.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, exp, lgamma, log, log2

from elsinore.kernels.segments_lanes import DIGIT
from elsinore.query.bound import BoundQuery, Workload
from elsinore.sharing.benefit import Savings
from elsinore.sharing.candidates import Candidate, Segment
from elsinore.sharing.statistics import Statistics


@dataclass(frozen=True, slots=True)
class SegmentCosts:
    """Nanoseconds, on one core of the machine that docs/sharon.md names.

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

#: A row of one plane holds counts of so many bits.
_FIRST_PLANE = 60


def calibrated_savings(
    candidate: Candidate,
    workload: Workload,
    statistics: Statistics,
    costs: SegmentCosts = MEASURED,
) -> Savings:
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
        gains[query.name], once[query.name] = _gain_and_once(query, place, statistics, costs)
    return Savings(gains, once)


def _gain_and_once(
    query: BoundQuery, place: Segment, statistics: Statistics, costs: SegmentCosts
) -> tuple[float, float]:
    lanes = ceil(query.window.within / query.window.slide) * (1 + _carriers(query))
    rates = _window_rates(query, statistics)
    gain = once = 0.0
    for position in range(place.start, place.stop):
        often = statistics.rate(query.positions[position].type, 1)
        live = 1.0
        for before in rates[:position]:
            live *= 1.0 - exp(-before)
        added = costs.lane * lanes * _planes(rates[:position])
        alone = live * (costs.operation + added) + (1.0 - live) * costs.skipped
        if place.start == 0:
            gain += often * alone
            once += often * alone
        else:
            gain += often * (alone - added)
            once += often * costs.operation
    return gain, once


def _carriers(query: BoundQuery) -> int:
    return sum(not aggregate.counts_trends for aggregate in query.aggregates)


def _window_rates(query: BoundQuery, statistics: Statistics) -> list[float]:
    """Mean number of events of each position in one window of one partition."""
    rates = []
    for position in query.positions:
        keys = [key.attribute for key in query.keys if position.index in key.positions]
        whole = statistics.rate(position.type, query.window.within)
        rates.append(whole / statistics.partition_count(keys) if keys else whole)
    return rates


def _planes(rates: list[float]) -> int:
    """Planes that the counts of a prefix take: about the product of the rates over l!."""
    bits = sum(log2(max(rate, 1.0)) for rate in rates) - lgamma(len(rates) + 1) / log(2)
    return planes_for(bits)


def planes_for(bits: float) -> int:
    """Planes that counts of so many bits take."""
    return 1 + max(0, ceil((bits - _FIRST_PLANE) / DIGIT))
