"""The GRETA template of a query: states, and transitions between events that may be adjacent.

GRETA section 4.1, Algorithm 1, extended to the language of `query`. A state is a position of the
pattern, or several where one trend can stand at either (`subsets`). A transition carries what must
hold of its pair: nothing, a floor (NOT, `contiguous`), or a condition that is looked at pair by
pair (edge predicates, GRETA section 6). Without conditions a state needs but one accumulator for
all of its events.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

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


# ---- conditions on two adjacent events, beside their order; where an edge predicate is unknown, it
# does not hold: all of these are true or false


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


# ---- states and transitions

#: `State.guard` of the states that make up trends.
TREND = -1


@dataclass(frozen=True, slots=True)
class State:
    """Where an event of a trend, or of a match of NOT, may stand.

    Attributes:
        positions: the positions of the pattern that the trend may be at.
        meets: positions whose local predicates the event meets.
        misses: positions whose local predicates it does not all meet.
        keys: numbers of the query's keys that the event carries.
        guard: number of the NOT whose match the event is part of, or `TREND`.
    """

    positions: frozenset[int]
    meets: frozenset[int]
    misses: frozenset[int]
    keys: frozenset[int]
    guard: int = TREND


@dataclass(frozen=True, slots=True)
class Transition:
    """Events at state `earlier` may come right before events at state `later`.

    Attributes:
        floor: a bound for the earlier event's time; of no account where there is a condition.
        condition: what to ask of each pair; it includes the bound.
        closes: skip-till-next-match: an event at `later`, whatever its trend, closes all earlier
            ones to events after it.
    """

    earlier: int
    later: int
    floor: Floor | None = None
    condition: Condition | None = None
    closes: bool = False


@dataclass(frozen=True, slots=True)
class WayOut:
    """Skip-till-next-match, event by event: `later` events that meet it close an `earlier` one.

    `slot` is the number that `Open` asks for.
    """

    earlier: int
    later: int
    slot: int
    floor: Floor | None
    condition: Condition | None


@dataclass(frozen=True)
class Template:
    """The states of trends that carry the same keys, then those of the NOT that can bar them.

    Attributes:
        keys: numbers of the query's keys that every trend carries: they partition the trends.
        states: those of trends first, then those of each NOT; the inner NOT of a NOT comes first.
        transitions: sorted by (later, earlier).
        starts, ends: START and END states of trends and of NOT; the floor, if any, says when one
            may start a trend, or end one.
        bars: floors that something must have raised for an event to start a trend at a state.
        ways_out: see `WayOut`.
        guards: number of NOT.
    """

    keys: frozenset[int]
    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    starts: Mapping[int, Floor | None]
    bars: Mapping[int, Floor]
    ends: Mapping[int, Floor | None]
    ways_out: tuple[WayOut, ...]
    guards: int

    @cached_property
    def trend_states(self) -> tuple[int, ...]:
        """Numbers of the states that make up trends."""
        return tuple(n for n, state in enumerate(self.states) if state.guard == TREND)

    @property
    def contiguous(self) -> bool:
        """Whether any floor needs to know of all events of a partition."""
        floors = [floor for t in self.transitions for floor in floors_in(t.floor, t.condition)]
        return any(floor.contiguous for floor in floors)

    def predecessors(self, state: int) -> tuple[Transition, ...]:
        """The transitions into a state (`P.predTypes` of the paper)."""
        return tuple(t for t in self.transitions if t.later == state)
