"""Texts to trees and back; faults with their places."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.errors import QueryError
from elsinore.query.load_workload import read_workload
from elsinore.query.parse import parse_workload
from elsinore.query.print_query import print_item, print_output, print_query
from tests.golden_cases import stream_schema
from tests.property.random_cases import random_case

FULL = """
-- a comment; with a semicolon
query Q1 RETURN a.k, COUNT(*), avg( a.x ), ((Count(*)+1))*2 as n,
  Least(n,((- sum(a.x))/2)%3, abs( k ))-(1-2), not ((n > 1) and k is null) or k in (1,2)
pattern SEQ(A a+, NOT SEQ(C, NOT D), (B b1 OR B b2)?)*
where [k, a.g] and a.x < 1 + 2 * -3 and not (a.s in ('it''s', 'b;--') or a.x is not null)
  and a.x between 1 and 2.5e3 and not a.x between (1 + 1) and -a.x
  and a.s not like 'a!%_' escape '!' and Extract(HOUR from a.time) in (1, 2)
  and Least(a.x, -(-1), coalesce(a.x, 3)) > 1 and NEXT(a).time - a.time <= 2 hours
GROUP -- by
 by a.k, g
having (n > count(B)) and (not a.k like 'x' or not n = 1)
within 1.5 hours slide 10 MINUTES semantics Skip-Till-Next-Match ;
"""


def faults(text: str) -> list[str]:
    with pytest.raises(QueryError) as caught:
        parse_workload(text, "w.sase")
    return [str(fault) for fault in caught.value.diagnostics]


def test_a_printed_query_parses_to_the_same_tree() -> None:
    (query,) = parse_workload(FULL)
    assert parse_workload(print_query(query)) == (query,)
    assert [print_item(item) for item in query.returns] == [
        "a.k", "COUNT(*)", "AVG(a.x)", "(COUNT(*) + 1) * 2 AS n",
        "least(n, -SUM(a.x) / 2 % 3, abs(k)) - (1 - 2)", "NOT (n > 1 AND k IS NULL) OR k IN (1, 2)",
    ]  # fmt: skip
    assert query.having is not None
    assert print_output(query.having) == "n > COUNT(B) AND (a.k NOT LIKE 'x' OR NOT n = 1)"


@given(st.integers(1, 400))
@settings(max_examples=100)
def test_random_queries_survive_printing(seed: int) -> None:
    drawn = random_case(seed).query.source
    # Parameters have values here, which a query of a list has in its name.
    source = replace(drawn, name="q", written=None, chosen=())
    assert parse_workload(print_query(source)) == (source,)


def test_all_statements_report_their_own_fault_with_its_place() -> None:
    text = (
        "QUERY a RETURN COUNT(*)\nPATTERN SEQ(A, ) WITHIN 1;\n"
        "QUERY b RETURN\n COUNT(*) PATTERN A+ B;\n"
    )
    assert faults(text) == [
        "w.sase:2:16: found ')'; expected an event type (as in SEQ(A, B))",
        "w.sase:4:22: found 'B'; expected ';', AND, OR, '+', '*', '?', '{' or another clause "
        "(write QUERY name RETURN ... PATTERN ... WHERE ... GROUP-BY ... WITHIN ...;)",
    ]


BODY = "RETURN COUNT(*) PATTERN"
Q = f"QUERY q {BODY}"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("-- nothing", "w.sase:1:1: the workload has no query"),
        (f"{Q} A WHERE 1e999 > A.x WITHIN 1", "1:41: 1e999 is too large"),
        (f"QUERY \u212a {BODY} A", "1:7: found '\u212a'"),
        ("QUERY q RETURN COUNT(*)", "found the end of the query; expected"),
        (f"{Q} A WITHIN 1 WITHIN 2", "1:44: a second WITHIN clause"),
        (f"{Q} A § WITHIN 1", "1:35: found '§'"),
        (f"{Q} A WHERE A.x <> NOT (3)", "1:48: found 'NOT'; expected"),
        (f"{Q} A WHERE A.x = " + "9" * 50, "found '9'"),
        (f"{Q} A WHERE A.x >\xa01", "1:46: found a no-break space (write a plain space)"),
        (f"{Q} A WHERE A.x >\u200b1", "1:46: found a zero width space (write a plain space)"),
        (
            f"{Q} EVERY A a WITHIN 1",
            "1:33: EVERY is not supported (leave it out: every match counts)",
        ),
        # misspelt
        (
            f"QUERRY q {BODY} A",
            "1:1: found 'QUERRY'; expected PARAM, QUERY or SET (did you mean Q",
        ),
        ("QUERY q RETRN COUNT(*)", "1:9: found 'RETRN'; expected RETURN (did you mean RE"),
        (
            "QUERY q RETURN COUNT(*) PATERN",
            "1:25: found 'PATERN'; expected AND, AS, OR, PATTERN or an operator",
        ),
        (f"{Q} A a WITHN 1", "1:37: found 'WITHN'; expected ';', AND"),
        (f"{Q} A a WITHN 1", "(did you mean WITHIN?)"),
        (f"{Q} A WITHN 1", "1:35: found 'WITHN' before '1'; expected WITHIN (did you me"),
        (f"{Q} A WITHIN 1 SEMANTIC contiguous", "found 'SEMANTIC' before 'contiguous'"),
        (f"{Q} A WITHIN 1 day SEMANTIC contiguous", "(did you mean SEMANTICS?)"),
        (f"{Q} A SEMANTICS contigous", "(did you mean contiguous?)"),
        (f"{Q} A SEMANTICS skip-til-next-match", "(did you mean skip-till-next-match?)"),
        (f"{Q} A+ GROUPBY k", "(did you mean GROUP-BY?)"),
        (f"{Q} A WHERE NXT(A).x > 1", "found 'NXT' before '.'; expected NEXT"),
        (f"{Q} A WHERE A.x > 1 ADN A.x < 3", "found 'ADN' before 'A'; expected AND"),
        (f"{Q} A R 5", "1:37: found '5'; expected ';', AND"),
        (f"{Q} A WHERE A.s = 'a", '1:47: found "\'" (end the string with a single quote)'),
        (f"{Q} A WHERE A.s LIK 'a'", "(did you mean LIKE?)"),
        (f"{Q} A WHERE A.x BETWEN 1 AND 2", "(did you mean BETWEEN?)"),
        (f"{Q} A WHERE A.x IS NUL", "'NUL'; expected NOT or NULL (did you mean NU"),
    ],
)
def test_faults(text: str, fault: str) -> None:
    (found,) = faults(text)
    assert fault in found


def test_a_missing_semicolon_is_named_and_both_queries_are_read() -> None:
    text = (
        f"QUERY a {BODY} A WITHIN 1 -- ; QUERY x RETURN\n"
        f" QUERY b {BODY} ) ; QUERY c RETURN 'QUERY d RETURN'"
    )
    assert [fault.split("; expected ")[0] for fault in faults(text)] == [
        "w.sase:2:2: found QUERY",
        "w.sase:2:34: found ')'",
        "w.sase:2:52: found the end of the query",
    ]
    assert "found QUERY; expected ';' before it" in faults(text)[0]


def test_what_stands_before_the_first_query_lacks_no_semicolon() -> None:
    (found,) = faults(f"/* shop */\nQUERY a {BODY} A WITHIN 1;")
    assert "comments begin with --" in found


def test_syntax_and_binding_faults_come_together_in_the_order_of_the_text() -> None:
    text = (
        f"QUERY a {BODY} Nothing WITHIN 1;\n"
        f"QUERY b {BODY} A+ B WITHIN 1;\n"
        f"QUERY a {BODY} A WHERE A.y > 1 WITHIN 0\n"
        f"QUERY c {BODY} A WITHIN 1;"
    )
    with pytest.raises(QueryError) as caught:
        read_workload(text, stream_schema({"A": {"x": "long"}}), "w.sase")
    places = [fault.location for fault in caught.value.diagnostics]
    assert [(at.line, at.column) for at in places if at is not None] == [
        (1, 7), (1, 33), (2, 36), (3, 7), (3, 41), (3, 56), (4, 1),
    ]  # fmt: skip
