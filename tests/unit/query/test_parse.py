"""Texts to trees and back; faults with their places."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.errors import QueryError
from elsinore.query.parse import parse_workload
from elsinore.query.print_query import print_query
from tests.property.random_cases import random_case

FULL = """
-- a comment; with a semicolon
query Q1 RETURN a.k, COUNT(*), avg( a.x )
pattern SEQ(A a+, NOT SEQ(C, NOT D), (B b1 OR B b2)?)*
where [k, a.g] and a.x < 1 + 2 * -3 and not (a.s in ('it''s', 'b;--') or a.x is not null)
  and a.x between 1 and 2.5e3 and NEXT(a).time - a.time <= 2 hours
GROUP BY a.k, g within 1.5 hours slide 10 MINUTES semantics Skip-Till-Next-Match ;
"""


def faults(text: str) -> list[str]:
    with pytest.raises(QueryError) as caught:
        parse_workload(text, "w.sase")
    return [str(fault) for fault in caught.value.diagnostics]


def test_a_printed_query_parses_to_the_same_tree() -> None:
    (query,) = parse_workload(FULL)
    assert parse_workload(print_query(query)) == (query,)
    assert [getattr(item, "label", None) for item in query.returns] == [
        None, "COUNT(*)", "avg(a.x)",
    ]  # fmt: skip


@given(st.integers(1, 400))
@settings(max_examples=100)
def test_random_queries_survive_printing(seed: int) -> None:
    source = random_case(seed).query.source
    assert parse_workload(print_query(source)) == (source,)


def test_all_statements_report_their_own_fault_with_its_place() -> None:
    text = (
        "QUERY a RETURN COUNT(*)\nPATTERN SEQ(A, ) WITHIN 1;\n"
        "QUERY b RETURN\n COUNT(*) PATTERN A+ B;\n"
    )
    assert faults(text) == [
        "w.sase:2:16: found ')'; expected '(', NOT, SEQ or a name",
        "w.sase:4:22: found 'B'; expected '*', '+', '?', AND, GROUP-BY, OR, SEMANTICS, WHERE, "
        "WITHIN or the end of the query (';')",
    ]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "w.sase: holds no query"),
        ("-- nothing", "w.sase: holds no query"),
        ("QUERY q RETURN COUNT(*)", "found the end of the query; expected"),
        ("QUERY q RETURN COUNT(*) PATTERN A WITHIN 1 WITHIN 2", "1:44: a second WITHIN clause"),
        ("QUERY q RETURN COUNT(*) PATTERN A § WITHIN 1", "1:35: found '§'"),
        ("QUERY q RETURN COUNT(*) PATTERN " + "SEQ(" * 500 + "A" + ")" * 500, "nested deeper"),
        ("QUERY q RETURN COUNT(*) PATTERN A" + "?" * 5_000, "nested deeper"),
        ("QUERY q RETURN COUNT(*) PATTERN A WHERE " + "NOT " * 5_000 + "TRUE", "nested deeper"),
        ("QUERY q RETURN COUNT(*) PATTERN A WHERE A.x = " + "9" * 50, "found '9'"),
    ],
)
def test_faults(text: str, fault: str) -> None:
    (found,) = faults(text)
    assert fault in found


@given(st.text(max_size=60), st.integers(0, len(FULL) - 1), st.integers(0, 20))
@settings(max_examples=500)
def test_no_text_crashes_the_parser(noise: str, place: int, cut: int) -> None:
    text = FULL[:place] + noise + FULL[place + cut :]
    with suppress(QueryError):  # nothing else may come out
        parse_workload(text)
