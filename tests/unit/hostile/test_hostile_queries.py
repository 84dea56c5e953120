"""Workloads made to cost much, or to be run as code: refused soon, with a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from elsinore.errors import QueryError, UnsupportedQueryError
from elsinore.query.load_workload import load_workload, read_workload
from elsinore.template.support import require
from tests.golden_cases import stream_schema
from tests.unit.hostile.measure import refused_cheaply

SCHEMA = stream_schema({"A": {"x": "long", "s": "string"}}, "us")


def nested(first: str, form: str, levels: int) -> str:
    """An expression in itself, `levels` times."""
    for _ in range(levels):
        first = form.replace("@", first)
    return first


def named_values(form: str, number: int) -> str:
    """A query with values that each name the one before: v0, v1, and so on."""
    values = "".join(f", {form.replace('@', f'v{i}')} AS v{i + 1}" for i in range(number))
    return f"QUERY q RETURN COUNT(*) AS v0{values} PATTERN A+ WITHIN 1;"


def query(pattern: str = "A+", where: str = "A.x > 1") -> str:
    return f"QUERY q RETURN COUNT(*) PATTERN {pattern} WHERE {where} WITHIN 1;\n"


def many(count: int, end: str) -> str:
    return "".join(f"QUERY q{i} RETURN COUNT(*) PATTERN A+ WITHIN 1{end}\n" for i in range(count))


HUGE = {
    "10 MB": (query() + " " * 10_000_000, "the workload is longer than 5000000 characters"),
    "quotes": ("'" * 999_990, "a string is longer than 10000 characters"),
    "a name": ("QUERY " + "q" * 900_000 + " . x", "1:7: a name is longer than 200 characters"),
    "brackets": (query("(" * 100_000 + "A" + ")" * 100_000), "10000 words and symbols"),
    "SEQ": (query("SEQ(" * 100_000 + "A" + ")" * 100_000), "10000 words and symbols"),
    "no bracket closed": (query("(" * 100_000), "10000 words and symbols"),
    "conditions in brackets": (query(where="(" * 100_000 + "A.x"), "10000 words and symbols"),
    "NOT": (query(where="NOT " * 100_000 + "TRUE"), "10000 words and symbols"),
    "plus": (query("A" + "+" * 100_000), "10000 words and symbols"),
    "minus": (query(where="A.x > " + "- " * 400_000 + "1"), "10000 words and symbols"),
    "a list": (query(where="A.x IN (1" + ",1" * 100_000 + ")"), "10000 words and symbols"),
    "fewer brackets": (query(where="(" * 4_900 + "A.x" + ") = 1" * 1_600), "'(' without its ')'"),
    "as deep as may be read": (query(where="NOT " * 9_900 + "TRUE"), "nested deeper than 100"),
    "30,000 queries": (many(30_000, ";"), "20001:1: more than 20000 queries"),
    "10,000 queries in one": (many(10_000, ""), "10000 words and symbols"),
    "statements of one letter": ("x;" * 490_000, "1:40001: more than 20000 queries"),
    "a long pattern": (
        query("SEQ(" + ", ".join(f"A a{i}" for i in range(3_000)) + ")"),
        "the pattern has more than 300 event types",
    ),
    "LIKE": (
        query(where="A.s LIKE '" + "%a" * 4_000 + "'"),
        "the LIKE pattern is longer than 1000",
    ),
    "IN in IN": (
        query(where=nested("A.x > 1", "(@) IN (TRUE, FALSE)", 40)),
        "the expressions of the query have more than 50,000 parts",
    ),
    "BETWEEN in BETWEEN": (
        query(where=nested("A.x", "CASE WHEN @ BETWEEN 0 AND 1 THEN 1 ELSE 0 END", 30) + " > 0"),
        "the expressions of the query have more than 50,000 parts",
    ),
    "BETWEEN in groups": (
        "QUERY q RETURN COUNT(*) PATTERN A+ GROUP-BY "
        + nested("A.x", "CASE WHEN @ BETWEEN 0 AND 1 THEN 1 ELSE 0 END", 30)
        + " AS g WITHIN 1;",
        "the expressions of the query have more than 50,000 parts",
    ),
    "many aggregates of BETWEEN": (
        "QUERY q RETURN "
        + ", ".join(
            f"SUM({nested('A.x', f'CASE WHEN @ BETWEEN 0 AND {n} THEN 1 ELSE 0 END', 10)}) AS v{n}"
            for n in range(50)
        )
        + " PATTERN A+ WITHIN 1;",
        "the expressions of the query have more than 50,000 parts",
    ),
    "values of values": (
        named_values("@ + @", 1_000),
        "the expressions of the query have more than 50,000 parts",
    ),
    "many values of values": (
        named_values("@ + 1", 1_000),
        "the expressions of the query have more than 50,000 parts",
    ),
    "HAVING": (
        "QUERY q RETURN COUNT(*) PATTERN A+ WITHIN 1 HAVING "
        + nested("COUNT(*)", "CASE WHEN @ BETWEEN 0 AND 1 THEN 1 ELSE 0 END", 30)
        + " > 0;",
        "the expressions of the query have more than 50,000 parts",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(("text", "message"), HUGE.values(), ids=HUGE.keys())
def test_what_is_too_large_is_refused_cheaply(text: str, message: str) -> None:
    error = refused_cheaply(QueryError, lambda: read_workload(text, SCHEMA))
    assert message in str(error)
    assert error.exit_code == 2


def test_a_long_list_of_values_is_read() -> None:
    values = ", ".join(map(str, range(4_500)))
    [found] = read_workload(query(where=f"A.x + 1 IN ({values})"), SCHEMA).queries
    assert len(found.local_predicates) == 1


def test_the_place_of_an_expression_that_is_too_large() -> None:
    text = named_values("@ + @", 20)
    with pytest.raises(QueryError) as caught:
        read_workload(text, SCHEMA, "w.sase")
    # v14 has 2^15 - 1 parts, and the values before it have together as many without 15.
    column = text.index("v13 + v13") + 1
    assert str(caught.value).startswith(f"w.sase:1:{column}: ")


def test_the_place_of_the_query_that_is_one_too_many() -> None:
    with pytest.raises(QueryError) as caught:
        read_workload(many(20_001, ";"), SCHEMA, "w.sase")
    assert (
        str(caught.value)
        == "w.sase:20001:1: more than 20000 queries (split the workload into several files)"
    )


@pytest.mark.long
def test_ten_thousand_queries_are_read() -> None:
    assert len(read_workload(many(10_000, ";"), SCHEMA).queries) == 10_000


def test_a_file_is_read_no_further_than_the_largest_workload(tmp_path: Path) -> None:
    path = tmp_path / "w.sase"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a terabyte that takes no space
    error = refused_cheaply(QueryError, lambda: load_workload(path, SCHEMA))
    assert "is larger than 20000000 bytes" in str(error)


def test_a_pattern_that_matches_in_too_many_ways_is_refused_by_name() -> None:
    """100 parts of one type in any order: 100^4 steps through the product of its automaton."""
    choices = " OR ".join(f"A a{i}" for i in range(100))
    workload = read_workload(query(f"({choices})+", "a0.x > 1"), SCHEMA)
    error = refused_cheaply(UnsupportedQueryError, lambda: require(workload.queries))
    assert "greta cannot run q: it can match a trend in too many ways" in str(error)


@pytest.mark.parametrize(
    "code",
    [
        "__import__('os').system('true')",
        "(lambda: A.x)() > 1",
        "A.x.__class__ = 1",
        "A.__class__ = 1",
        "eval('1') = 1",
        "open('f') IS NULL",
        "getattr(A, 'x') = 1",
        "A.x = 1 UNION SELECT 1",
        "A.x = (SELECT 1)",
        "java_method('java.lang.System', 'exit', 0) = 1",
        "A.x = $(reboot)",
        "A.x = `reboot`",
        "A.x = {{ ds }}",
        "A.x = {A.x}",
        "A.x = %(x)s",
    ],
)
def test_code_in_a_condition_is_no_condition(code: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_workload(query(where=code), SCHEMA, "w.sase")
    assert str(caught.value).startswith("w.sase:1:")


@pytest.mark.parametrize("text", ["1' OR '1'='1", "{0.__class__}", "%s", "{{ 7 * 7 }}", "'; --"])
def test_code_in_a_string_stays_a_string(text: str) -> None:
    quoted = text.replace("'", "''")
    (bound,) = read_workload(query(where=f"A.s = '{quoted}'"), SCHEMA).queries
    assert f"'{quoted}'" in bound.text


@pytest.mark.parametrize(
    ("name", "twin"),
    [
        ("A", "\u0410"),  # Cyrillic A
        ("A", "\uff21"),  # full width
        ("A", "A\u200b"),  # a space without width
        ("A", "A\u0301"),  # with an accent of its own
        ("A", "\u202eA"),  # written from right to left
    ],
)
def test_letters_that_look_alike_are_no_letters_of_names(name: str, twin: str) -> None:
    read_workload(query(f"{name}+"), SCHEMA)
    with pytest.raises(QueryError) as caught:
        read_workload(query(f"{twin}+"), SCHEMA)
    assert str(caught.value).isprintable()


def test_twins_in_strings_are_different_strings() -> None:
    """Both are é: nothing is normalised, so they are as different as their code points."""
    texts = {
        read_workload(query(where=f"A.s = '{text}'"), SCHEMA).queries[0].fingerprint
        for text in ("\u00e9", "e\u0301")
    }
    assert len(texts) == 2


@pytest.mark.parametrize("sign", "+-*/%")
def test_a_long_sum_is_printed_once(sign: str) -> None:
    """The text of an output is its name. Each operand is printed once: not 2^90 times."""
    text = f" {sign} ".join(["A.x"] * 90)
    returned = f"SUM({text})"
    read = read_workload(f"QUERY q RETURN {returned} PATTERN A+ WITHIN 1;", SCHEMA)
    assert read.queries[0].outputs[0].name == returned
