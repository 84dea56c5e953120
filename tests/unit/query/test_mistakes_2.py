"""Mistakes in RETURN and HAVING: each has a position, a message and a fix."""

from __future__ import annotations

import pytest

from elsinore.errors import QueryError
from elsinore.query.given_values import given_in_mapping
from elsinore.query.load_workload import read_workload
from tests.golden_cases import stream_schema

SCHEMA = stream_schema(
    {"A": {"v": "long", "k": "string"}, "B": {"v": "long", "k": "string"}, "N": {"v": "long"}}
)


@pytest.mark.parametrize(
    ("returned", "clauses", "said"),
    [
        (
            "SUM(A.v * B.v)", "",
            "1:16: an aggregate reads one alias: A, B (aggregate each, or compare neighbors in "
            "WHERE)",
        ),
        ("1 + SUM(COUNT(*))", "", "1:24: an aggregate in an aggregate (remove one of them)"),
        (
            "COUNT(*)", "WHERE A.v > 1 AND COUNT(*) > 3",
            "1:61: aggregates are not allowed in WHERE (write HAVING COUNT(*) > 3)",
        ),
        (
            "COUNT(*)", "HAVING A.v > 3",
            "1:50: HAVING filters rows, A.v is an attribute of events (write it in WHERE, or "
            "aggregate it)",
        ),
        (
            "COUNT(*)", "HAVING COUNT(*)",
            "1:50: expected a condition, found a long (compare it with something, as in "
            "COUNT(*) > 1)",
        ),
        ("COUNT(*) AS n, SUM(A.v) AS n", "", "1:43: two values are called n (rename one of them)"),
        ("COUNT(*) AS n, n", "", "1:31: two values are called n (rename one of them)"),
        (
            "COUNT(*) AS window_start", "",
            "1:28: window_start is a column of every row (choose another name)",
        ),
        (
            "COUNT(*) AS k", "GROUP-BY A.k",
            "1:28: k is a grouping attribute (choose another name)",
        ),
        ("n + 1 AS m, COUNT(*) AS n", "", "1:16: n is defined later (move it before m)"),
        (
            "COUNT(*) AS trends", "HAVING trend > 1",
            "1:60: the query has no trend (did you mean trends?)",
        ),
        (
            "COUNT(*)", "WHERE extract(hour FROM '2024-01-01' AT TIME ZONE 'New York') > A.v",
            "1:93: no time zone New York (did you mean America/New_York?)",
        ),
        (
            "COUNT(*)", "WHERE A.time AT TIME ZONE 'UTC' > 1",
            "1:69: AT TIME ZONE belongs to extract or date_trunc (as in extract(hour FROM V.time "
            "AT TIME ZONE 'Europe/Berlin'))",
        ),
        (
            "COUNT(*)", "WHERE regexp_like(A.k, '(')",
            "1:66: invalid regular expression: missing ) (at character 1)",
        ),
        (
            "COUNT(*)", "WHERE regexp_like(A.k, A.k)",
            "1:66: the pattern must be a constant (as in regexp_like(V.name, '^A'))",
        ),
        (
            "COUNT(CASE WHEN A.v > 1 THEN 1 ELSE 'x' END)", "",
            "1:22: results of CASE are a long and a string (use one type)",
        ),
        (
            "COUNT(*)", "WHERE A.v > $mn",
            "1:55: no parameter mn (declare it: PARAM mn double DEFAULT 1;)",
        ),
        ("COUNT(*) > NULL AS x", "", "1:16: a comparison with NULL is never true (write IS NULL)"),
        (
            "COUNT(*) + 'a'", "",
            "1:16: cannot compute long + string (use numbers, or a timestamp and a length, as in "
            "V.time + 5 minutes)",
        ),
        (
            "COUNT(DISTINCT A)", "",
            "1:16: A is an alias, not an attribute (write COUNT(EACH A))",
        ),
        (
            "SUM(DISTINCT A.v)", "",
            "1:16: DISTINCT goes with COUNT only (write SUM(EACH A.v))",
        ),
        (
            "VARIANCE(EACH LENGTH)", "",
            "1:16: EACH is about events, LENGTH is a measure of trends (write AVG(LENGTH))",
        ),
        (
            "VAR_SAMP(DISTINCT A.v)", "",
            "1:16: DISTINCT goes with COUNT only (write VAR_SAMP(EACH A.v))",
        ),
        (
            "COUNT(EACH LENGTH)", "",
            "1:16: EACH is about events, LENGTH is a measure of trends (write AVG(LENGTH))",
        ),
        (
            "COUNT(DISTINCT w)", "",
            "1:31: no event type of the pattern has an attribute w (attributes: k, v; write "
            "strings in single quotes)",
        ),
        (
            "abs(EACH COUNT(*))", "",
            "1:16: abs does not take EACH (write abs(V.price))",
        ),
    ],
)  # fmt: skip
def test_a_mistake_has_a_position_and_a_fix(returned: str, clauses: str, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_workload(f"QUERY q RETURN {returned} PATTERN SEQ(A, B) {clauses} WITHIN 5;", SCHEMA)
    assert [str(fault).removeprefix("<text>:") for fault in caught.value.diagnostics] == [said]


@pytest.mark.parametrize(
    ("returned", "clauses", "said"),
    [
        (
            "AVG(TOTAL(A.v) / LENGTH)", "",
            "1:20: a measure can be divided by a constant only (write SUM(A.v) / COUNT(A) for the "
            "mean per event)",
        ),
        (
            "MAX(2 / LENGTH)", "",
            "1:20: a measure can be divided by a constant only (add measures up, and multiply them "
            "by constants, as in LENGTH * 2 - 1)",
        ),
        (
            "MAX(LENGTH * DURATION)", "",
            "1:20: measures cannot be multiplied by measures (add measures up, and multiply them "
            "by constants, as in LENGTH * 2 - 1)",
        ),
        ("MAX(LENGTH / 0)", "", "1:20: division by zero (divide by another constant)"),
        (
            "MAX(abs(LENGTH))", "",
            "1:20: this is not a sum of measures (add measures up, and multiply them by "
            "constants, as in LENGTH * 2 - 1)",
        ),
        (
            "MAX(LENGTH + A.v)", "",
            "1:29: A.v is an attribute of events, not of trends (write FIRST(A.v), LAST(A.v) or "
            "TOTAL(A.v))",
        ),
        (
            "MAX(LENGTH + 'x')", "",
            "1:29: a measure cannot be combined with a string (add measures up, and multiply them "
            "by constants, as in LENGTH * 2 - 1)",
        ),
        (
            "STDDEV(FIRST(A.t))", "",
            "1:16: timestamps cannot be added up (write MIN or MAX, or a difference of two)",
        ),
        (
            "SUM(FIRST(A.t))", "",
            "1:16: timestamps cannot be added up (write MIN or MAX, or a difference of two)",
        ),
        (
            "MAX(FIRST(A.k))", "",
            "1:20: FIRST takes a number or a timestamp, not a string (count its values, as in "
            "COUNT(A.k))",
        ),
        (
            "MAX(TOTAL(A.t))", "",
            "1:20: TOTAL takes a number, not a timestamp (count its values, as in COUNT(A.t))",
        ),
        ("MAX(FIRST(A))", "", "1:20: FIRST takes an attribute of A (as in FIRST(A.time))"),
        (
            "MAX(FIRST(LENGTH))", "",
            "1:20: FIRST reads an attribute of events, LENGTH is a measure of trends (as in "
            "FIRST(V.price))",
        ),
        (
            "LAST(A.v)", "",
            "1:16: LAST is a measure of each trend (write AVG(LAST(A.v)) or MAX(LAST(A.v)))",
        ),
        (
            "COUNT(*)", "HAVING LENGTH > 3",
            "1:50: LENGTH is a measure of each trend (write AVG(LENGTH) or MAX(LENGTH))",
        ),
        (
            "SUM(EACH TOTAL(A.v))", "",
            "1:16: EACH is about events, TOTAL is a measure of trends (write AVG(TOTAL(A.v)))",
        ),
        (
            "COUNT(DISTINCT LENGTH)", "",
            "1:16: DISTINCT is about events, LENGTH is a measure of trends (write AVG(LENGTH))",
        ),
        (
            "SUM(coalesce(LENGTH + 1, 0))", "",
            "1:20: coalesce takes a measure and a constant here (as in coalesce(TOTAL(C.price), "
            "0))",
        ),
        (
            "COUNT(*)", "GROUP-BY LENGTH",
            "1:52: measures cannot group rows yet (group by an attribute)",
        ),
        (
            "COUNT(*)", "GROUP-BY FIRST(A.v)",
            "1:52: measures cannot group rows yet (group by an attribute)",
        ),
    ],
)  # fmt: skip
def test_a_mistake_in_a_measure(returned: str, clauses: str, said: str) -> None:
    schema = stream_schema({"A": {"v": "long", "k": "string", "t": "timestamp"}, "B": {}})
    with pytest.raises(QueryError) as caught:
        read_workload(f"QUERY q RETURN {returned} PATTERN SEQ(A, B) {clauses} WITHIN 5;", schema)
    assert [str(fault).removeprefix("<text>:") for fault in caught.value.diagnostics] == [said]


@pytest.mark.parametrize("word", ["length", "LENGTH", "duration", "first", "last", "TOTAL"])
def test_measures_are_still_names(word: str) -> None:
    schema = stream_schema({word: {word: "long"}, "A": {"v": "long"}})
    [bound] = read_workload(
        f"QUERY {word} RETURN COUNT({word}), SUM({word}.{word}), COUNT(DISTINCT {word})"
        f" PATTERN SEQ({word}, A) WHERE {word}.{word} > 1 GROUP-BY {word} WITHIN 5;",
        schema,
    ).queries
    assert all(item.measure is None for item in bound.aggregates)
    [bound] = read_workload(
        f"QUERY q RETURN COUNT({word}), MAX({word}.v) PATTERN A {word} WITHIN 5;",
        stream_schema({"A": {"v": "long"}}),
    ).queries
    assert all(item.measure is None for item in bound.aggregates)


def test_an_attribute_can_have_the_name_of_a_measure() -> None:
    schema = stream_schema({"A": {"length": "long"}})
    query = "QUERY q RETURN MAX(length), MAX(A.length), COUNT(DISTINCT length) PATTERN A WITHIN 5;"
    measure, attribute, distinct = read_workload(query, schema).queries[0].aggregates
    assert (measure.measure is not None, attribute.attribute, distinct.attribute) == (
        True,
        "length",
        "length",
    )


@pytest.mark.parametrize("word", ["as", "AS", "having", "null", "true", "next", "any"])
def test_new_words_are_still_names(word: str) -> None:
    schema = stream_schema({word: {word: "long"}})
    query = (
        f"QUERY {word} RETURN {word}, COUNT({word}), SUM({word}.{word}) AS {word}_sum, COUNT(*) > 1"
        f" PATTERN {word} {word} WHERE {word}.{word} > 1 GROUP-BY {word} HAVING COUNT({word}) > 1"
        f" WITHIN 5;"
    )
    [bound] = read_workload(query, schema).queries
    assert bound.value_names == (f"COUNT({word})", f"{word}_sum", "COUNT(*) > 1")
    assert bound.name == word


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (
            "RETURN COUNT(EACH A) PATTERN A AND B",
            "1:16: a pattern with AND supports only COUNT(*) (write RETURN COUNT(*))",
        ),
        (
            "RETURN COUNT(EACH N) PATTERN SEQ(A, NOT N, B)",
            "1:16: N is under NOT, so no trend contains it (aggregate one of A, B)",
        ),
        (
            "RETURN COUNT(DISTINCT N.v) PATTERN SEQ(A, NOT N, B)",
            "1:16: N is under NOT, so no trend contains it (aggregate one of A, B)",
        ),
        (
            "RETURN COUNT(DISTINCT x) PATTERN SEQ(A x, B)",
            "1:16: x is an alias, not an attribute (write COUNT(EACH x))",
        ),
    ],
)
def test_each_and_distinct_in_other_patterns(query: str, said: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_workload(f"QUERY q {query} WITHIN 5;", SCHEMA)
    assert [str(fault).removeprefix("<text>:") for fault in caught.value.diagnostics] == [said]


@pytest.mark.parametrize("word", ["each", "distinct", "EACH", "DISTINCT"])
def test_each_and_distinct_are_keywords_only_before_an_operand(word: str) -> None:
    schema = stream_schema({word: {word: "long"}, "A": {"v": "long"}})
    items: tuple[str, ...] = (
        f"COUNT({word})", f"SUM({word}.{word})",
        f"COUNT({word} {word})", f"SUM({word} {word}.{word})",
    )  # fmt: skip
    if word.upper() == "DISTINCT":
        items = (*items[:2], f"COUNT(DISTINCT {word}.{word})")
    [bound] = read_workload(
        f"QUERY q RETURN {', '.join(items)} PATTERN {word} WITHIN 5;", schema
    ).queries
    assert [item.each for item in bound.aggregates] == [False, False, *(True for _ in items[2:])]


def test_which_values_add_up() -> None:
    query = (
        "QUERY q RETURN COUNT(*) AS n, SUM(A.v) - 2 * n AS d, AVG(A.v), MAX(A.v), n / 2, n * n, "
        "COUNT(A) + 1, COUNT(EACH A), SUM(EACH A.v), COUNT(DISTINCT k) PATTERN A WITHIN 5;"
    )
    [bound] = read_workload(query, SCHEMA).queries
    assert [output.additive for output in bound.outputs] == [
        True, True, False, False, True, False, False, False, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "PARAM least long;",
            "1:7: parameter least has no value (add --set least=10, or a default: PARAM least long "
            "DEFAULT 10;)",
        ),
        ("PARAM leat long DEFAULT 1;", "1:75: no parameter least (did you mean $leat?)"),
        (
            "PARAM least double DEFAULT 'a';",
            "1:7: the default of least is not a double (as in DEFAULT 0.5)",
        ),
    ],
)
def test_a_mistake_in_a_parameter(text: str, said: str) -> None:
    query = "QUERY q RETURN COUNT(*) PATTERN A WHERE A.v >= $least WITHIN 5;"
    with pytest.raises(QueryError) as caught:
        read_workload(f"{text} {query}", SCHEMA)
    assert [str(fault).removeprefix("<text>:") for fault in caught.value.diagnostics] == [said]


