"""Sessions in the commands and the Python API: check, explain, plan, why, and the pipeline."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import elsinore
from elsinore.errors import ParameterError, UnsupportedQueryError
from elsinore.template.support import pipeline_refusals, require

SCHEMA = """
stream: shop
time: {field: at, unit: iso}
type: {field: kind}
types:
  View: {user: {type: string, nullable: true}, price: long}
  Buy: {user: {type: string, nullable: true}, price: long}
  Ping: {}
"""
VISITS = "RETURN user, COUNT(*) AS n, COUNT(EACH Buy) AS buys PATTERN SEQ(View V+, Buy)"
SESSION = "SESSION 30 minutes UP TO 1 day BY user"


def events() -> pa.Table:
    """Ann has two visits, the second after midnight; bob has one; one view has no user."""
    rows = [
        ("View", "ann", 23, 10), ("View", "ann", 23, 40), ("Buy", "ann", 24, 10),
        ("View", "bob", 23, 20), ("View", "ann", 25, 0), ("Buy", "ann", 25, 5),
        ("View", None, 25, 1),
    ]  # fmt: skip
    return pa.Table.from_pylist(
        [
            {"kind": kind, "user": user, "price": 1, "at": _at(hour, minute)}
            for kind, user, hour, minute in rows
        ]
    )


def _at(hour: int, minute: int) -> datetime:
    return datetime(2025, 3, 3 + hour // 24, hour % 24, minute, tzinfo=UTC)


def visits(text: str = f"{VISITS} {SESSION}", schema: str = SCHEMA) -> Any:
    return elsinore.workload(f"QUERY visits {text};", schema=schema)


def test_a_visit_has_no_border_at_midnight() -> None:
    assert visits().run(events())["visits"].to_pylist() == [
        {"user": "ann", "window_start": _at(23, 10), "window_end": _at(24, 40), "n": 3, "buys": 1},
        {"user": "ann", "window_start": _at(25, 0), "window_end": _at(25, 35), "n": 1, "buys": 1},
    ]


def test_check_describes_sessions() -> None:
    [found] = visits().check().to_list()
    assert found["window"] == "session, gap 30 minutes, up to 1 day, by user"
    assert (found["gap"], found["up_to"], found["by"]) == (1_800_000_000, 86_400_000_000, ["user"])
    assert found["window_notes"] == [
        "events of Buy, View with equal user, each at most 30 minutes after the one before it",
        "each match counts once, if all its events are in one session",
        "an event more than 1 day after the first starts the next session",
        "not in the pipeline: a late event can change sessions of any later hour",
    ]
    assert found["adds_up_over"] == ["groups", "sessions"]
    assert found["executors"][-1] == "twostep"
    assert {"greta", "hamlet", "sweep"} < set(found["executors"])
    [ticks] = (
        visits(
            "RETURN COUNT(*) PATTERN A SESSION 5 BY u",
            "stream: s\ntime: {field: t, unit: integer}\ntypes: {A: {u: long}}",
        )
        .check()
        .to_list()
    )
    assert ticks["window"] == "session, gap 5, by u"
    assert "up_to" not in ticks


def test_explain_and_plan_name_the_clause() -> None:
    work = elsinore.workload(
        f"QUERY a {VISITS} {SESSION}; QUERY b RETURN COUNT(*) PATTERN SEQ(View+, Buy) {SESSION};"
        "QUERY c RETURN COUNT(*) PATTERN SEQ(View, Buy) SESSION 1 hour BY user;"
        "QUERY d RETURN COUNT(*) PATTERN SEQ(View, Buy) SESSION 1 hour BY user SEMANTICS "
        "contiguous;",
        schema=SCHEMA,
    )
    told = work.explain(events()).to_dict()
    clauses = {query["query"]: query["window"] for query in told["queries"]}
    assert clauses["a"] == SESSION
    assert clauses["c"] == "SESSION 1 hour BY user"
    assert "SESSION" not in str(work.plan(events()))  # lengths only


def test_why_lists_the_trends_of_a_session() -> None:
    found = visits().why(events(), "visits", {"user": "ann"}, "2025-03-03T23:10")
    assert found.count == 3
    assert [len(trend) for trend in found.trends] == [3, 2, 2]
    [participants] = found.participants
    assert participants["count"] == 1
    assert visits().why(events(), "visits", {"user": "ann"}, _at(25, 0)).count == 1
    assert visits().why(events(), "visits", {"user": "bob"}, _at(23, 20)).count == 0


@pytest.mark.parametrize(
    ("user", "start", "message", "hint"),
    [
        ("ann", "2025-03-04T00:00", "no session of visits with this group starts at "
         "2025-03-04T00:00", "use 2025-03-03T23:10:00.000000Z or 2025-03-04T01:00:00.000000Z"),
        ("cam", "2025-03-04T00:00", "no session of visits with this group starts at "
         "2025-03-04T00:00", "use a group with events"),
        (None, "2025-03-04T01:01", "no session of visits with this group starts at "
         "2025-03-04T01:01", "use a group with events"),
        ("ann", "soon", "", "pass the start of a session, as in 2013-02-08T10:05:23"),
    ],
)  # fmt: skip
def test_why_names_the_starts_of_sessions(
    user: str | None, start: str, message: str, hint: str
) -> None:
    with pytest.raises(ParameterError) as raised:
        visits().why(events(), "visits", {"user": user}, start)
    assert str(raised.value.message).startswith(message)
    assert str(raised.value.hint) == hint


def test_why_of_a_contiguous_session_and_of_a_step() -> None:
    work = visits(f"RETURN STEPS PATTERN SEQ(View, Buy) {SESSION} SEMANTICS contiguous")
    start = {"window": _at(23, 10), "group": {"user": "ann"}}
    assert work.why(events(), "visits", **start).count == 1
    assert work.why(events(), "visits", **start, step=1).count == 2
    with_ping = pa.concat_tables(
        [events(), pa.table({"kind": ["Ping"], "at": [_at(24, 0)]})], promote_options="default"
    )
    assert work.why(with_ping, "visits", **start).count == 0


def test_the_pipeline_refuses_sessions() -> None:
    with pytest.raises(UnsupportedQueryError) as raised:
        require(visits().bound.queries, "the pipeline", pipeline_refusals)
    [found] = raised.value.diagnostics
    assert found.message == (
        "the pipeline cannot run visits: a late event can change sessions of any later hour"
    )
    assert found.hint == "run it by elsinore run or elsinore.spark.run, or write SPAN ... PER ..."
