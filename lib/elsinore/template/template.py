"""The GRETA template of a query: states, and transitions between events that may be adjacent.

GRETA section 4.1, Algorithm 1, extended to the language of `query`. A state is a position of the
pattern, or several where one trend can stand at either (`subsets`). A transition carries what must
hold of its pair: nothing, a floor (NOT, `contiguous`), or a condition that is looked at pair by
pair (edge predicates, GRETA section 6). Without conditions a state needs but one accumulator for
all of its events.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import TypeVar

from elsinore.query.automaton import (
    NO_WAY,
    OPEN_WAY,
    Automaton,
    Pair,
    Ways,
    either_way,
    one_after_another,
)
from elsinore.query.bound import BoundQuery
from elsinore.query.expressions import BoundExpression
from elsinore.query.syntax import Semantics


@dataclass(frozen=True, slots=True)
class Floor:
    """The earlier event must not lie below a time that rises with the later one.

    A NOT that was matched rules out all events before the match's start; of several ways past NOT
    one must be open. Under `contiguous` every event of the partition rules out those before it.
    """

    ways: Ways  #: the guards passed on each way
    contiguous: bool = False  #: whether the partition's last event is a bound too


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


# ---- states and transitions

#: `State.guard` of the states that make up trends.
TREND = -1


@dataclass(frozen=True, slots=True)
class State:
    """Where an event of a trend, or of a match of NOT, may stand."""

    positions: frozenset[int]  #: the positions of the pattern that the trend may be at
    meets: frozenset[int]  #: positions whose local predicates the event meets
    misses: frozenset[int]  #: positions whose local predicates it does not all meet
    keys: frozenset[int]  #: numbers of the query's keys that the event carries
    guard: int = TREND  #: number of the NOT whose match the event is part of, or `TREND`


@dataclass(frozen=True, slots=True)
class Transition:
    """Events at state `earlier` may come right before events at state `later`."""

    earlier: int
    later: int
    condition: Condition = ALWAYS  #: what must hold of each pair
    #: skip-till-next-match: an event at `later`, whatever its trend, closes all earlier ones to
    #: events after it. All transitions from a state do, under one condition, or none does.
    closes: bool = False
    slot: int = 0  #: of a way out (`Template.ways_out`), the number that `Open` asks for

    def floors(self) -> Iterator[Floor]:
        """The floors that it asks for."""
        leaves = leaves_of(self.condition)
        return (leaf.floor for leaf in leaves if isinstance(leaf, Reaches))


@dataclass(frozen=True)
class Template:
    """The states of trends that carry the same keys, then those of the NOT that can bar them.

    A pattern, or what a NOT forbids, has one of its own before keys and NOT are put in their places
    (`elsinore.template.build`).

    Attributes:
        keys: numbers of the query's keys that every trend carries: they partition the trends.
        states: those of trends first, then those of each NOT; the inner NOT of a NOT comes first.
        transitions: sorted by (later, earlier).
        starts, ends: START and END states of trends and of NOT; the floor, if any, says when one
            may start a trend, or end one.
        bars: floors that something must have raised for an event to start a trend at a state.
        ways_out: skip-till-next-match, event by event: `later` events that meet the condition close
            an `earlier` one.
        guards: number of NOT.
    """

    keys: frozenset[int]
    states: tuple[State, ...]
    transitions: tuple[Transition, ...]
    starts: Mapping[int, Floor | None]
    ends: Mapping[int, Floor | None]
    bars: Mapping[int, Floor] = field(default_factory=dict)
    ways_out: tuple[Transition, ...] = ()
    guards: int = 0

    @cached_property
    def trend_states(self) -> tuple[int, ...]:
        """Numbers of the states that make up trends."""
        return tuple(n for n, state in enumerate(self.states) if state.guard == TREND)

    @cached_property
    def loops(self) -> tuple[int, ...]:
        """Numbers of the states with a transition to themselves: Kleene sub-patterns E+."""
        return tuple(t.later for t in self.transitions if t.earlier == t.later)

    @property
    def contiguous(self) -> bool:
        """Return whether any floor needs to know of all events of a partition."""
        return any(floor.contiguous for arrow in self.transitions for floor in arrow.floors())

    def predecessors(self, state: int) -> tuple[Transition, ...]:
        """The transitions into a state (`P.predTypes` of the paper)."""
        return tuple(t for t in self.transitions if t.later == state)


#: What matches nothing.
NOTHING = Template(frozenset(), (), (), {}, {})

Node = TypeVar("Node", bound=Hashable)


def guards_of(template: Template) -> frozenset[int]:
    """Numbers of the NOT that a template's ways pass."""
    floors = [*template.starts.values(), *template.bars.values(), *template.ends.values()]
    asked = template.transitions + template.ways_out
    floors += [floor for arrow in asked for floor in arrow.floors()]
    return frozenset(guard for floor in floors if floor for way in floor.ways for guard in way)


