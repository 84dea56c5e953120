"""What a report tells of queries: how much, when, for whom, and against earlier hours."""

from __future__ import annotations

import json
import math
import re
import shlex
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import write_deltalake

from elsinore.choices import Engine
from elsinore.lake.views import view_statements
from elsinore.quality import result_files
from elsinore.quality.charts import show_size
from elsinore.quality.report import movers
from elsinore.quality.report_data import ReportData
from elsinore.quality.stories import Story
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.load_workload import load_workload
from elsinore.results.published import numbers_of
from elsinore.timeline import DAY, HOUR, Interval
from tests.golden_cases import stream_schema
from tests.unit.quality import lake
from tests.unit.quality.test_report import SCRIPT, UNCHECKED, WARNED, Rows, nested

TEXT = f"""-- == A heading ==

-- How late are carriers,
-- and {SCRIPT}? Per hour.
QUERY delays RETURN COUNT(*), COUNT(A)
PATTERN A+ -- all of them
WITHIN 1 hour;

-- What follows?
QUERY cascade RETURN MAX(A.x) PATTERN A+ WITHIN 2 hours;
QUERY idle RETURN COUNT(*) PATTERN B WITHIN 1 hour;
QUERY values RETURN COUNT(*), COUNT(EACH A), COUNT(DISTINCT A.x) AS different_values
PATTERN A+ WITHIN 1 hour;
"""
HOURS = [f"2013-01-01T{hour:02}" for hour in range(8, 12)]


def workload(folder: Path) -> Workload:
    file = folder / "w.sase"
    file.write_text(TEXT)
    return load_workload(file, stream_schema({"A": {"x": "long"}, "B": {"x": "long"}}, time="iso"))


def found(query: str, hour: str, count: int, group: str = "{}", **other: Any) -> lake.Row:
    """A count of the window that an hour owns."""
    start = datetime.fromisoformat(hour).replace(tzinfo=UTC)
    times = {"window_start": start, "window_end": start + timedelta(hours=1)}
    own = {"window_end_day": start.date(), "window_end_hour": hour} | times
    return lake.result(query, group, count, **own | other)


def read(folder: Path, rows: list[lake.Row], own: Workload, hours: list[str] = HOURS) -> ReportData:
    content: Rows = lake.healthy()
    prints = {query.name: query.fingerprint for query in own.queries}
    for row in rows:
        if row["query_fingerprint"] == "a" * 64:
            row["query_fingerprint"] = prints[row["query"]]
    print_ = workload_fingerprint(own)
    content["results"] = content["results_staged"] = rows
    content["published"] = [lake.published(hour, workload_fingerprint=print_) for hour in hours]
    root = lake.write_lake(folder / "lake", content)
    lake.report(root, folder / "reports", lake.INTERVAL, workload=own)
    return ReportData(root, lake.state_of(root), lake.INTERVAL, None, pages=None, workload=own)


def page(folder: Path) -> str:
    text = (folder / "reports" / f"{lake.RUN}.html").read_text("utf-8")
    assert nested(text)
    return text


