"""Coverage and what it can find, trends over days, fields, publishing, and links both ways."""

from __future__ import annotations

import copy
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from elsinore.quality.charts import TREND_HEIGHT, trend_charts
from elsinore.quality.day_figures import DayFigures, read_day_figures
from elsinore.quality.page_data import (
    FieldRange,
    QueryCoverage,
    coverage,
    power,
    read_landed_events,
    read_publishing,
    read_runs,
)
from elsinore.quality.report import link_back, write_report
from elsinore.timeline import Interval
from tests.golden_cases import stream_schema
from tests.unit.quality import lake

SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(name="rows")
def _rows() -> dict[str, list[lake.Row]]:
    return copy.deepcopy(lake.healthy())


def test_the_power_of_a_sample_is_hypergeometric() -> None:
    assert power(200, 50, 1) == 0.25
    # Of 4 results 2 are wrong and 2 are checked: 1 of the 6 pairs holds no wrong one.
    assert power(4, 2, 2) == pytest.approx(5 / 6)
    assert power(7, 7, 1) == 1.0
    assert power(7, 0, 3) == 0.0


def test_coverage_counts_results_and_not_places_without_one() -> None:
    at = datetime(2013, 1, 1, tzinfo=UTC)
    checks = pd.DataFrame(
        [
            ("q", "a", at, "checked", "enumerated", "1", 1.0),
            ("q", "a", at, "checked", "enumerated", None, 0.5),
            ("q", "b", at, "checked", "counted", "9", 9.0),
            ("q", "c", at, "skipped", None, "9", 9.0),
            ("q", "z", at, "checked", "enumerated", None, None),
        ],
        columns=["query", "group_key", "window_start", "status", "method", "published_exact",
                 "published_value"],
    )  # fmt: skip
    other, q = coverage({"q": 10, "other": 1}, checks)
    assert other == QueryCoverage("other", 1, 0, 0, 0, 0.0, 0.0)
    assert astuple(q) == pytest.approx(("q", 10, 2, 1, 1, 0.2, 0.2))


def test_days_are_added_up_from_the_tables(tmp_path: Path, rows: dict[str, list[lake.Row]]) -> None:
    before = rows["landings"][0] | {"landing": "2012-12-30T23", "reasons": '{"superseded": 4}'}
    rows["landings"].append(before)
    rows["validations"].append(lake.check("delays", "{}", 1, 2))
    # A place without a result is checked, and is no part of what was published.
    rows["validations"].append(
        lake.check("delays", "{}", 1, 1, published_exact=None, reference_exact=None)
    )
    days = read_day_figures(lake.write_lake(tmp_path, rows), lake.INTERVAL)
    assert [day.day for day in days] == ["2012-12-30", "2012-12-31", "2013-01-01"]
    assert days[0] == DayFigures(
        "2012-12-30", lines=5, accepted=3, duplicates=1, quarantined=1, superseded=4
    )
    assert days[1] == DayFigures("2012-12-31")
    assert days[2] == DayFigures(
        "2013-01-01", lines=9, accepted=6, duplicates=2, quarantined=1, rows=8, checked=3,
        mismatches=1, events=6.0, seconds=20.0,
    )  # fmt: skip
    assert days[2].coverage == 0.375
    assert days[2].throughput == 0.3


def test_charts_stand_on_the_base_and_one_day_is_no_trend() -> None:
    days = [DayFigures("2013-01-01", lines=100), DayFigures("2013-01-02", lines=50, rows=1)]
    lines, *_, rate = trend_charts(days)
    assert [bar.title for bar in lines.bars] == ["2013-01-01: 100", "2013-01-02: 50"]
    assert [bar.height for bar in lines.bars] == [TREND_HEIGHT, TREND_HEIGHT / 2]
    assert all(bar.y + bar.height == TREND_HEIGHT for bar in lines.bars)
    assert lines.latest == "50"
    assert [bar.height for bar in rate.bars] == [0, 0], "what was not measured has no bar"
    assert trend_charts(days[:1]) == ()


