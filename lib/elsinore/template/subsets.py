"""Make an ambiguous pattern unambiguous: its states become sets of places.

A place is an occurrence of a position of the pattern; a quantifier copies positions. COUNT counts
trends, not the ways to match one (spec section 1). The subset construction follows all ways to
match a trend at once. The positions that an event can take depend on local predicates, so
there is a state per set of positions whose predicates an event can meet together (`can_meet`). The
positions that a pair of events can take depend on conditions on the pair, so a transition has these
as its condition.

If the ways to match one trend differ in the events that an aggregate counts or a key binds, no such
state exists. Then the query is not supported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from itertools import chain, combinations
from typing import TypeVar

from elsinore.query.automaton import OPEN_WAY, Pair, one_after_another
from elsinore.query.bound import BoundQuery
from elsinore.query.expressions import BoundExpression
from elsinore.query.satisfiable import can_meet, told_apart
from elsinore.query.syntax import Semantics
from elsinore.template.template import (
    ALWAYS,
    Accept,
    Condition,
    Floor,
    Never,
    Open,
    Pairs,
    State,
    Template,
    Transition,
    any_way,
    every,
    floor_of,
    keys_at,
    leading_to,
    some,
)

#: Maximum number of states, which may double with each position of a pattern.
MAX_STATES = 200
#: Maximum number of conditions that distinguish the positions of one event. Each doubles the number
#: of states that may follow.
MAX_UNCERTAIN = 6

Positions = frozenset[int]
Places = frozenset[int]
Local = frozenset[BoundExpression]
Part = TypeVar("Part")


class NotUnambiguous(Exception):
    """The reason why a pattern cannot be made unambiguous."""


@dataclass(frozen=True, slots=True)
class Symbol:
    """Events of one type that meet the local predicates of some positions and not of others."""

    meets: Positions
    misses: Positions


@dataclass
class _Subsets:
    pairs: Pairs
    symbols: tuple[Symbol, ...]
    numbers: dict[State, int] = field(default_factory=dict)
    starts: dict[int, Floor | None] = field(default_factory=dict)
    bars: dict[int, Floor] = field(default_factory=dict)
    arrows: list[Transition] = field(default_factory=list)
    ways_out: list[Transition] = field(default_factory=list)
    pending: list[State] = field(default_factory=list)

    def number(self, places: Places, symbol: Symbol) -> int:
        """Return the number of a state, adding it if it is new."""
        query, positions = self.pairs.query, self.pairs.at(places)
        _refuse_mixed(query, positions)
        keys = keys_at(query, min(positions))
        state = State(positions, symbol.meets, symbol.misses, keys, places=places)
        if state not in self.numbers:
            if len(self.numbers) >= MAX_STATES:
                raise NotUnambiguous("it can match a trend in too many ways")
            self.numbers[state] = len(self.numbers)
            self.pending.append(state)
        return self.numbers[state]


def subset_template(pairs: Pairs, accept: Accept) -> Template:
    """Return the unambiguous template of an automaton.

    Args:
        pairs: the automaton, and the conditions on pairs.
        accept: returns the ways from positions to the end; empty without an END position.

    Raises:
        NotUnambiguous: the ways to match one trend differ in their results, or there are too many.
    """
    found = _Subsets(pairs, tuple(_symbols(pairs)))
    _add_starts(found)
    while found.pending:
        state = found.pending.pop(0)
        _add_arrows(found, found.numbers[state], state.places)
    states = list(found.numbers)
    _add_ways_out(found, states)
    ends = {n: ways for n, state in enumerate(states) if (ways := accept(state.places))}
    return Template(
        keys=frozenset(),
        states=tuple(states),
        transitions=tuple(found.arrows),
        starts=found.starts,
        ends={number: floor_of(ways) for number, ways in ends.items()},
        bars=found.bars,
        ways_out=tuple(found.ways_out),
    )


def _add_starts(found: _Subsets) -> None:
    first = found.pairs.automaton.first
    _refuse_torn(found.pairs.query, found.pairs.at(first))
    for symbol in found.symbols:
        ways = {q: first[q] for q in _meeting(found.pairs, first, symbol)}
        for entered, passed, barred in _entered(ways, OPEN_WAY):
            number = found.number(entered, symbol)
            found.starts[number] = floor_of(reduce(one_after_another, passed, OPEN_WAY))
            if barred:
                found.bars[number] = Floor(any_way(barred))


def _entered(
    ways: Mapping[int, Part], always: Part
) -> Iterator[tuple[Places, tuple[Part, ...], list[Part]]]:
    """Yield the sets of places that an event may take.

    Each comes with the conditions that hold, and the conditions that do not.
    """
    sure = frozenset(q for q, way in ways.items() if way == always)
    unsure = _few(list(dict.fromkeys(way for way in ways.values() if way != always)))
    for chosen in _combinations(unsure):
        entered = sure | {q for q, way in ways.items() if way in chosen}
        if entered:
            yield entered, chosen, [way for way in unsure if way not in chosen]


def _meeting(pairs: Pairs, places: Iterable[int], symbol: Symbol) -> list[int]:
    """Return which of some places events of a symbol can take, in ascending order."""
    return sorted(place for place in places if pairs.positions[place] in symbol.meets)


def _add_arrows(found: _Subsets, number: int, places: Places) -> None:
    onwards = [found.pairs.automaton.successors[place] for place in places]
    _refuse_torn(found.pairs.query, found.pairs.at(chain.from_iterable(onwards)))
    closing = _one_by_one(found, places)
    closes = found.pairs.semantics is Semantics.NEXT and not closing
    for symbol in found.symbols:
        ways = _conditions(found.pairs, places, symbol, opened=closing)
        for target, held, barred in _entered(ways, ALWAYS):
            condition = every(*held, *map(Never, barred))
            later = found.number(target, symbol)
            found.arrows.append(Transition(number, later, condition, closes))


def _conditions(
    pairs: Pairs, places: Places, symbol: Symbol, *, opened: bool
) -> dict[int, Condition]:
    """Return the condition for each place of a symbol to be reached from some places."""
    ways: dict[int, list[Condition]] = {}
    for slot, earlier in enumerate(sorted(places)):
        for later in _meeting(pairs, pairs.automaton.successors[earlier], symbol):
            condition = pairs.ways_condition((earlier, later))
            ways.setdefault(later, []).append(every(condition, Open(slot)) if opened else condition)
    return {later: some(*conditions) for later, conditions in ways.items()}


def _one_by_one(found: _Subsets, places: Places) -> bool:
    """Return whether the places of a state are closed by different events."""
    pairs = found.pairs
    if pairs.semantics is not Semantics.NEXT:
        return False
    if any(pairs.close_one_by_one(place) for place in places):
        return True
    onwards = [after for p in places if (after := pairs.automaton.successors[p])]
    conditions = {
        pairs.ways_condition((place, later))
        for place in places
        for later in pairs.automaton.successors[place]
    }
    return len(conditions) > 1 or any(
        len({bool(pairs.at(after) & symbol.meets) for after in onwards}) > 1
        for symbol in found.symbols
    )


def _add_ways_out(found: _Subsets, states: list[State]) -> None:
    """Add ways out to the states of transitions: each event that may follow is at one of them."""
    for arrow in {(arrow.earlier, arrow.later): arrow for arrow in found.arrows}.values():
        places, other = states[arrow.earlier].places, states[arrow.later]
        if not _one_by_one(found, places):
            continue
        symbol = Symbol(other.meets, other.misses)
        for slot, earlier in enumerate(sorted(places)):
            for later in _meeting(found.pairs, found.pairs.automaton.successors[earlier], symbol):
                condition = found.pairs.ways_condition((earlier, later))
                ends = arrow.earlier, arrow.later
                found.ways_out.append(Transition(*ends, condition, slot=slot))


# ---- sets of local predicates that one event may meet


def _symbols(pairs: Pairs) -> Iterator[Symbol]:
    """Yield every set of positions whose local predicates one event can meet together."""
    query, found = pairs.query, pairs.automaton
    positions = sorted(pairs.at({*found.first, *(p for pair in found.pairs for p in pair)}))
    alike: dict[tuple[str, frozenset[int]], dict[Local, set[int]]] = {}
    for position in positions:
        kind = query.positions[position].type, keys_at(query, position)
        local = query.local_conditions(position)
        alike.setdefault(kind, {}).setdefault(local, set()).add(position)
    for groups in alike.values():
        everywhere = frozenset(chain.from_iterable(groups.values()))
        for chosen in _combinations(_few(list(groups))):
            met = frozenset(chain.from_iterable(chosen))
            if all((local <= met) == (local in chosen) for local in groups) and can_meet(met):
                meets = frozenset(chain.from_iterable(groups[local] for local in chosen))
                if meets:
                    yield Symbol(meets, everywhere - meets)


def _few(parts: list[Part]) -> list[Part]:
    if len(parts) > MAX_UNCERTAIN:
        raise NotUnambiguous("too many of its positions have separate conditions")
    return parts


def _combinations(parts: list[Part]) -> Iterable[tuple[Part, ...]]:
    return chain.from_iterable(combinations(parts, size) for size in range(len(parts) + 1))


# ---- refusals


def _refuse_mixed(query: BoundQuery, positions: Positions) -> None:
    """Raise an error for a state if an aggregate counts only some of its positions."""
    asked = ((item.label, places) for item in query.aggregates if not item.each
             for places, _ in item.read)  # fmt: skip
    for label, places in asked:
        counted = positions & places
        if counted and counted != positions:
            names = _names(query, positions)
            raise NotUnambiguous(
                f"one event of a trend can match {names}, but {label} counts only "
                f"{_names(query, counted)}"
            )


def _refuse_torn(query: BoundQuery, positions: Positions) -> None:
    """Raise an error for positions that one event may take if they carry different keys."""
    by_type: dict[str, set[int]] = {}
    for position in positions:
        by_type.setdefault(query.positions[position].type, set()).add(position)
    for alike in by_type.values():
        if any(
            keys_at(query, p) != keys_at(query, q) and (p, q) not in told_apart(query)
            for p, q in combinations(sorted(alike), 2)
        ):
            raise NotUnambiguous(
                f"one event of a trend can match {_names(query, alike)}, but a key applies only to "
                "some of them"
            )


def _names(query: BoundQuery, positions: Iterable[int]) -> str:
    return " or ".join(query.positions[position].alias for position in sorted(positions))


# ---- whether patterns can match one sequence of events in two ways

#: Maximum number of transitions in the product of two automata, which grows with the fourth power
#: of a pattern's length. It is enough for 25 parts of one type in any order.
MAX_ARROWS = 400_000


def is_ambiguous(found: Pairs) -> bool:
    """Return whether some trend has two different paths through the automaton of a pattern."""
    return any(p != q for p, q in _paired(found, found))


def overlap(left: Pairs, right: Pairs) -> bool:
    """Return whether some trend may match both of two patterns of a query."""
    return bool(_paired(left, right))


def _paired(one: Pairs, other: Pairs) -> set[Pair]:
    """Return the pairs of places that one event of a trend may take on two paths.

    One path is through the first automaton, and the other is through the second. Two paths with the
    same events are one path through the product of the automata, from a pair of starts to a pair of
    ends.

    Raises:
        NotUnambiguous: the product is too large.
    """
    left, right, at = one.automaton, other.automaton, one.positions
    types = [one.query.positions[position].type for position in at]
    apart = told_apart(one.query)

    def alike(lefts: Iterable[int], rights: Iterable[int]) -> set[Pair]:
        same: dict[str, list[int]] = {}
        for q in rights:
            same.setdefault(types[q], []).append(q)
        pairs = {(p, q) for p in lefts for q in same.get(types[p], ())}
        return {(p, q) for p, q in pairs if (at[p], at[q]) not in apart} if apart else pairs

    arrows: dict[Pair, set[Pair]] = {}
    pending = list(alike(left.first, right.first))
    room = MAX_ARROWS
    while pending:
        pair = pending.pop()
        if pair not in arrows:
            arrows[pair] = alike(left.successors[pair[0]], right.successors[pair[1]])
            room -= len(arrows[pair])
            if room < 0:
                raise NotUnambiguous("it can match a trend in too many ways")
            pending += arrows[pair]
    ends = [p for p in arrows if p[0] in left.last and p[1] in right.last]
    return leading_to(ends, ((pair, after) for pair, nexts in arrows.items() for after in nexts))