def test_a_query_is_told_by_its_trends_its_largest_groups_and_the_hours_before(
    tmp_path: Path,
) -> None:
    rows = [
        found("delays", "2013-01-01T08", 5, '{"c":"B6"}'),
        found("delays", "2013-01-01T10", 30, '{"c":"UA"}'),
        found("delays", "2013-01-01T10", 900, '{"c":"UA"}', aggregate="COUNT(A)"),
        found("delays", "2013-01-01T10", 4, '{"c":"B6"}'),
        found("delays", "2013-01-01T11", 6, '{"c":"B6"}'),
        found("delays", "2013-01-01T11", 1, '{"c":"AA"}'),
        found("delays", "2013-01-01T11", 2, '{"c":"DL"}'),
    ]
    data = read(tmp_path, rows, workload(tmp_path))
    delays, cascade, idle, _ = data.stories
    assert (delays.query, cascade.query, idle.query) == ("delays", "cascade", "idle")
    assert delays.measure.name == "COUNT(*)"
    assert (show_size(delays.size), delays.results) == ("43", 5)
    # Each group by its largest window.
    tops = [(top.group_key, top.exact) for top in delays.tops]
    assert tops == [('{"c":"UA"}', "30"), ('{"c":"B6"}', "6"), ('{"c":"DL"}', "2")]
    before, week = delays.before
    assert before is not None
    assert math.isclose(2**before, 5)
    assert week is None
    assert (idle.size, idle.results, idle.before) == (-math.inf, 0, (-math.inf, None))
    text = page(tmp_path)
    # Both aggregates of the largest result, and the end of its window.
    place = "<li>c UA, 2013-01-01 10:00 to 11:00 UTC: <span>COUNT(*) <b>30</b></span>"
    assert f"{place}, <span>COUNT(A) <b>900</b></span></li>" in text
    assert "A trend can be a single A." in text
    assert "<b>43</b> trends in 5 results" in text
    assert ">delays</a> 43 (+760%)." in text
    assert "760% more than in the 2 hours before." in text
    assert "Not compared with the hours a week before, 2012-12-25 10:00" in text
    assert "No result, in these hours or before: cascade, idle, values." in text


def test_what_has_changed_the_most_comes_first(tmp_path: Path) -> None:
    rows = [
        found(query, hour, count, query_fingerprint="f" * 64)
        for query, before, now in (
            ("grown", 20, 300), ("gone", 4000, 0), ("one_more", 1, 2), ("alike", 1000, 1050),
            ("huge", 2**100, 2**124), ("new", 0, 25),
        )
        for hour, count in ((HOURS[0], before), (HOURS[2], now))
    ]  # fmt: skip
    data = read(tmp_path, rows, workload(tmp_path))
    assert [story.query for story in movers(data.stories)] == ["gone", "new", "grown", "huge"]


def test_the_chart_has_the_day_before_and_the_run_in_another_colour(tmp_path: Path) -> None:
    rows = [found("delays", hour, n) for hour, n in zip(HOURS, (5, 0, 20, 10), strict=True)]
    delays = read(tmp_path, rows, workload(tmp_path)).stories[0]
    bars = {bar.label: (bar.height, bar.own) for bar in delays.bars}
    assert len(bars) == 24
    assert next(iter(bars)) == "2012-12-31T12"
    assert bars["2013-01-01T08"] == pytest.approx((0.25, False))
    assert bars["2013-01-01T09"] == (None, False)
    assert bars["2013-01-01T10"] == (1.0, True)
    assert bars["2013-01-01T11"] == pytest.approx((0.5, True))
    card = page(tmp_path).partition('<section id="delays">')[2].partition("</section>")[0]
    drawn = re.findall(r'<rect class="(t.)"[^>]*height="(.*?)"><title>(.*?)</title>', card)
    assert drawn == [
        ("t0", "16.0", "01-01 08h: 5"), ("t1", "64.0", "01-01 10h: 20"),
        ("t1", "32.0", "01-01 11h: 10"),
    ]  # fmt: skip


def test_counts_beyond_all_doubles_are_drawn_by_their_digits(tmp_path: Path) -> None:
    rows = [found("delays", "2013-01-01T10", 2**1100), found("delays", "2013-01-01T11", 2**550)]
    delays = read(tmp_path, rows, workload(tmp_path)).stories[0]
    assert not delays.is_linear
    assert [bar.height for bar in delays.bars[-2:]] == [1.0, 0.5]
    assert show_size(delays.size) == "1.35e331"
    text = page(tmp_path)
    card = text.partition('<section id="delays">')[2].partition("</section>")[0]
    labels = re.findall(r'<text class="axis end"[^>]*>(.*?)</text>', card)
    assert labels == ["1", "1e200"]
    assert "per hour in which windows end, UTC; logarithmic scale." in text


def test_one_hour_alone_is_said_and_not_drawn(tmp_path: Path) -> None:
    delays = read(tmp_path, [found("delays", HOURS[2], 7)], workload(tmp_path)).stories[0]
    assert delays.bars == ()
    assert "No chart: all windows end in the same hour." in page(tmp_path)


