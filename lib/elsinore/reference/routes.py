"""Find what may come next in a match: walk the pattern tree up to the next event.

The state of a partial match is the rest of the pattern, a linked list of sub-patterns. The walk to
the next event pattern decides repetitions, options and alternatives. It collects the NOT on the
way, which are checked when the next event, or the end, is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from elsinore.query.syntax import (
    Disjunction,
    EventPattern,
    KleenePlus,
    KleeneStar,
    Maybe,
    Negation,
    Pattern,
    Quantified,
    Sequence,
)


@dataclass(frozen=True, slots=True)
class Again:
    """The end of an iteration, after which another may follow."""

    body: Pattern


@dataclass(frozen=True, slots=True)
class Copies:
    """Copies of a part that are left: how many are needed, and how many may follow at most."""

    body: Pattern
    least: int
    most: int | None


Todo = tuple[Pattern | Again | Copies, "Todo | None"]


class Route(NamedTuple):
    """One way to continue: the next event pattern, and the rest of the pattern after it.

    `next` is None if the match may end here. `guards` are the NOT between the last event and the
    next one.
    """

    next: EventPattern | None
    rest: Todo | None
    guards: tuple[Negation, ...]


def routes(todo: Todo | None) -> tuple[Route, ...]:
    """Return all ways to continue a partial match, each once.

    The rest of the pattern after an event depends only on the event's position in the pattern, and
    on the copies that are left. So ways to the same event pattern past the same NOT, with the same
    rest, are one route.

    >>> a, b = EventPattern("A", "A"), EventPattern("B", "B")
    >>> ways = routes((Sequence((KleeneStar(a), b)), None))
    >>> sorted(way.next.alias for way in ways)
    ['A', 'B']
    """
    found: dict[tuple[Todo | None, tuple[Negation, ...]], Route] = {}
    ahead: list[tuple[Todo | None, tuple[Negation, ...]]] = [(todo, ())]
    begun: list[Again] = []  # iterations without an event so far
    while ahead:
        todo, guards = ahead.pop()
        if todo is None:
            found[None, guards] = Route(None, None, guards)
        elif isinstance(todo[0], EventPattern):
            found[todo, guards] = Route(todo[0], todo[1], guards)
        elif isinstance(todo[0], Negation):
            ahead.append((todo[1], (*guards, todo[0])))
        else:
            ahead += [(way, guards) for way in _ways(todo[0], todo[1], begun)]
    return tuple(found.values())


def _copies(body: Pattern, least: int, most: int | None, rest: Todo | None) -> list[Todo | None]:
    """Return the ways through `P{least,most}`: a copy and fewer of them after it, or none.

    `P{1,}` is `P+`, and `P{0,}` is `P*`.
    """
    if most == 0:
        return [rest]
    if most is None and least < 2:
        return [((KleenePlus if least else KleeneStar)(body), rest)]
    left = Copies(body, max(least - 1, 0), None if most is None else most - 1)
    copy: Todo = body, (left, rest)
    return [copy] if least else [rest, copy]


def _ways(
    task: Pattern | Again | Copies, rest: Todo | None, begun: list[Again]
) -> list[Todo | None]:
    def iteration(body: Pattern) -> Todo:
        begun.append(Again(body))
        return body, (begun[-1], rest)

    match task:
        case Sequence(parts):
            for part in reversed(parts):
                rest = (part, rest)
            return [rest]
        case Disjunction(parts):
            return [(part, rest) for part in parts]
        case Maybe(body):
            return [rest, (body, rest)]
        case KleenePlus(body):
            return [iteration(body)]
        case KleeneStar(body):
            return [rest, iteration(body)]
        case Quantified(body, least, most):
            return [(Copies(body, least, most), rest)]
        case Copies(body, least, most):
            return _copies(body, least, most, rest)
        case Again(body):
            # An iteration without events adds no trend, and more of them would never end.
            is_empty = any(task is one for one in begun)
            return [rest] if is_empty else [rest, iteration(body)]
    raise AssertionError(f"{task} is not a part of a pattern")
