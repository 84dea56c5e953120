"""SPAN, PER and BY: their syntax, their names, and what is refused."""

from __future__ import annotations

import pytest

from elsinore.errors import QueryError
from elsinore.query.parse import parse_workload
from elsinore.query.print_query import print_query
from elsinore.timeline import DAY, HOUR, MINUTE
from elsinore.windows import Span, Window
from tests.golden_cases import bound_query, stream_schema

TICKS = stream_schema({"A": {"v": "long"}, "B": {"v": "long"}})
CALENDAR = stream_schema({"A": {}, "B": {}, "N": {}}, "us")


def said(clauses: str, pattern: str = "SEQ(A, B)") -> list[str]:
    """The messages and fixes of a query over times with units."""
    with pytest.raises(QueryError) as raised:
        bound_query(f"RETURN COUNT(*) PATTERN {pattern} {clauses}", CALENDAR)
    return [f"{one.message} | {one.hint}" for one in raised.value.diagnostics]


@pytest.mark.parametrize(
    ("clauses", "span"),
    [
        ("SPAN 10 minutes PER 1 day", Span(10 * MINUTE)),
        ("span 10 minutes per 1 day by last", Span(10 * MINUTE)),
        ("SPAN 10 minutes -- or so\n PER 1 day BY -- the\n FIRST", Span(10 * MINUTE, True)),
    ],
)
def test_a_span_is_printed_and_read_again(clauses: str, span: Span) -> None:
    query = bound_query(f"RETURN COUNT(*) PATTERN SEQ(A, B) {clauses}", CALENDAR)
    assert query.window == Window(1440 * MINUTE, 1440 * MINUTE, span)
    [again] = parse_workload(print_query(query.source))
    assert again == query.source


def test_the_clause_is_a_part_of_the_fingerprint() -> None:
    texts = ["SPAN 5 PER 9", "SPAN 5 PER 9 BY FIRST", "SPAN 6 PER 9", "SPAN 5 PER 8", "WITHIN 9"]
    texts += ["WITHIN 9 OFFSET 2", "SPAN 5 PER 9 OFFSET 2", "WITHIN 9 OFFSET 3"]
    queries = [bound_query(f"RETURN COUNT(*) PATTERN SEQ(A, B) {text}", TICKS) for text in texts]
    assert len({query.fingerprint for query in queries}) == len(texts)
    assert len({query.question for query in queries}) == len(texts)


@pytest.mark.parametrize(
    ("pattern", "ahead"),
    [("SEQ(A, B)", False), ("SEQ(NOT N, A, B)", False), ("SEQ(A, B, NOT N)", True),
     ("SEQ(A, NOT N, B?)", True), ("SEQ(A, SEQ(NOT N, B)+)", False)],
)  # fmt: skip
def test_a_not_after_the_last_event_looks_ahead(pattern: str, ahead: bool) -> None:
    clauses = "SPAN 10 minutes PER 1 hour"
    query = bound_query(f"RETURN COUNT(*) PATTERN {pattern} {clauses}", CALENDAR)
    assert query.window.span == Span(10 * MINUTE, looks_ahead=ahead)


@pytest.mark.parametrize(
    ("clauses", "window"),
    [
        ("WITHIN 1 day OFFSET 6 hours", Window(DAY, DAY, offset=6 * HOUR)),
        ("within 1 day slide 1 hour offset -- or so\n .5 hours",
         Window(DAY, HOUR, offset=30 * MINUTE)),
        ("SPAN 1 minute PER 1 day OFFSET 6 hours BY FIRST",
         Window(DAY, DAY, Span(MINUTE, True), 6 * HOUR)),
        ("WITHIN 1 day OFFSET 0 hours", Window(DAY, DAY)),
    ],
)  # fmt: skip
def test_an_offset_is_printed_and_read_again(clauses: str, window: Window) -> None:
    query = bound_query(f"RETURN COUNT(*) PATTERN SEQ(A, B) {clauses}", CALENDAR)
    assert query.window == window
    [again] = parse_workload(print_query(query.source))
    assert again == query.source