def test_a_query_without_a_count_is_told_by_its_results(tmp_path: Path) -> None:
    rows = [
        found("cascade", "2013-01-01T10", 7, group, aggregate="MAX(A.x)") for group in ("{}", "[]")
    ]
    cascade = next(s for s in read(tmp_path, rows, workload(tmp_path)).stories if s.results)
    assert (cascade.measure.name, show_size(cascade.size), cascade.tops) == ("results", "2", ())


def test_distinct_values_represent_a_query_and_are_not_added_up(tmp_path: Path) -> None:
    names = ("COUNT(*)", "COUNT(EACH A)", "different_values")
    rows = [
        found("values", hour, number, group, aggregate=name)
        for hour, group, values in (
            (HOURS[2], '{"c":"UA"}', (900, 30, 7)), (HOURS[2], '{"c":"AA"}', (4, 3, 3)),
            (HOURS[3], '{"c":"UA"}', (100, 8, 5)),
        )
        for name, number in zip(names, values, strict=True)
    ]  # fmt: skip
    story = read(tmp_path, rows, workload(tmp_path)).stories[-1]
    assert (story.measure.name, show_size(story.size)) == ("different_values", "7")
    assert [top.exact for top in story.tops] == ["7", "3"]
    assert [round(2**bar.value) for bar in story.bars if bar.height] == [7, 5]
    text = page(tmp_path)
    assert "Different values: at most <b>7</b> in one of 3 results" in text
    assert "Different values, the largest value per hour in which windows end, UTC." in text


def test_a_headline_shows_the_result_with_the_most(tmp_path: Path) -> None:
    file = tmp_path / "own.sase"
    file.write_text("""-- Which values are there?
-- headline: {events:event}, {mean:minute} on average, {numbers:value} of {lost}
-- Per hour.
QUERY values RETURN COUNT(DISTINCT A.x) AS numbers, COUNT(EACH A) AS events, AVG(EACH A.x) AS mean
PATTERN A+ WITHIN 1 hour;
""")
    own = load_workload(file, stream_schema({"A": {"x": "long"}}, time="iso"))
    rows = [
        found("values", hour, number or 0, group, aggregate=name, **other)
        for hour, group, numbers, events, mean in (
            (HOURS[2], '{"c":"UA"}', 9, 20, 3.0), (HOURS[2], '{"c":"AA"}', 1, 1234, 12.3456),
        )
        for name, number, other in (
            ("numbers", numbers, {}), ("events", events, {}),
            ("mean", None, {"exact": None, "value": mean}),
        )
    ]  # fmt: skip
    story = read(tmp_path, rows, own).stories[0]
    assert (story.title, story.about) == ("Which values are there?", "Per hour.")
    assert (story.measure.name, story.tops[0].group_key) == ("events", '{"c":"AA"}')
    text = page(tmp_path)
    assert "<b>1,234 events, 12.3 minutes on average, 1 value of –</b>" in text
    assert "c AA, 2013-01-01 10:00 to 11:00 UTC: the largest of 2 results" in text


@pytest.mark.slow
@pytest.mark.parametrize("week", [True, False])
def test_the_same_hours_of_the_week_before_are_compared_if_they_are_published(
    tmp_path: Path, week: bool
) -> None:
    rows = [found("delays", "2013-01-01T10", 50), found("delays", "2012-12-25T11", 1000)]
    hours = [*HOURS[2:], "2012-12-25T10", *["2012-12-25T11"] * week]
    data = read(tmp_path, rows, workload(tmp_path), hours)
    assert [one.published for one in data.earlier] == [0, 1 + week]
    before, then = data.stories[0].before
    assert before is None
    assert (then is not None and math.isclose(2**then, 1000)) if week else then is None
    told = "20 times fewer than in the 2 hours a week before." in page(tmp_path)
    assert told == week
    assert ("2012-12-25 12:00 UTC: 1 of 2 hours published" in page(tmp_path)) != week


