"""Makes an ambiguous pattern unambiguous: states are sets of positions that a trend may be at.

COUNT counts trends, not the ways to match one (spec section 1). The subset construction follows
all ways at once. Which positions an event can take depends on their local predicates, so there is a
state for each set of them that an event can meet together (`can_meet`); which positions two
events can take depends on what must hold of the pair, so a transition says which of them it means.
Where the ways to match one trend differ in what an aggregate counts or a key binds, no such state
exists and the query is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, combinations
from math import ceil, floor
from typing import Any, TypeVar

from elsinore.catalog.stream import AttributeType
from elsinore.query.automaton import OPEN_WAY, Automaton, Pair, Ways, one_after_another
from elsinore.query.bound import BoundQuery, of_query
from elsinore.query.expressions import (
    Applied,
    BoundExpression,
    Constant,
)
from elsinore.query.syntax import Semantics
from elsinore.template.template import (
    ALWAYS,
    Accept,
    Condition,
    Machine,
    Never,
    Open,
    Pairs,
    State,
    Transition,
    any_way,
    every,
    keys_at,
    reachable,
    some,
    transition,
)

#: More states than this are refused: their number may double with each position of a pattern.
MAX_STATES = 200
#: Conditions that part the positions of one event; each doubles the states that it may lead to.
MAX_UNCERTAIN = 6

Positions = frozenset[int]
Local = frozenset[BoundExpression]
Part = TypeVar("Part")


class NotUnambiguous(Exception):
    """Why a pattern cannot be made unambiguous."""


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
    starts: dict[int, Ways] = field(default_factory=dict)
    bars: dict[int, Ways] = field(default_factory=dict)
    arrows: list[Transition] = field(default_factory=list)
    ways_out: list[Transition] = field(default_factory=list)
    pending: list[State] = field(default_factory=list)

    def number(self, positions: Positions, symbol: Symbol) -> int:
        """The number of a state, new or known."""
        query = self.pairs.query
        _refuse_mixed(query, positions)
        keys = keys_at(query, min(positions))
        state = State(positions, symbol.meets, symbol.misses, keys)
        if state not in self.numbers:
            if len(self.numbers) >= MAX_STATES:
                raise NotUnambiguous("its ways to match one trend are too many")
            self.numbers[state] = len(self.numbers)
            self.pending.append(state)
        return self.numbers[state]


def subset_machine(pairs: Pairs, accept: Accept) -> Machine:
    """The unambiguous machine of an automaton.

    Raises:
        NotUnambiguous: its ways to match one trend differ in their results.
    """
    found = _Subsets(pairs, tuple(_symbols(pairs)))
    _add_starts(found)
    while found.pending:
        state = found.pending.pop(0)
        _add_arrows(found, found.numbers[state], state.positions)
    states = list(found.numbers)
    _add_ways_out(found, states)
    ends = {n: ways for n, state in enumerate(states) if (ways := accept(state.positions))}
    return Machine(
        tuple(states), found.starts, found.bars, ends, tuple(found.arrows), tuple(found.ways_out)
    )


def _add_starts(found: _Subsets) -> None:
    first = found.pairs.automaton.first
    _refuse_torn(found.pairs.query, frozenset(first))
    for symbol in found.symbols:
        ways = {q: first[q] for q in sorted(frozenset(first) & symbol.meets)}
        for entered, passed, barred in _entered(ways, OPEN_WAY):
            number = found.number(entered, symbol)
            found.starts[number] = reduce(one_after_another, passed, OPEN_WAY)
            if barred:
                found.bars[number] = any_way(barred)


def _entered(
    ways: Mapping[int, Part], always: Part
) -> Iterator[tuple[Positions, tuple[Part, ...], list[Part]]]:
    """Which positions an event may take, with what holds for that, and what does not."""
    sure = frozenset(q for q, way in ways.items() if way == always)
    unsure = _few(list(dict.fromkeys(way for way in ways.values() if way != always)))
    for chosen in _combinations(unsure):
        entered = sure | {q for q, way in ways.items() if way in chosen}
        if entered:
            yield entered, chosen, [way for way in unsure if way not in chosen]


def _add_arrows(found: _Subsets, number: int, positions: Positions) -> None:
    onwards = [found.pairs.automaton.successors(position) for position in positions]
    _refuse_torn(found.pairs.query, frozenset().union(*onwards))
    closing = _one_by_one(found, positions)
    closes = found.pairs.semantics is Semantics.NEXT and not closing
    for symbol in found.symbols:
        ways = _conditions(found.pairs, positions, symbol, opened=closing)
        for target, held, barred in _entered(ways, ALWAYS):
            condition = every(*held, *map(Never, barred))
            later = found.number(target, symbol)
            found.arrows.append(transition(number, later, condition, closes=closes))


def _conditions(
    pairs: Pairs, positions: Positions, symbol: Symbol, *, opened: bool
) -> dict[int, Condition]:
    """What must hold for each position of a symbol to be reached from some positions."""
    ways: dict[int, list[Condition]] = {}
    for slot, earlier in enumerate(sorted(positions)):
        for later in sorted(pairs.automaton.successors(earlier) & symbol.meets):
            condition = pairs.ways_condition((earlier, later))
            ways.setdefault(later, []).append(every(condition, Open(slot)) if opened else condition)
    return {later: some(*conditions) for later, conditions in ways.items()}


def _one_by_one(found: _Subsets, positions: Positions) -> bool:
    """Whether the positions of a state are closed by different events."""
    pairs = found.pairs
    if pairs.semantics is not Semantics.NEXT:
        return False
    if any(pairs.close_one_by_one(position) for position in positions):
        return True
    onwards = [after for p in positions if (after := pairs.automaton.successors(p))]
    conditions = {
        pairs.ways_condition((position, later))
        for position in positions
        for later in pairs.automaton.successors(position)
    }
    return len(conditions) > 1 or any(
        len({bool(after & symbol.meets) for after in onwards}) > 1 for symbol in found.symbols
    )


def _add_ways_out(found: _Subsets, states: list[State]) -> None:
    """Ways out to the states that arrows lead to: every event that may follow stands at one."""
    for arrow in {(arrow.earlier, arrow.later): arrow for arrow in found.arrows}.values():
        positions, other = states[arrow.earlier].positions, states[arrow.later]
        if not _one_by_one(found, positions):
            continue
        for slot, earlier in enumerate(sorted(positions)):
            for later in sorted(found.pairs.automaton.successors(earlier) & other.meets):
                condition = found.pairs.ways_condition((earlier, later))
                ends = arrow.earlier, arrow.later
                found.ways_out.append(transition(*ends, condition, slot=slot))


# ---- what an event may meet


def _symbols(pairs: Pairs) -> Iterator[Symbol]:
    """Every set of positions whose local predicates one event can meet together."""
    query, found = pairs.query, pairs.automaton
    positions = sorted({*found.first, *(p for pair in found.pairs for p in pair)})
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
        raise NotUnambiguous("too many of its positions have conditions of their own")
    return parts


def _combinations(parts: list[Part]) -> Iterable[tuple[Part, ...]]:
    return chain.from_iterable(combinations(parts, size) for size in range(len(parts) + 1))


# ---- refusals


def _refuse_mixed(query: BoundQuery, positions: Positions) -> None:
    """Refuse a state whose positions differ in what an aggregate counts."""
    for aggregate in query.aggregates:
        counted = positions & aggregate.positions
        if counted and counted != positions:
            names = _names(query, positions)
            raise NotUnambiguous(
                f"one event of a trend can stand for {names}, and {aggregate.label} counts only "
                f"{_names(query, counted)}"
            )


def _refuse_torn(query: BoundQuery, positions: Positions) -> None:
    """Refuse positions that one event may take although they carry different keys."""
    by_type: dict[str, set[int]] = {}
    for position in positions:
        by_type.setdefault(query.positions[position].type, set()).add(position)
    for alike in by_type.values():
        if any(
            keys_at(query, p) != keys_at(query, q) and (p, q) not in told_apart(query)
            for p, q in combinations(sorted(alike), 2)
        ):
            raise NotUnambiguous(
                f"one event of a trend can stand for {_names(query, alike)}, and a key binds only "
                "some of them"
            )


def _names(query: BoundQuery, positions: Iterable[int]) -> str:
    return " or ".join(query.positions[position].alias for position in sorted(positions))


# ---- whether patterns can match one sequence of events in two ways

#: Steps through the product of two automata, which has up to the fourth power of a pattern's
#: length: 25 parts of one type that follow each other in any order are within it.
MAX_ARROWS = 400_000


def is_ambiguous(found: Automaton, query: BoundQuery) -> bool:
    """Whether some trend has two different paths through the automaton of a query's pattern."""
    return any(p != q for p, q in _paired(found, found, query))


