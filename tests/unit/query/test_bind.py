"""Binding: every fault of a query with its place, and what right queries become."""

from __future__ import annotations

import pytest

from elsinore.errors import QueryError
from elsinore.query.bind_query import bind_workload
from elsinore.query.parse import parse_workload
from elsinore.windows.window import Window
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema(
    {
        "Request": {"driver": "string", "fee": "double"},
        "Travel": {"driver": "string", "speed": "long", "at": "timestamp", "ok": "boolean"},
        "Cancel": {"driver": "string"},
    }
)
RIDES = stream_schema({"Travel": {"speed": "long"}}, "iso")


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("COUNT(*) PATTERN Travl+ WITHIN 1", "no event type Travl (did you mean Travel?)"),
        ("COUNT(*) PATTERN SEQ(Travel, Travel) WITHIN 1", "Travel names 2 parts of the pattern"),
        ("COUNT(*) PATTERN NOT Travel WITHIN 1", "NOT cannot be a whole pattern"),
        ("COUNT(*) PATTERN (NOT Travel)+ WITHIN 1", "NOT can only stand inside SEQ"),
        ("COUNT(*) PATTERN SEQ(NOT Travel) WITHIN 1", "nothing but NOT"),
        ("COUNT(*) PATTERN SEQ(Travel, NOT Request, NOT Cancel) WITHIN 1", "two NOT in a row"),
        ("COUNT(*) PATTERN SEQ(Travel, (Request AND Cancel)) WITHIN 1", "AND can only stand at"),
        ("SUM(T.speed) PATTERN Travel T AND Request WITHIN 1", "no aggregate but COUNT(*)"),
        ("COUNT(*) PATTERN Travel T WHERE T.sped > 1 WITHIN 1", "no attribute sped (did you mean"),
        ("COUNT(*) PATTERN Travel T WHERE X.speed > 1 WITHIN 1", "the pattern has no X"),
        ("COUNT(*) PATTERN Travel T WHERE T.speed > 'a' WITHIN 1", "cannot compare a long with a"),
        ("COUNT(*) PATTERN Travel T WHERE T.speed = NULL WITHIN 1", "write IS NULL"),
        ("COUNT(*) PATTERN Travel T WHERE T.ok < TRUE WITHIN 1", "truth values have no order"),
        ("COUNT(*) PATTERN Travel T WHERE T.speed WITHIN 1", "a condition is wanted, not a long"),
        ("COUNT(*) PATTERN Travel T WHERE 1 = 1 WITHIN 1", "reads no attribute"),
        ("COUNT(*) PATTERN Travel T WHERE foo(T.speed) WITHIN 1", "there is no function foo"),
        ("COUNT(*) PATTERN Travel T WHERE NEXT(T).speed > 1 WITHIN 1", "NEXT(...) stands alone"),
        ("COUNT(*) PATTERN Travel T WHERE T.speed < NEXT(T).speed WITHIN 1", "never comes right"),
        (
            "COUNT(*) PATTERN SEQ(Request R, Travel T, Cancel C) WHERE R.driver = NEXT(C).driver"
            " WITHIN 1",
            "C never comes right after R",
        ),
        (
            "COUNT(*) PATTERN SEQ(Request R, Travel T) WHERE R.driver = T.driver WITHIN 1",
            "about R, T at once",
        ),
        ("COUNT(*) PATTERN Travel T WHERE [T.speed] OR T.ok WITHIN 1", "can only stand beside AND"),
        ("COUNT(*) PATTERN Travel WHERE [fee] WITHIN 1", "no event of a trend carries fee"),
        ("speed, COUNT(*) PATTERN Travel WITHIN 1", "speed is not in GROUP-BY"),
        ("speed PATTERN Travel GROUP-BY speed WITHIN 1", "RETURN names no aggregate"),
        ("COUNT(*), COUNT(*) PATTERN Travel WITHIN 1", "returned twice"),
        ("SUM(*) PATTERN Travel WITHIN 1", "SUM needs an attribute"),
        ("SUM(Travel) PATTERN Travel WITHIN 1", "write SUM(X.attribute)"),
        ("COUNT(T.speed) PATTERN Travel T WITHIN 1", "write COUNT(T)"),
        ("SUM(T.driver) PATTERN Travel T WITHIN 1", "SUM of a string has no meaning"),
        ("SUM(T.at) PATTERN Travel T WITHIN 1", "SUM of a timestamp has no meaning"),
        ("COUNT(C) PATTERN SEQ(Travel, NOT Cancel C) WITHIN 1", "part of no trend"),
        ("MEDIAN(T.speed) PATTERN Travel T WITHIN 1", "there is no aggregate MEDIAN"),
        ("COUNT(*) PATTERN Travel", "there is no WITHIN clause"),
        ("COUNT(*) PATTERN Travel WITHIN 0", "WITHIN must be positive"),
        ("COUNT(*) PATTERN Travel WITHIN 5 SLIDE 6", "SLIDE is longer than WITHIN"),
        ("COUNT(*) PATTERN Travel WITHIN 5 SLIDE -1", "SLIDE must be positive"),
        ("COUNT(*) PATTERN Travel WITHIN 5 minutes", "time has no unit"),
        ("COUNT(*) PATTERN Travel WITHIN 1.5", "in whole microseconds"),
    ],
)
def test_a_wrong_query_is_refused_with_its_reason(query: str, fault: str) -> None:
    with pytest.raises(QueryError) as caught:
        bound_query(f"RETURN {query}", SCHEMA)
    (found,) = caught.value.diagnostics
    assert fault in str(found)
    assert found.location is not None
    assert found.location.column is not None