def test_new_words_are_names() -> None:
    words = ["SPAN", "PER", "BY", "OFFSET", "SESSION", "FIRST", "LAST"]
    schema = stream_schema({word: {"span": "long", "per": "long", "by": "long"} for word in words})
    for word in words:
        text = (
            f"RETURN COUNT({word}) AS {word}, SUM(span.span) AS per "
            f"PATTERN SEQ({word}, {words[0 if word != 'SPAN' else 1]} span+) "
            f"WHERE span.per > 3 AND NEXT(span).by - 1 > span.by AND [span.span] AND {word}.by = 1 "
            "GROUP-BY span.per AS by HAVING per > 5 SPAN 5 PER 7 BY FIRST"
        )
        query = bound_query(text, schema)
        assert query.value_names == (word, "per")
        assert query.window.span == Span(5, by_first=True)
    [named] = parse_workload("QUERY span RETURN COUNT(*) PATTERN SEQ(A SPAN, B per) SPAN 5 PER 7;")
    assert named.name == "span"


def test_a_parameter_is_a_length() -> None:
    [query] = parse_workload("QUERY q RETURN COUNT(*) PATTERN A SPAN $d PER $p;")
    assert print_query(query).splitlines()[-1] == "SPAN $d PER $p;"


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("SPAN 10 minutes", "SPAN needs PER | as in SPAN 10 minutes PER 1 day"),
        ("SPAN 10 minutes BY FIRST", "SPAN needs PER | as in SPAN 10 minutes PER 1 day BY FIRST"),
        ("SPAN 10 minutes PER 1 day WITHIN 1 hour", "SPAN and WITHIN cannot be combined | remove "
         "WITHIN; PER is the length of the periods by which trends are counted"),
        ("SPAN 400000 days PER 1 day", "SPAN is too long | write at most 365000 days"),
        ("SPAN 10 minutes PER 0 days", "PER must be positive, in whole microseconds | as in PER 10 "
         "minutes"),
        ("SPAN 10 PER -1 day", "PER must be positive, in whole microseconds | as in PER 10 "
         "minutes"),
        ("SPAN 10 minutes PER 1 day SLIDE 1 hour", "SLIDE is not supported | write SLIDE after "
         "WITHIN; with SPAN or SESSION, remove it"),
        ("SPAN 10 minutes PER 1 day OFFSET 30 hours", "OFFSET is not less than PER | write OFFSET "
         "6 hours, which means the same"),
        ("SPAN 10 minutes OFFSET 6 hours PER 1 day", "OFFSET is not supported | write OFFSET "
         "after SLIDE or PER, as in PER 1 day OFFSET 6 hours"),
        ("WITHIN 1 day OFFSET 1 day", "OFFSET is not less than WITHIN | remove it, which means the "
         "same"),
        ("WITHIN 1 day SLIDE 1 hour OFFSET 90 minutes", "OFFSET is not less than SLIDE | write "
         "OFFSET 30 minutes, which means the same"),
        ("WITHIN 1 day OFFSET -1 hour", "OFFSET must be at least 0, in whole microseconds | as in "
         "OFFSET 10 minutes"),
        ("WITHIN 1 day OFFSET 6 hours SLIDE 12 hours", "SLIDE is not supported | write SLIDE after "
         "WITHIN; with SPAN or SESSION, remove it"),
        ("SPAN ten minutes", "found 'SPAN' | as in SPAN 10 minutes PER 1 day"),
        ("WITHIN 5 minutes PER 1 day", "found 'PER' | write PER after SPAN, as in SPAN 10 minutes "
         "PER 1 day"),
        ("SPAN 5 minutes PER 1 day SPAN 5 minutes PER 1 day", "a second SPAN clause | join "
         "conditions with AND, and attributes with ','"),
    ],
)  # fmt: skip
def test_errors_name_the_fix(clauses: str, expected: str) -> None:
    assert said(clauses) == [expected]


def test_pairs_of_trends_have_no_span() -> None:
    expected = ["SPAN cannot limit pairs of trends (AND) | use WITHIN instead"]
    assert said("SPAN 5 minutes PER 1 day", "A AND B") == expected
