"""The GRETA template of a query: states, and transitions between events that may be adjacent.

GRETA section 4.1, Algorithm 1, extended to the language of `query`. A state is a position of the
pattern, or several where one trend can stand at either (`subsets`). A transition carries what must
hold of its pair: nothing, a floor (NOT, `contiguous`), or a condition that is looked at pair by
pair (edge predicates, GRETA section 6). Without conditions a state needs but one accumulator for
all of its events.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from elsinore.template.conditions import Condition, Floor, floors_in

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

    `slot` is the number that `conditions.Open` asks for.
    """

    earlier: int
    later: int
    slot: int
    floor: Floor | None
    condition: Condition | None


@dataclass(frozen=True)
class Template:
    """The states of trends that carry the same keys, then those of the NOT that bear on them.

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
