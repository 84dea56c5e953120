"""The program behind the optimal plan: candidates opened, queries assigned to them.

The benefit of an option is a gain for each query less a cost for p (`Savings`), so that all options
of all candidates, which Algorithms 5 and 6 list one by one, are the solutions of one program like
that of facility location:

- `y` opens a candidate. Where the windows of its queries differ, p costs more the longer they are
  (section 7.2): there is one y for each cost, and each pays what it adds to the one before.
- `x` assigns a query to a candidate: x <= y of the query's cost, and y of a cost <= y of the one
  before.
- An option has two queries at least: 2 y <= sum of x. Only candidates of which a single query
  gains more than p costs need this row; for the others one query alone would never pay.
- At most one candidate stands over each position of a query: one row for each maximal set of
  candidates over a position, which is far tighter than one for each conflict.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from elsinore.sharing.benefit import Choice, Option, Savings
from elsinore.sharing.binary_program import TOLERANCE, BinaryProgram, solve
from elsinore.sharing.candidates import Candidate, places_of


@dataclass(frozen=True)
class _Offer:
    """One x: a candidate for a query."""

    candidate: int
    query: str
    start: int
    stop: int
    gain: float
    level: int  # the y, as a place among those of the candidate


@dataclass(frozen=True)
class AssignmentModel:
    """The program's variables: all x in the order of `offers`, then all y."""

    candidates: tuple[Candidate, ...]  #: those that may pay
    costs: tuple[tuple[float, ...], ...]  #: what each y adds, by candidate
    #: whether a single query gains more than its candidate costs, by candidate.
    lonely: tuple[bool, ...]
    offers: tuple[_Offer, ...]  #: x by x

    @classmethod
    def of(
        cls, candidates: tuple[Candidate, ...], savings: Mapping[str, Savings]
    ) -> AssignmentModel:
        """The model without what cannot pay: gains below zero, candidates that no set repays."""
        kept: list[Candidate] = []
        costs: list[tuple[float, ...]] = []
        lonely: list[bool] = []
        offers: list[_Offer] = []
        for candidate in candidates:
            own = savings[candidate.id]
            alone = any(gain > own.once[query] for query, gain in own.gains.items())
            sharing = [
                place for place in candidate.occurrences if alone or own.gains[place.query] > 0
            ]
            most = fsum(gain for gain in own.gains.values() if gain > 0)
            if len(sharing) < 2 or most <= min(own.once.values()):
                continue
            levels = sorted({own.once[place.query] for place in sharing})
            offers += [
                _Offer(len(kept), place.query, place.start, place.stop, own.gains[place.query],
                       levels.index(own.once[place.query]))
                for place in sharing
            ]  # fmt: skip
            kept.append(candidate)
            costs.append((levels[0], *np.diff(levels).tolist()))
            lonely.append(alone)
        return cls(tuple(kept), tuple(costs), tuple(lonely), tuple(offers))

    @cached_property
    def bound(self) -> float:
        """A bound that needs no solver: every candidate with all that gain, conflicts or not."""
        owners = np.array([offer.candidate for offer in self.offers], dtype=np.int64)
        gains = np.array([max(0.0, offer.gain) for offer in self.offers])
        sums = np.bincount(owners, weights=gains, minlength=len(self.candidates))
        least = np.array([cost[0] for cost in self.costs])
        return fsum(np.maximum(0.0, sums - least).tolist())

    @cached_property
    def program(self) -> BinaryProgram:
        """The program."""
        first, count = self.first_y, len(self.offers)
        links = [
            *((number, first[o.candidate] + o.level) for number, o in enumerate(self.offers)),
            *((y + 1, y) for number, own in enumerate(self.costs)
              for y in range(first[number], first[number] + len(own) - 1)),
        ]  # fmt: skip
        own: dict[int, list[int]] = {}
        for number, offer in enumerate(self.offers):
            if self.lonely[offer.candidate]:
                own.setdefault(offer.candidate, [first[offer.candidate]]).append(number)
        pairs, cliques = list(own.values()), self._cliques()
        columns = [column for rows in (links, pairs, cliques) for row in rows for column in row]
        values = [1, -1] * len(links)
        values += [value for row in pairs for value in (2, *[-1] * (len(row) - 1))]
        values += [1] * (len(columns) - len(values))
        lengths = [len(row) for rows in (links, pairs, cliques) for row in rows]
        matrix = csr_array(
            (np.array(values, np.float64), np.array(columns, np.int32), np.cumsum([0, *lengths])),
            shape=(len(lengths), first[-1]),
        )
        upper = np.concatenate([np.zeros(len(links) + len(pairs)), np.ones(len(cliques))])
        gains = np.zeros(first[-1])
        gains[:count] = [offer.gain for offer in self.offers]
        gains[count:] = [-cost for costs in self.costs for cost in costs]
        return BinaryProgram(gains, matrix, upper)

    @cached_property
    def first_y(self) -> list[int]:
        """Where the y of each candidate begin, and where the last end."""
        sizes = [len(costs) for costs in self.costs]
        return (len(self.offers) + np.concatenate([[0], np.cumsum(sizes)])).astype(int).tolist()

    def _cliques(self) -> list[list[int]]:
        """The maximal sets of offers over one position of a query, of two or more.

        The set over a position is part of a later one unless an offer ends there, and of an earlier
        one unless an offer began after that.
        """
        by_query: dict[str, list[tuple[int, _Offer]]] = {}
        for number, offer in enumerate(self.offers):
            by_query.setdefault(offer.query, []).append((number, offer))
        found = []
        for offers in by_query.values():
            kept = -1
            for last in sorted({offer.stop - 1 for _, offer in offers}):
                over = [(n, offer) for n, offer in offers if offer.start <= last < offer.stop]
                if max(offer.start for _, offer in over) > kept and len(over) > 1:
                    found.append([number for number, _ in over])
                kept = last
        return found

    def vector(self, options: Iterable[Option]) -> NDArray[np.float64]:
        """The vector of a plan's options, as far as the model has variables for them."""
        sharing = {(o.candidate.id, query) for o in options for query in o.queries}
        vector = np.zeros(self.first_y[-1])
        for number, offer in enumerate(self.offers):
            if (self.candidates[offer.candidate].id, offer.query) in sharing:
                first = self.first_y[offer.candidate]
                vector[[number, *range(first, first + offer.level + 1)]] = 1
        return vector

    def options(
        self, vector: NDArray[np.float64], savings: Mapping[str, Savings]
    ) -> tuple[Option, ...]:
        """The options that a vector stands for, without those that are not beneficial."""
        queries: dict[int, list[str]] = {}
        for number in np.flatnonzero(vector[: len(self.offers)] > 0.5).tolist():
            offer = self.offers[number]
            queries.setdefault(offer.candidate, []).append(offer.query)
        found = (
            Option.of(self.candidates[number], names, savings[self.candidates[number].id])
            for number, names in sorted(queries.items())
            if len(names) > 1
        )
        return tuple(option for option in found if option.benefit > 0)


