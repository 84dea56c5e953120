"""States and arrows of one pattern before keys and NOT are put in their places."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

from elsinore.query.automaton import NO_WAY, Automaton, Pair, Ways, either_way, one_after_another
from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Semantics
from elsinore.template.template import (
    ALWAYS,
    TREND,
    Condition,
    Holds,
    Open,
    Reaches,
    State,
    Transition,
    WayOut,
    every,
    floor_of,
    floors_in,
    leaves_of,
)

Node = TypeVar("Node", bound=Hashable)


@dataclass(frozen=True)
class Machine:
    """States by number; ways to START states and on from END states; arrows in between.

    `bars` are ways that must all be shut for an event to start a trend at a state.
    """

    states: tuple[State, ...]
    starts: Mapping[int, Ways]
    bars: Mapping[int, Ways]
    ends: Mapping[int, Ways]
    arrows: tuple[Transition, ...]
    ways_out: tuple[WayOut, ...]


#: A machine that matches nothing.
NOTHING = Machine((), {}, {}, {}, (), ())


def guards_of(machine: Machine) -> frozenset[int]:
    """Numbers of the NOT that a machine's ways pass."""
    ways = [*machine.starts.values(), *machine.bars.values(), *machine.ends.values()]
    asked: list[Transition | WayOut] = [*machine.arrows, *machine.ways_out]
    ways += [floor.ways for each in asked for floor in floors_in(each.floor, each.condition)]
    return frozenset(guard for each in ways for way in each for guard in way)


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
        """Whether skip-till-next-match must look at each event at a position by itself."""
        if self.semantics is not Semantics.NEXT:
            return False
        ways = {
            self.ways_condition((position, later)) for later in self.automaton.successors(position)
        }
        return len(ways) > 1 or any(
            isinstance(leaf, Holds) for way in ways for leaf in leaves_of(way)
        )


def transition(
    earlier: int, later: int, condition: Condition, *, closes: bool = False
) -> Transition:
    """A transition in its plainest form: no condition where a floor, or nothing, says it all."""
    if condition == ALWAYS:
        return Transition(earlier, later, closes=closes)
    if isinstance(condition, Reaches):
        return Transition(earlier, later, condition.floor, closes=closes)
    return Transition(earlier, later, condition=condition)


def way_out(earlier: int, later: int, slot: int, condition: Condition) -> WayOut:
    """A way out in its plainest form."""
    plain = transition(earlier, later, condition)
    return WayOut(earlier, later, slot, plain.floor, plain.condition)


def position_machine(pairs: Pairs, guard: int = TREND) -> Machine:
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
            outs.append(way_out(*ends, 0, condition))
            arrows.append(transition(*ends, every(condition, Open(0))))
        else:
            closes = pairs.semantics is Semantics.NEXT
            arrows.append(transition(*ends, condition, closes=closes))
    return Machine(
        states,
        {number[p]: ways for p, ways in found.first.items()},
        {},
        {number[p]: ways for p, ways in found.last.items()},
        tuple(arrows),
        tuple(outs),
    )


def reached_states(
    begin: frozenset[int], arrows: tuple[Transition, ...], *, backwards: bool = False
) -> frozenset[int]:
    """The states that can be reached over arrows from some states."""
    onwards: dict[int, list[int]] = {}
    for arrow in arrows:
        here, there = (arrow.later, arrow.earlier) if backwards else (arrow.earlier, arrow.later)
        onwards.setdefault(here, []).append(there)
    return frozenset(reachable(begin, lambda state: onwards.get(state, ())))


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


def any_way(ways: list[Ways]) -> Ways:
    """All ways of several sets together."""
    return reduce(either_way, ways, NO_WAY)


Accept = Callable[[frozenset[int]], Ways]


def accept_by(found: Automaton) -> Accept:
    """The ways on to the end from any of some positions."""
    return lambda positions: any_way([found.last[p] for p in positions if p in found.last])


def accept_by_both(left: Automaton, right: Automaton) -> Accept:
    """The ways on to the ends of two automata at once."""
    first, second = accept_by(left), accept_by(right)
    return lambda positions: one_after_another(first(positions), second(positions))
