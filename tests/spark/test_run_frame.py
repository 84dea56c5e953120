"""`elsinore.spark.run` over DataFrames: the rows of the library over the same events."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import elsinore
from elsinore.errors import DataError, UnsupportedQueryError
from elsinore.integers import digits_of
from elsinore.results.row import plain_value
from elsinore.template.support import greta_refusals
from tests.draws import draws
from tests.property.test_library import drawn, plain, raw_events, yaml_of

SCHEMA = """
stream: clicks
time: {field: at, unit: iso}
type: {field: kind}
id: {field: id}
types:
  View: {user: string, price: {type: double, min: 0}}
  Buy: {user: string}
"""
QUERIES = """
QUERY funnel RETURN user, COUNT(*), AVG(View.price) PATTERN SEQ(View+, Buy) WHERE [user]
GROUP-BY user WITHIN 1 hour;
QUERY pairs RETURN COUNT(*) PATTERN SEQ(View a, View b) WITHIN 1 hour;
"""


def click(number: int, kind: str, user: str | None, price: float | None = None) -> dict[str, Any]:
    at = datetime(2025, 3, 3, 10, number, tzinfo=UTC)
    return {"id": f"e{number}", "at": at, "kind": kind, "user": user, "price": price, "a.b": "x"}


CLICKS = [
    *(click(n, "View", "ann" if n % 2 else "bob", 1.0 * n) for n in range(20)),
    click(20, "Buy", "ann"), click(21, "Buy", "bob"), click(22, "Buy", "ann"),
]  # fmt: skip


def frame(spark: SparkSession, rows: list[dict[str, Any]]) -> Any:
    return spark.createDataFrame(pa.Table.from_pylist(rows))


def long_rows(results: elsinore.Results, groups: dict[str, int]) -> list[str]:
    """Tables as long rows: query, group, window, aggregate, exact digits or a number."""
    found = []
    for name, table in results.items():
        for row in table.to_pylist():
            cells = list(row.items())
            at = groups[name]
            group = json.dumps({n: plain(v) for n, v in cells[:at]})
            bounds = [plain(value) for _, value in cells[at : at + 2]]
            for label, value in cells[at + 2 :]:
                found.append(spelled(name, group, bounds, label, value))
    return sorted(found)


def spelled(query: str, group: str, bounds: list[Any], label: str, value: Any) -> str:
    if isinstance(value, datetime):
        value = round(value.timestamp() * 1e6)
    if isinstance(value, timedelta):
        value = value // timedelta(microseconds=1)
    if isinstance(value, int | Decimal):
        value = str(int(value))
    return json.dumps([query, json.loads(group), bounds, label, plain_value(value)])


def spark_rows(result: Any) -> list[str]:
    found = []
    for row in result.toArrow().to_pylist():
        bounds = [plain(utc(row[name])) for name in ("window_start", "window_end")]
        value = row["value"] if row["exact"] is None else int(row["exact"])
        found.append(spelled(row["query"], row["group"], bounds, row["aggregate"], value))
    return sorted(found)


def utc(value: Any) -> Any:
    return value.astimezone(UTC) if isinstance(value, datetime) else value


def group_sizes(workload: elsinore.Workload) -> dict[str, int]:
    return {query.name: len(query.group_keys) for query in workload.bound.queries}


def test_a_frame_gives_the_rows_of_the_library(spark: SparkSession) -> None:
    workload = elsinore.workload(QUERIES, schema=SCHEMA)
    again = [CLICKS[3], CLICKS[5] | {"price": 100.0}]  # a duplicate, and a correction
    rows = [*CLICKS, *again, CLICKS[0] | {"id": "bad", "price": -1.0}]
    expected = workload.run(pa.Table.from_pylist(rows), max_error_rate=0.1)
    assert (expected.duplicates, expected.rejected.num_rows) == (1, 2)
    result = elsinore.spark.run(workload, frame(spark, rows), max_error_rate=0.1)
    assert result.columns == [
        "query", "group", "window_start", "window_end", "step", "aggregate", "type", "value",
        "exact",
    ]  # fmt: skip
    assert spark_rows(result) == long_rows(expected, group_sizes(workload)) != []
    # Spark takes these for names of the same columns.
    beside = frame(spark, [row | {"USER": 1, "Price": None} for row in rows])
    result = elsinore.spark.run(workload, beside, max_error_rate=0.1)
    assert spark_rows(result) == long_rows(expected, group_sizes(workload))
    with pytest.raises(DataError, match=r"1 of 26 rows are invalid.*price: -1.0 is below 0"):
        elsinore.spark.run(workload, frame(spark, rows), max_error_rate=0.01)


def test_events_and_values_of_several_tasks_count_once(spark: SparkSession) -> None:
    """Tasks are split by user, but for prices that two users can have."""
    text = """
    QUERY by_user RETURN COUNT(DISTINCT user) AS users, COUNT(EACH B) AS purchases,
      SUM(EACH V.price) AS viewed, STDDEV(EACH V.price) AS spread, VARIANCE(V.price), COUNT(*)
    PATTERN SEQ(View V+, Buy B) WHERE [user] WITHIN 1 hour;
    QUERY by_price RETURN COUNT(DISTINCT V.price % 4) AS prices
    PATTERN SEQ(View V+, Buy B) WHERE [user] WITHIN 1 hour;
    QUERY middle RETURN MEDIAN(EACH V.price) AS median, PERCENTILE(EACH V.price, 0.9) AS p90
    PATTERN SEQ(View V+, Buy B) WHERE [user] WITHIN 1 hour;
    QUERY rising RETURN COUNT(EACH V) AS views, COUNT(EACH B) AS purchases
    PATTERN SEQ(View V+, Buy B) WHERE [user] AND V.price < NEXT(V).price WITHIN 1 hour;
    QUERY next RETURN COUNT(EACH V) AS views, COUNT(DISTINCT user) AS users
    PATTERN SEQ(View V+, Buy B) WHERE [user] WITHIN 1 hour SEMANTICS skip-till-next-match;
    """
    workload = elsinore.workload(text, schema=SCHEMA)
    result = elsinore.spark.run(workload, frame(spark, CLICKS), parts=2)
    rows = workload.run(pa.Table.from_pylist(CLICKS))
    assert spark_rows(result) == long_rows(rows, group_sizes(workload))
    values = {
        (row["query"], row["aggregate"]): row["exact"] or row["value"] for row in result.collect()
    }
    assert values["by_user", "users"] == "2"
    assert values["by_user", "purchases"] == "3"
    assert values["by_user", "viewed"] == 190.0
    assert values["by_price", "prices"] == "4"
    assert (values["middle", "median"], values["middle", "p90"]) == (9.5, 17.0)


def test_measures_of_several_tasks_are_those_of_the_library(spark: SparkSession) -> None:
    """Tasks are split by user; sums add up, and MIN and MAX are those of all users."""
    text = """
    QUERY visits RETURN COUNT(*), MAX(LENGTH) AS longest, AVG(DURATION) AS duration, SUM(DURATION),
      MAX(LAST(V.price) - FIRST(V.price)) AS rise, MIN(TOTAL(V.price)),
      MAX(FIRST(B.time)) AS bought, STDDEV(DURATION) AS spread, STDDEV(LENGTH),
      VAR_POP(TOTAL(V.price)) AS variance
    PATTERN SEQ(View V+, Buy B) WHERE [user] AND V.price < 12 WITHIN 1 hour;
    QUERY rising RETURN MAX(LENGTH) AS longest, MIN(DURATION) AS shortest
    PATTERN SEQ(View V+, Buy B) WHERE [user] AND V.price < NEXT(V).price WITHIN 1 hour;
    """
    workload = elsinore.workload(text, schema=SCHEMA)
    result = elsinore.spark.run(workload, frame(spark, CLICKS), parts=2)
    expected = workload.run(pa.Table.from_pylist(CLICKS))
    assert spark_rows(result) == long_rows(expected, group_sizes(workload)) != []
    types = {row["aggregate"]: (row["type"], row["exact"]) for row in result.collect()}
    assert {types[name][0] for name in ("duration", "shortest", "spread")} == {"duration"}
    assert types["longest"] == ("long", "11")


def test_counts_of_any_length_come_from_workers(spark: SparkSession) -> None:
    """Of 20,000 events the count has 6,021 digits, more than Python converts."""
    size = 20_000
    schema = "stream: s\ntime: {field: t, unit: integer}\ntype: {field: kind}\ntypes: {A: {}}\n"
    query = "QUERY q RETURN COUNT(*) PATTERN A+ WITHIN 100000;"
    rows = pa.table({"t": pa.array(range(size), pa.int64()), "kind": ["A"] * size})
    workload = elsinore.workload(query, schema=schema)
    (row,) = elsinore.spark.run(workload, spark.createDataFrame(rows)).collect()
    assert row["exact"] == digits_of(2**size - 1)


@pytest.mark.long
def test_ids_that_are_unique_within_an_hour(spark: SparkSession) -> None:
    schema = SCHEMA.replace("{field: id}", "{field: id, unique_within: hour}")
    workload = elsinore.workload(QUERIES, schema=schema)
    later = [row | {"at": row["at"] + timedelta(hours=hour)} for hour in (1, 25) for row in CLICKS]
    rows = [*CLICKS, *later, CLICKS[3], later[5] | {"price": 100.0}]
    expected = workload.run(pa.Table.from_pylist(rows))
    assert (expected.duplicates, expected.rejected.num_rows) == (1, 1)
    result = elsinore.spark.run(workload, frame(spark, rows))
    assert spark_rows(result) == long_rows(expected, group_sizes(workload)) != []


@pytest.mark.long
def test_fields_may_lie_inside_of_others_and_other_types_be_ignored(spark: SparkSession) -> None:
    schema = (
        SCHEMA.replace("user: string", "user: {type: string, field: body.user}")
        .replace("{type: double", "{type: double, field: body.price")
        .replace("types:", "unknown_types: skip\nquoted_numbers: true\ntypes:")
    )
    rows = []
    for row in [*CLICKS, click(23, "Ping", None)]:
        price = None if row["price"] is None else str(row["price"])
        common = {name: row[name] for name in ("id", "at", "kind")}
        rows.append({**common, "other": 1, "body": {"user": row["user"], "price": price}})
    work = elsinore.workload(QUERIES, schema=schema)
    events = pa.Table.from_pylist(rows)
    expected = long_rows(work.run(events), group_sizes(work))
    assert expected
    result = elsinore.spark.run(work, spark.createDataFrame(events))
    assert spark_rows(result) == expected


def test_what_is_wrong_is_said_at_once(spark: SparkSession) -> None:
    workload = elsinore.workload(QUERIES, schema=SCHEMA)
    with pytest.raises(DataError, match="the DataFrame: column 'kind' is missing"):
        elsinore.spark.run(workload, frame(spark, CLICKS).drop("kind"))


def test_random_frames_give_the_rows_of_the_library(spark: SparkSession) -> None:
    answered = 0
    for number in range(draws(4, 60)):
        text, schema, rows = drawn(number)
        if not rows:  # of which Spark makes no frame
            continue
        workload = elsinore.workload(text, schema=yaml_of(schema))
        events = raw_events(schema, rows)
        table = spark.createDataFrame(events)
        if any(map(greta_refusals, workload.bound.queries)):
            with pytest.raises(UnsupportedQueryError):
                elsinore.spark.run(workload, table)
            continue
        result = elsinore.spark.run(workload, table, max_error_rate=1, parts=2)
        expected = workload.run(events, max_error_rate=1)
        found = spark_rows(result)
        assert found == long_rows(expected, group_sizes(workload)), (number, text)
        answered += bool(found)
    assert answered
