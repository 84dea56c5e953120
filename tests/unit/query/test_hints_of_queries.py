"""What is said of queries that people write at first: one message, and a text that is accepted."""

from __future__ import annotations

import pytest

import elsinore

SCHEMA = """stream: s
time: {field: t, unit: iso}
type: {field: k}
types: {A: {v: long, u: string}, B: {v: long, u: string}, C: {r: double, u: string}}
"""
QUERY = "QUERY q RETURN {} PATTERN {} WITHIN 1 hour;"


def faults(text: str) -> list[str]:
    """All messages about a query, without their places; none if it is accepted."""
    try:
        elsinore.workload(text, schema=SCHEMA)
    except elsinore.QueryError as error:
        return [str(fault).partition(": ")[2] for fault in error.diagnostics]
    return []


@pytest.mark.parametrize(
    ("returns", "said", "instead"),
    [
        ("SUM(r)", "SUM needs the alias before r (write SUM(C.r))", "SUM(C.r)"),
        ("MAX(v)", "MAX needs the alias before v (write MAX(a.v) or MAX(b.v))", "MAX(b.v)"),
        (
            "COUNT(u)",
            "COUNT counts trends or events, not values of u (write COUNT(a), COUNT(b) or COUNT(C) "
            "to count events, or GROUP-BY u for a row per value)",
            "COUNT(b)",
        ),
        (
            "MEDIAN(v)",
            "MEDIAN needs EACH (write MEDIAN(EACH a.v): each event counts once)",
            "MEDIAN(EACH a.v)",
        ),
        (
            "PERCENTILE(EACH v, 0.5)",
            "PERCENTILE needs the alias before v (write PERCENTILE(EACH a.v, 0.5))",
            "PERCENTILE(EACH a.v, 0.5)",
        ),
        (
            "MODE(v)",
            "unknown aggregate MODE (use one of COUNT, SUM, AVG, MIN, MAX, STDDEV, STDDEV_SAMP, "
            "STDDEV_POP, VARIANCE, VAR_SAMP, VAR_POP, MEDIAN, PERCENTILE)",
            None,
        ),
        ("STDEV(v)", "unknown aggregate STDEV (did you mean STDDEV?)", None),
        (
            "STDDEV(v)",
            "STDDEV needs the alias before v (write STDDEV(a.v) or STDDEV(b.v))",
            "STDDEV(a.v)",
        ),
        (
            "VAR_POP(v)",
            "VAR_POP needs the alias before v (write VAR_POP(a.v) or VAR_POP(b.v))",
            "VAR_POP(b.v)",
        ),
        ("SUM(x)", "the pattern has no x (it has A, B, C, a, b)", None),
    ],
)
def test_an_aggregate_of_a_bare_attribute(returns: str, said: str, instead: str | None) -> None:
    pattern = "SEQ(A a, B b, C)"
    assert faults(QUERY.format(returns, pattern)) == [said]
    if instead is not None:
        assert instead in said
        assert not faults(QUERY.format(instead, pattern))


@pytest.mark.parametrize(
    ("returns", "group", "said"),
    [
        ("C.u", "u", "C.u is not in GROUP-BY (write u, as GROUP-BY does)"),
        ("A.u", "C.u", "A.u is not in GROUP-BY (write C.u, as GROUP-BY does)"),
        ("C.r", "u", "C.r is not in GROUP-BY (add GROUP-BY C.r)"),
        ("X.u", "u", "the pattern has no X (it has A, C)"),
        ("v", "A.vv", "A has no attribute vv (did you mean v?)"),
    ],
)
def test_attributes_of_return_that_group_by_does_not_name(
    returns: str, group: str, said: str
) -> None:
    assert said in faults(QUERY.format(f"{returns}, COUNT(*)", f"SEQ(A, C) GROUP-BY {group}"))


def test_an_attribute_that_no_type_has_is_not_to_be_added_to_group_by() -> None:
    (said,) = faults(QUERY.format("host, COUNT(*)", "A"))
    assert said.startswith("no event type of the pattern has an attribute host (attributes: u, v")


@pytest.mark.parametrize("call", ["COUNT(Failed) >= 3", "SUM(x) > 1", "AVG(A.none) > 1"])
def test_an_aggregate_in_where_is_one_fault(call: str) -> None:
    (said,) = faults(QUERY.format("COUNT(*)", f"A WHERE {call}"))
    assert said == f"aggregates are not allowed in WHERE (write HAVING {call})"


@pytest.mark.parametrize("bounds", ["{", "{}", "{,}", "{2", "{-1}", "{1.5}", "{x}", "{3-4}"])
def test_an_invalid_quantifier_has_an_example(bounds: str) -> None:
    (said,) = faults(QUERY.format("COUNT(*)", f"A{bounds}"))
    assert said.endswith("(as in A{2}, A{2,} or A{2,5})")


@pytest.mark.parametrize("pattern", ["SEQ(A{2} x, B)", "A{2,} x"])
def test_an_alias_comes_before_a_quantifier(pattern: str) -> None:
    (said,) = faults(QUERY.format("COUNT(*)", pattern))
    assert "write the alias before the sign" in said


def test_a_misspelled_clause_after_a_quantifier_is_named() -> None:
    (said,) = faults(QUERY.format("COUNT(*)", "A{2} WHRE A.v > 1"))
    assert said.endswith("(did you mean WHERE?)")


@pytest.mark.parametrize(
    ("pattern", "instead"),
    [
        ("SQE(A, B)", "write SEQ(A, B)"),
        ("ANYOF(A, B) x", "write ANY(A, B)"),
        ("FOLLOWED(A, B)", "write SEQ(A, B)"),
        ("SQE(A+, B)", "did you mean SEQ?"),
        ("ANY(A+, B)", "ANY takes event types, as in ANY(A, B) x"),
        ("ANY()", "ANY takes event types, as in ANY(A, B) x"),
        ("any(A OR B)", "ANY takes event types, as in ANY(A, B) x"),
    ],
)
def test_a_word_before_types_is_seq_or_any(pattern: str, instead: str) -> None:
    (said,) = faults(QUERY.format("COUNT(*)", pattern))
    assert said.endswith(f"({instead})")


def test_a_condition_on_the_length_of_a_trend_names_the_span() -> None:
    where = "SEQ(A, B+, C) WHERE C.time - A.time <= 1 hour"
    (said,) = faults(QUERY.format("COUNT(*)", where))
    assert "limit the length of a trend with SPAN, as in SPAN 10 minutes PER 1 day" in said
