"""Every rule of the large tables can be broken, is counted once, and tells where."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import date

import pandas as pd
import pyarrow as pa
import pytest

from elsinore.quality.check_expectations import load_suites
from elsinore.quality.run_tables import rules_of_events, rules_of_quarantine, rules_of_staged
from elsinore.timeline import HOUR
from tests.unit.quality import lake

KNOWN = dict.fromkeys(lake.HOURS, True)
#: Of the queries whose fingerprints are all `a` (as the rows' are) and all `b`.
AHEAD = {"a" * 64: 0, "b" * 64: HOUR}
OTHER_DAY = date(2013, 1, 2)


def counted(table: str, rows: list[lake.Row]) -> pd.DataFrame:
    """Counts of rows, which may be spoilt in any way."""
    schema = lake.arrow_schema(table)
    free = pa.schema([field.with_nullable(True) for field in schema])
    found = pa.Table.from_pylist(rows, schema=free)
    if table == "events":
        return rules_of_events(found, lake.STREAM)
    if table == "quarantine":
        return rules_of_quarantine(found)
    return rules_of_staged([found.slice(0, 1), found.slice(1)], KNOWN, AHEAD)


def broken(table: str, rows: list[lake.Row]) -> dict[str, int]:
    frame = counted(table, rows)
    return {row.rule: row.broken for row in frame.itertuples() if row.broken}


@pytest.mark.parametrize("table", ["events", "quarantine", "results_staged"])
def test_right_rows_break_no_rule_and_every_rule_is_in_a_suite(table: str) -> None:
    frame = counted(table, lake.healthy()[table])
    assert set(frame["broken"]) == {0}
    assert set(frame["examples"]) == {""}
    (suite,) = (part for part in load_suites(lake.EXPECTATIONS) if part.table == table)
    assert {entry.arguments["rule"] for entry in suite.entries} == set(frame["rule"])
    empty = counted(table, [])
    assert set(empty["rows"]) == {0}


@pytest.mark.parametrize(
    ("table", "number", "change", "rules"),
    [
        ("events", 1, {"event_id": None}, {"has_id": 1}),
        ("events", 1, {"event_id": "e5"}, {"once": 2}),
        ("events", 1, {"event_type": None}, {"has_type": 1}),
        ("events", 1, {"event_day": OTHER_DAY}, {"in_its_day": 1}),
        ("events", 1, {"event_time": None}, {"in_its_day": 1}),
        ("quarantine", 0, {"file_hour": None}, {"has_file_hour": 1}),
        ("quarantine", 0, {"reason_code": None}, {"has_code": 1}),
        ("quarantine", 0, {"reason_code": "Bad JSON"}, {"code_is_name": 1}),
        ("results_staged", 1, {"query": None}, {"has_query": 1}),
        ("results_staged", 1, {"group_key": "{"}, {"group_is_json": 1}),
        ("results_staged", 1, {"window_start": lake.at(11)}, {"window_runs_forwards": 1}),
        ("results_staged", 1, {"window_end_hour": lake.HOURS[1]}, {"in_its_hour": 1}),
        ("results_staged", 1, {"window_end_day": OTHER_DAY}, {"in_its_hour": 1}),
        ("results_staged", 1, {"query_fingerprint": "b" * 64}, {"in_its_hour": 1}),
        ("results_staged", 1, {"query_fingerprint": "c" * 64, "window_end": lake.at(12)},
         {"in_its_hour": 1}),
        ("results_staged", 1, {"exact": "043", "value": 43.0},
         {"exact_is_canonical": 1}),
        ("results_staged", 1, {"exact": "4.3"},
         {"exact_is_canonical": 1, "value_is_nearest": 1}),
        ("results_staged", 1, {"value": 1.0}, {"value_is_nearest": 1}),
        ("results_staged", 2, {"value": None}, {"value_is_nearest": 1}),
        ("results_staged", 1, {"log2": math.nan}, {"log2_is_finite": 1}),
        ("results_staged", 1, {"log2": math.inf}, {"log2_is_finite": 1}),
        ("results_staged", 1, {"query_fingerprint": "a" * 63},
         {"fingerprint_is_sha256": 1}),
        ("results_staged", 1,
         {"window_end_hour": "2013-01-01T12", "window_end": lake.at(13)}, {"plan_is_stored": 1}),
    ],
)  # fmt: skip
def test_a_row_that_breaks_a_rule_is_counted(
    table: str, number: int, change: lake.Row, rules: dict[str, int]
) -> None:
    rows = lake.healthy()[table]
    rows[number] |= change
    assert broken(table, rows) == rules


def test_windows_that_are_complete_later_are_in_a_later_hour() -> None:
    for fingerprint in ("b" * 64, "c" * 64):  # of the second one, only the least hour is known
        rows = lake.healthy()["results_staged"]
        rows[1] |= {"query_fingerprint": fingerprint, "window_end_hour": lake.HOURS[1]}
        assert broken("results_staged", rows) == {}


def test_an_id_may_come_again_where_it_is_unique_within_an_hour_alone() -> None:
    rows = lake.healthy()["events"]
    rows += [rows[0] | {"event_time": lake.at(9)}, rows[1] | {"event_time": lake.at(10, 59)}]
    rows[1]["event_time"] = lake.at(10)
    schema = lake.arrow_schema("events")
    found = pa.Table.from_pylist(rows, schema=schema)
    frame = rules_of_events(found, replace(lake.STREAM, id_span=HOUR)).set_index("rule")
    assert frame["broken"]["once"] == 2


def test_a_result_that_is_there_twice_is_counted_and_named() -> None:
    rows = lake.healthy()["results_staged"]
    frame = counted("results_staged", [*rows, rows[3]])
    (found,) = frame[frame["rule"] == "once"].itertuples()
    assert (found.broken, found.rows) == (1, 4)
    assert "query cascade, group_key {}" in found.examples
    assert "aggregate AVG(A.x)" in found.examples


@pytest.mark.parametrize(("kind", "exact"), [("string", "late"), ("boolean", "true")])
def test_texts_and_truth_values_are_no_integers(kind: str, exact: str) -> None:
    rows = lake.healthy()["results_staged"]
    rows[1] |= {"type": kind, "exact": exact, "value": None, "log2": None}
    assert broken("results_staged", rows) == {}
    rows[1] |= {"type": None}
    assert broken("results_staged", rows) == {"exact_is_canonical": 1, "value_is_nearest": 1}


def test_an_integer_beyond_doubles_may_have_none() -> None:
    rows = lake.healthy()["results_staged"]
    rows[1] |= {"value": None}
    assert broken("results_staged", rows) == {}
    # A last place of difference is rounding.
    rows[0] |= {"exact": str(2**60), "value": math.nextafter(2.0**60, math.inf)}
    assert broken("results_staged", rows) == {}
    rows[0] |= {"value": 2.0**60 * (1 + 2**-50)}
    assert broken("results_staged", rows) == {"value_is_nearest": 1}
