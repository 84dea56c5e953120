"""SESSION, UP TO and BY: their syntax, their names, and what is refused."""

from __future__ import annotations

import pytest

from elsinore.errors import QueryError
from elsinore.query.parse import parse_workload
from elsinore.query.print_query import print_query
from elsinore.timeline import DAY, MINUTE
from elsinore.windows import Session, Window
from tests.golden_cases import bound_query, stream_schema

TICKS = stream_schema({"A": {"u": "long", "first": "long"}, "B": {"u": "long"}, "N": {"u": "long"}})
CALENDAR = stream_schema({"A": {"u": "long", "d": "long"}, "B": {"u": "long"}, "C": {}}, "us")
AB = frozenset("AB")


def said(clauses: str, pattern: str = "SEQ(A, B)") -> list[str]:
    """The messages and fixes of a query over times with units."""
    with pytest.raises(QueryError) as raised:
        bound_query(f"RETURN COUNT(*) PATTERN {pattern} {clauses}", CALENDAR)
    return [f"{one.message} | {one.hint}" for one in raised.value.diagnostics]


@pytest.mark.parametrize(
    ("clauses", "session"),
    [
        ("SESSION 30 minutes BY u", Session(30 * MINUTE, None, ("u",), AB)),
        ("session 1.5 minutes up to 1 day by u", Session(90_000_000, DAY, ("u",), AB)),
        ("SESSION 30 minutes -- or so\n UP -- at most\n TO 30 minutes BY u",
         Session(30 * MINUTE, 30 * MINUTE, ("u",), AB)),
        ("SESSION 5 BY u", Session(5, None, ("u",), AB)),
    ],
)  # fmt: skip
def test_sessions_are_printed_and_read_again(clauses: str, session: Session) -> None:
    query = bound_query(f"RETURN u, COUNT(*) PATTERN SEQ(A, B) {clauses}", CALENDAR)
    assert query.window == Window.of_session(session)
    [again] = parse_workload(print_query(query.source))
    assert again == query.source


@pytest.mark.parametrize("by", ["first", "first, u", "u, first"])
def test_an_attribute_is_called_first(by: str) -> None:
    query = bound_query(f"RETURN COUNT(*) PATTERN A+ SESSION 5 BY {by}", TICKS)
    assert query.window.session is not None
    assert query.window.session.keys == tuple(by.split(", "))


def test_types_under_not_have_sessions_too() -> None:
    query = bound_query("RETURN COUNT(*) PATTERN SEQ(A, NOT N, B) SESSION 5 BY u", TICKS)
    assert query.window.session is not None
    assert query.window.session.types == frozenset("ABN")


def test_by_is_an_equivalence_and_a_group() -> None:
    query = bound_query("RETURN COUNT(*) PATTERN A+ GROUP-BY first SESSION 5 BY u", TICKS)
    assert [(k.attribute, k.group_label, k.equivalence) for k in query.keys] == [
        ("first", "first", False),
        ("u", "u", True),
    ]
    given = bound_query(
        "RETURN user, COUNT(*) PATTERN A+ WHERE [u] GROUP-BY u AS user SESSION 5 BY u HAVING "
        "user > 3",
        TICKS,
    )
    [key] = given.keys
    assert (key.attribute, key.group_label, key.equivalence) == ("u", "user", True)


def test_the_clause_is_a_part_of_the_fingerprint() -> None:
    texts = ["SESSION 5 BY u", "SESSION 6 BY u", "SESSION 5 UP TO 5 BY u", "SESSION 5 UP TO 9 BY u"]
    texts += ["SESSION 5 BY u, first", "WHERE [u] GROUP-BY u WITHIN 5"]
    queries = [bound_query(f"RETURN COUNT(*) PATTERN A+ {text}", TICKS) for text in texts]
    assert len({query.fingerprint for query in queries}) == len(texts)
    assert len({query.question for query in queries}) == len(texts)


def test_new_words_are_names() -> None:
    words = ["SESSION", "UP", "TO", "BY"]
    attributes = {"session": "long", "up": "long", "to": "long", "by": "long"}
    schema = stream_schema(dict.fromkeys(words, attributes))
    for word in words:
        text = (
            f"RETURN COUNT({word}) AS {word}, SUM(up.up) AS session "
            f"PATTERN SEQ({word}, {words[0 if word != 'SESSION' else 1]} up+) "
            f"WHERE up.up > 3 AND NEXT(up).to - 1 > up.to AND [up.session] AND {word}.by = 1 "
            "GROUP-BY up.to AS to HAVING session > 5 SESSION 5 UP TO 7 BY by"
        )
        query = bound_query(text, schema)
        assert query.value_names == (word, "session")
        assert query.window.session is not None
        assert query.window.session.keys == ("by",)
    [named] = parse_workload("QUERY by RETURN COUNT(*) PATTERN SEQ(A up, B to) SESSION 5 BY up;")
    assert named.name == "by"


def test_a_parameter_is_a_length() -> None:
    [query] = parse_workload("QUERY q RETURN COUNT(*) PATTERN A SESSION $gap UP TO $most BY u;")
    assert print_query(query).splitlines()[-1] == "SESSION $gap UP TO $most BY u;"


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [
        ("SESSION 10 minutes", "SESSION needs BY | as in SESSION 10 minutes BY u"),
        ("SESSION 10 minutes UP TO 1 day", "SESSION needs BY | as in SESSION 10 minutes UP TO 1 "
         "day BY u"),
        ("SESSION 10 minutes BY u WITHIN 1 hour", "SESSION and WITHIN cannot be combined | remove "
         "WITHIN; UP TO limits the length of a session"),
        ("SESSION 10 minutes BY u SPAN 1 hour PER 1 day", "SESSION and SPAN cannot be combined | "
         "remove SPAN, or remove SESSION and write [...] for its keys"),
        ("SESSION 10 minutes BY u SLIDE 1 hour", "SLIDE is not supported | write SLIDE after "
         "WITHIN; with SPAN or SESSION, remove it"),
        ("SESSION 10 minutes UP TO 9 minutes BY u", "UP TO is shorter than the gap of the session "
         "| write UP TO 10 minutes or longer"),
        ("SESSION 0 minutes BY u", "SESSION must be positive, in whole microseconds | as in "
         "SESSION 10 minutes"),
        ("SESSION 400000 days BY u", "SESSION is too long | write at most 365000 days"),
        ("SESSION 10 minutes UP TO 400000 days BY u", "UP TO is too long | write at most 365000 "
         "days"),
        ("SESSION 10 minutes BY d", "B has no attribute d, so it is in no session | as in BY u"),
        ("SESSION 10 minutes BY u, u", "u occurs 2 times in BY | remove the repetition"),
        ("GROUP-BY A.d AS u SESSION 10 minutes BY u", "two groups are called u | rename one of "
         "them"),
        ("SESSION 10 minutes BY u UP TO 1 day", "found 'UP TO' | write UP TO before BY, as in "
         "SESSION 30 minutes UP TO 1 day BY user"),
        ("SESSION GAP 10 minutes BY u", "SESSION GAP is not supported | write SESSION 30 minutes "
         "BY user"),
        ("SESSION(u, 10 minutes)", "SESSION is not supported | write SESSION 30 minutes BY user"),
    ],
)  # fmt: skip
def test_errors_name_a_fix(clauses: str, expected: str) -> None:
    assert expected in said(clauses)


def test_a_type_without_any_shared_attribute_has_no_sessions() -> None:
    assert said("SESSION 10 minutes BY u", "SEQ(A, C)") == [
        "C has no attribute u, so it is in no session | use WITHIN and [...] for keys of some types"
    ]