def overlap(left: Automaton, right: Automaton, query: BoundQuery) -> bool:
    """Whether some trend may match both of two patterns of a query."""
    return bool(_paired(left, right, query))


def _paired(left: Automaton, right: Automaton, query: BoundQuery) -> set[Pair]:
    """The pairs of positions at which one event of a trend may stand on paths through both.

    Two paths that the same events can take are a path through the product of the automata, from two
    beginnings to two ends.

    Raises:
        NotUnambiguous: the product is too large to look at.
    """
    types = [position.type for position in query.positions]
    apart = told_apart(query)
    afters, others = _followers(left), _followers(right)

    def alike(lefts: Iterable[int], rights: Iterable[int]) -> set[Pair]:
        same: dict[str, list[int]] = {}
        for q in rights:
            same.setdefault(types[q], []).append(q)
        pairs = {(p, q) for p in lefts for q in same.get(types[p], ())}
        return pairs - apart if apart else pairs

    arrows: dict[Pair, set[Pair]] = {}
    pending = list(alike(left.first, right.first))
    room = MAX_ARROWS
    while pending:
        pair = pending.pop()
        if pair not in arrows:
            arrows[pair] = alike(afters.get(pair[0], ()), others.get(pair[1], ()))
            room -= len(arrows[pair])
            if room < 0:
                raise NotUnambiguous("its ways to match one trend are too many")
            pending += arrows[pair]
    return _that_reach(arrows, [p for p in arrows if p[0] in left.last and p[1] in right.last])


