"""The report: one self-contained page that says first what matters, and escapes everything.

And what it is made of: coverage and what it can find, days, fields, publishing, links both ways.
"""

from __future__ import annotations

import html
import json
import re
import shutil
from datetime import timedelta
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError, SetupError
from elsinore.lake.sharing_metrics import sharing_metrics
from elsinore.ledger.run_metrics import COPIES, EMPTIED, LOST, UNREAD
from elsinore.ledger.run_metrics import UNCHECKED as UNCHECKED_DOUBTS
from elsinore.quality.charts import Trend, trends, value_ticks
from elsinore.quality.check_expectations import ValidationResults, Verdict
from elsinore.quality.report import templates
from elsinore.quality.report_data import ReportData
from elsinore.query.load_workload import load_workload
from elsinore.sharing.profile import BurstLengths, PartitionSkew, Spread, StreamProfile, TypeRate
from elsinore.timeline import HOUR, Interval
from tests.golden_cases import stream_schema
from tests.unit.quality import lake
from tests.written_tables import declared, write_table

WARNED = "Sample passed, with warnings: 2 of 3 results recomputed, 0 mismatches"
UNCHECKED = "Not checked: no result was recomputed"
SCRIPT = "<script>alert('x')</script>"
Rows = dict[str, list[lake.Row]]


@pytest.fixture(name="rows")
def _rows() -> Rows:
    return lake.healthy()


def _validation(success: bool = True, severity: str = "critical") -> ValidationResults:
    verdict = Verdict.model_validate(
        {
            "suite": "trend_results", "table": "results_staged", "expectation": "expect_x",
            "description": "Rows are right.", "severity": severity, "success": success,
            "observed": SCRIPT,
        }
    )  # fmt: skip
    return ValidationResults(run_name=lake.RUN, verdicts=(verdict,), docs_index=None)


def _page(folder: Path, rows: Rows, validation: ValidationResults | None) -> str:
    root = lake.write_lake(folder / "lake", rows)
    if validation:
        docs = str(folder / "quality" / "index.html")
        validation = validation.model_copy(update={"docs_index": docs})
    return lake.report(root, folder / "reports", lake.INTERVAL, validation).read_text("utf-8")


def _headline(page: str) -> str:
    found = re.search(r'<section class="verdict \w+">\s*<p>(.*?)</p>', page)
    assert found is not None
    return found[1]


#: Columns of results that earlier tables lack.
LATER_COLUMNS = {"step": "long", "type": "string"}


def _older(root: Path, table: str) -> DeltaTable:
    """Replace a table by one that was created before it had `LATER_COLUMNS`."""
    old = DeltaTable(str(root / table))
    rows, days = old.to_pyarrow_table(), old.metadata().partition_columns
    shutil.rmtree(root / table)
    write_deltalake(str(root / table), rows.drop_columns(list(LATER_COLUMNS)), partition_by=days)
    return DeltaTable(str(root / table))


def test_a_lake_without_the_column_of_steps_has_a_report_after_its_migration(
    tmp_path: Path, rows: Rows
) -> None:
    """Until then the error names the command. The version that was staged stays without it."""
    expected = _page(tmp_path / "new", rows, None)
    root = lake.write_lake(tmp_path / "lake", rows)
    tables = [_older(root, name) for name in ("results", "results_staged")]
    with pytest.raises(SetupError, match=r"no column step \(.*`elsinore migrate`"):
        lake.report(root, tmp_path / "reports", lake.INTERVAL)
    for table in tables:
        table.alter.add_columns(
            [Field(name, PrimitiveType(kind)) for name, kind in LATER_COLUMNS.items()]
        )
    page = lake.report(root, tmp_path / "reports", lake.INTERVAL).read_text("utf-8")
    assert "1.35e331 (332 digits)" in page
    assert _headline(page) == _headline(expected)
    assert re.findall(r"<b>[^<]+</b>", page) == re.findall(r"<b>[^<]+</b>", expected)


