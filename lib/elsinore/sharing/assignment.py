"""The optimal plan over all subsets of queries at once, with a proof or a bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum

import numpy as np
from numpy.typing import NDArray

from elsinore.sharing.assignment_model import AssignmentModel
from elsinore.sharing.binary_program import TOLERANCE, solve
from elsinore.sharing.candidates import Candidate
from elsinore.sharing.conflicts import Place
from elsinore.sharing.options import Choice, Option
from elsinore.sharing.query_packing import pack
from elsinore.sharing.weigh import Savings


def assign(
    candidates: tuple[Candidate, ...],
    savings: Mapping[str, Savings],
    start: Iterable[Option],
    *,
    time_limit: float,
) -> Choice:
    """The best options in no conflict that can be found in time, at most one for each candidate.

    Its space holds every plan of whole candidates and every plan over the expanded graph. The score
    is never below that of `start`.

    Args:
        candidates: all of a workload, beneficial as a whole or not.
        savings: by candidate id.
        start: the options of some valid plan, such as GWMIN's.
        time_limit: seconds for the solver.
    """
    begin = tuple(start)
    model = AssignmentModel.of(candidates, savings)
    # The start may let queries share that lose by it, for which the model has no variable.
    sharing = {option.candidate.id: frozenset(option.queries) for option in begin}
    given = model.vector(sharing)
    found = solve(
        model.program,
        start=_best(model, given, _packed(model, given)),
        improve=lambda x: _best(model, _rounded(model, x), _packed(model, x)),
        bound=model.bound,
        time_limit=time_limit,
    )
    options = _filled(model, model.options(found.x, savings), savings)
    if _score(begin) > _score(options):
        options = begin
    score = _score(options)
    bound = max(found.bound, score)
    return Choice(options, bound, bound - score <= TOLERANCE * bound)


def _score(options: Iterable[Option]) -> float:
    return fsum(option.benefit for option in options)


def _best(model: AssignmentModel, *vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    return max(vectors, key=lambda vector: float(model.program.gains @ vector))


def _rounded(model: AssignmentModel, vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """A feasible vector from one between 0 and 1: the likely assignments that fit and pay.

    Where few variables are between 0 and 1 nearly all stay as they are.
    """
    size = len(model.offers)
    taken: set[Place] = set()
    x = np.zeros(size)
    for number in np.argsort(-vector[:size], kind="stable").tolist():
        if vector[number] < TOLERANCE:
            break
        offer = model.offers[number]
        places = [(offer.query, position) for position in range(offer.start, offer.stop)]
        if taken.isdisjoint(places):
            taken.update(places)
            x[number] = 1
    return model.opened(_paying(model, x))


def _packed(model: AssignmentModel, vector: NDArray[np.float64]) -> NDArray[np.float64]:
    """A feasible vector from one between 0 and 1: open the likely, pack, close what does not pay.

    Every query gets its best disjoint offers of open candidates, O(|x| log |x|).
    """
    is_open = [vector[first] >= 0.5 for first in model.first_y[:-1]]
    x = np.zeros(len(model.offers))
    for offers in model.by_query.values():
        x[pack([o for o in offers if is_open[model.offers[o.number].candidate]])] = 1
    return model.opened(_paying(model, x))


def _paying(model: AssignmentModel, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Disjoint assignments without those to candidates that they do not repay."""
    pays = _pays(model, model.opened(x))
    return x * pays[model.owners]


def _pays(model: AssignmentModel, vector: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which candidates have two queries and a benefit under a vector."""
    size, count, owners = len(model.offers), len(model.candidates), model.owners
    per_y = np.repeat(np.arange(count), [len(costs) for costs in model.costs])
    benefit = np.bincount(
        np.concatenate([owners, per_y]), weights=vector * model.program.gains, minlength=count
    )
    sharing = np.bincount(owners, weights=vector[:size], minlength=count)
    return (benefit > 0) & (sharing > 1)


def _filled(
    model: AssignmentModel, options: tuple[Option, ...], savings: Mapping[str, Savings]
) -> tuple[Option, ...]:
    """Options, and whatever else pays at positions that they leave free.

    A solver that computes to a tolerance may overlook what is too small to matter to the sum.
    """
    taken = {
        (place.query, position)
        for option in options
        for place in option.candidate.occurrences
        if place.query in option.queries
        for position in range(place.start, place.stop)
    }
    added = {option.candidate.id for option in options}
    more = list(options)
    for candidate in model.candidates:
        own = savings[candidate.id]
        free = [
            place
            for place in candidate.occurrences
            if own.gains[place.query] > 0
            and taken.isdisjoint((place.query, i) for i in range(place.start, place.stop))
        ]
        if candidate.id in added or len(free) < 2:
            continue
        option = Option.of(candidate, (place.query for place in free), own)
        if option.benefit > 0:
            more.append(option)
            taken |= {(p.query, i) for p in free for i in range(p.start, p.stop)}
    return tuple(more)
