"""Steps through the pipeline: published, checked, shown, and withdrawn after late events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import elsinore
from elsinore.cli.main import run_command
from elsinore.lake.views import connect
from elsinore.settings import Settings
from elsinore.store.tables import RESULTS, Lake
from tests.homes import NewHome
from tests.landing_zone import run_hours

pytestmark = pytest.mark.spark

SCHEMA = """
stream: shop
time: {field: at, unit: iso}
type: {field: kind}
id: {field: id}
types:
  View: {user: string, page: string, price: long}
  Cart: {user: string}
  Buy: {user: string}
  Block: {user: string}
"""
QUERIES = """
-- How many users buy? Users without a block.
-- headline: {keys:user} of {keys of step 1} bought
QUERY funnel RETURN STEPS PATTERN SEQ(NOT Block, View+, Cart, Buy) WHERE [user] WITHIN 1 hour;
QUERY by_page RETURN STEPS PATTERN SEQ(View V, Cart, Buy) WHERE [user] GROUP-BY V.page
WITHIN 2 hours SLIDE 1 hour;
QUERY prices RETURN MEDIAN(EACH V.price) AS middle, PERCENTILE(EACH V.price, 0.9) AS p90,
PERCENTILE(EACH V.time, 0) AS earliest PATTERN SEQ(View V+, Cart) WHERE [user] WITHIN 1 hour;
QUERY carts RETURN COUNT(*) PATTERN SEQ(View V, Cart) WHERE [user] GROUP-BY V.page
WITHIN 2 hours SLIDE 1 hour;
"""


@pytest.fixture
def settings(new_spark_home: NewHome) -> Settings:
    made = new_spark_home()
    schema, queries = made.home / "shop.yaml", made.home / "shop.sase"
    schema.write_text(SCHEMA)
    queries.write_text(QUERIES)
    given = {"schema_file": schema, "workload_file": queries, "late_arrival_days": 1}
    return made.model_copy(update=given)


def event(kind: str, user: str, hour: int, minute: int, **more: Any) -> dict[str, Any]:
    at = f"2013-01-01T{hour:02}:{minute:02}:00Z"
    more |= {"price": 7 * minute} if kind == "View" else {}
    return {"id": f"{kind}{user}{hour}{minute}", "kind": kind, "user": user, "at": at, **more}


def put(settings: Settings, hour: int, *events: dict[str, Any]) -> Path:
    path = settings.landing / f"2013/01/01/events-2013-01-01T{hour:02}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in events))
    return path


#: ann buys, bob only fills the cart, cam only views, and dan has bought before.
FIRST = (
    event("View", "ann", 10, 1, page="p"), event("View", "ann", 10, 2, page="q"),
    event("View", "bob", 10, 3, page="p"), event("View", "cam", 10, 4, page="r"),
    event("Cart", "ann", 10, 5), event("Cart", "bob", 10, 6), event("Buy", "ann", 10, 7),
)  # fmt: skip
SECOND = (event("View", "dan", 11, 5, page="p"), event("Cart", "dan", 11, 6))

_Place = tuple[str, str, Any, Any]


def published(settings: Settings) -> dict[_Place, dict[str, int]]:
    """The published values by query, group, window and step."""
    found: dict[_Place, dict[str, int]] = {}
    for row in Lake.open(settings).rows(RESULTS).to_pylist():
        if row["query"] == "prices":
            continue
        place = row["query"], row["group_key"], row["window_start"], row["step"]
        found.setdefault(place, {})[row["aggregate"]] = int(row["exact"])
    return found


def answered(settings: Settings, *files: Path) -> dict[_Place, dict[str, int]]:
    """What the library says of the windows that end by the last hour."""
    work = elsinore.workload(settings.workload_file, schema=settings.schema_file)
    found = {}
    for name, table in work.run([*files]).items():
        for row in table.to_pylist() if name != "prices" else ():
            group = json.dumps({"page": row["page"]} if "page" in row else {})
            place = name, group, row["window_start"], row.get("step")
            values = {k: v for k, v in row.items() if k in ("trends", "keys", "COUNT(*)")}
            if row["window_end"].hour <= 10 + len(files) and row["window_end"].day == 1:
                found[place] = values
    return found


def steps(values: Mapping[_Place, dict[str, int]], query: str, hour: int) -> list[tuple[int, int]]:
    """Trends and keys of each step of a query without groups."""
    own = {place[3]: one for place, one in values.items()
           if place[0] == query and place[2].hour == hour}  # fmt: skip
    return [(own[step]["trends"], own[step]["keys"]) for step in sorted(own)]


def test_steps_are_published_checked_shown_and_withdrawn(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Settings, "load", lambda: settings)
    files = [put(settings, 10, *FIRST), put(settings, 11, *SECOND)]
    run_hours(settings, 10, 12)
    found = published(settings)
    assert found == answered(settings, *files)
    assert steps(found, "funnel", 10) == [(5, 3), (4, 2), (3, 1)]
    assert steps(found, "funnel", 11) == [(1, 1), (1, 1), (0, 0)]
    lake = Lake.open(settings)
    checks = lake.rows("validations").to_pylist()
    own = [one for one in checks if one["query"] == "funnel" and one["group_key"] != "*"]
    assert {one["aggregate"] for one in own} == {
        f"{value} of step {step}" for value in ("trends", "keys") for step in (1, 2, 3)
    }
    assert all(one["status"] == "checked" and not one["mismatch"] for one in own)

    view = connect(settings).sql(
        "SELECT step, trends, keys FROM funnel ORDER BY window_start, step"
    )
    assert [tuple(map(int, row)) for row in view.fetchall()] == [
        (1, 5, 3), (2, 4, 2), (3, 3, 1), (1, 1, 1), (2, 1, 1), (3, 0, 0),
    ]  # fmt: skip
    # Views before a cart: of ann at minutes 1 and 2, of bob at 3; of dan at 5.
    sql = "SELECT middle, p90, earliest FROM prices ORDER BY window_start"
    assert [row[:2] for row in connect(settings).sql(sql).fetchall()] == [(14.0, 21), (35.0, 35)]
    assert [row[2].minute for row in connect(settings).sql(sql).fetchall()] == [1, 5]
    own = [one for one in checks if one["query"] == "prices" and one["group_key"] != "*"]
    assert len(own) == 2 * 3
    assert all(one["status"] == "checked" and not one["mismatch"] for one in own)

    page = (settings.reports / "2013-01-01T10_2013-01-01T12.html").read_text()
    assert "1 user of 3 bought" in page
    assert "step 1: trends <b>5</b>, keys <b>3</b>" in page
    csv = (settings.reports / "2013-01-01T10_2013-01-01T12" / "by_page.csv").read_text()
    assert csv.startswith("page,window_start,window_end,step,trends,keys\n")
    arguments = ["why", "funnel", "{}", "2013-01-01T10:00"]
    assert run_command([*arguments, "--step", "2", "--limit", "1"]) == 0
    told = capsys.readouterr().out
    assert "keys of step 3 = 1" in told
    assert "and 3 more" in told
    at = told.index("distinct   2 distinct values, as in keys")
    assert told[at:].splitlines()[1:] == ["           ann", "           and 1 more"]
    assert run_command([*arguments, "--step", "4"]) == 2
    assert "query funnel has no step 4 (use a number from 1 to 3)" in capsys.readouterr().err

    # dan was blocked before his view, and ann before her purchase: the file comes later.
    late = [event("Block", "dan", 11, 0), event("Cart", "cam", 10, 9)]
    files.append(put(settings, 12, *late))
    run_hours(settings, 12, 13)
    found = published(settings)
    assert found == answered(settings, *files)
    assert steps(found, "funnel", 10) == [(5, 3), (5, 3), (3, 1)]
    assert steps(found, "funnel", 11) == []  # withdrawn with all of its steps


def test_tasks_and_frames_give_the_steps_of_the_library(spark: SparkSession) -> None:
    """Tasks are split by the keys that count, and one task has all keys of a scoped one."""
    text = QUERIES + (
        "QUERY scoped RETURN STEPS PATTERN SEQ(View, Cart C, Buy B) WHERE [C.user] AND [B.user] "
        "WITHIN 1 hour;"
        "QUERY pages RETURN STEPS PATTERN SEQ(View a, View b) WHERE [user, page] WITHIN 1 hour;"
    )
    work = elsinore.workload(text, schema=SCHEMA)
    rows = pa.Table.from_pylist([{"page": None} | each for each in (*FIRST, *SECOND)])
    result = elsinore.spark.run(work, spark.createDataFrame(rows), max_error_rate=1, parts=3)
    found = {
        (row["query"], row["group"], row["window_start"], row["step"], row["aggregate"]): row[
            "value"
        ]
        for row in result.toArrow().to_pylist()
        if row["aggregate"] != "earliest"
    }
    wanted = {}
    for name, table in work.run(rows).items():
        for row in table.to_pylist():
            group = json.dumps({"page": row["page"]} if "page" in row else {})
            place = name, group, row["window_start"], row.get("step")
            for value in ("trends", "keys", "COUNT(*)", "middle", "p90"):
                if value in row:
                    wanted[(*place, value)] = row[value]
    assert found == wanted
    assert {place[3] for place in wanted} == {None, 1, 2, 3}
