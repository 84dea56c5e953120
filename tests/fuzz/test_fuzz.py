"""A seeded part of the fuzzer, and every text that ever broke a rule."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.draws import draws
from tests.fuzz.check_text import check_text
from tests.fuzz.mutate import mutated
from tests.golden_cases import stream_schema
from tests.unit.hostile.measure import on_a_stack_of_its_own

SCHEMA = stream_schema({"A": {"x": "long", "s": "string"}}, "us")
BLOCK = 500
TEXTS = draws(500, 3_000)


def query(where: str, within: str = "1", pattern: str = "A+") -> str:
    return f"QUERY q RETURN COUNT(*) PATTERN {pattern} WHERE {where} WITHIN {within};"


def wrapped(text: str, times: int, before: str, after: str) -> str:
    return before * times + text + after * times


BROKE = {
    # printed as `inf`, a name
    "a number beyond all doubles": query("A.x < 1e309"),
    # int(inf) raised OverflowError
    "a window beyond all doubles": query("A.x > 1", "1e308 days"),
    "a duration beyond all doubles": query("A.x > 1e308 days"),
    # the text has no UTF-8, so neither fingerprint nor Arrow took it
    "half a character in a string": query("A.s = '\ud800'"),
    # BETWEEN was two copies of its operand: 2^n of them when nested
    "nested BETWEEN": query(wrapped("A.x", 60, "(", " BETWEEN 1 AND 2)")),
    # x NOT IN (...) was printed as NOT (x IN (...)), one level deeper: too deep when read again
    "NOT IN to the deepest": query(wrapped("A.x IN (1)", 94, "(", ") NOT IN (TRUE)")),
    "IS NOT NULL to the deepest": query(wrapped("A.x", 94, "(", ") IS NOT NULL")),
    # names and units in any case took letters whose lower case is no letter of a name
    "a dotted capital I": query("A.x > 1 m\u0130nutes", "5 m\u0130nutes").replace("q", "\u0130"),
    # -1.5 was read as a number and e22 as its unit
    "a negative exponent": query("A.x > 1", "-12345678901234567890123.5"),
    # a message of a thousand characters
    "a name without end": query("A.x > 1", pattern="A" * 2_000),
    # each missing ; was a recursion
    "a thousand queries without a semicolon": "QUERY b RETURN COUNT(*) PATTERN A " * 1_000,
    # NOT was a name where it may not stand, and NOT where it was printed (seed 77416)
    "NOT behind an operator": query("A.x <> NOT (- 3) * 2"),
    # a message of two lines
    "an escape that ends the line": query("A.s LIKE 'a\nb' ESCAPE '\n'"),
}


@pytest.mark.slow
@pytest.mark.parametrize("text", BROKE.values(), ids=BROKE.keys())
def test_what_broke_a_rule_once_keeps_them_now(text: str) -> None:
    counts = on_a_stack_of_its_own(lambda: check_text(text, SCHEMA))
    assert counts["workloads"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, TEXTS, BLOCK))
def test_mutated_workloads_are_bound_or_refused_with_a_place(first: int) -> None:
    counts: Counter[str] = Counter()
    for seed in range(first, first + BLOCK):
        counts += check_text(*mutated(seed))
    assert counts["workloads"] == BLOCK
    assert counts["workloads bound"] > BLOCK / 20, counts  # it mutates, it does not only destroy
    assert counts["queries that parse"] > BLOCK / 4, counts
    assert counts["faults"] > counts["workloads refused"] > BLOCK / 2, counts