def test_fields_are_told_by_type_and_late_events_counted(tmp_path: Path) -> None:
    stream = stream_schema({"A": {"x": "double", "g": "string"}, "B": {"x": "double"}}, time="iso")
    rows = [
        ("A", lake.at(10, 5), "2013-01-01T10", 1.5, "one"),
        ("A", lake.at(7), "2013-01-01T10", None, SCRIPT),
        ("B", lake.at(9, 59), "2013-01-01T11", -2.0, None),
        ("B", lake.at(9, 59), "2013-01-01T12", 99.0, None),  # another run's landing
    ]
    names = ["event_type", "event_time", "landing", "x", "g"]
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in rows])
    write_deltalake(str(tmp_path / "events"), table)
    found = read_landed_events(tmp_path, lake.INTERVAL, stream)
    assert found.fields == (
        FieldRange("A", "x", 2, 1, "1.5", "1.5"),
        FieldRange("A", "g", 2, 0, SCRIPT, "one"),
        FieldRange("B", "x", 1, 0, "-2", "-2"),
    )
    # One came 3 hours before its landing's hour began, one an hour and a minute.
    assert found.late.events == 2
    assert found.late.longest == timedelta(hours=3)
    assert read_landed_events(tmp_path, lake.INTERVAL, None).fields == ()


def test_hours_that_are_not_published_are_named(
    tmp_path: Path, rows: dict[str, list[lake.Row]]
) -> None:
    del rows["publications"][1]
    found = read_publishing(lake.write_lake(tmp_path, rows), lake.INTERVAL)
    assert found.missing == ("2013-01-01T11",)
    assert (found.hours, found.last, found.workloads) == (2, lake.at(12), ("test",))
    page = write_report(tmp_path, tmp_path / "reports", lake.INTERVAL, None).read_text("utf-8")
    assert "1 of 2 hours are not published: 2013-01-01T11" in page


def test_the_night_shows_its_runs_and_links_their_pages(
    tmp_path: Path, rows: dict[str, list[lake.Row]]
) -> None:
    day = Interval.parse("2013-01-01", "2013-01-02")
    for key, outcome, wrong in (
        (lake.RUN, "validated", 0.0),
        ("2013-01-01T12_2013-01-01T13", "wrong", 3.0),
        ("2013-01-02T00_2013-01-02T01", "validated", 0.0),  # the next day's
    ):
        figures = {"results": 40.0, "results_of_sample": 10.0, "mismatches": wrong,
                   "strata": 6.0, "strata_covered": 5.0}  # fmt: skip
        rows["run_metrics"] += [
            lake.metric("validate", name, value) | {"run_key": key}
            for name, value in figures.items()
        ]
        rows["run_metrics"].append(
            lake.metric("validate", "outcome", None, outcome) | {"run_key": key}
        )
    root = lake.write_lake(tmp_path / "lake", rows)
    out = tmp_path / "reports"
    write_report(root, out, lake.INTERVAL, None)
    runs = read_runs(root, day, out)
    assert [(run.key, run.outcome, run.checked, run.page) for run in runs] == [
        (lake.RUN, "validated", 10, f"{lake.RUN}.html"),
        ("2013-01-01T12_2013-01-01T13", "wrong", 10, None),
    ]
    path = write_report(root, out, day, None, night=True)
    assert path.name == "night_2013-01-01.html"
    page = path.read_text("utf-8")
    assert f'<a href="{lake.RUN}.html">2013-01-01 10h to 12h</a>' in page
    assert "2 runs, 1 not validated" in page
    assert "run 2013-01-01T12_2013-01-01T13: 3 values differ from the reference" in page
    assert "5 of 6" in page
    assert "22 of 24 hours are not published" in page


def test_data_docs_link_back_once_for_each_report(tmp_path: Path) -> None:
    index = tmp_path / "quality" / "docs" / "index.html"
    index.parent.mkdir(parents=True)
    index.write_text("<html><body class='x'><h1>Docs</h1></body></html>", encoding="utf-8")
    run, night = tmp_path / "reports" / "run.html", tmp_path / "reports" / "night.html"
    for page in (run, night, run):
        link_back(index, page, f"Report {page.stem} {SCRIPT}")
    text = index.read_text(encoding="utf-8")
    assert text.count("<a href=") == 2
    assert text.count('href="../../reports/run.html"') == 1
    assert text.index("night.html") < text.index("run.html") < text.index("<h1>")
    assert SCRIPT not in text
    link_back(tmp_path / "nowhere.html", run, "x")
    assert not (tmp_path / "nowhere.html").exists()


def test_a_day_without_anything_has_no_trend(
    tmp_path: Path, rows: dict[str, list[lake.Row]]
) -> None:
    root = lake.write_lake(tmp_path, {table: [] for table in rows})
    assert read_day_figures(root, lake.INTERVAL) == ()
