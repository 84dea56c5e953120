"""What this engine would share: segments that pay by measured costs, not by the paper's model."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.engine.segments.costs import MEASURED, SegmentCosts, calibrated_savings
from elsinore.engine.segments.predict import predict
from elsinore.query.bound import Workload
from elsinore.sharing.candidates import Candidate, Segment, mine_candidates
from elsinore.sharing.plan import Finder
from elsinore.sharing.statistics import Statistics

#: Seconds for the solver; what it has by then is a valid choice.
TIME_LIMIT = 10.0


def choose_segments(
    workload: Workload,
    statistics: Statistics,
    plans: Sequence[Sequence[Sequence[Segment]]] = (),
    *,
    costs: SegmentCosts = MEASURED,
    time_limit: float = TIME_LIMIT,
) -> list[list[Segment]]:
    """The segments with which a workload should be quickest by measured costs.

    Compared are A-Seq, the plans given, these with what pays alone, and the solver's plan by
    measured savings. Each is written as a program, and the program's operations are added up.

    Raises:
        ParameterError: the statistics lack a type of the workload.
    """
    found: list[list[list[Segment]]] = [[]]
    for plan in plans:
        found.append([list(places) for places in plan])
        found.append(segments_that_pay(plan, workload, statistics, costs=costs))
    solved = _solved(workload, statistics, costs, time_limit)
    found += [solved, without_losers(solved, workload, statistics, costs=costs)]
    return min(found, key=lambda shared: predict(workload, shared, statistics, costs))


def _solved(
    workload: Workload, statistics: Statistics, costs: SegmentCosts, time_limit: float
) -> list[list[Segment]]:
    """What the static plan's solver chooses by measured savings instead of the paper's benefit."""
    candidates = mine_candidates(workload)
    if not candidates:
        return []
    from elsinore.sharing.find_plan import Problem, choose  # the solver takes its time to load

    savings = {c.id: calibrated_savings(c, workload, statistics, costs) for c in candidates}
    chosen = choose(Problem(candidates, savings, time_limit), Finder.OPTIMAL)
    found = []
    for option in chosen.options:
        sharing = frozenset(option.queries)
        found.append([p for p in option.candidate.occurrences if p.query in sharing])
    return found


def without_losers(
    shared: Sequence[Sequence[Segment]],
    workload: Workload,
    statistics: Statistics,
    *,
    costs: SegmentCosts = MEASURED,
) -> list[list[Segment]]:
    """A plan's segments, without those that the program is predicted to be quicker without.

    A segment's savings are estimated by itself; what it does to the program shows only in there.
    """
    kept = [list(places) for places in shared]
    best = predict(workload, kept, statistics, costs)
    for places in list(kept):
        others = [other for other in kept if other is not places]
        cost = predict(workload, others, statistics, costs)
        if cost < best:
            kept, best = others, cost
    return kept


def segments_that_pay(
    shared: Sequence[Sequence[Segment]],
    workload: Workload,
    statistics: Statistics,
    *,
    costs: SegmentCosts = MEASURED,
) -> list[list[Segment]]:
    """A plan's segments, without the queries and segments that lose by measured costs."""
    kept = []
    for places in shared:
        candidate = Candidate("p", places[0].types, tuple(places))
        savings = calibrated_savings(candidate, workload, statistics, costs)
        gaining = [place for place in places if savings.gains[place.query] > 0]
        if len(gaining) > 1 and savings.benefit([place.query for place in gaining]) > 0:
            kept.append(gaining)
    return kept
