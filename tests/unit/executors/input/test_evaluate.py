"""Expressions a column at a time: the same as the reference, event by event."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import cycle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from elsinore.catalog.stream import AttributeType
from elsinore.errors import QueryError
from elsinore.events import EventTable
from elsinore.executors.input.admissions import holds
from elsinore.executors.input.columns import Column, EventColumns
from elsinore.executors.input.evaluate import evaluate
from elsinore.executors.input.functions import call as engine_call
from elsinore.query.bound import BoundQuery
from elsinore.query.expressions import (
    EXTRACT_PARTS as PARTS,
)
from elsinore.query.expressions import (
    TRUNCATE_UNITS,
    Applied,
    BoundExpression,
)
from elsinore.query.load_workload import read_workload
from elsinore.reference import evaluate as reference
from elsinore.reference.evaluate import call as reference_call
from elsinore.reference.event import read_events
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from tests.draws import draws
from tests.golden_cases import bound_query, stream_schema
from tests.property.compare import assert_answers
from tests.property.random_cases import RandomCase
from tests.property.ways import ways
from tests.unit.reference.test_evaluate import SCHEMA as TRUTHS_SCHEMA
from tests.unit.reference.test_evaluate import TRUTHS

#: Values of each attribute, the odd ones above all.
VALUES: dict[str, tuple[Any, ...]] = {
    "v": (None, 0, 1, -1, 2, 3, 7, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 1 - 2**63),
    "w": (None, 0, 1, 5, -5, 2**63 - 1, -(2**63)),
    "x": (None, math.nan, 0.0, -0.0, 1.5, -2.0, math.inf, -math.inf, 1e308, 5e-324, 2.0**53),
    "y": (None, math.nan, 0.0, 1.0, -1.5, 2.0**63),
    "s": (None, "", "a", "A", "a\nb", "%", "_", "a%", "ß", "İ", "é", "É", "ΑΣ", "\U0001f600", "\0"),
    "r": (None, "", "b", "ab", "SS", "é"),
    "b": (None, True, False),
    "t": (None, 0, -1, 86_399_999_999, -(2**63), 2**63 - 1, 1_356_998_400_000_000),
    "u": (None, 0, 1, 3_600_000_000),
}  # fmt: skip
SCHEMA = stream_schema(
    {
        "A": {"v": "long", "w": "long", "x": "double", "y": "double", "s": "string", "r": "string",
              "b": "boolean", "t": "timestamp", "u": "timestamp"},
    },
    "us",
)  # fmt: skip

PAIRS = stream_schema(
    {"A": {a.name: a.type.value for a in TRUTHS_SCHEMA.by_name["A"].attributes} | {"none": "long"}},
    "us",
)

#: How many random conditions on one event, and how many on two.
SEEDS, PAIR_SEEDS = draws(300, 2_000), draws(50, 1_000)


class _Text:
    """Draws expressions of a type as text."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def of(self, kind: str, depth: int) -> str:
        return str(getattr(self, kind)(depth))

    def _some(self, kind: str, depth: int) -> str:
        return ", ".join(self.of(kind, depth - 1) for _ in range(self.rng.randint(2, 4)))

    def _choice(self, kind: str, depth: int, names: str = "least greatest coalesce") -> str:
        return f"{self.rng.choice(names.split())}({self._some(kind, depth)})"

    def long(self, depth: int) -> str:
        leaf = self.rng.choice(("A.v", "A.w", "0", "3", "(-7)", "(-9223372036854775808)"))
        if depth == 0:
            return leaf
        a, b = self.long(depth - 1), self.long(depth - 1)
        return self.rng.choice(
            (leaf, f"({a} {self.rng.choice('+-*%')} {b})", f"(-{a})", f"abs({a})",
             self._choice("long", depth), f"extract(hour FROM {self.timestamp(depth - 1)})",
             f"extract(weekday FROM {self.timestamp(depth - 1)})",
             f"extract({self.rng.choice(PARTS)} FROM {self._zoned(depth)})",
             f"{self.rng.choice(('floor', 'ceil', 'sign'))}({a})", f"round({a}, {self._digits()})",
             f"length({self.string(depth - 1)})", f"nullif({a}, {b})", self._case("long", depth))
        )  # fmt: skip

    def _digits(self) -> int:
        return self.rng.choice((-20, -3, -1, 0, 1, 2, 5, 400))

    def _zoned(self, depth: int) -> str:
        zone = self.rng.choice(("UTC", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"))
        at_zone = f" AT TIME ZONE '{zone}'" if self.rng.random() < 0.7 else ""
        return self.timestamp(depth - 1) + at_zone

    def _case(self, kind: str, depth: int) -> str:
        whens = "".join(
            f" WHEN {self.boolean(depth - 1)} THEN {self.of(kind, depth - 1)}"
            for _ in range(self.rng.randint(1, 2))
        )
        last = f" ELSE {self.of(kind, depth - 1)}" if self.rng.random() < 0.6 else ""
        return f"(CASE{whens}{last} END)"

    def length(self, depth: int) -> str:
        leaf = self.rng.choice(
            ("(A.t - A.u)", "(A.u - A.time)", "3 seconds", "(-1 hour)", "(A.v * 1 hour)")
        )
        if depth == 0:
            return leaf
        a, b = self.length(depth - 1), self.length(depth - 1)
        return self.rng.choice(
            (leaf, f"({a} {self.rng.choice('+-%')} {b})", f"({a} * {self.long(depth - 1)})",
             f"(-{a})", f"abs({a})", self._choice("length", depth),
             f"({self.timestamp(depth - 1)} - {self.timestamp(depth - 1)})")
        )  # fmt: skip

    def double(self, depth: int) -> str:
        leaf = self.rng.choice(("A.x", "A.y", "0.5", "(-1e300)"))
        if depth == 0:
            return leaf
        a, b = self.number(depth - 1), self.double(depth - 1)
        return self.rng.choice(
            (leaf, f"({a} {self.rng.choice('+-*//%')} {b})", f"(-{b})", f"abs({b})",
             f"({self.length(depth - 1)} / {self.length(depth - 1)})",
             self._choice("number", depth)[:-1] + f", {b})",
             f"{self.rng.choice(('exp', 'ln', 'log10', 'sqrt'))}({a})", f"power({a}, {b})",
             f"{self.rng.choice(('floor', 'ceil', 'sign', 'round'))}({b})",
             f"round({b}, {self._digits()})", f"nullif({b}, {a})", self._case("double", depth))
        )  # fmt: skip

    def number(self, depth: int) -> str:
        return self.of(self.rng.choice(("long", "double")), depth)

    def string(self, depth: int) -> str:
        leaf = self.rng.choice(("A.s", "A.r", "'a'", "'É'", "''"))
        if depth == 0:
            return leaf
        inner = self.string(depth - 1)
        return self.rng.choice(
            (leaf, f"lower({inner})", f"upper({inner})", self._choice("string", depth),
             f"trim({inner})", f"concat(' ', {inner}, {self.string(depth - 1)})",
             f"substr({inner}, {self.rng.choice((-1, 0, 1, 2))})",
             f"substr({inner}, {self.rng.choice((-1, 0, 1, 2))}, {self.long(depth - 1)})",
             f"replace({inner}, {self.string(0)}, {self.string(0)})", self._case("string", depth),
             f"nullif({inner}, {self.string(depth - 1)})")
        )  # fmt: skip

    def timestamp(self, depth: int) -> str:
        leaf = self.rng.choice(("A.t", "A.u", "A.time"))
        if depth and self.rng.random() < 0.3:
            return f"date_trunc('{self.rng.choice(TRUNCATE_UNITS)}', {self._zoned(depth)})"
        return self._choice("timestamp", depth) if depth and self.rng.random() < 0.4 else leaf

    def boolean(self, depth: int) -> str:
        pattern = self.rng.choice(("a|É", "^.$", "[^a]b?"))
        if depth == 0:
            return self.rng.choice(("A.b", "A.b", "TRUE"))
        kind = self.rng.choice(("number", "number", "length", "string", "timestamp"))
        a, b, c = (self.of(kind, depth - 1) for _ in range(3))
        p, q = self.boolean(depth - 1), self.boolean(depth - 1)
        sign = self.rng.choice(("=", "!=", "<", "<=", ">", ">="))
        like = "".join(self.rng.choice(("%", "_", "a", "b", "!%", "!_", "É")) for _ in range(3))
        return "(" + self.rng.choice(
            (f"{a} {sign} {b}", f"{a} IS NULL", f"{a} IN ({b}, {c})", f"{a} BETWEEN {b} AND {c}",
             f"{p} AND {q}", f"{p} OR {q}", f"NOT {p}", self._choice("boolean", depth, "coalesce"),
             f"{self.string(depth - 1)} LIKE '{like}' ESCAPE '!'",
             f"starts_with({self.string(depth - 1)}, {self.string(0)})",
             f"regexp_like({self.string(depth - 1)}, '{pattern}')")
        ) + ")"  # fmt: skip


def random_condition(rng: random.Random, signs: str = "=") -> str:
    """A condition that holds expressions of every type."""
    kinds = ("long", "length", "double", "string", "timestamp", *["boolean"] * 3)
    kind = rng.choice(kinds)
    expression = _Text(rng).of(kind, rng.randint(1, 3))
    # A comparison whose other side reads an attribute of the type: a constant alone is refused.
    own = {"long": "A.v", "double": "A.x", "string": "A.s", "timestamp": "A.t", "boolean": "A.b",
           "length": "(A.u - A.t)"}  # fmt: skip
    sign = "=" if kind == "boolean" else rng.choice(signs.split())
    return f"{expression} {sign} {own[kind]}"


@cache
def random_query(seed: int) -> BoundQuery:
    """A query with one condition on single events."""
    condition = random_condition(random.Random(seed))
    return bound_query(
        f"RETURN COUNT(*) PATTERN A WHERE {condition} WITHIN 10 microseconds", SCHEMA
    )


@cache
def random_pair_query(seed: int) -> str:
    """One with a condition on adjacent events, half of whose attributes are the later one's."""
    rng = random.Random(seed)
    while True:
        found = random_condition(rng, "= != < <= > >=")
        found = re.sub(r"A(\.\w+)", lambda m: rng.choice(("A", "NEXT(A)")) + m[1], found)
        text = f"RETURN COUNT(*) PATTERN A+ WHERE {found} WITHIN 4 microseconds"
        try:
            if bound_query(text, SCHEMA).edge_predicates:
                return text
        except QueryError:  # say, a text made of both events in another case
            continue


def events(rng: random.Random, count: int) -> EventTable:
    drawn = [{name: rng.choice(v) for name, v in VALUES.items()} for _ in range(count)]
    return EventTable.of(SCHEMA, [("A", rng.randint(-(10**15), 10**15), row) for row in drawn])


def columns_and_events(
    query: BoundQuery, table: EventTable, expression: BoundExpression
) -> tuple[Column, list[Any]]:
    """An expression by the engine, and by the reference, both in the order of the table."""
    rows = np.arange(table.table.num_rows)
    column = evaluate(expression, EventColumns(table), rows)
    plain = sorted(read_events(query, table), key=lambda event: event.index)
    return column, [reference.reader(expression)(event, None) for event in plain]


def values_of(column: Column) -> list[Any]:
    """A column as Python values."""
    values = column.values.tolist()
    if column.dictionary is not None:
        texts = column.dictionary.to_pylist()
        pairs = zip(values, column.known, strict=True)
        assert texts == sorted(set(texts)), "codes must order as texts do"
        values = [texts[code] if known else None for code, known in pairs]
    return [value if known else None for value, known in zip(values, column.known, strict=True)]


def same(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return False
    return one == other or (one != one and other != other)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_the_engine_evaluates_as_the_reference_does(block: int) -> None:
    for seed in range(block, SEEDS, 10):
        query = random_query(seed)
        table = events(random.Random(seed), 40)
        (predicate,) = query.local_predicates
        condition = predicate.condition
        assert isinstance(condition, Applied)
        for expression in (condition.operands[0], condition):
            column, expected = columns_and_events(query, table, expression)
            found = values_of(column)
            wrong = [(f, e) for f, e in zip(found, expected, strict=True) if not same(f, e)]
            assert not wrong, f"seed {seed}: {query.text} gives {wrong[0]}"
        passing = holds(condition, EventColumns(table), np.arange(40))
        assert passing.tolist() == [value is True for value in expected]


#: Ways that evaluate a condition on two events each in its own manner.
EVALUATING = {"greta", "hamlet, always", "hamlet, never", "auto"}


def on_two_events(text: str) -> str:
    """A condition on one event as one that asks the later event and the earlier one in turn."""
    turns = cycle(("NEXT(A)", "A"))
    pair = re.sub(r"\bA\.(?=[a-su-z]\b|t\b)", lambda _: f"{next(turns)}.", text)
    return pair.replace("A.time", "NEXT(A).time")


@pytest.mark.slow
def test_conditions_on_pairs_have_the_truth_worked_out_by_hand() -> None:
    """The two events of a window have the same values; nothing is known of `none`.

    All conditions are one workload. Those that name a time have no values: the first window's.
    """
    starts: dict[str, int] = {}
    rows: list[tuple[str, int, dict[str, Any]]] = []
    trends: dict[str, dict[int, int]] = {}
    for text, values, truth in TRUTHS:
        if repr(values) not in starts:
            start = starts[repr(values)] = 10 * len(starts)
            rows += [("A", start + time, values) for time in (4, 5)]
        pair = on_two_events(text)
        for condition, is_true in (pair, truth is True), (f"NOT ({pair})", truth is False):
            trends.setdefault(condition, {})[starts[repr(values)]] = 3 if is_true else 2
    asked = {f"q{number}": condition for number, condition in enumerate(trends)}
    workload = read_workload(
        "".join(
            f"QUERY {name} RETURN COUNT(*) PATTERN A+ "
            f"WHERE ({condition}) OR A.none = NEXT(A).none WITHIN 10;"
            for name, condition in asked.items()
        ),
        PAIRS,
    )
    table = EventTable.of(PAIRS, rows)
    found = {way.name: way for way in ways(workload, table, "truths")}
    for way in map(found.__getitem__, EVALUATING):
        counted = {(row.query, row.window_start): row.values for row in way.rows(table)}
        wrong = [
            (asked[query.name], start)
            for query in way.plan.queries
            for start, wanted in trends[asked[query.name]].items()
            if counted[query.name, start] != (("COUNT(*)", wanted),)
        ]
        assert not wrong, way.name


@pytest.mark.slow
@pytest.mark.parametrize("block", range(10))
def test_conditions_on_pairs_hold_as_in_the_reference(block: int) -> None:
    """Of each condition the trends, by all ways: by pairs, by order, and burst by burst."""
    texts = [random_pair_query(seed) for seed in range(block, PAIR_SEEDS, 10)]
    queries = [f"QUERY q{n} {text}; QUERY r{n} {text};" for n, text in enumerate(texts)]
    workload = read_workload("".join(queries), SCHEMA)
    rng = random.Random(block)
    rows = [("A", time, {name: rng.choice(v) for name, v in VALUES.items()}) for time in range(80)]
    case = RandomCase(f"pairs {block}", workload, tuple(rows))
    expected: dict[str, list[ResultRow]] = {}
    for query, twin in zip(workload.queries[::2], workload.queries[1::2], strict=True):
        expected[query.name] = two_step(query, case.events)
        expected[twin.name] = [replace(row, query=twin.name) for row in expected[query.name]]
    assert_answers(case, ways(workload, case.events, case.name), expected)
    told = (row for found in expected.values() for row in found)
    assert sum(dict(row.values) != {"COUNT(*)": 4} for row in told) > 2 * len(texts)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("drawn", "seeds"),
    [(lambda seed: random_query(seed).text, 2_000), (random_pair_query, 1_000)],
)
def test_random_expressions_reach_every_construct(drawn: Callable[[int], str], seeds: int) -> None:
    """Each once in forty of those that `make test-long` compares, at least."""
    texts = " ".join(map(drawn, range(seeds)))
    words = ("abs(", "least(", "greatest(", "coalesce(", "lower(", "upper(", "hour FROM",
             "weekday FROM", "LIKE", "IN (", "BETWEEN", "IS NULL", "NOT", " % ", " / ")  # fmt: skip
    assert [word for word in words if 40 * texts.count(word) < seeds] == []


def test_a_column_without_any_text() -> None:
    table = EventTable.of(SCHEMA, [("A", 1, {"v": 1}), ("A", 2, {"v": 2})])
    query = bound_query(
        "RETURN COUNT(*) PATTERN A WHERE (lower(A.s) LIKE 'a%' OR coalesce(A.s, A.r) = upper(A.r) "
        "OR least(A.s, A.r) < 'a') IS NULL WITHIN 10 microseconds",
        SCHEMA,
    )
    rows = np.arange(2)
    assert holds(query.local_predicates[0].condition, EventColumns(table), rows).all()


def test_no_rows_at_all() -> None:
    query = random_query(1)
    table = EventTable.of(SCHEMA, [])
    rows = np.arange(0)
    assert holds(query.local_predicates[0].condition, EventColumns(table), rows).size == 0


@pytest.mark.parametrize("name", ["lower", "upper"])
def test_every_character_changes_case_as_in_the_reference(name: str) -> None:
    texts = [chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000]
    texts = sorted([*texts, "ΑΣ", "ΑΣΑ", "Straße", "ﬃx", "I\u0307"])
    column = Column(np.arange(len(texts)), np.ones(len(texts), bool), pa.array(texts))
    found = values_of(engine_call(name, [column], AttributeType.STRING))
    assert found == [reference_call(name, [text]) for text in texts]
    assert found == [getattr(str, name)(text) for text in texts]


def test_the_longest_pattern_is_matched() -> None:
    pattern = "%_" * 500
    query = bound_query(
        f"RETURN COUNT(*) PATTERN A WHERE A.s LIKE '{pattern}' WITHIN 10 microseconds", SCHEMA
    )
    table = EventTable.of(SCHEMA, [("A", 1, {"s": "é" * n}) for n in (499, 500, 5_000)])
    condition = query.local_predicates[0].condition
    column, expected = columns_and_events(query, table, condition)
    assert values_of(column) == expected == [False, True, True]
