"""`SEMANTICS contiguous` with NOT and keys: which events lie in the partition of a trend.

Tiny random cases are answered by the definition, by the reference and by the engine.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from elsinore.errors import UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from elsinore.template.support import greta_refusals
from tests.draws import draws
from tests.golden_cases import bound_query, stream_schema
from tests.property.by_definition import TYPES, Case, Event, Key, Node
from tests.property.compare import greta
from tests.property.random_cases.dice import Dice

pytestmark = pytest.mark.usefixtures("compiled_by_set_up")

SCHEMA = stream_schema(TYPES)
CASES = draws(200, 10_000)

#: Trends of each group.
Counts = dict[tuple[Any, ...], int]


@pytest.mark.slow
def test_reference_and_engine_follow_the_definition() -> None:
    tally = Counter[str]()
    for seed in range(CASES):
        case = tiny_case(seed)
        expected = by_definition(case)
        query = bound_query(case.text, SCHEMA)
        if expected is None:
            tally["ambiguous"] += 1
            assert reference(query, case) is None, described(case)
            assert greta_refusals(query), described(case)
            continue
        tally["with a trend"] += bool(expected)
        tally["with NOT and key"] += bool(expected and case.pattern.types(negated=True))
        assert reference(query, case) == expected, described(case)
        if not greta_refusals(query):
            tally["by engine"] += 1
            assert engine(query, case) == expected, described(case)
    assert tally["with a trend"] > CASES * 0.4, tally
    assert tally["with NOT and key"] > CASES * 0.15, tally
    assert tally["by engine"] > CASES * 0.6, tally


@pytest.mark.slow
def test_a_not_never_adds_a_trend() -> None:
    """Neither where it is added, nor where its events are of a type that it does not name."""
    compared = 0
    for seed in range(CASES // 2):
        case = tiny_case(seed)
        negated = set(case.pattern.types(negated=True).values())
        if not negated or greta_refusals(bound_query(case.text, SCHEMA)):
            continue
        without = replace(case, pattern=_without_not(case.pattern))
        foreign = {"N"} if "N" in negated and "F" not in negated else set()
        renamed = replace(case, rows=tuple(_renamed(event, foreign) for event in case.rows))
        counts = counts_of(case)
        for other in (without, renamed) if foreign else (without,):
            if counts is not None and (more := counts_of(other)) is not None:
                compared += 1
                assert all(n <= more.get(group, 0) for group, n in counts.items()), described(case)
    assert compared > CASES * 0.15


def counts_of(case: Case) -> Counts | None:
    """By the engine if it can, else by the reference; None if ambiguous."""
    query = bound_query(case.text, SCHEMA)
    return reference(query, case) if greta_refusals(query) else engine(query, case)


def by_definition(case: Case) -> Counts | None:
    """Trends by group; None if one has several groups."""
    found = case.trends().values()
    if any(len(groups) > 1 for groups in found):
        return None
    return dict(Counter(group for groups in found for group in groups))


def reference(query: BoundQuery, case: Case) -> Counts | None:
    try:
        return counted(two_step(query, EventTable.of(SCHEMA, case.rows)))
    except UnsupportedQueryError:
        return None


def engine(query: BoundQuery, case: Case) -> Counts:
    return counted(greta(query, EventTable.of(SCHEMA, case.rows)))


def counted(rows: list[ResultRow]) -> Counts:
    return {
        tuple(value for _, value in row.group): int(dict(row.values)["COUNT(*)"] or 0)
        for row in rows
    }


def described(case: Case) -> str:
    events = (
        f"{kind.lower()}{time}({', '.join(f'{n}={v}' for n, v in values.items() if v is not None)})"
        for kind, time, values in sorted(case.rows, key=lambda event: event[1])
    )
    return f"{case.text}; events: {' '.join(events)}"


def _without_not(pattern: Node) -> Node:
    kept = tuple(_without_not(part) for part in pattern.parts if part.op != "NOT")
    return replace(pattern, parts=kept)


def _renamed(event: Event, kinds: set[str]) -> Event:
    """An event as one of F, which is part of no pattern, if it is of some types."""
    kind, time, values = event
    return ("F", time, {"k": values["k"], "g": None}) if kind in kinds else event


# ---- tiny cases


def tiny_case(seed: int) -> Case:
    """A case of three to six events that holds keys, and mostly NOT; the same on every machine."""
    dice = Dice(f"contiguous {seed}")
    pattern = _Drawer(dice).draw()
    keys = _keys(dice, pattern)
    positive, negative = _told_apart(dice, pattern)
    case = Case(pattern, keys, _rows(dice, pattern), positive, negative)
    bound: dict[tuple[str, frozenset[str]], Key] = {}
    for key, aliases in zip(case.keys, case.bound, strict=True):
        if aliases & case.in_trends.keys():
            bound.setdefault((key.attribute, frozenset(aliases)), key)
    return replace(case, keys=tuple(bound.values()))


class _Drawer:
    """Draws a pattern of at most six events, each with an alias of its own."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self._alphabet = dice.pick(("A", "AB", "AAD", "ABD", "AD", "ABC"))
        self._leaves = 0

    def draw(self) -> Node:
        parts = [self._part() for _ in range(self.dice.pick((1, 2, 2, 2, 3)))]
        if len(parts) == 1 and self.dice.chance(0.7):
            parts = [Node("+", (parts[0],)) if parts[0].op == "E" else parts[0]]
        found: list[Node] = []
        for place in range(len(parts) + 1):
            if self.dice.chance(0.35):
                found.append(Node("NOT", (self._forbidden(),)))
            found += parts[place : place + 1]
        pattern = Node("SEQ", tuple(found))
        return Node("+", (pattern,)) if self.dice.chance(0.2) else pattern

    def _leaf(self, types: str) -> Node:
        self._leaves += 1
        kind = self.dice.pick(types)
        return Node("E", (), kind, f"{kind.lower()}{self._leaves}")

    def _part(self) -> Node:
        leaf = self._leaf(self._alphabet)
        roll = self.dice.number(1, 12)
        if roll <= 4:
            return Node("+", (leaf,))
        if roll <= 6:
            return Node(self.dice.pick("?*"), (leaf,))
        if roll == 7:
            return Node("OR", (leaf, self._leaf(self._alphabet)))
        return leaf

    def _forbidden(self) -> Node:
        leaf = self._leaf("NNNABC")
        roll = self.dice.number(1, 6)
        if roll == 1:
            return Node("+", (leaf,))
        return Node("SEQ", (leaf, self._leaf("NNABF"))) if roll <= 3 else leaf


