"""Options: a candidate shared by some of its queries (Sharon section 7.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from elsinore.sharing.candidates import Candidate
from elsinore.sharing.weigh import Savings


@dataclass(frozen=True, slots=True)
class Option:
    """The option `(p, Q'_p)`: what a plan is made of.

    Attributes:
        candidate: the candidate `(p, Q_p)`.
        queries: Q'_p, two or more of its queries, in their order.
        benefit: BValue(p, Q'_p) (Equation 8).
    """

    candidate: Candidate
    queries: tuple[str, ...]
    benefit: float

    @classmethod
    def of(cls, candidate: Candidate, queries: Iterable[str], savings: Savings) -> Option:
        """The option of a candidate that these queries share."""
        wanted = frozenset(queries)
        ordered = tuple(query for query in candidate.queries if query in wanted)
        assert len(ordered) == len(wanted) > 1
        return cls(candidate, ordered, savings.benefit(ordered))

    @property
    def name(self) -> str:
        """The candidate's id, with the queries where they are not all of the candidate's."""
        if len(self.queries) == len(self.candidate.occurrences):
            return self.candidate.id
        return f"{self.candidate.id}{{{','.join(self.queries)}}}"


@dataclass(frozen=True, slots=True)
class Choice:
    """What a finder decided.

    Attributes:
        options: what is shared, at most one option a candidate, in no conflict.
        bound: no plan in the finder's search space scores more; None if the finder knows none.
        proven: whether the score reaches the bound, up to the solver's tolerance of 1e-6 of it.
    """

    options: tuple[Option, ...]
    bound: float | None
    proven: bool


def whole(
    names: Iterable[str], candidates: Mapping[str, Candidate], savings: Mapping[str, Savings]
) -> tuple[Option, ...]:
    """The options in which all queries of the named candidates share."""
    return tuple(Option.of(candidates[n], candidates[n].queries, savings[n]) for n in names)
