"""Random queries and streams that aim at the traps: ties, scoped keys, NULL, NaN, odd windows."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from elsinore.errors import QueryError
from elsinore.events.table import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.template.support import greta_refusals
from tests.golden_cases import bound_query, stream_schema

#: B lacks the key `g`, C lacks `k`: their events belong to every partition that they fit.
TYPES: dict[str, dict[str, Any]] = {
    "A": {"k": "long", "g": "string", "x": "long", "y": "double", "s": "string"},
    "B": {"k": "long", "x": "long", "y": "double", "s": "string", "t": "timestamp"},
    "C": {"g": "string", "x": "long", "y": "double", "f": "boolean"},
    "D": {"x": "long"},
}
SCHEMA = stream_schema(TYPES)
_COMPARE = ("<", "<=", ">", ">=", "=", "!=")


@dataclass(frozen=True)
class RandomCase:
    """A query that greta runs, its events, and which constructs it holds."""

    seed: int
    query: BoundQuery
    events: EventTable
    constructs: frozenset[str]


def random_case(seed: int) -> RandomCase:
    """The case of a seed; the same on every machine."""
    rng = random.Random(seed)
    while True:
        text, constructs = _query(rng)
        try:
            query = bound_query(text, SCHEMA)
        except QueryError:  # say, a key that no type of the pattern carries: draw another
            continue
        if not greta_refusals(query):
            break
    events = _events(rng, [position.type for position in query.positions])
    return RandomCase(seed, query, EventTable.of(SCHEMA, events), frozenset(constructs))


class _Pattern:
    """Draws a pattern; every occurrence gets an alias of its own."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.aliases: list[tuple[str, str]] = []

    def draw(self, depth: int) -> str:
        roll = self.rng.random()
        if depth == 0 or roll < 0.3:
            return self._leaf() + ("+" if self.rng.random() < 0.5 else "")
        if roll < 0.85:
            parts = [self.draw(depth - 1) for _ in range(self.rng.randint(1, 3))]
            return f"SEQ({', '.join(parts)})" + ("+" if self.rng.random() < 0.4 else "")
        return f"({self.draw(depth - 1)})+"

    def sandwich(self) -> str:
        """A pattern that names one type twice, and mostly can be told apart."""
        return f"SEQ({self._leaf('A')}, {self._leaf('B')}+, {self._leaf('A')})"

    def _leaf(self, kind: str | None = None) -> str:
        kind = kind or self.rng.choice("AABBCD")
        alias = f"{kind.lower()}{len(self.aliases)}"
        self.aliases.append((alias, kind))
        return f"{kind} {alias}"


