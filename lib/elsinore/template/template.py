"""The GRETA template of a query: states, and transitions between events that may be adjacent.

GRETA section 4.1, Algorithm 1, extended to the language of `query`. A state is a position of the
pattern, or several positions if one trend can be at any of them (`subsets`). A transition has a
condition on its pair of events: none, a floor (NOT, `contiguous`), or a condition that is evaluated
per pair (edge predicates, GRETA section 6). Without conditions, a state needs only one accumulator
for all of its events.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
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
    """A lower bound on the time of the earlier event, which rises with the later event.

    If a NOT is matched, all events before the start of the match are excluded. If there are several
    ways past NOT, at least one of them must be open. Under `contiguous`, every event of the
    partition excludes the events before it.
    """

    ways: Ways  #: the guards passed on each way
    contiguous: bool = False  #: whether the partition's last event is a bound too


def floor_of(ways: Ways, *, contiguous: bool = False) -> Floor | None:
    """Return the floor of some ways; None if nothing bounds the earlier event."""
    return Floor(ways, contiguous) if contiguous or ways != OPEN_WAY else None


# ---- conditions on two adjacent events, in addition to their order. All are true or false: if the
# value of an edge predicate is unknown, the predicate does not hold.


@dataclass(frozen=True, slots=True)
class Holds:
    """An edge predicate is true."""

    condition: BoundExpression


@dataclass(frozen=True, slots=True)
class Reaches:
    """The time of the earlier event is not below a floor."""

    floor: Floor


@dataclass(frozen=True, slots=True)
class Open:
    """Under skip-till-next-match: no event in between could extend the earlier one.

    `slot` is the rank of the place of the earlier event among the places of its state.
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
    """Return the conjunction of conditions, without needless nesting."""
    flat = [
        inner for part in parts for inner in (part.parts if isinstance(part, Every) else [part])
    ]
    unique = tuple(dict.fromkeys(flat))
    return unique[0] if len(unique) == 1 else Every(unique)


def some(*parts: Condition) -> Condition:
    """Return the disjunction of conditions."""
    unique = tuple(dict.fromkeys(parts))
    if ALWAYS in unique:
        return ALWAYS
    return unique[0] if len(unique) == 1 else Some(unique)


def leaves_of(condition: Condition) -> Iterator[Holds | Reaches | Open]:
    """Yield the simple conditions in a condition, from left to right."""
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
    """A state of trends, or of matches of a NOT."""

    positions: frozenset[int]  #: positions of the pattern at which the trend may be
    meets: frozenset[int]  #: positions whose local predicates the event meets
    misses: frozenset[int]  #: positions of which the event does not meet all local predicates
    keys: frozenset[int]  #: numbers of the query's keys that the event carries
    guard: int = TREND  #: number of the NOT whose match the event is part of, or `TREND`
    #: places of the automaton at which the trend may be; copies of a position are several places.
    places: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Transition:
    """Events at state `earlier` may directly precede events at state `later`."""

    earlier: int
    later: int
    condition: Condition = ALWAYS  #: the condition on each pair
    #: skip-till-next-match: an event at `later`, in any trend, closes all earlier events to events
    #: after it. All transitions from a state have the same value, and the same condition if true.
    closes: bool = False
    slot: int = 0  #: for `Template.ways_out`, the slot of the `Open` that it closes

    def floors(self) -> Iterator[Floor]:
        """Yield the floors in its condition."""
        leaves = leaves_of(self.condition)
        return (leaf.floor for leaf in leaves if isinstance(leaf, Reaches))