def test_what_a_query_of_another_text_has_found_is_not_compared(tmp_path: Path) -> None:
    rows = [
        found("delays", "2013-01-01T10", 50),
        found("delays", "2013-01-01T08", 9, query_fingerprint="f" * 64),
    ]
    own = workload(tmp_path)
    delays = read(tmp_path, rows, own).stories[0]
    assert show_size(delays.before[0] or 0.0) == "0", "of this text nothing was found"
    rows[0]["query_fingerprint"] = "e" * 64  # the file has changed since
    delays = read(tmp_path / "changed", rows, own).stories[0]
    assert (delays.title, delays.text, show_size(delays.size)) == ("Delays", "", "50")


def test_a_comment_describes_its_query(tmp_path: Path) -> None:
    rows = [found(query, "2013-01-01T10", 1) for query in ("delays", "idle")]
    stories: dict[str, Story] = {
        story.query: story for story in read(tmp_path, rows, workload(tmp_path)).stories
    }
    assert stories["delays"].title == f"How late are carriers, and {SCRIPT}?"
    assert stories["delays"].about == "Per hour."
    assert stories["delays"].text.startswith("QUERY delays RETURN")
    assert stories["delays"].text.endswith("all of them\nWITHIN 1 hour;")
    assert (stories["cascade"].title, stories["cascade"].about) == ("What follows?", "")
    assert (stories["idle"].title, stories["idle"].text[:10]) == ("Idle", "QUERY idle")
    text = page(tmp_path)
    assert SCRIPT not in text
    assert f"<h3>How late are carriers, and {SCRIPT}?</h3>" in unescape(text)
    assert "<code>delays</code> · Per hour.</p>" in text


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        ("hours", "none of these hours is published"),
        ("files", "no event arrived: 0 of 2 hours have a file"),
        ("events", "no new event arrived: 9 records, none accepted"),
        ("trends", "6 events arrived, but no window that ended in these hours contains a "
         "trend; the longest windows last 2 hours"),
    ],
)  # fmt: skip
def test_no_result_has_a_reason(tmp_path: Path, spoil: str, reason: str) -> None:
    rows = lake.healthy() | {"results": [], "results_staged": []}
    match spoil:
        case "hours":
            rows["published"] = []
        case "files":
            rows["ingested"] = []
        case "events":
            rows["events"] = []
    root = lake.write_lake(tmp_path / "lake", rows)
    lake.report(root, tmp_path / "reports", lake.INTERVAL, workload=workload(tmp_path))
    assert f"<p>No query has a result: {reason}.</p>" in page(tmp_path)


def test_the_index_has_all_reports_the_newest_first(tmp_path: Path) -> None:
    root = lake.write_lake(tmp_path / "lake", lake.healthy())
    for start, hours in ((0, 1), (10 * HOUR, 2), (-40 * DAY, 1)):
        first = lake.INTERVAL.start - 10 * HOUR + start
        lake.report(root, tmp_path, Interval(first, first + hours * HOUR))
    midnight = lake.INTERVAL.start - 10 * HOUR
    lake.report(root, tmp_path, Interval(midnight, midnight + DAY), night=True)
    text = (tmp_path / "index.html").read_text("utf-8")
    assert nested(text)
    lines = re.findall(r'<a href="(.*?)">(.*?)</a></td><td class="any (\w+)">(.*?)</td>', text)
    assert lines == [
        ("2013-01-01T10_2013-01-01T12.html", "2013-01-01 10h to 12h", "warning",
         WARNED),
        ("2013-01-01T00_2013-01-01T01.html", "2013-01-01 00h to 01h", "warning", UNCHECKED),
        ("night_2013-01-01.html", "the day 2013-01-01", "warning",
         WARNED),
        ("2012-11-22T00_2012-11-22T01.html", "2012-11-22 00h to 01h", "warning", UNCHECKED),
    ]  # fmt: skip
    assert re.findall(r"<summary>(.*?)</summary>", text) == [
        "2013-01: 3 reports",
        "2012-11: 1 report",
    ]


