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

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import fsum

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from elsinore.sharing.binary_program import BinaryProgram
from elsinore.sharing.candidates import Candidate
from elsinore.sharing.options import Option
from elsinore.sharing.query_packing import Interval
from elsinore.sharing.weigh import Savings


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
    """The program's variables: all x in the order of `offers`, then all y.

    Attributes:
        candidates: those that may pay.
        costs: what each y adds, by candidate.
        lonely: whether a single query gains more than its candidate costs, by candidate.
        offers: x by x.
    """

    candidates: tuple[Candidate, ...]
    costs: tuple[tuple[float, ...], ...]
    lonely: tuple[bool, ...]
    offers: tuple[_Offer, ...]

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
            if len(sharing) < 2 or not _may_pay(own):
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
    def owners(self) -> NDArray[np.int64]:
        """The candidate of each x."""
        return np.array([offer.candidate for offer in self.offers], dtype=np.int64)

    @cached_property
    def bound(self) -> float:
        """A bound that needs no solver: every candidate with all that gain, conflicts or not."""
        gains = np.array([max(0.0, offer.gain) for offer in self.offers])
        sums = np.bincount(self.owners, weights=gains, minlength=len(self.candidates))
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

    @cached_property
    def by_query(self) -> dict[str, list[Interval]]:
        """The offers of each query; `number` is that of x."""
        found: dict[str, list[Interval]] = {}
        for number, offer in enumerate(self.offers):
            interval = Interval(offer.start, offer.stop, offer.gain, number)
            found.setdefault(offer.query, []).append(interval)
        return found

    def _cliques(self) -> list[list[int]]:
        """The maximal sets of offers over one position of a query, of two or more.

        The set over a position is part of a later one unless an offer ends there, and of an earlier
        one unless an offer began after that.
        """
        found = []
        for offers in self.by_query.values():
            kept = -1
            for last in sorted({offer.stop - 1 for offer in offers}):
                over = [offer for offer in offers if offer.start <= last < offer.stop]
                if max(offer.start for offer in over) > kept and len(over) > 1:
                    found.append([offer.number for offer in over])
                kept = last
        return found

    def vector(self, sharing: Mapping[str, frozenset[str]]) -> NDArray[np.float64]:
        """The vector of a plan: the queries that share each candidate, by candidate id."""
        x = np.zeros(len(self.offers))
        for number, offer in enumerate(self.offers):
            queries = sharing.get(self.candidates[offer.candidate].id)
            x[number] = queries is not None and offer.query in queries
        return self.opened(x)

    def opened(self, x: NDArray[np.float64]) -> NDArray[np.float64]:
        """x, and every y that it needs."""
        opens = self.first_y
        vector = np.concatenate([x, np.zeros(opens[-1] - len(x))])
        for number in np.flatnonzero(x).tolist():
            offer = self.offers[number]
            first = opens[offer.candidate]
            vector[first : first + offer.level + 1] = 1
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


def _may_pay(savings: Savings) -> bool:
    """Whether the queries that gain could repay p at its cheapest."""
    return fsum(gain for gain in savings.gains.values() if gain > 0) > min(savings.once.values())
