"""What must hold of two adjacent events of a trend, beside their order.

All of these are either true or false: where an edge predicate is unknown, it does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from elsinore.query.automaton import OPEN_WAY, Ways
from elsinore.query.expressions import BoundExpression


@dataclass(frozen=True, slots=True)
class Floor:
    """The earlier event must not lie below a time that rises with the later one.

    A NOT that was matched rules out all events before the match's start; of several ways past NOT
    one must be open. Under `contiguous` every event of the partition rules out those before it.

    Attributes:
        ways: the guards passed on each way.
        contiguous: whether the partition's last event is a bound too.
    """

    ways: Ways
    contiguous: bool = False


def floor_of(ways: Ways, *, contiguous: bool = False) -> Floor | None:
    """The floor of some ways; None where nothing bounds the earlier event."""
    return Floor(ways, contiguous) if contiguous or ways != OPEN_WAY else None


@dataclass(frozen=True, slots=True)
class Holds:
    """An edge predicate is true."""

    condition: BoundExpression


@dataclass(frozen=True, slots=True)
class Reaches:
    """The earlier event is not below a floor."""

    floor: Floor


@dataclass(frozen=True, slots=True)
class Open:
    """Under skip-till-next-match: no event in between could extend the earlier one.

    `slot` tells apart the positions that the earlier event may stand at.
    """

    slot: int


@dataclass(frozen=True, slots=True)
class Every:
    """All parts hold."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Some:
    """At least one part holds."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Never:
    """The part does not hold."""

    part: Condition


Condition = Holds | Reaches | Open | Every | Some | Never

#: Holds always.
ALWAYS = Every(())


def every(*parts: Condition) -> Condition:
    """All parts together, without needless nesting."""
    flat = [
        inner for part in parts for inner in (part.parts if isinstance(part, Every) else [part])
    ]
    unique = tuple(dict.fromkeys(flat))
    return unique[0] if len(unique) == 1 else Every(unique)


def some(*parts: Condition) -> Condition:
    """One of the parts."""
    unique = tuple(dict.fromkeys(parts))
    if ALWAYS in unique:
        return ALWAYS
    return unique[0] if len(unique) == 1 else Some(unique)


def leaves_of(condition: Condition) -> Iterator[Holds | Reaches | Open]:
    """The simple conditions inside of one, from left to right."""
    match condition:
        case Every(parts) | Some(parts):
            for part in parts:
                yield from leaves_of(part)
        case Never(part):
            yield from leaves_of(part)
        case _:
            yield condition


def floors_in(floor: Floor | None, condition: Condition | None) -> Iterator[Floor]:
    """The floors that a transition asks for."""
    if floor is not None:
        yield floor
    for leaf in leaves_of(condition) if condition is not None else ():
        if isinstance(leaf, Reaches):
            yield leaf.floor