def _followers(found: Automaton) -> dict[int, list[int]]:
    """The positions that may come right after each."""
    followers: dict[int, list[int]] = {}
    for earlier, later in found.pairs:
        followers.setdefault(earlier, []).append(later)
    return followers


def _that_reach(arrows: dict[Pair, set[Pair]], ends: list[Pair]) -> set[Pair]:
    """The pairs from which an end can be reached."""
    backwards: dict[Pair, list[Pair]] = {}
    for pair, nexts in arrows.items():
        for after in nexts:
            backwards.setdefault(after, []).append(pair)
    return reachable(ends, lambda pair: backwards.get(pair, ()))


# ---- whether one event can meet several local predicates together
#
# A condition is read as alternatives, each a set of possible values for some terms: an attribute,
# or any expression that is compared with a constant, or which of two expressions is the smaller.
# Terms are taken to be independent of each other, so that "no" is certain and "yes" may be wrong.


#: Alternatives that are told apart; a condition of more is taken to let everything pass.
MOST_ALTERNATIVES = 16
#: Stretches of values that are compared with each other; beyond, one side alone is kept.
MOST_SPANS = 1_000
#: Sets of local predicates that are compared with each other; of more, none are told apart.
MOST_COMPARED = 64

#: A place between two values, in their order.
Cut = tuple[Any, ...]
_LOWEST: Cut = (-1,)
_HIGHEST: Cut = (1,)

_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "!=": "!="}
_OPPOSITE = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "=": "!=", "!=": "="}
#: Doubles tell all integers apart up to here.
_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Values:
    """Possible values of a term: stretches from cut to cut, NULL, and (for a double) NaN."""

    spans: tuple[tuple[Cut, Cut], ...]
    null: bool = False
    nan: bool = False

    def __and__(self, other: Values) -> Values:
        if len(self.spans) * len(other.spans) > MOST_SPANS:
            return self
        met = (
            (max(one[0], two[0]), min(one[1], two[1])) for one in self.spans for two in other.spans
        )
        spans = tuple(span for span in met if span[0] < span[1])
        return Values(spans, self.null and other.null, self.nan and other.nan)

    def __or__(self, other: Values) -> Values:
        return Values(self.spans + other.spans, self.null or other.null, self.nan or other.nan)

    def __bool__(self) -> bool:
        return bool(self.spans) or self.null or self.nan


#: What must hold of some terms at once.
Alternative = dict[object, Values]

_EVERYTHING: list[Alternative] = [{}]


def can_meet(conditions: Iterable[BoundExpression]) -> bool:
    """Whether some event may meet all of these conditions, whatever position they are about."""
    return bool(_alternatives(Applied("AND", tuple(conditions)), True))