def test_a_parameter_has_its_default_or_a_given_value() -> None:
    text = "PARAM n long DEFAULT 2; QUERY q RETURN COUNT(*) PATTERN A WHERE A.v > $n WITHIN 5;"
    [default] = read_workload(text, SCHEMA).queries
    [given] = read_workload(text, SCHEMA, given=given_in_mapping({"n": 7}, str)).queries
    assert ("A.v > 2" in default.text, "A.v > 7" in given.text) == (True, True)


PATTERNS = stream_schema(
    {
        "A": {"v": "long", "k": "string"},
        "B": {"v": "long", "k": "string", "s": "string"},
        "N": {"v": "long"},
    }
)


@pytest.mark.parametrize(
    ("returned", "pattern", "said"),
    [
        ("COUNT(*)", "A{3,2}", "1:33: at least 3 but at most 2 (write A{2,3})"),
        ("COUNT(*)", "SEQ(B, A x{0})", "1:40: this part never occurs (remove it)"),
        ("COUNT(*)", "SEQ(B, A{,0})", "1:40: this part never occurs (remove it)"),
        (
            "COUNT(*)", "A{2000000}",
            "1:33: more than 1,000,000 repetitions (repeat it at most 1000000 times)",
        ),
        (
            "COUNT(*)", "(SEQ(A, B{1000})){2,2000}",
            "1:41: more than 1,000,000 repetitions (repeat it at most 500 times)",
        ),
        (
            "COUNT(*)", "SEQ(A, (NOT N){2})",
            "1:41: NOT cannot be repeated (write NOT N{2} for as many in the gap)",
        ),
        (
            "COUNT(*)", "ANY(A, BB) x",
            "1:40: the stream has no event type BB (did you mean B?)",
        ),
        (
            "COUNT(*)", "ANY(A, B) x WHERE x.s = 'u'",
            "1:51: A has no attribute s (ANY reads attributes that all its types have)",
        ),
        (
            "COUNT(*)", "ANY x WHERE [x.k]",
            "1:46: N has no attribute k (ANY reads attributes that all its types have)",
        ),
        ("COUNT(A)", "ANY(A, B) x", "1:16: A is only a part of x (write COUNT(x))"),
        ("SUM(EACH A.v)", "ANY(A, B) x", "1:16: A is only a part of x (write SUM(EACH x.v))"),
        (
            "COUNT(*)", "ANY(A, B) x WHERE A.v > 1",
            "1:51: A is only a part of x (write x.v)",
        ),
        ("COUNT(ANY)", "SEQ(ANY, ANY)",
         "1:16: the pattern has no ANY (give it an alias, as in ANY x)"),
        (
            "COUNT(*)", "SEQ(ANY(A, B) x, N x)",
            "1:37: x names 2 parts of the pattern (give each its own alias, as in ANY(A) x1)",
        ),
        (
            "COUNT(*)", "ANY(A, B) A",
            "1:33: the alias A is also a type of the pattern (choose another alias, as in "
            "ANY(A) A1)",
        ),
        (
            "COUNT(*)", "A{1} WHERE A.v < NEXT(A).v",
            "1:44: A never comes right after A in this pattern (compare events that are adjacent "
            "in the pattern)",
        ),
        ("COUNT(*)", "ANYOF(A, B) x", "1:33: ANYOF(A, B) is not a pattern (write ANY(A, B))"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_pattern_has_a_position_and_a_fix(
    returned: str, pattern: str, said: str
) -> None:
    with pytest.raises(QueryError) as caught:
        read_workload(f"QUERY q RETURN {returned} PATTERN {pattern} WITHIN 5;", PATTERNS)
    assert [str(fault).removeprefix("<text>:") for fault in caught.value.diagnostics] == [said]
