"""What `why` of the library lists of EACH, DISTINCT and the keys of steps."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import elsinore

SCHEMA = """
stream: shop
time: {field: t, unit: integer}
type: {field: type}
types:
  View: {user: {type: string, nullable: true}, page: {type: double, nullable: true}}
  Buy: {user: string, price: long}
"""
EVENTS = pd.DataFrame(
    [(1, "View", "ann", 1.0, 0), (2, "View", "bob", None, 0), (3, "View", "ann", 0.0, 0),
     (4, "Buy", "ann", None, 30), (5, "View", "cid", 2.0, 0), (6, "Buy", "ann", None, 20),
     (7, "Buy", "bob", None, 10)],
    columns=["t", "type", "user", "page", "price"],
)  # fmt: skip


def why(returned: str, pattern: str = "SEQ(View V+, Buy B)", **options: Any) -> Any:
    """What is behind the row of a query per user, of which `cid` has bought nothing."""
    text = f"QUERY q RETURN {returned} PATTERN {pattern} WHERE [user] WITHIN 100;"
    return elsinore.workload(text, schema=SCHEMA).why(EVENTS, "q", {}, 0, **options)


def test_events_of_each_are_listed_once_by_time() -> None:
    (views, buys) = why("COUNT(EACH V), COUNT(EACH B), SUM(EACH B.price) AS revenue").participants
    assert [event["time"] for event in views["listed"]] == [1, 2, 3]
    assert [event["price"] for event in buys["listed"]] == [30, 20, 10]
    assert (buys["kind"], buys["aliases"]) == ("events", ["B"])
    assert buys["of"] == ["COUNT(EACH B)", "revenue"]
    assert (buys["count"], buys["left_out"], buys["reason"]) == (3, 0, None)


def test_distinct_values_are_listed_once_without_null() -> None:
    users, pages, doubled = why(
        "COUNT(DISTINCT user) AS users, COUNT(DISTINCT V.page), COUNT(DISTINCT B.price * 2) + 1"
    ).participants
    assert users["listed"] == ["ann", "bob"]
    assert users["of"] == ["users"]
    assert pages["listed"] == [1.0, 0.0]
    assert doubled["listed"] == [60, 40, 20]
    assert doubled["of"] == ["COUNT(DISTINCT B.price * 2)"]


def test_others_are_counted() -> None:
    found = why("COUNT(DISTINCT user) AS users, COUNT(EACH V) AS views", limit=1)
    assert [one["left_out"] for one in found.participants] == [1, 2]
    lines = repr(found).splitlines()
    at = lines.index("2 distinct values, as in users")
    assert lines[at:] == [
        "2 distinct values, as in users", "  ann", "  and 1 more",
        "3 events of V, as in views", "  View 1", "  and 2 more",
    ]  # fmt: skip


def test_a_group_has_its_own_events() -> None:
    text = (
        "QUERY q RETURN user, COUNT(EACH V), COUNT(DISTINCT V.page) PATTERN SEQ(View V+, Buy B) "
        "WHERE [user] GROUP-BY user WITHIN 100;"
    )
    work = elsinore.workload(text, schema=SCHEMA)
    views, pages = work.why(EVENTS, "q", {"user": "bob"}, 0).participants
    assert [event["time"] for event in views["listed"]] == [2]
    assert (pages["count"], pages["listed"]) == (0, [])
    for one in work.why(EVENTS, "q", {"user": "cid"}, 0).participants:
        assert (one["count"], one["listed"]) == (0, [])


def test_a_step_lists_its_keys() -> None:
    text = "QUERY q RETURN STEPS PATTERN SEQ(View V+, Buy B) WHERE [user] WITHIN 100;"
    work = elsinore.workload(text, schema=SCHEMA)
    (first,) = work.why(EVENTS, "q", {}, 0, step=1).participants
    (last,) = work.why(EVENTS, "q", {}, 0).participants
    assert (first["listed"], first["of"]) == (["ann", "bob", "cid"], ["keys"])
    assert last["listed"] == ["ann", "bob"]


def test_without_each_nothing_is_listed() -> None:
    assert why("COUNT(*), COUNT(V)").participants == []
    pairs = elsinore.workload(
        "QUERY q RETURN COUNT(*) PATTERN View AND Buy WITHIN 100;", schema=SCHEMA
    )
    assert pairs.why(EVENTS, "q", {}, 0).participants == []


@pytest.mark.parametrize("condition", ["", "AND V.page <= NEXT(V).page"])
def test_events_are_listed_although_trends_are_too_many(condition: str) -> None:
    views = [(t, "View", "ann", 1.0, 0) for t in range(40)]
    events = pd.DataFrame([*views, (50, "Buy", "ann", None, 5)], columns=EVENTS.columns)
    text = (
        "QUERY q RETURN COUNT(EACH V), COUNT(DISTINCT user) PATTERN SEQ(View V+, Buy B) "
        f"WHERE [user] {condition} WITHIN 100;"
    )
    found = elsinore.workload(text, schema=SCHEMA).why(events, "q", {}, 0, limit=3)
    assert found.count is None
    of_views, users = found.participants
    assert (of_views["count"], len(of_views["listed"]), of_views["left_out"]) == (40, 3, 37)
    assert (users["count"], users["listed"]) == (1, ["ann"])