@of_query
def told_apart(query: BoundQuery) -> frozenset[tuple[int, int]]:
    """Pairs of positions of one type whose local predicates no event meets together, both ways."""
    alike: dict[tuple[str, frozenset[BoundExpression]], list[int]] = {}
    for position in query.positions:
        local = query.local_conditions(position.index)
        if local:
            alike.setdefault((position.type, local), []).append(position.index)
    found = set()
    for one, two in combinations(alike, 2) if len(alike) <= MOST_COMPARED else ():
        if one[0] == two[0] and not can_meet(one[1] | two[1]):
            found |= {pair for p in alike[one] for q in alike[two] for pair in ((p, q), (q, p))}
    return frozenset(found)


def _alternatives(condition: BoundExpression, truth: bool) -> list[Alternative]:
    """When a condition may be true, or false; unknown is neither. No alternative means never."""
    match condition:
        case Applied("NOT", (operand,)):
            return _alternatives(operand, not truth)
        case Applied("AND" | "OR" as name, parts) if (name == "AND") is truth:
            found = _EVERYTHING
            for part in parts:
                found = _bounded(_together(found, _alternatives(part, truth)))
            return found
        case Applied("AND" | "OR", parts):
            return _bounded(_joined([each for p in parts for each in _alternatives(p, truth)]))
        case Applied("IS NULL", (operand,)):
            some = Values(((_LOWEST, _HIGHEST),), nan=True)
            return [{operand: Values((), null=True) if truth else some}]
        case Applied(operator, (left, right)) if operator in _OPPOSITE:
            return _compared(operator if truth else _OPPOSITE[operator], left, right)
        case Constant():
            return _EVERYTHING
        case _:  # a truth value by itself
            return [{condition: _beside("=", Constant(truth, AttributeType.BOOLEAN))}]


def _together(left: list[Alternative], right: list[Alternative]) -> list[Alternative]:
    """One of each side at once."""
    found = []
    for one in left:
        for two in right:
            both = {
                t: one[t] & two[t] if t in one and t in two else (one | two)[t] for t in one | two
            }
            if all(both.values()):
                found.append(both)
    return found


def _joined(found: list[Alternative]) -> list[Alternative]:
    """Alternatives about the same single term as one."""
    single: Alternative = {}
    several = []
    for each in found:
        if len(each) == 1:
            ((term, values),) = each.items()
            single[term] = single[term] | values if term in single else values
        else:
            several.append(each)
    return [*({term: values} for term, values in single.items()), *several]


def _bounded(found: list[Alternative]) -> list[Alternative]:
    return found if len(found) <= MOST_ALTERNATIVES else _EVERYTHING


def _compared(operator: str, left: BoundExpression, right: BoundExpression) -> list[Alternative]:
    if isinstance(left, Constant):
        operator, left, right = _MIRRORED[operator], right, left
    if isinstance(left, Constant):
        return _EVERYTHING
    if isinstance(right, Constant):
        bound = _as_type(right, left.type)
        return _EVERYTHING if bound is None else [{left: _beside(operator, bound)}]
    if repr(left) > repr(right):
        operator, left, right = _MIRRORED[operator], right, left
    sign = Constant(0, AttributeType.LONG)  # of left minus right
    return [{("order", left, right): _beside(operator, sign)}]


def _as_type(constant: Constant, kind: AttributeType) -> Constant | None:
    """A constant as it meets values of a type; None where doubles blur which values those are."""
    value = constant.value
    if kind is AttributeType.DOUBLE and isinstance(value, int):
        return Constant(float(value), kind)
    if isinstance(value, float) and kind is not AttributeType.DOUBLE and abs(value) >= _EXACT:
        return None
    return replace(constant, type=kind)


def _beside(operator: str, constant: Constant) -> Values:
    """The values that compare so with a constant."""
    before, after = _cuts(constant)
    below, above = (_LOWEST, before), (after, _HIGHEST)
    spans = {
        "<": (below,),
        "<=": ((_LOWEST, after),),
        ">": (above,),
        ">=": ((before, _HIGHEST),),
        "=": ((before, after),),
        "!=": (below, above),
    }
    return Values(spans[operator])


def _cuts(constant: Constant) -> tuple[Cut, Cut]:
    """The places right before and right after a value; between 1 and 2 there is no long."""
    value = constant.value
    if constant.type in (AttributeType.LONG, AttributeType.TIMESTAMP):
        assert isinstance(value, int | float)
        return (0, ceil(value), 0), (0, floor(value) + 1, 0)
    return (0, value, 0), (0, value, 1)