# ---- its best solution


def assign(
    candidates: tuple[Candidate, ...],
    savings: Mapping[str, Savings],
    start: Iterable[Option],
    *,
    time_limit: float,
) -> Choice:
    """The best options in no conflict that can be found in time, at most one for each candidate.

    Its space holds every plan of whole candidates and every plan over the expanded graph. The score
    is never below that of `start`, the options of some valid plan, such as GWMIN's. `candidates`
    are all of a workload, beneficial as a whole or not; `savings` are by id, the limit in seconds.
    """
    begin = tuple(start)
    model = AssignmentModel.of(candidates, savings)
    found = solve(
        model.program, start=model.vector(begin), bound=model.bound, time_limit=time_limit
    )
    options = _filled(model, model.options(found.x, savings), savings)
    # The start may let queries share that lose by it, for which the model has no variable.
    options = max(options, begin, key=_score)
    score = _score(options)
    bound = max(found.bound, score)
    return Choice(options, bound, bound - score <= TOLERANCE * bound)


def _score(options: Iterable[Option]) -> float:
    return fsum(option.benefit for option in options)


def _filled(
    model: AssignmentModel, options: tuple[Option, ...], savings: Mapping[str, Savings]
) -> tuple[Option, ...]:
    """Options, and whatever else pays at positions that they leave free.

    A solver that computes to a tolerance may overlook what is too small to matter to the sum; and
    where its time is over too soon, the start has room: GWMIN's plan of 1,000 queries over even
    types scores 6,700, with what is added 9,300, the best 12,700.
    """
    taken = {place for option in options for place in places_of(option.candidate, option.queries)}
    added = {option.candidate.id for option in options}
    more = list(options)
    for candidate in model.candidates:
        own = savings[candidate.id]
        free = [
            place
            for place in candidate.occurrences
            if own.gains[place.query] > 0 and taken.isdisjoint(place.places)
        ]
        if candidate.id in added or len(free) < 2:
            continue
        option = Option.of(candidate, (place.query for place in free), own)
        if option.benefit > 0:
            more.append(option)
            taken.update(*(place.places for place in free))
    return tuple(more)