def _query(rng: random.Random) -> tuple[str, set[str]]:
    pattern = _Pattern(rng)
    drawn = pattern.sandwich() if rng.random() < 0.1 else pattern.draw(2)
    aliases = pattern.aliases
    constructs = {name for name, sign in (("SEQ", "SEQ"), ("Kleene plus", "+")) if sign in drawn}
    if ")+" in drawn:
        constructs.add("nested Kleene plus")
    if len({kind for _, kind in aliases}) < len(aliases):
        constructs.add("repeated type")
    where = _conditions(rng, aliases, constructs)
    group = _keys(rng, aliases, rng.choice((0, 0, 1, 1, 2)))
    if group:
        constructs.add("grouping")
    within = rng.choice((3, 7, 10, 25, 60))
    slide = rng.choice((within, within, 1, 2, 3, max(1, within // 2)))
    slide = min(slide, within)
    constructs.add("tumbling window" if slide == within else "sliding window")
    returned = _aggregates(rng, aliases, constructs)
    text = f"RETURN {', '.join(returned)} PATTERN {drawn}"
    text += f" WHERE {' AND '.join(where)}" if where else ""
    text += f" GROUP-BY {', '.join(group)}" if group else ""
    return f"{text} WITHIN {within} SLIDE {slide}", constructs


def _keys(rng: random.Random, aliases: list[tuple[str, str]], count: int) -> list[str]:
    keys = []
    for _ in range(count):
        alias, kind = rng.choice(aliases)
        name = rng.choice(list(TYPES[kind]))
        keys.append(f"{alias}.{name}" if rng.random() < 0.3 else name)
    return list(dict.fromkeys(keys))


def _conditions(
    rng: random.Random, aliases: list[tuple[str, str]], constructs: set[str]
) -> list[str]:
    where = []
    if rng.random() < 0.4:
        keys = _keys(rng, aliases, rng.randint(1, 2))
        where.append(f"[{', '.join(keys)}]")
        constructs.add("equivalence predicate")
        if any("." in key for key in keys):
            constructs.add("scoped key")
    for _ in range(rng.choice((0, 0, 1, 2))):
        where.append(_local(rng, *rng.choice(aliases)))
        constructs.add("local predicate")
    for _ in range(rng.choice((0, 1, 1, 2))):
        where.append(_edge(rng, rng.choice(aliases), rng.choice(aliases)))
        constructs.add("edge predicate")
    return where


def _local(rng: random.Random, alias: str, kind: str) -> str:
    sign = rng.choice(_COMPARE)
    options = [f"{alias}.x {sign} {rng.randint(-2, 3)}", f"{alias}.x IS NOT NULL"]
    if kind != "D":
        options += [
            f"{alias}.y {sign} {rng.choice((0.5, 1, -1.5))}",
            f"NOT ({alias}.x {sign} 1 OR {alias}.y / {alias}.x > 1)",
            f"{alias}.x % 2 = 1 OR {alias}.y IS NULL",
            f"{alias}.x BETWEEN 0 AND 2",
        ]
    if kind in "AB":
        options += [f"{alias}.s IN ('u', 'w')", f"{alias}.s {sign} 'v'"]
    if kind == "C":
        options += [f"{alias}.f = TRUE", f"NOT ({alias}.f = FALSE)"]
    return rng.choice(options)


def _edge(rng: random.Random, earlier: tuple[str, str], later: tuple[str, str]) -> str:
    sign = rng.choice(_COMPARE)
    p, e = earlier[0], later[0]
    options = [
        f"{p}.x {sign} NEXT({e}).x",
        f"NEXT({e}).x - {p}.x {sign} 1",
        f"NEXT({e}).time - {p}.time <= {rng.randint(1, 9)}",
        f"{p}.x * NEXT({e}).x {sign} 1 OR {p}.x IS NULL",
    ]
    if "D" not in (earlier[1], later[1]):
        options += [
            f"{p}.y {sign} NEXT({e}).y",
            f"{p}.x {sign} NEXT({e}).y",
            f"NOT ({p}.y + NEXT({e}).y {sign} 1 AND {p}.x % NEXT({e}).x = 0)",
        ]
    if earlier[1] in "AB" and later[1] in "AB":
        options += [f"{p}.s {sign} NEXT({e}).s"]
    return rng.choice(options)


def _aggregates(
    rng: random.Random, aliases: list[tuple[str, str]], constructs: set[str]
) -> list[str]:
    returned = ["COUNT(*)"] if rng.random() < 0.9 else []
    for _ in range(rng.randint(0 if returned else 1, 4)):
        alias, kind = rng.choice(aliases)
        function = rng.choice(("COUNT", "SUM", "AVG", "MIN", "MAX"))
        numbers = [n for n, t in TYPES[kind].items() if t in ("long", "double")]
        if kind == "B" and function in ("MIN", "MAX"):
            numbers.append("t")
        inside = alias if function == "COUNT" else f"{alias}.{rng.choice(numbers)}"
        returned.append(f"{function}({inside})")
        constructs.add(f"{function} of an alias")
    return list(dict.fromkeys(returned))


def _events(rng: random.Random, types: list[str]) -> list[tuple[str, int, dict[str, Any]]]:
    """Up to 14 events in any order; times tie often, and some lie before the epoch."""
    start, spread = rng.choice((0, 0, -15, 1_000)), rng.choice((4, 12, 40))
    count = rng.choice((0, 3, 8, 11, 14))
    values: dict[str, tuple[Any, ...]] = {
        "k": (1, 1, 1, 2, None),
        "g": ("p", "p", "q", "", None),
        "x": (-1, 0, 1, 2, 3, None, 2**62, -(2**63)),
        "y": (-1.5, -0.0, 0.0, 0.5, 2.0, None, float("nan"), float("inf")),
        "s": ("u", "v", "w", "", None),
        "t": (0, 5, 1_000_000, None),
        "f": (True, False, None),
    }
    plain = rng.random() < 0.6  # most streams have neither NaN nor giants
    events = []
    for _ in range(count):
        kind = rng.choice(types) if rng.random() < 0.9 else rng.choice("ABCD")
        drawn = {}
        for name in TYPES[kind]:
            choices = values[name][:-2] if plain and name in "xy" else values[name]
            drawn[name] = rng.choice(choices)
        events.append((kind, start + rng.randrange(spread), drawn))
    return events
