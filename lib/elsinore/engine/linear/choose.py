"""What this engine would share: segments that pay by measured costs, not by the paper's model."""

from __future__ import annotations

from collections.abc import Sequence

from elsinore.engine.linear.costs import MEASURED, SegmentCosts, calibrated_savings, predict
from elsinore.query.bound import Workload
from elsinore.sharing.candidates import Candidate, Segment, mine_candidates
from elsinore.sharing.plan import Finder
from elsinore.sharing.statistics import Statistics

#: Seconds for the solver; what it has by then is a valid choice.
TIME_LIMIT = 10.0


def choose_segments(
    workload: Workload,
    statistics: Statistics,
    planned: Sequence[Sequence[Segment]] | None = None,
    *,
    costs: SegmentCosts = MEASURED,
) -> list[list[Segment]]:
    """The segments with which a workload should be quickest by measured costs.

    They are what pays of a plan, or, without one, the solver's choice by measured savings; of these
    those without which the program is predicted to be quicker are left out. A segment's savings are
    estimated by itself; what it does to the program shows only in there.

    Raises:
        ParameterError: the statistics lack a type of the workload.
    """
    if planned is None:
        kept = _solved(workload, statistics, costs)
    else:
        kept = _paying(planned, workload, statistics, costs)
    best = predict(workload, kept, statistics, costs)
    for places in list(kept):
        others = [other for other in kept if other is not places]
        cost = predict(workload, others, statistics, costs)
        if cost < best:
            kept, best = others, cost
    return kept


def _solved(workload: Workload, statistics: Statistics, costs: SegmentCosts) -> list[list[Segment]]:
    """What the static plan's solver chooses by measured savings instead of the paper's benefit."""
    candidates = mine_candidates(workload)
    if not candidates:
        return []
    from elsinore.sharing.find_plan import Problem, choose  # the solver takes its time to load

    savings = {c.id: calibrated_savings(c, workload, statistics, costs) for c in candidates}
    chosen = choose(Problem(candidates, savings, TIME_LIMIT), Finder.OPTIMAL)
    return [
        [place for place in option.candidate.occurrences if place.query in option.queries]
        for option in chosen.options
    ]


def _paying(
    planned: Sequence[Sequence[Segment]],
    workload: Workload,
    statistics: Statistics,
    costs: SegmentCosts,
) -> list[list[Segment]]:
    """A plan's segments, without the queries and segments that lose by measured costs."""
    kept = []
    for places in planned:
        candidate = Candidate("p", places[0].types, tuple(places))
        savings = calibrated_savings(candidate, workload, statistics, costs)
        gaining = [place for place in places if savings.gains[place.query] > 0]
        if len(gaining) > 1 and savings.benefit([place.query for place in gaining]) > 0:
            kept.append(gaining)
    return kept