@pytest.mark.slow
def test_a_query_that_was_reworded_is_told_by_what_it_returns_now(tmp_path: Path) -> None:
    reworded = [
        found("delays", hour, 40, query_fingerprint="b" * 64, aggregate=name)
        for hour, name in (("2013-01-01T08", "COUNT(*)"), ("2013-01-01T09", "COUNT(*)"),
                           ("2013-01-01T10", "COUNT(A)"), ("2013-01-01T11", "COUNT(A)"))
    ]  # fmt: skip
    for row, print_ in zip(reworded, "aabb", strict=True):
        row["query_fingerprint"] = "f" * 63 + print_
    reworded.append(found("gone", "2013-01-01T11", 5, query_fingerprint="g" * 64))
    delays, *_, gone = read(tmp_path, reworded, workload(tmp_path)).stories
    assert (delays.measure.name, show_size(delays.size), delays.results) == ("COUNT(A)", "80", 2)
    reworded[2]["query_fingerprint"] = "f" * 64  # within the hours of the page
    delays, *_ = read(tmp_path / "again", reworded, workload(tmp_path)).stories
    assert delays.results == 2
    assert (gone.query, gone.measure.name, show_size(gone.size)) == ("gone", "COUNT(*)", "5")
    assert "No result, in these hours or before: cascade, idle, values." in page(tmp_path)


def test_results_that_count_nothing_are_results(tmp_path: Path) -> None:
    (delays, *_) = read(tmp_path, [found("delays", "2013-01-01T10", 0)], workload(tmp_path)).stories
    assert (delays.results, delays.found_some) == (1, True)


@pytest.mark.slow
@pytest.mark.parametrize("least", [2**1100, 2**60, 10**15, 10**12, 0])
def test_the_largest_counts_are_told_by_all_their_digits(tmp_path: Path, least: int) -> None:
    rows = []
    for number, more in enumerate((9, 1, 2, 3, 1)):
        value, exact, log2 = numbers_of(least + more)
        sizes = {"value": value, "exact": exact, "log2": log2}
        rows.append(found("delays", "2013-01-01T10", 1, f'{{"g":{number}}}', **sizes))
    (delays, *_) = read(tmp_path, rows, workload(tmp_path)).stories
    assert [int(top.exact or 0) - least for top in delays.tops] == [9, 3, 2]


@pytest.mark.slow
def test_a_card_links_its_results_as_csv_and_shows_their_sql(tmp_path: Path) -> None:
    text = """QUERY delays RETURN c, COUNT(*), MAX(A.time) PATTERN A+ GROUP-BY c WITHIN 1 hour;"""
    file = tmp_path / "w.sase"
    file.write_text(text)
    own = load_workload(file, stream_schema({"A": {"c": "string"}}, time="iso"))
    rows = [
        found("delays", "2013-01-01T11", 6, '{"c":"B,6"}'),
        found("delays", "2013-01-01T11", 7, '{"c":"=1+1"}'),
        found("delays", "2013-01-01T10", 2**70, '{"c":null}'),
        found("delays", "2013-01-01T10", 10**6, '{"c":null}', aggregate="MAX(A.time)"),
        found("delays", "2013-01-01T08", 5, '{"c":"earlier"}'),
    ]
    read(tmp_path, rows, own)
    card = page(tmp_path)
    assert f'<a href="{lake.RUN}/delays.csv">Results as CSV</a>' in card
    assert (tmp_path / "reports" / lake.RUN / "delays.csv").read_text() == (
        "c,window_start,window_end,COUNT(*),MAX(A.time)\n"
        f",2013-01-01T10:00:00Z,2013-01-01T11:00:00Z,{2**70},1970-01-01T00:00:01.000000Z\n"
        "'=1+1,2013-01-01T11:00:00Z,2013-01-01T12:00:00Z,7,\n"
        '"B,6",2013-01-01T11:00:00Z,2013-01-01T12:00:00Z,6,\n'
    )
    command = unescape(re.findall(r"<pre>(elsinore sql .*?)</pre>", card)[0])
    connection = duckdb.connect()
    connection.register("results", pa.Table.from_pylist(rows))
    for statement in view_statements(own, Engine.DUCKDB, ()):
        connection.execute(statement)
    assert len(connection.execute(shlex.split(command)[2]).fetchall()) == 3
    reworded = [row | {"query_fingerprint": "f" * 64} for row in rows]
    read(tmp_path, reworded, own)
    assert not (tmp_path / "reports" / lake.RUN / "delays.csv").exists(), "another query's results"


