"""Mistakes in `RETURN STEPS`, MEDIAN and PERCENTILE: each has a position and a fix that works."""

from __future__ import annotations

import pytest

from elsinore.errors import QueryError
from elsinore.query.load_workload import read_workload
from tests.golden_cases import stream_schema

SCHEMA = stream_schema(
    {"A": {"v": "long", "k": "string", "step": "long"}, "B": {"v": "long", "t": "timestamp"}}
)


def said(text: str) -> str:
    """The errors of a query with their columns; empty if it is accepted."""
    try:
        read_workload(f"QUERY q {text} WITHIN 9;", SCHEMA)
    except QueryError as error:
        places = ((fault.location, fault) for fault in error.diagnostics)
        return "; ".join(f"{at and at.column}: {one.message} ({one.hint})" for at, one in places)
    return ""


@pytest.mark.parametrize(
    ("text", "message", "instead"),
    [
        (
            "RETURN STEPS PATTERN A+",
            "30: STEPS counts the parts of a SEQ (write PATTERN SEQ(A+))",
            "RETURN STEPS PATTERN SEQ(A+)",
        ),
        (
            "RETURN STEPS PATTERN A OR B",
            "30: STEPS counts the parts of a SEQ (write a query with STEPS for each of its parts)",
            "RETURN STEPS PATTERN SEQ(A)",
        ),
        (
            "RETURN STEPS PATTERN SEQ(A*, B)",
            "34: the first step, A*, can be empty (begin with a part that must occur)",
            "RETURN STEPS PATTERN SEQ(A+, B)",
        ),
        (
            "RETURN STEPS PATTERN SEQ(A, B) HAVING COUNT(*) > 1",
            "47: HAVING cannot filter steps (remove HAVING, and filter the rows with SQL)",
            "RETURN STEPS PATTERN SEQ(A, B)",
        ),
        (
            "RETURN steps, COUNT(*) PATTERN SEQ(A, B)",
            "16: STEPS goes with no other value (write RETURN STEPS, and other values in a query "
            "of their own)",
            "RETURN STEPS PATTERN SEQ(A, B)",
        ),
        (
            "RETURN STEPS PATTERN SEQ(A, B) GROUP-BY B.v",
            "49: not every first step has v, so its rows would have no group (group by an "
            "attribute of A, or of every part)",
            "RETURN STEPS PATTERN SEQ(A, B) GROUP-BY v",
        ),
        (
            "RETURN STEPS PATTERN SEQ(A OR B x, B) GROUP-BY A.k",
            "56: not every first step has k, so its rows would have no group (group by an "
            "attribute of A, x, or of every part)",
            "RETURN STEPS PATTERN SEQ(A OR B x, B y) GROUP-BY v",
        ),
        (
            "RETURN STEPS PATTERN SEQ(A, B) GROUP-BY step",
            "49: step is a column of every row (give it another name, as in AS step_of_event)",
            "RETURN STEPS PATTERN SEQ(A, B) GROUP-BY step AS step_of_event",
        ),
        (
            "RETURN MEDIAN(B.v) PATTERN B",
            "16: MEDIAN needs EACH (write MEDIAN(EACH B.v): each event counts once)",
            "RETURN MEDIAN(EACH B.v) PATTERN B",
        ),
        (
            "RETURN MEDIAN(LENGTH) PATTERN B+",
            "16: MEDIAN of a measure is not available (write AVG(LENGTH) or MAX(LENGTH))",
            "RETURN MAX(LENGTH) PATTERN B+",
        ),
        (
            "RETURN PERCENTILE(EACH B.v, 95) PATTERN B",
            "37: the share of PERCENTILE must be from 0 to 1 (write 0.95 for 95 %)",
            "RETURN PERCENTILE(EACH B.v, 0.95) PATTERN B",
        ),
        (
            "RETURN PERCENTILE(EACH B.v, 0.1000000000000000001) PATTERN B",
            "37: the share of PERCENTILE has too many digits (write 0.1)",
            "RETURN PERCENTILE(EACH B.v, 0.1) PATTERN B",
        ),
        (
            "RETURN PERCENTILE(DISTINCT B.v, 0.5) PATTERN B",
            "16: DISTINCT goes with COUNT only (write PERCENTILE(EACH B.v, 0.5))",
            "RETURN PERCENTILE(EACH B.v, 0.5) PATTERN B",
        ),
        (
            "RETURN MEDIAN(EACH B.t) PATTERN B",
            "16: cannot compute MEDIAN of a timestamp (numeric attributes: v)",
            "RETURN PERCENTILE(EACH B.t, 0.5) PATTERN B",
        ),
        (
            "RETURN MEDIAN(EACH B) PATTERN B",
            "16: B is not an attribute (write MEDIAN(EACH B.v))",
            "RETURN MEDIAN(EACH B.v) PATTERN B",
        ),
        (
            "RETURN MEDIAN(EACH B.v) PATTERN A AND B",
            "16: a pattern with AND supports only COUNT(*) (write RETURN COUNT(*))",
            "RETURN COUNT(*) PATTERN A AND B",
        ),
    ],
)
def test_a_mistake_has_a_place_and_a_fix(text: str, message: str, instead: str) -> None:
    assert said(text) == message
    assert said(instead) == ""


def test_parts_as_written_are_a_part_of_the_fingerprint() -> None:
    texts = ("SEQ(A, B b1, B b2)", "SEQ(SEQ(A, B b1), B b2)", "SEQ(A, SEQ(B b1, B b2))")
    queries = [
        read_workload(f"QUERY q RETURN STEPS PATTERN {text} WITHIN 9;", SCHEMA).queries[0]
        for text in texts
    ]
    assert [len(query.steps) for query in queries] == [3, 2, 2]
    assert len({query.fingerprint for query in queries}) == 3


def test_a_funnel_has_a_maximum_number_of_steps() -> None:
    schema = stream_schema({"A": {}})
    parts = ", ".join(f"A a{n}" for n in range(51))
    with pytest.raises(QueryError, match=r"51 steps, at most 50 are supported \(leave out steps"):
        read_workload(f"QUERY q RETURN STEPS PATTERN SEQ({parts}) WITHIN 9;", schema)