@dataclass(frozen=True)
class Template:
    """States of trends that carry the same keys, and states of the NOT that can exclude them.

    A pattern, or the body of a NOT, first has a separate template without keys and NOT.
    `elsinore.template.build` combines them.

    Attributes:
        keys: numbers of the query's keys that every trend carries; they partition the trends.
        states: states of trends, then states of each NOT, inner NOT before outer ones.
        transitions: sorted by (later, earlier).
        starts, ends: START and END states of trends and of NOT, each with the floor, if any, that
            an event must reach to start or to end a trend.
        bars: by START state, a floor that must have risen before an event can start a trend there.
        ways_out: for skip-till-next-match per event: `later` events that meet the condition close
            an `earlier` event.
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
        """Return the numbers of the states of trends."""
        return tuple(n for n, state in enumerate(self.states) if state.guard == TREND)

    @cached_property
    def loops(self) -> tuple[int, ...]:
        """Return the numbers of the states with a transition to themselves (Kleene plus)."""
        return tuple(t.later for t in self.transitions if t.earlier == t.later)

    @property
    def contiguous(self) -> bool:
        """Return whether a floor depends on all events of a partition."""
        return any(floor.contiguous for arrow in self.transitions for floor in arrow.floors())

    def predecessors(self, state: int) -> tuple[Transition, ...]:
        """Return the transitions into a state (`P.predTypes` of the paper)."""
        return tuple(t for t in self.transitions if t.later == state)


#: A template without trends.
NOTHING = Template(frozenset(), (), (), {}, {})

Node = TypeVar("Node", bound=Hashable)


def guards_of(template: Template) -> frozenset[int]:
    """Return the numbers of the NOT on the ways of a template."""
    floors = [*template.starts.values(), *template.bars.values(), *template.ends.values()]
    asked = template.transitions + template.ways_out
    floors += [floor for arrow in asked for floor in arrow.floors()]
    return frozenset(guard for floor in floors if floor for way in floor.ways for guard in way)


def keys_at(query: BoundQuery, position: int) -> frozenset[int]:
    """Return the numbers of the keys that events at a position carry."""
    return frozenset(n for n, key in enumerate(query.keys) if position in key.positions)


@dataclass(frozen=True)
class Pairs:
    """The conditions on pairs of events at two places of an automaton.

    A place is an occurrence of a position; a quantifier copies positions.
    """

    query: BoundQuery
    automaton: Automaton
    semantics: Semantics
    positions: Sequence[int]  #: by place

    def at(self, places: Iterable[int]) -> frozenset[int]:
        """Return the positions of some places."""
        return frozenset(self.positions[place] for place in places)

    def ways_condition(self, pair: Pair) -> Condition:
        """Return the edge predicates and the floor of a pair of places."""
        ends = self.positions[pair[0]], self.positions[pair[1]]
        conditions: list[Condition] = [
            Holds(edge.condition)
            for edge in self.query.edge_predicates
            if (edge.earlier, edge.later) == ends
        ]
        contiguous = self.semantics is Semantics.CONTIGUOUS
        floor = floor_of(self.automaton.pairs[pair], contiguous=contiguous)
        return every(*conditions, *([Reaches(floor)] if floor else []))

    def close_one_by_one(self, place: int) -> bool:
        """Return whether skip-till-next-match closes the events at a place one by one."""
        if self.semantics is not Semantics.NEXT:
            return False
        ways = {self.ways_condition((place, later)) for later in self.automaton.successors[place]}
        return len(ways) > 1 or any(
            isinstance(leaf, Holds) for way in ways for leaf in leaves_of(way)
        )


def position_template(pairs: Pairs, guard: int = TREND) -> Template:
    """Return a template with a state per place, for unambiguous patterns and for NOT."""
    query, found = pairs.query, pairs.automaton
    places = sorted({*found.first, *(p for pair in found.pairs for p in pair)})
    number = {place: state for state, place in enumerate(places)}
    states = tuple(
        State(at, at, frozenset(), keys_at(query, min(at)), guard, frozenset([place]))
        for place in places
        for at in [pairs.at([place])]
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
    """Return the nodes that can be reached from some nodes, including these.

    Args:
        begin: the first nodes.
        onwards: returns the successors of a node.
    """
    reached: set[Node] = set()
    pending = list(begin)
    while pending:
        node = pending.pop()
        if node not in reached:
            reached.add(node)
            pending += onwards(node)
    return reached


def leading_to(ends: Iterable[Node], arrows: Iterable[tuple[Node, Node]]) -> set[Node]:
    """Return the nodes from which an end can be reached, including the ends.

    Args:
        ends: the ends.
        arrows: pairs (earlier, later).
    """
    before: dict[Node, list[Node]] = {}
    for earlier, later in arrows:
        before.setdefault(later, []).append(earlier)
    return reachable(ends, lambda node: before.get(node, ()))


def any_way(ways: list[Ways]) -> Ways:
    """Return the union of several sets of ways."""
    return reduce(either_way, ways, NO_WAY)


Accept = Callable[[frozenset[int]], Ways]


def accept_by(*automata: Automaton) -> Accept:
    """Return a function from places to the ways from them to the ends of all automata."""

    def accept(places: frozenset[int]) -> Ways:
        ends = (any_way([m.last[p] for p in places if p in m.last]) for m in automata)
        return reduce(one_after_another, ends, OPEN_WAY)

    return accept