@pytest.mark.slow
def test_strings_and_booleans_are_shown_as_they_are_and_run_no_formula(tmp_path: Path) -> None:
    text = """QUERY delays RETURN c, COUNT(*), upper(c) AS code, COUNT(*) > 5 AS many
    PATTERN A+ GROUP-BY c WITHIN 1 hour;"""
    file = tmp_path / "w.sase"
    file.write_text(text)
    own = load_workload(file, stream_schema({"A": {"c": "string"}}, time="iso"))
    long = "THE CODE OF A FLIGHT"
    rows = []
    for hour, code in (("10", "007"), ("10", "=CMD()"), ("11", long)):
        group = json.dumps({"c": code.lower()})
        rows.append(found("delays", f"2013-01-01T{hour}", 6, group))
        for name, value in (("code", code), ("many", "true")):
            no_number = {"aggregate": name, "value": None, "exact": value, "log2": None}
            rows.append(found("delays", f"2013-01-01T{hour}", 6, group, **no_number))
    read(tmp_path, rows, own)
    card = page(tmp_path)
    for shown in ("007", "=CMD()", long, "true"):
        assert f"<b>{shown}</b>" in card
    lines = (tmp_path / "reports" / lake.RUN / "delays.csv").read_text().splitlines()
    assert lines[0] == "c,window_start,window_end,COUNT(*),code,many"
    assert [line.split(",")[3:] for line in lines[1:]] == [
        ["6", "007", "true"], ["6", "'=CMD()", "true"], ["6", long, "true"],
    ]  # fmt: skip


def test_a_query_with_very_many_results_has_no_csv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(result_files, "MOST_RESULTS", 1)
    groups = ('{"c":"a"}', '{"c":"b"}')
    read(tmp_path, [found("delays", HOURS[2], 7, one) for one in groups], workload(tmp_path))
    assert "Results as CSV" not in page(tmp_path)
    assert "elsinore sql" in page(tmp_path)


def test_one_trend_is_drawn_on_the_time_line_of_its_window(tmp_path: Path) -> None:
    own = workload(tmp_path)
    day = datetime(2013, 1, 1, tzinfo=UTC).date()
    events = [
        {"event_day": day, "event_id": f"e{n}", "event_type": "A", "event_time": lake.at(10, n),
         "file_hour": HOURS[2], "file": "f", "record_number": n, "x": n}
        for n in (15, 45)
    ]  # fmt: skip
    found_rows = [found("delays", HOURS[2], 3)]
    root = tmp_path / "lake"
    read(tmp_path, found_rows, own)
    write_deltalake(
        str(root / "events"), pa.Table.from_pylist(events), mode="overwrite",
        schema_mode="overwrite",
    )  # fmt: skip
    lake.report(root, tmp_path / "reports", lake.INTERVAL, workload=own)
    card = page(tmp_path)
    assert "Example: one of 3 trends of all" in card
    drawing = card.partition("time line of its window")[2].partition("</svg>")[0]
    # A quarter and three quarters of 324 units from 8.
    assert re.findall(r'<circle class="t1" cx="([\d.]+)"', drawing) == ["89.0", "251.0"]
    listed = card.partition('<ol class="trend">')[2].partition("</ol>")[0]
    assert re.findall(r"<li>(.*?)</li>", listed) == [
        "2013-01-01 10:15:00 A", "2013-01-01 10:45:00 A",
    ]  # fmt: skip


def test_overlapping_windows_are_mentioned(tmp_path: Path) -> None:
    file = tmp_path / "w.sase"
    file.write_text("QUERY delays RETURN COUNT(*) PATTERN SEQ(A, B) WITHIN 4 hours SLIDE 1 hour;")
    own = load_workload(file, stream_schema({"A": {}, "B": {}}, time="iso"))
    read(tmp_path, [found("delays", HOURS[2], 7)], own)
    card = page(tmp_path)
    assert "Windows overlap: a trend counts in each of up to 4 windows." in card
    assert "A trend can be a single" not in card