def _keys(dice: Dice, pattern: Node) -> tuple[Key, ...]:
    """One to three keys, of any scope; some bind nothing."""
    if dice.chance(0.25):  # a key for each alias
        return tuple(Key("k", alias) for alias in pattern.types(negated=False))[:3]
    found = []
    for _ in range(dice.pick((1, 1, 1, 2))):
        attribute = dice.pick("kkkg")
        alias, kind = dice.pick(list(pattern.types(negated=False).items()))
        scope = dice.pick(("", "", "", alias, kind))
        kinds = dice.pick(((True, False), (True, False), (False, True), (True, True)))
        if attribute in TYPES[kind]:
            found.append(Key(attribute, scope, *kinds))
    return tuple(found)


def _told_apart(dice: Dice, pattern: Node) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Conditions on the aliases of one type, of which no event meets two; mostly none."""
    aliases = [alias for alias, kind in pattern.types(negated=False).items() if kind == "A"]
    if len(aliases) == 2 and dice.chance(0.5):
        return (aliases[0],), (aliases[1],)
    return (), ()


def _rows(dice: Dice, pattern: Node) -> tuple[Event, ...]:
    """Events of the pattern's types, and of others; few times make ties."""
    inside = list(pattern.types(negated=False).values())
    outside = [*pattern.types(negated=True).values(), *"FND"]
    values: dict[str, tuple[Any, ...]] = {
        "k": ("p", "p", "q", None), "g": ("p", "p", "q", None), "v": (0, 1, 1),
    }  # fmt: skip
    rows = []
    for time in range(dice.number(3, 6)):
        kind = dice.pick(inside if dice.chance(0.7) else outside)
        drawn = {name: dice.pick(values[name]) for name in TYPES[kind]}
        rows.append((kind, 1 + time - dice.chance(0.1), drawn))
    return tuple(rows)