class _Tags(HTMLParser):
    """Collects tags and checks that they nest."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))
        if tag not in {"br", "meta", "line"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def nested(page: str) -> list[tuple[str, dict[str, str | None]]]:
    """Tags and their attributes; all that are opened are closed."""
    parser = _Tags()
    parser.feed(page)
    assert parser.open == []
    return parser.seen


@pytest.mark.slow
def test_a_good_run_says_so_and_shows_its_figures(tmp_path: Path, rows: Rows) -> None:
    page = _page(tmp_path, rows, _validation())
    assert _headline(page) == "Sample passed: 2 of 3 results recomputed, 0 mismatches"
    # 2**1100 has 332 digits and begins with 1.35.
    assert "1.35e331 (332 digits)" in page
    assert page.index("<b>1.35e331 (") < page.index("<b>43</b>"), "the largest first"
    assert "6 accepted + 2 repeated +\n1 quarantined = 9 records." in page
    assert "2013-01-01 10:00:00 UTC to 2013-01-01 11:05:00 UTC" in page
    assert "(A, B)" in page
    assert "in conflict with p1" in page
    assert 'href="../quality/index.html"' in page
    assert "too many trends (1)" in page
    # Six events in 12.5 and in 20 seconds.
    assert ">0.48<" in page
    assert ">0.30<" in page
    names = {tag for tag, _ in nested(page)}
    assert not names & {"script", "link", "img", "iframe", "object"}, "it needs nothing beside it"
    links = [a["href"] for _, a in nested(page) if "href" in a]
    inside = ["#results", "#quality", "#details"]
    assert links == ["index.html", "../quality/index.html", *inside, "../quality/index.html"]
    assert page == _page(tmp_path / "again", rows, _validation())
    files = sorted(path.name for path in (tmp_path / "reports").iterdir())
    assert files == [f"{lake.RUN}.html", "index.html"]


def test_files_of_which_nothing_landed_are_named(tmp_path: Path, rows: Rows) -> None:
    place = {"file_day": lake.DAY, "file_hour": lake.HOURS[1], "record": ""}
    rows["quarantine"] += [
        place
        | {"file": SCRIPT, "record_number": 0, "reason_code": "corrupt_file", "reason": "cut"},
        place
        | {"file": "b", "record_number": 0, "reason_code": "empty_file", "reason": "b is void"},
        place
        | {"file": "c", "record_number": 1, "reason_code": "bad_encoding", "reason": "c has it"},
    ]
    page = _page(tmp_path, rows, _validation())
    escaped = html.escape(SCRIPT).replace("&#x27;", "&#39;")
    assert f"<td>{escaped}</td><td>cut</td>" in page
    assert "is void" not in page, "it says that its hour has no event"
    assert "c has it" not in page, "a line, not a file"


def test_texts_of_the_data_are_escaped(tmp_path: Path, rows: Rows) -> None:
    nasty = lake.result(SCRIPT, f'{{"carrier":"{SCRIPT}"}}', 7)
    rows["results"].append(nasty)
    rows["results_staged"].append(nasty)
    rows["validations"].append(lake.check(SCRIPT, "{}", 1, 1, status="skipped", reason=SCRIPT))
    rows["quarantine"][0]["reason_code"] = SCRIPT
    rows["run_metrics"].append(lake.metric(SCRIPT, SCRIPT, None, SCRIPT))
    page = _page(tmp_path, rows, _validation(success=False))
    assert "<script" not in page
    assert page.count("&lt;script&gt;") >= 8


def test_texts_of_the_data_are_bounded_and_control_nothing(tmp_path: Path, rows: Rows) -> None:
    text = "\x1b[31m\u202e" + "long" * 100_000
    nasty = lake.result("delays", json.dumps({"carrier": text}), 7)
    rows["results"].append(nasty)
    rows["results_staged"].append(nasty)
    rows["run_metrics"].append(lake.metric(text, text, None, text))
    page = _page(tmp_path, rows, _validation())
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "\\u001b[31m\\u202elong" in page
    assert "…[cut, 400," in page
    assert len(page) < 300_000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "headline", "reason"),
    [
        (
            "mismatch",
            "Do not use these results",
            "delays: 1 mismatch with the reference in 2",
        ),
        ("unpublished", "Do not use these results", "differ from the published results"),
        ("records", "Do not use these results", "3 records, but 3 accepted + 1 quarantined"),
        ("judged", "Do not use these results", "Rows are right. Found:"),
        ("warned", WARNED, "Rows are right. Found:"),
        ("unchecked", UNCHECKED, "no result was compared with the reference"),
        ("unjudged", WARNED, "no expectation was checked"),
        ("nothing happened", UNCHECKED, "No file was ingested in these hours."),
        ("passed over", WARNED, "landing zone: clicks.csv &lt;b&gt;"),
    ],
)
def test_the_verdict(tmp_path: Path, rows: Rows, spoil: str, headline: str, reason: str) -> None:
    validation: ValidationResults | None = _validation()
    match spoil:
        case "mismatch":
            rows["validations"].append(lake.check("delays", "{}", 1, 2))
        case "unpublished":
            rows["results"] = rows["results"][1:]
        case "records":
            rows["ingested"][0]["records"] = 3
        case "judged":
            validation = _validation(success=False)
        case "warned":
            validation = _validation(success=False, severity="warning")
        case "unchecked":
            rows["validations"] = []
        case "unjudged":
            validation = None
        case "passed over":
            rows["run_metrics"].append(lake.metric("ingest", UNREAD, None, "clicks.csv <b>"))
        case "nothing happened":
            rows = {table: [] for table in rows}
    page = _page(tmp_path, rows, validation)
    assert _headline(page) == headline
    assert reason in page


@pytest.mark.parametrize(
    ("metric", "value", "reason"),
    [
        (EMPTIED, '{"2013-01-01T10": ["Buy.price"]}', "have none: 01-01 10h Buy.price"),
        (LOST, '["a<b lost to c"]', "a&lt;b lost to c"),
        (COPIES, '[["a.jsonl", "a.jsonl.gz"]]', "count twice: a.jsonl and a.jsonl.gz"),
        (UNCHECKED_DOUBTS, "a<b is on", "were not looked for: a&lt;b is on"),
    ],
)
def test_doubts_of_the_ingest_are_warnings(
    tmp_path: Path, rows: Rows, metric: str, value: str, reason: str
) -> None:
    rows["run_metrics"].append(lake.metric("ingest", metric, None, value))
    page = _page(tmp_path, rows, _validation())
    assert _headline(page) == WARNED
    assert reason in page


def test_the_stream_is_shown_where_it_was_measured(tmp_path: Path, rows: Rows) -> None:
    assert "The input of this run was not profiled." in _page(tmp_path / "a", rows, _validation())
    spread = Spread.of([3, 1234], 1)
    profile = StreamProfile(
        workload_fingerprint="c" * 64,
        observed=(lake.INTERVAL.start - HOUR, lake.INTERVAL.end),
        pane=HOUR // 2,
        rates=(TypeRate(event_type="A", events=spread),),
        bursts=(
            BurstLengths(event_type="A", kleene="A", queries=("one", SCRIPT), keys=("carrier",),
                         pane=2 * HOUR, lengths=Spread.of([1, 1, 1, 2])),
        ),
        local=(),
        edges=(),
        partitions=(PartitionSkew(keys=("carrier",), sizes=Spread.of([1, 1, 1, 5])),),
    )  # fmt: skip
    names = ("kind", "fingerprint", "workload_fingerprint", "statistics_fingerprint", "body",
             "finder")  # fmt: skip
    row = ("profile", profile.fingerprint, "c" * 64, "d" * 64, profile.to_json(), "measured")
    rows["plans"].append(dict(zip(names, row, strict=True)))
    rows["run_metrics"].append(
        lake.metric("statistics", "profile_fingerprint", None, profile.fingerprint)
    )
    page = _page(tmp_path / "b", rows, _validation())
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in page.splitlines()]
    assert "in panes of 30 minutes" in page
    # 1237 events in three panes.
    assert ["A", "1,237", "412.33", "3", "0", "1,234"] in cells
    queries = f"one, {html.escape(SCRIPT).replace('&#x27;', '&#39;')}"
    assert ["A", "carrier", "2 hours", "4", "1.25", "1", "2", queries] in cells
    assert ["carrier", "4", "2", "1", "5", "62.5%"] in [row[:-1] for row in cells]
    assert nested(page)


def test_figures_of_a_step_in_slices_are_added_up(tmp_path: Path, rows: Rows) -> None:
    rows["run_metrics"] = [
        lake.metric("aggregate", "events", events) | {"run_key": key}
        for key, events in (
            ("2013-01-01T10_2013-01-01T11", 40.0),
            ("2013-01-01T11_2013-01-01T12", 3.0),
            ("2013-01-01T11_2013-01-01T13", 500.0),  # another run's, beyond the end of this one
        )
    ]
    assert "events 43" in _page(tmp_path, rows, _validation())


@pytest.mark.parametrize(
    ("ended", "events"),
    [
        ({"10_12": 5, "10_11": 3, "11_12": 4}, 1),
        ({"10_12": 5, "10_11": 3, "11_12": 6}, 1),  # it is not known which of them is of the run
        ({"10_12": 5, "10_11": 6, "11_12": 7}, 110),
        ({"10_12": 5, "11_12": 7}, 1),
        ({"11_12": 7}, 100),  # the first slice has failed
    ],
)
def test_figures_are_those_of_the_last_run_over_all_hours(
    tmp_path: Path, rows: Rows, ended: dict[str, int], events: int
) -> None:
    events_of = {"10_12": 1, "10_11": 10, "11_12": 100}
    rows["run_metrics"] = [
        lake.metric("aggregate", name, value)
        | {"run_key": "_".join(f"2013-01-01T{hour}" for hour in key.split("_"))}
        for key, end in ended.items()
        for name, value in (("ended_at", end), ("events", events_of[key]))
    ]
    ((_, _, _, others),) = read(tmp_path, rows).steps
    assert others == [("events", events, None)]


def test_figures_of_a_day_stay_when_the_night_has_noted_its_own(tmp_path: Path, rows: Rows) -> None:
    day, key = Interval.parse("2013-01-01", "2013-01-02"), "2013-01-01T00_2013-01-02T00"
    of_night = {"run_key": key, "workload_fingerprint": ""}
    rows["run_metrics"] = [
        lake.metric("plan", "ended_at", 5.0) | {"run_key": key},
        lake.metric("plan", "profile_fingerprint", None, "f" * 64) | {"run_key": key},
        lake.metric("plan", "ended_at", 4.0) | {"run_key": key, "workload_fingerprint": "e" * 64},
        lake.metric("maintain", "ended_at", 9.0) | of_night,
    ]
    data = data_of(lake.write_lake(tmp_path / "lake", rows), day)
    assert [step.name for step in data.steps] == ["plan", "maintain"]
    assert data._details("profile_fingerprint") == ("f" * 64,)


def test_plans_of_an_earlier_version_are_left_out(tmp_path: Path, rows: Rows) -> None:
    for row in rows["plans"]:
        if row["kind"] == "plan":
            body = json.loads(row["body"])
            row["body"] = json.dumps(body | {"version": body["version"] - 1})
    assert read(tmp_path, rows).plans == []
    assert lake.report(tmp_path / "lake", tmp_path / "reports", lake.INTERVAL).is_file()


def test_the_time_of_a_run_is_that_of_the_clock_and_each_step_has_its_own(
    tmp_path: Path, rows: Rows
) -> None:
    assert "from the start of the first step" not in _page(tmp_path / "a", rows, _validation())
    slices = ("2013-01-01T10_2013-01-01T11", "2013-01-01T11_2013-01-01T12")
    rows["run_metrics"] = [
        lake.metric(step, name, value) | {"run_key": key}
        for step, key, began, ended in (
            ("ingest", lake.RUN, 1000.0, 1007.0),
            ("aggregate", slices[0], 1010.0, 1030.0),
            ("aggregate", slices[1], 1010.0, 1041.0),  # at the same time
            ("publish", lake.RUN, 1050.0, 1053.5),
            ("report", lake.RUN, 1060.0, 1061.0),
        )
        for name, value in (("began_at", began), ("ended_at", ended), ("events", 102.0))
    ]
    page = _page(tmp_path / "b", rows, _validation())
    assert "<b>53.50 s</b><span>from the start of the first step to publication" in page
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", line) for line in page.splitlines()]
    # 204 events in 20 and 31 seconds.
    assert ["aggregate", "51", "4", "events 204"] in cells
    assert ["ingest", "7", "14.57", "events 102"] in cells
    assert "began_at" not in page


def test_many_hours_are_drawn_by_day(tmp_path: Path, rows: Rows) -> None:
    rows["ingested"] = [
        rows["ingested"][0] | {"hour": f"2013-01-{day:02}T{hour:02}", "records": 1,
                               "bad_records": 0}
        for day in range(1, 5) for hour in range(24)
    ]  # fmt: skip
    rows |= {"quarantine": [], "events": []}
    interval = Interval.parse("2013-01-01", "2013-01-05")
    root = lake.write_lake(tmp_path / "lake", rows)
    page = lake.report(root, tmp_path, interval, _validation()).read_text("utf-8")
    assert "Records per day" in page
    assert "Quarantined records" not in page, "there are none"
    drawn = page[page.index("Ingestion") : page.index("Validation against")]
    assert re.findall(r"<title>(.*?)</title>", drawn) == [
        f"2013-01-0{day}: 24" for day in range(1, 5)
    ]


def test_a_missing_table_is_named(tmp_path: Path, rows: Rows) -> None:
    del rows["validations"]
    with pytest.raises(DataError, match="validations"):
        _page(tmp_path, rows, None)


DRAWINGS = templates().get_template("drawings.html.j2").module


def rectangles(drawing: str) -> list[tuple[str, float, float]]:
    """What a pointer over each rectangle reads, where it begins and how tall it is."""
    found = re.findall(r'<rect .*? y="(.*?)" .*? height="(.*?)"><title>(.*?)</title>', drawing)
    return [(title, float(y), float(height)) for y, height, title in found]


def drawn(chart: Trend) -> list[tuple[str, float, float]]:
    return rectangles(DRAWINGS.chart(chart.bars, chart.title, chart.text, chart.ticks))  # type: ignore[attr-defined]


def test_bars_begin_at_the_base_and_the_largest_reaches_the_top() -> None:
    chart = Trend.of("lines", pd.Series([1000, 0, 500, 1], ["2013-01-01", "2013-01-02",
                     "2013-01-03", "2013-01-04"]), own="2013-01-03")  # fmt: skip
    page = DRAWINGS.chart(chart.bars, "lines", chart.text, chart.ticks)  # type: ignore[attr-defined]
    base, *_, top = map(float, re.findall(r'class="grid" d="M58 ([\d.]+)H340"', page)[:3])
    assert drawn(chart) == [
        ("2013-01-01: 1,000", top, base - top),
        ("2013-01-03: 500", (top + base) / 2, (base - top) / 2),
        ("2013-01-04: 1", base - 2, 2),  # what is not zero is seen
    ]
    assert re.findall(r'<rect class="(.*?)"', page) == ["t0", "t1", "t1"]


def test_axes_have_round_numbers_and_times(tmp_path: Path, rows: Rows) -> None:
    hours = [f"2013-01-01T{hour:02}" for hour in range(24)]
    chart = Trend.of("records", pd.Series(range(24), hours))
    page = DRAWINGS.chart(chart.bars, "records", chart.text, chart.ticks)  # type: ignore[attr-defined]
    labels = re.findall(r'<text class="axis[^>]*>(.*?)</text>', page)
    assert labels == ["0", "10", "20", "1 Jan", "06:00", "12:00", "18:00"]
    assert [tick.text for tick in value_ticks(2, "{:,.0f}".format)] == ["0", "1", "2"]
    assert value_ticks(0, "{:,.0f}".format) == ()
    assert 'class="axis end"' in _page(tmp_path, rows, _validation())


def test_what_was_shared_at_run_time_is_shown(tmp_path: Path, rows: Rows) -> None:
    choices = [
        ("delays", "hamlet", "set 1 saves 60 %"),
        ("cascade", "hamlet", "set 1 saves 60 %"),
        ("lonely", "greta", "shares with no other"),
    ]
    sets = [("cascade", "delays")]
    for first_hour, bursts in (("10", 40), ("11", 10)):  # two slices
        counts = {"bursts": bursts, "shared": bursts // 2, "event snapshots": bursts * 100}
        key = f"2013-01-01T{first_hour}_2013-01-01T{int(first_hour) + 1}"
        rows["run_metrics"] += [
            lake.metric("shares", name, None if isinstance(value, str) else float(value),
                        value if isinstance(value, str) else None) | {"run_key": key}
            for name, value in sharing_metrics(choices, sets, 5e9, 2e9, counts).items()
        ]  # fmt: skip
    page = _page(tmp_path, rows, _validation())
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page)
    at = cells.index("hamlet")
    assert cells[at : at + 4] == ["hamlet", "set 1 saves 60 %", "2", "cascade, delays"]
    at = cells.index("Bursts")
    assert cells[at + 1 : at + 4] == ["50", "25", "50.0%"]
    at = cells.index("Predicted cost, and what sharing saves of it")
    assert cells[at + 1 : at + 4] == ["5 s", "3 s", "60.0%"]
    assert "5,000 snapshots at event level." in page
    assert "executor of" not in page, "the step's figures do not repeat them"


def read(folder: Path, rows: Rows) -> ReportData:
    return data_of(lake.write_lake(folder / "lake", rows))


def data_of(
    root: Path, interval: Interval = lake.INTERVAL, schema: StreamSchema | None = None,
    pages: Path | None = None,
) -> ReportData:  # fmt: skip
    return ReportData(root, lake.state_of(root), interval, schema, pages)


def test_coverage_counts_results_and_not_places_without_one(tmp_path: Path, rows: Rows) -> None:
    rows["results_staged"] = [
        lake.result("q", f'{{"g": {n}}}', 1, aggregate=name)
        for n in range(10) for name in ("COUNT(*)", "SUM(A.x)")
    ] + [lake.result("other", "{}", 1)]  # fmt: skip
    rows["validations"] = [
        lake.check("q", group, 1, 1) | {"status": status, "method": method, **other}
        for group, status, method, other in (
            ("a", "checked", "enumerated", {}),
            ("a", "checked", "enumerated", {"published_exact": None, "published_value": 0.5}),
            ("b", "checked", "counted", {}),
            ("c", "skipped", None, {}),
            ("d", "checked", "enumerated", {"published_exact": None, "has_result": True}),
            ("z", "checked", "enumerated", {"published_exact": None, "has_result": False}),
        )
    ]
    found = {one.query: one for one in read(tmp_path, rows).queries}
    other, q = found["other"], found["q"]
    assert (other.results, other.results_checked, other.checked) == (1, 0, 0)
    assert (other.finds_one, other.finds_percent) == (0.0, 0.0)
    assert (q.results, q.results_checked, q.results_counted, q.results_skipped) == (10, 3, 1, 1)
    assert (q.checked, q.skipped) == (5, 1)
    assert (q.finds_one, q.finds_percent) == pytest.approx((0.3, 0.3))


def test_days_are_added_up_from_the_tables(tmp_path: Path, rows: Rows) -> None:
    rows["ingested"].append(rows["ingested"][0] | {"hour": "2012-12-30T23"})
    rows["validations"].append(lake.check("delays", "{}", 1, 2))
    # A place without a result is checked, and is no part of what was published; a result whose
    # value is NULL is. Earlier releases did not tell them apart.
    nothing = {"published_exact": None, "reference_exact": None}
    rows["validations"] += [
        lake.check("delays", "{}", 1, 1, **nothing),
        lake.check("delays", "{}", 1, 1, **nothing, has_result=False),
        lake.check("delays", "{}", 1, 1, **nothing, has_result=True),
    ]
    other = lake.check("delays", "{}", 1, 2, workload_fingerprint="e" * 64)  # an earlier workload's
    rows["validations"].append(other)
    days = read(tmp_path, rows).days
    assert list(days.index) == ["2012-12-30", "2012-12-31", "2013-01-01"]
    first = {"records": 5, "repeated": 4, "bad_records": 1}
    last = {"records": 9, "accepted": 6, "repeated": 2, "bad_records": 1, "rows": 8, "checked": 4,
            "mismatches": 1}  # fmt: skip
    found = [{name: n for name, n in row.items() if n} for _, row in days.iterrows()]
    assert found == [first, {}, last]
    page = lake.report(tmp_path / "lake", tmp_path / "reports", lake.INTERVAL).read_text("utf-8")
    assert "<b>50.0%</b> of the published values recomputed" in page
    assert re.search(r'<figure class="alarm">\s*<figcaption><b>1</b> mismatch<', page)
    assert trends(read(tmp_path / "empty", {table: [] for table in rows}).days, "2013") == ()


def test_empty_files_are_no_records(tmp_path: Path, rows: Rows) -> None:
    one, two = rows["ingested"]
    one |= {"file_count": 4, "records": 8, "bad_records": 4}
    two |= {"records": 1, "bad_records": 1, "first_event": None, "last_event": None}
    rows["events"] = rows["events"][:3]
    empty = rows["quarantine"][0] | {"record_number": 0, "reason_code": "empty_file"}
    rows["quarantine"] += [empty | {"file": f"{n}", "file_hour": lake.HOURS[n // 3]}
                           for n in range(4)]  # fmt: skip
    found = {"files": 5.0, "records": 9.0, "bad_records": 5.0, "accepted": 3.0}
    rows["run_metrics"] += [lake.metric("ingest", name, value) for name, value in found.items()]
    data = read(tmp_path, rows)
    figures = {name: value for name, value, _ in data.steps[0].others}
    assert figures == {"events": 6, "files": 1, "records": 5, "bad_records": 1, "accepted": 3}
    assert data.hours["records"].to_list() == [5, 0]
    assert data.hours["bad_records"].to_list() == [1, 0]
    assert list(data.hours["reasons"]) == [{"bad_json": 1}, {}]
    assert data.days["records"].to_list() == [5]
    page = _page(tmp_path / "page", rows, _validation())
    assert "<b>5</b><span>records ingested in 2 hours" in page
    assert "1 quarantined = 5 records." in page
    assert "4 empty files not counted" in page
    assert "empty_file" not in page


def test_figures_of_several_days_are_those_of_the_run(tmp_path: Path, rows: Rows) -> None:
    before = rows["ingested"][0] | {"hour": "2012-12-31T23", "records": 4, "bad_records": 0}
    rows["ingested"].append(before)
    root = lake.write_lake(tmp_path / "lake", rows)
    both = Interval.parse("2012-12-31T12:00", "2013-01-01T12:00")
    page = lake.report(root, tmp_path, both).read_text("utf-8")
    assert "<b>13</b><span>records ingested" in page
    assert "<b>13</b> records ingested</figcaption>" in page
    assert "The totals are of 2012-12-31 to 2013-01-01 together, in blue" in page
    charts = page[page.index("The last 2 days") : page.index("Ingestion")]
    assert 'class="t0"' not in charts, "no day is before the run"
    page = lake.report(root, tmp_path, lake.INTERVAL).read_text("utf-8")
    assert "<b>9</b> records ingested</figcaption>" in page
    assert "The totals are of 2013-01-01, in blue: the day of this run with all its hours." in page
    assert 'class="t0"' in page[page.index("The last 2 days") : page.index("Ingestion")]


def test_values_and_searched_windows_are_counted_apart(tmp_path: Path, rows: Rows) -> None:
    whole = {"group_key": "*", "aggregate": "*", "published_exact": None, "reference_exact": None}
    rows["validations"] += [
        lake.check("delays", "*", 0, 0, **whole),
        lake.check("delays", "*", 0, 0, **whole, window_start=lake.at(9)),
        lake.check("delays", "*", 0, 0, **whole, status="skipped", reason="many"),
    ]
    found = {one.query: one for one in read(tmp_path, rows).queries}["delays"]
    assert (found.checked, found.skipped, found.searched) == (1, 1, 2)
    page = _page(tmp_path / "page", rows, _validation())
    assert "It compared 2 values, one per aggregate, and searched 2 whole windows" in page


def test_one_is_no_plural(tmp_path: Path, rows: Rows) -> None:
    one = lake.result("delays", "{}", 1)
    rows |= {"results": [one], "results_staged": [one], "validations": []}
    rows |= {"ingested": [rows["ingested"][1] | {"records": 1}], "events": rows["events"][-1:]}
    page = _page(tmp_path, rows, _validation())
    text = " ".join(re.sub("<[^>]*>", " ", page).split())
    for words in ("1 trend in 1 result", "1 record ingested in 1 hour", "1 result published",
                  "1 result of 1 query", "0 quarantined = 1 record."):  # fmt: skip
        assert words in text
    nouns = "trends|results|records|hours|values|events|duplicates|pairs|windows|groups"
    assert not re.search(rf"(?<![\d.,])1 ({nouns})\b", text)


@pytest.mark.slow
def test_windows_that_end_after_the_hours_are_listed(tmp_path: Path, rows: Rows) -> None:
    schema = stream_schema({"A": {}, "B": {}}, time="iso")
    text = "QUERY {} RETURN COUNT(*) PATTERN A x WITHIN {};"
    daily, hourly = text.format("daily", "1 day SLIDE 6 hours"), text.format("hourly", "1 hour")
    root = lake.write_lake(tmp_path / "lake", rows)

    def page(queries: str) -> str:
        path = tmp_path / "q.sase"
        path.write_text(queries)
        known = load_workload(path, schema)
        out = tmp_path / "reports"
        written = lake.report(root, out, lake.INTERVAL, workload=known, of_stream="s")
        return written.read_text("utf-8")

    both = page(daily + hourly)
    command = "elsinore replay --start 2013-01-01T17:00 --end 2013-01-02T06:00"
    assert f"<pre>ELSINORE_STREAM=s {command}</pre>" in both
    assert "<tr><td>daily</td><td>2013-01-02 06:00 UTC</td></tr>" in both
    assert "<td>hourly</td>" not in both[both.index("Open windows") :]
    assert "Open windows" not in page(hourly)
    assert "Open windows" not in _page(tmp_path / "unknown", rows, None), "no workload is known"
    rows |= {"results": [], "results_staged": []}
    root, whole = lake.write_lake(tmp_path / "none", rows), text.format("whole", "1 day")
    why = "6 events arrived, but {}; the longest windows last 1 "
    assert why.format("no window of the queries ends in these hours") + "day" in page(whole)
    assert why.format("no window that ended in these hours contains a trend") in page(hourly)


def test_charts_stand_on_the_base_and_one_day_is_no_trend() -> None:
    names = ["bad_records", "repeated", "checked", "mismatches"]
    days = pd.DataFrame({"records": [100, 50], "rows": [0, 1]} | dict.fromkeys(names, 0),
                        index=["2013-01-01", "2013-01-02"])  # fmt: skip
    lines, *_, wrong = trends(days, "2013-01-02")
    (_, _, whole), (_, _, half) = drawn(lines)
    assert (whole, half) == (64, 32)
    assert drawn(wrong) == []
    assert trends(days[:1], "2013-01-01") == ()


def test_fields_are_told_by_type_and_late_events_counted(tmp_path: Path, rows: Rows) -> None:
    late = {"by": "long", "is_late": "boolean"}  # are theirs, too
    stream = stream_schema(
        {"A": {"x": "double", "g": "string"}, "B": {"x": "double"} | late}, time="iso"
    )
    del rows["events"]
    root = lake.write_lake(tmp_path, rows)
    events = [
        ("A", lake.at(10, 5), "2013-01-01T10", 1.5, "one", None, None),
        ("A", lake.at(7), "2013-01-01T10", None, SCRIPT, None, None),
        ("B", lake.at(9, 59), "2013-01-01T11", -2.0, None, 7, True),
        ("B", lake.at(9, 59), "2013-01-01T12", 99.0, None, 8, False),  # another run's landing
    ]
    names = ["event_type", "event_time", "file_hour", "x", "g", "by", "is_late"]
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in events])
    write_deltalake(str(root / "events"), table)
    found = data_of(root, schema=stream)
    assert found.fields == (
        ("A", "x", 2, 1, "1.5", "1.5"),
        ("A", "g", 2, 0, SCRIPT, "one"),
        ("B", "x", 1, 0, "-2", "-2"),
        ("B", "by", 1, 0, "7", "7"),
        ("B", "is_late", 1, 0, "True", "True"),
    )
    # One came 3 hours before its landing's hour began, one an hour and a minute.
    assert (found.late, found.longest) == (2, timedelta(hours=3))
    assert data_of(root).fields == ()


def test_hours_that_are_not_published_are_named(tmp_path: Path, rows: Rows) -> None:
    del rows["published"][1]
    found = read(tmp_path, rows).publishing
    assert found.missing == ("2013-01-01T11",)
    assert (found.hours, found.last, found.workloads) == (2, lake.at(12), ("test",))
    page = lake.report(tmp_path / "lake", tmp_path / "reports", lake.INTERVAL).read_text("utf-8")
    assert "not published: 1 of 2 hours: 2013-01-01T11" in page


def test_the_night_shows_its_runs_and_links_their_pages(tmp_path: Path, rows: Rows) -> None:
    day = Interval.parse("2013-01-01", "2013-01-02")
    for key, outcome in (
        (lake.RUN, "validated"),
        ("2013-01-01T12_2013-01-01T13", "not validated"),
        ("2013-01-02T00_2013-01-02T01", "validated"),  # the next day's
    ):
        figures = {"results": 40.0, "results_of_sample": 10.0, "strata": 6.0, "strata_covered": 5.0}
        rows["run_metrics"] += [
            lake.metric("validate", name, value) | {"run_key": key}
            for name, value in figures.items()
        ]
        rows["run_metrics"].append(
            lake.metric("validate", "outcome", None, outcome) | {"run_key": key}
        )
    root = lake.write_lake(tmp_path / "lake", rows)
    out = tmp_path / "reports"
    lake.report(root, out, lake.INTERVAL)
    runs = data_of(root, day, pages=out).runs
    assert [(run.key, run.outcome, run.checked, run.page) for run in runs or ()] == [
        (lake.RUN, "validated", 10, f"{lake.RUN}.html"),
        ("2013-01-01T12_2013-01-01T13", "not validated", 10, None),
    ]
    path = lake.report(root, out, day, night=True)
    assert path.name == "night_2013-01-01.html"
    page = path.read_text("utf-8")
    assert f'<a href="{lake.RUN}.html">2013-01-01 10h to 12h</a>' in page
    assert "2 validations, 1 not passed" in page
    assert "5 of 6" in page
    assert "not published: 22 of 24 hours" in page


def test_the_strip_at_the_top_counts_hours(tmp_path: Path, rows: Rows) -> None:
    page = _page(tmp_path / "good", rows, _validation())
    tiles = page[page.index('class="tiles"') : page.index('<h2 id="results">')]
    text = " ".join(re.sub("<[^>]*>", " ", tiles).split())
    assert "2 of 2 hours complete" in text
    newest = "2013-01-01 12:00 UTC end of the newest published hour, published 0 min later"
    assert newest in text
    assert "11.1% invalid: 1 record" in text
    assert "0.0% of the hours recomputed after their first publication: 0 of 2" in text
    again = lake.published(lake.HOURS[0], missing_inputs=["2013-01-01T09"], time=lake.at(11, 5))
    rows["published"].append(again)
    rows["refreshed"].append(lake.hour_row("refreshed", lake.HOURS[1], events_version=9))
    data = read(tmp_path / "bad", rows)
    found = data.publishing
    assert (found.complete, found.provisional, found.stale) == (0, lake.HOURS[:1], lake.HOURS[1:])
    assert found.recomputed == 1
    page = _page(tmp_path / "page", rows, _validation())
    assert "stale, because events of their windows changed since: 2013-01-01T11" in page
    assert "<b>0 of 2</b><span>hours complete, 1 provisional, 1 stale</span>" in page
    assert "<b>50.0%</b><span>of the hours recomputed" in page


def test_the_calendar_shows_each_hour_with_the_share_that_was_checked(
    tmp_path: Path, rows: Rows
) -> None:
    before = rows["ingested"][0] | {"hour": "2012-12-31T22"}
    rows["ingested"] += [before, before | {"hour": "2012-01-01T00"}]
    rows["published"].append(lake.published("2012-12-31T23", rows=10, checked_rows=1))
    data = read(tmp_path, rows)
    first, *_, eve, day = data.calendar
    assert (len(data.calendar), first.day, eve.day) == (14, "2012-12-19", "2012-12-31")
    assert (day.hours, day.published, day.rows, day.checked_rows) == (12, 2, 8, 4)
    assert [(start, number, cell.value) for start, number, cell in eve.cells] == [
        (0, 22, "."), (22, 1, "i"), (23, 1, "#"),
    ]  # fmt: skip
    page = _page(tmp_path / "page", rows, _validation())
    table = page[page.index('class="calendar"') :].partition("</table>")[0]
    assert '<span class="published" title="10:00 to 12:00 published">##</span>' in table
    assert '<td class="n">2/12</td><td class="n">50.0%</td>' in table
    assert '<td class="n">1/24</td><td class="n">10.0%</td>' in table
    legend = page[page.index('class="calendar"') :].partition("</section>")[0]
    assert '<span class="missing">.</span></code> missing' in legend
    assert nested(page)
    assert 'id="calendar"' not in _page(tmp_path / "no", {name: [] for name in rows}, None)


def test_results_that_changed_after_their_publication_are_named(tmp_path: Path, rows: Rows) -> None:
    root = lake.write_lake(tmp_path / "lake", rows)
    write_table(root, declared("results"), [], note={"hours": [lake.HOURS[1]]})
    assert data_of(root).publishing.unsettled == (lake.HOURS[1],)
    page = lake.report(root, tmp_path / "reports", lake.INTERVAL).read_text("utf-8")
    assert "recorded; publish again: 2013-01-01T11" in page
