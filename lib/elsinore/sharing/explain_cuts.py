"""How a plan cuts the pattern of a query into private and shared parts (Sharon Definition 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.print_query import print_pattern
from elsinore.query.syntax import (
    Conjunction,
    Disjunction,
    EventPattern,
    KleenePlus,
    KleeneStar,
    Negation,
    Pattern,
    Sequence,
    event_patterns,
    parts_of,
)
from elsinore.sharing.plan import StaticPlan


@dataclass(frozen=True, slots=True)
class Box:
    """A part of the sequence at the top of a pattern.

    Attributes:
        text: the part as it is written, without the names that the query gives to its types.
        start, stop: the positions that it covers, `start` to `stop - 1`.
        kleene: event types E whose E+ it holds, outside of NOT.
        negated: whether it is a NOT.
    """

    text: str
    start: int
    stop: int
    kleene: frozenset[str]
    negated: bool


@dataclass(frozen=True, slots=True)
class Stretch:
    """Boxes side by side that one query computes, or that a chosen candidate computes for it.

    `candidate` is the candidate's id; None where the stretch is private.
    """

    boxes: tuple[Box, ...]
    candidate: str | None

    @property
    def start(self) -> int:
        """The first position."""
        return self.boxes[0].start

    @property
    def stop(self) -> int:
        """The position after the last."""
        return self.boxes[-1].stop

    def __str__(self) -> str:
        text = ", ".join(box.text for box in self.boxes)
        return text if self.candidate is None else f"shared {self.candidate}: {text}"


@dataclass(frozen=True, slots=True)
class Cut:
    """A query and its stretches, from left to right."""

    query: str
    stretches: tuple[Stretch, ...]

    @property
    def boxes(self) -> tuple[Box, ...]:
        """All boxes, from left to right."""
        return tuple(box for stretch in self.stretches for box in stretch.boxes)

    def __str__(self) -> str:
        text = " | ".join(map(str, self.stretches))
        plain = len(self.boxes) == 1 and self.stretches[0].candidate is None
        return text if plain else f"SEQ({text})"


def explain_cuts(plan: StaticPlan, workload: Workload) -> tuple[Cut, ...]:
    """The cut of every query, in the order of the workload.

    The plan must fit the workload (`elsinore.sharing.verify.verify`).
    """
    shared: dict[str, dict[int, str]] = {}
    for name in plan.chosen:
        for place in plan.by_id[name].shared_occurrences:
            owned = dict.fromkeys(range(place.start, place.stop), name)
            shared.setdefault(place.query, {}).update(owned)
    return tuple(cut_query(query, shared.get(query.name, {})) for query in workload.queries)


def cut_query(query: BoundQuery, shared: dict[int, str]) -> Cut:
    """The cut of one query, given the candidate that computes each shared position."""
    boxes = groupby(_boxes(query.pattern), key=lambda box: shared.get(box.start))
    return Cut(query.name, tuple(Stretch(tuple(found), name) for name, found in boxes))


def _boxes(pattern: Pattern) -> Iterator[Box]:
    place = 0
    for part in pattern.parts if isinstance(pattern, Sequence) else (pattern,):
        stop = place + sum(1 for _ in event_patterns(part))
        kleene = frozenset(_kleene_types(part))
        text = print_pattern(_without_aliases(part))
        yield Box(text, place, stop, kleene, isinstance(part, Negation))
        place = stop


def _kleene_types(pattern: Pattern) -> Iterator[str]:
    if isinstance(pattern, Negation):
        return
    if isinstance(pattern, KleenePlus | KleeneStar) and isinstance(pattern.body, EventPattern):
        yield pattern.body.type
    for part in parts_of(pattern):
        yield from _kleene_types(part)


def _without_aliases(pattern: Pattern) -> Pattern:
    """The pattern with every type by its own name: where it stands says which one is meant."""
    match pattern:
        case EventPattern(type=kind):
            return EventPattern(kind, kind)
        case Sequence(parts) | Disjunction(parts) | Conjunction(parts):
            return type(pattern)(tuple(map(_without_aliases, parts)))
        case _:
            return type(pattern)(_without_aliases(pattern.body))
