"""Random workloads of queries that share a Kleene type, with bursty streams."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cached_property

from elsinore.errors import QueryError
from elsinore.events import EventTable
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import Workload
from elsinore.query.parse import parse_workload
from tests.property.random_cases import SCHEMA
from tests.property.random_cases.dice import Dice
from tests.property.random_cases.signed import with_signed
from tests.property.random_cases.streams import Event

#: Patterns around the Kleene type K, beside types X and Y.
_PATTERNS = (
    *("K+", "K+", "SEQ(X, K+)", "SEQ(X, K+)", "SEQ(X, K+)", "SEQ(K+, X)", "SEQ(X, K+, Y)"),
    *("(SEQ(X, K+))+", "(SEQ(K+, X))+", "SEQ(X+, K+)", "SEQ(K+, X+, Y)", "SEQ(X OR Y, K+)"),
    *("SEQ(X, K+, Y)", "SEQ(K k1+, X, K k2)", "SEQ(K k1, X, K k2+)", "SEQ(X?, K+)", "(K OR X)+"),
    *("SEQ(K+, Y*)", "SEQ(K k1+, K k2)", "SEQ(X, Y, K+)", "(SEQ(X, (SEQ(K+, Y))+))+"),
    *("SEQ(X+, K+, Y+)", "SEQ(K k1+, K k2+)", "(SEQ(K+, X?))+"),
)
#: What does not share, and runs beside.
_BESIDE = ("SEQ(K+, NOT X, Y)", "SEQ(NOT X, K+)", "SEQ(X, K+, NOT Y)", "SEQ(X, K)", "K+ AND X")
#: Ways to select that share nothing either.
_SEMANTICS = ("SEMANTICS contiguous", "SEMANTICS skip-till-next-match")

_LOCALS = ("K.x > 0", "K.x <= 2", "K.x >= 0", "K.y < 2 OR K.y IS NULL", "K.time % 2 = 0", "X.x < 3")
_EDGES = (
    *("K.x <= NEXT(K).x", "K.x <= NEXT(K).x", "K.x < NEXT(K).x", "K.y >= NEXT(K).y"),
    *("NEXT(K).time - K.time <= 3", "K.x + NEXT(K).x < 4", "X.x <= NEXT(K).x", "K.x = NEXT(X).x"),
    *("K.x * NEXT(K).x >= 0 OR K.x IS NULL", "abs(K.x - NEXT(K).x) <= 1"),
    *("K.x % NEXT(K).x = 0", "greatest(K.x, NEXT(K).x) > 0", "K.y * NEXT(K).y - K.x != 1"),
    *("coalesce(K.x, 0) <= coalesce(NEXT(K).x, 3)", "NOT (K.y + NEXT(K).y > 1 AND K.x = 1)"),
    *("least(K.y, NEXT(K).x) < 2 AND K.x != NEXT(K).x", "-K.x - NEXT(K).x > -4"),
)
_COMPARISONS = (
    *("K.x <= NEXT(K).x", "K.x < NEXT(K).x", "K.y >= NEXT(K).y", "K.x = NEXT(K).x"),
    *("X.x <= NEXT(K).x", "K.x = NEXT(X).x", "K.x > 0 AND K.y < NEXT(K).x"),
)
_RETURNS = (
    *("COUNT(*)", "COUNT(*)", "COUNT(*)", "COUNT(K)", "SUM(K.x)", "AVG(K.y)", "SUM(K.y)"),
    *("MIN(K.x)", "MAX(K.y)", "MAX(X.x)", "AVG(K.x)", "COUNT(X)"),
)
#: What can be an expression over snapshots; half of the workloads ask for nothing else.
_LINEAR = ("COUNT(*)", "COUNT(*)", "COUNT(K)", "SUM(K.x)", "AVG(K.x)", "COUNT(X)")
_WINDOWS = (
    *("WITHIN 8", "WITHIN 20", "WITHIN 20 SLIDE 10", "WITHIN 12 SLIDE 4", "WITHIN 10 SLIDE 3"),
    *("WITHIN 30 SLIDE 1", "WITHIN 1000", "WITHIN 1000"),
)
_VALUES = {
    "k": (1, 1, 1, 2, None),
    "g": ("p", "p", "q", None),
    "x": (0, 1, 1, 2, 2, 3, -1, None),
    "y": (-1.5, 0.5, 0.5, 1.0, 2.0, None),
}
_ODD = {"x": (2**62, -(2**63), 5), "y": (float("nan"), float("inf"), 1e308)}


@dataclass(frozen=True)
class RandomSet:
    """A workload and a stream; `random_set(name)` draws it again."""

    name: str
    workload: Workload
    rows: tuple[Event, ...]

    @cached_property
    def events(self) -> EventTable:
        """The events in an order of no meaning."""
        rows = list(self.rows)
        random.Random(f"order of {self.name}").shuffle(rows)
        return EventTable.of(SCHEMA, rows)

    def described(self) -> str:
        """The queries and the events."""
        texts = "".join(query.text for query in self.workload.queries)
        return f"{self.name}:\n{texts}\n{sorted(self.rows, key=lambda event: event[1])}"


def random_set(name: str) -> RandomSet:
    """The workload of a name, the same on every machine; `long:7` has a long stream.

    In `ordered:7` and `long ordered:7` all conditions on pairs are comparisons, and most queries
    can share order trees.
    """
    dice, ordered = random.Random(name), "ordered" in name
    while True:
        kinds = dice.sample("ABC", 3)
        edges = _COMPARISONS if ordered else _EDGES if dice.random() < 0.5 else ()
        clauses = _keys(dice), edges, _LINEAR if ordered else dice.choice((_RETURNS, _LINEAR))
        texts = [_query(dice, f"q{n}", kinds, *clauses) for n in range(dice.randint(2, 12))]
        try:
            workload = bind_workload(parse_workload("".join(texts)), SCHEMA)
        except QueryError:
            continue
        rows = _events(dice, kinds, name.startswith("long"))
        rows = with_signed(Dice(f"signed doubles of {name}"), rows)
        return RandomSet(name, workload, tuple(rows))


def _keys(dice: random.Random) -> tuple[str, str]:
    """Equivalence and grouping of all queries of the workload."""
    grouped = ("", "GROUP-BY g"), ("[k]", "GROUP-BY g"), ("[K.k]", ""), ("[K.k]", "GROUP-BY K.g")
    return dice.choice([("", ""), ("", ""), ("", ""), ("[k]", ""), *grouped])


def _query(
    dice: random.Random,
    name: str,
    kinds: list[str],
    keys: tuple[str, str],
    edges: tuple[str, ...],
    aggregates: tuple[str, ...],
) -> str:
    pattern = dice.choice(_BESIDE if dice.random() < 0.08 else _PATTERNS)
    where = [keys[0]] if keys[0] else []
    if dice.random() < (0.05 if edges is _COMPARISONS else 0.3):
        where.append(f"({dice.choice(_LOCALS)})")
    if edges and dice.random() < 0.75:
        where.append(f"({dice.choice(edges[:3] if dice.random() < 0.5 else edges)})")
    where = [w for w in where if "X" not in w or "X" in pattern]
    returns = list(dict.fromkeys(dice.choices(aggregates, k=dice.choice((1, 1, 2, 3)))))
    returns = [r for r in returns if "X" not in r or "X" in pattern] or ["COUNT(*)"]
    if " AND " in pattern:
        returns = ["COUNT(*)"]
    body = f"RETURN {', '.join(returns)} PATTERN {pattern} "
    body += f"WHERE {' AND '.join(where)} " if where else ""
    body += f"{keys[1]} {dice.choice(_WINDOWS[-3:] if edges is _COMPARISONS else _WINDOWS)}"
    if dice.random() < 0.04:
        body += f" {dice.choice(_SEMANTICS)}"
    if "K k1" in pattern:  # the type occurs twice: what is said of K means all of them
        body = body.replace("K.", "k1.").replace("NEXT(K)", "NEXT(k1)")
        body = body.replace("(K)", "(k1)")
    for letter, kind in zip("KXY", kinds, strict=True):
        body = _renamed(body, letter, kind)
    return f"QUERY {name} {body};"


def _renamed(body: str, letter: str, kind: str) -> str:
    """The query with a placeholder replaced by a type, where it stands as a word."""
    words, word = [], ""
    for sign in body:
        if sign.isalnum() or sign == "_":
            word += sign
            continue
        words.append(_PLACED.get(kind, kind) if word == letter else word)
        words.append(sign)
        word = ""
    return "".join([*words, word])


_PLACED = {"A": "A", "B": "B", "C": "C"}


def _events(dice: random.Random, kinds: list[str], long: bool) -> list[Event]:
    """Bursts of one type; a few events of equal time, a few odd values."""
    events: list[Event] = []
    time = dice.choice((0, 0, -7, 1_000))
    odd = dice.random() < 0.15
    for _ in range(dice.randint(3, 12) if long else dice.randint(2, 5)):
        kind = dice.choice([kinds[0], kinds[0], *kinds, "D"])
        for _ in range(dice.choice((1, 2, 8, 20, 40)) if long else dice.randint(1, 4)):
            events.append((kind, time, _attributes(dice, odd)))
            time += 0 if dice.random() < 0.12 else dice.choice((1, 1, 1, 2))
        # Every fourth burst begins with a tie across types.
        time = events[-1][1] if dice.random() < 0.25 else time + dice.choice((0, 1, 3))
    return events


def _attributes(dice: random.Random, odd: bool) -> dict[str, object]:
    found: dict[str, object] = {name: dice.choice(values) for name, values in _VALUES.items()}
    if odd and dice.random() < 0.3:
        name = dice.choice(("x", "y"))
        found[name] = dice.choice(_ODD[name])
    return found
