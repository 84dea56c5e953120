"""What became of every candidate, and why."""

from __future__ import annotations

from elsinore.sharing.candidates import Candidate
from elsinore.sharing.choose import Problem
from elsinore.sharing.conflicts import Place, places_of
from elsinore.sharing.options import Choice, Option
from elsinore.sharing.plan import Fate, Occurrence, PlannedCandidate


def tell_story(problem: Problem, choice: Choice) -> tuple[PlannedCandidate, ...]:
    """Every candidate with its benefit and its fate under a choice, in the order of mining."""
    options = {option.candidate.id: option for option in choice.options}
    owners = {
        place: option.candidate.id
        for option in choice.options
        for place in places_of(option.candidate, frozenset(option.queries))
    }
    order = {name: number for number, name in enumerate(options)}
    return tuple(
        _tell(candidate, problem, options.get(candidate.id), owners, order)
        for candidate in problem.candidates
    )


def _tell(
    candidate: Candidate,
    problem: Problem,
    option: Option | None,
    owners: dict[Place, str],
    order: dict[str, int],
) -> PlannedCandidate:
    name, graph = candidate.id, problem.graph
    vertex = name in graph.number
    fate = _fate(name, problem, option)
    met = {owners[place] for place in places_of(candidate) if place in owners} - {name}
    return PlannedCandidate(
        id=name,
        pattern=candidate.pattern,
        occurrences=tuple(
            Occurrence(query=s.query, start=s.start, stop=s.stop) for s in candidate.occurrences
        ),
        benefit=problem.benefits[name],
        degree=graph.degree(name) if vertex else None,
        score_max=problem.reduction.score_max.get(name),
        fate=fate,
        shared_by=option.queries if option else (),
        shared_benefit=option.benefit if option else None,
        excluded_by=tuple(sorted(met, key=order.__getitem__)) if vertex else (),
    )


def _fate(name: str, problem: Problem, option: Option | None) -> Fate:
    if option is not None:
        return Fate.CHOSEN
    if name not in problem.graph.number:
        return Fate.NOT_BENEFICIAL
    return Fate.PRUNED if name in problem.reduction.pruned else Fate.IN_CONFLICT