def keys_at(query: BoundQuery, position: int) -> frozenset[int]:
    """Numbers of the keys that events at a position carry."""
    return frozenset(n for n, key in enumerate(query.keys) if position in key.positions)


@dataclass(frozen=True)
class Pairs:
    """What must hold of two events at two positions of an automaton."""

    query: BoundQuery
    automaton: Automaton
    semantics: Semantics

    def ways_condition(self, pair: Pair) -> Condition:
        """The edge predicates of a pair, and its floor."""
        conditions: list[Condition] = [
            Holds(edge.condition)
            for edge in self.query.edge_predicates
            if (edge.earlier, edge.later) == pair
        ]
        contiguous = self.semantics is Semantics.CONTIGUOUS
        floor = floor_of(self.automaton.pairs[pair], contiguous=contiguous)
        return every(*conditions, *([Reaches(floor)] if floor else []))

    def close_one_by_one(self, position: int) -> bool:
        """Return whether skip-till-next-match must look at each event at a position by itself."""
        if self.semantics is not Semantics.NEXT:
            return False
        ways = {
            self.ways_condition((position, later)) for later in self.automaton.successors[position]
        }
        return len(ways) > 1 or any(
            isinstance(leaf, Holds) for way in ways for leaf in leaves_of(way)
        )


def position_template(pairs: Pairs, guard: int = TREND) -> Template:
    """One state for each position: for patterns that match a trend in one way only, and for NOT."""
    query, found = pairs.query, pairs.automaton
    positions = sorted({*found.first, *(p for pair in found.pairs for p in pair)})
    number = {position: state for state, position in enumerate(positions)}
    states = tuple(
        State(frozenset([p]), frozenset([p]), frozenset(), keys_at(query, p), guard)
        for p in positions
    )
    arrows, outs = [], []
    for earlier, later in sorted(found.pairs):
        condition = pairs.ways_condition((earlier, later))
        ends = number[earlier], number[later]
        if pairs.close_one_by_one(earlier):
            outs.append(Transition(*ends, condition))
            arrows.append(Transition(*ends, every(condition, Open(0))))
        else:
            closes = pairs.semantics is Semantics.NEXT
            arrows.append(Transition(*ends, condition, closes))
    return Template(
        keys=frozenset(),
        states=states,
        transitions=tuple(arrows),
        starts={number[p]: floor_of(ways) for p, ways in found.first.items()},
        ends={number[p]: floor_of(ways) for p, ways in found.last.items()},
        ways_out=tuple(outs),
    )


def reachable(begin: Iterable[Node], onwards: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """What can be reached from some nodes of a graph, these included."""
    reached: set[Node] = set()
    pending = list(begin)
    while pending:
        node = pending.pop()
        if node not in reached:
            reached.add(node)
            pending += onwards(node)
    return reached


def leading_to(ends: Iterable[Node], arrows: Iterable[tuple[Node, Node]]) -> set[Node]:
    """The nodes from which an end can be reached over (earlier, later), the ends included."""
    before: dict[Node, list[Node]] = {}
    for earlier, later in arrows:
        before.setdefault(later, []).append(earlier)
    return reachable(ends, lambda node: before.get(node, ()))


def any_way(ways: list[Ways]) -> Ways:
    """All ways of several sets together."""
    return reduce(either_way, ways, NO_WAY)


Accept = Callable[[frozenset[int]], Ways]


def accept_by(*automata: Automaton) -> Accept:
    """The ways on from any of some positions to the ends of all automata at once."""

    def accept(positions: frozenset[int]) -> Ways:
        ends = (any_way([m.last[p] for p in positions if p in m.last]) for m in automata)
        return reduce(one_after_another, ends, OPEN_WAY)

    return accept