def test_all_faults_of_all_queries_come_at_once() -> None:
    text = (
        "QUERY a RETURN COUNT(*) PATTERN Travel T WHERE T.x = 1 AND T.y = 2 WITHIN 0;"
        "QUERY A RETURN COUNT(*) PATTERN Nothing WITHIN 1;"
    )
    with pytest.raises(QueryError) as caught:
        bind_workload(parse_workload(text), SCHEMA)
    assert len(caught.value.diagnostics) == 6  # x, y, WITHIN, the type, and the name twice


@pytest.mark.parametrize(
    ("clause", "window"),
    [
        ("WITHIN 20 minutes SLIDE 1 minute", Window(1_200_000_000, 60_000_000)),
        ("WITHIN 0.5 hours", Window(1_800_000_000, 1_800_000_000)),
        ("WITHIN 7 microseconds SLIDE 1 microsecond", Window(7, 1)),
    ],
)
def test_windows_of_calendar_streams(clause: str, window: Window) -> None:
    assert bound_query(f"RETURN COUNT(*) PATTERN Travel {clause}", RIDES).window == window


def test_calendar_windows_need_a_unit() -> None:
    with pytest.raises(QueryError, match="WITHIN needs a unit"):
        bound_query("RETURN COUNT(*) PATTERN Travel WITHIN 5", RIDES)


def test_keys_know_who_carries_them() -> None:
    query = bound_query(
        "RETURN driver, COUNT(*) PATTERN SEQ(Request R, Travel T+, Cancel C) "
        "WHERE [driver, T.ok] AND T.speed > 1 GROUP-BY driver WITHIN 9",
        SCHEMA,
    )
    keys = [(k.attribute, sorted(k.positions), k.equivalence, k.group_label) for k in query.keys]
    assert keys == [
        ("driver", [0, 1, 2], True, "driver"),
        ("ok", [1], True, None),
    ]  # fmt: skip


def test_the_fingerprint_is_of_the_meaning_not_of_the_spelling() -> None:
    first = bound_query("RETURN COUNT(*) PATTERN SEQ(SEQ(Request), (Travel+)+) WITHIN 5", SCHEMA)
    second = bound_query("return  COUNT(*)  pattern seq(Request, Travel+) within 5", SCHEMA)
    third = bound_query("RETURN COUNT(*) PATTERN SEQ(Request, Travel) WITHIN 5", SCHEMA)
    assert first.fingerprint == second.fingerprint != third.fingerprint
