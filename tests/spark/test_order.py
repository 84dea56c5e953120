"""Streams with `time.then` in the pipeline: rows, checks, late events, and `elsinore why`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import elsinore
from elsinore.cli.main import run_command
from elsinore.lake.own_workload import load_own_workload
from elsinore.quality.validate import VALIDATIONS
from elsinore.reference.two_step import two_step
from elsinore.results.published import numbers_of
from elsinore.settings import Settings
from elsinore.store.tables import RESULTS, Lake
from elsinore.timeline import instant_of, parse_instant
from tests.homes import NewHome
from tests.landing_zone import put, run_hours

pytestmark = pytest.mark.spark

SCHEMA = """
stream: shop
time: {{field: at, unit: iso{then}}}
type: {{field: kind}}
id: {{field: id}}
types:
  View: {{user: string, price: long}}
  Buy: {{user: string}}
"""
QUERIES = """
QUERY bought RETURN COUNT(*), COUNT(EACH V) AS views, MAX(DURATION) AS longest, SUM(V.price)
PATTERN SEQ(View V+, Buy) WHERE [user] WITHIN 1 hour;
QUERY rising RETURN user, COUNT(*) PATTERN View V{2,} WHERE V.price < NEXT(V).price
GROUP-BY user SPAN 90 minutes PER 1 hour;
QUERY bare RETURN COUNT(*) PATTERN SEQ(View, NOT View V, Buy) WHERE [user]
WITHIN 2 hours SLIDE 1 hour;
"""
#: User, hour, kind, price: three moments, in each of which the order of events matters.
EVENTS = (
    ("ann", 8, "View", 3), ("ann", 8, "Buy", None), ("ann", 8, "View", 5), ("bob", 8, "View", 1),
    ("bob", 9, "View", 2), ("ann", 9, "View", 7), ("ann", 9, "View", 9), ("ann", 9, "Buy", None),
    ("bob", 9, "Buy", None), ("ann", 10, "Buy", None), ("bob", 10, "View", 4),
    ("bob", 10, "View", 3), ("bob", 10, "Buy", None),
)  # fmt: skip


def event(number: int, seq: int, user: str, hour: int, kind: str, price: int | None) -> Any:
    at = {"id": f"e{number}", "at": f"2013-01-01T{hour:02}:30:00Z", "seq": seq}
    return at | {"kind": kind, "user": user} | ({} if price is None else {"price": price})


RECORDS = [event(n, 10 * n, *each) for n, each in enumerate(EVENTS)]


def made(new_spark_home: NewHome, then: str) -> Settings:
    home = new_spark_home()
    schema, queries = home.home / "shop.yaml", home.home / "shop.sase"
    schema.write_text(SCHEMA.format(then=then))
    queries.write_text(QUERIES)
    given = {"schema_file": schema, "workload_file": queries, "late_arrival_days": 1}
    return home.model_copy(update=given)


def published(settings: Settings) -> set[tuple[str, ...]]:
    return {
        (row["query"], row["group_key"], str(instant_of(row["window_start"])), row["aggregate"],
         str(row["exact"]))
        for row in Lake.open(settings).rows(RESULTS).to_pylist()
    }  # fmt: skip


def expected(settings: Settings, files: list[Path], end: int) -> set[tuple[str, ...]]:
    """The rows of the reference over files, of windows that end by an hour."""
    stream = Lake.open(settings).stream
    work = elsinore.workload(settings.workload_file, schema=settings.schema_file)
    table, _ = work._read(files, 0.0, work.bound.attributes_read)
    found = set[tuple[str, ...]]()
    for query in load_own_workload(settings, stream).queries:
        for row in two_step(query, table):
            group = json.dumps(dict(row.group))
            if int(row.window_end) <= parse_instant(f"2013-01-01T{end:02}:00:00Z"):
                found |= {
                    (query.name, group, str(int(row.window_start)), name, str(numbers_of(value)[1]))
                    for name, value in row.values
                }
    return found


@pytest.mark.parametrize("then", [", then: seq", ", then: record_number"])
def test_events_with_equal_times_are_in_order(
    new_spark_home: NewHome,
    then: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    settings = made(new_spark_home, then)
    monkeypatch.setattr(Settings, "load", lambda: settings)
    files = [put(settings, hour, *(r for r in RECORDS if f"T{hour:02}" in r["at"]))
             for hour in (8, 9, 10)]  # fmt: skip
    run_hours(settings, 8, 11)
    found = published(settings)
    assert found == expected(settings, files, 11)
    bought = {row[2:] for row in found if row[0] == "bought" and row[3] == "COUNT(*)"}
    assert len(bought) == 3
    files.append(put(settings, 8, event(90, 5, "ann", 8, "View", 4), name="-late"))
    run_hours(settings, 11, 12)
    assert published(settings) == expected(settings, files, 12)
    assert published(settings) != found
    checked = Lake.open(settings).rows(VALIDATIONS).to_pylist()
    assert checked
    assert not [row for row in checked if row["mismatch"]]
    assert run_command(["why", "bought", "{}", "2013-01-01T09:00"]) == 0
    assert "event_order=" in capsys.readouterr().out
