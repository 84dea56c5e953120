"""What a replay's summary says about tables of a few rows."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from rich.console import Console

from elsinore.errors import DataError
from elsinore.orchestration.callbacks import TaskProgress
from elsinore.quality.judge import Judgement, judgement_file
from elsinore.replay import ProgressPrinter, print_results
from elsinore.settings import Settings
from elsinore.timeline import Interval

INTERVAL = Interval.parse("2013-02-08T07:00", "2013-02-08T09:00")
HUGE = "1" + "0" * 400


def result(
    hour: int, query: str, aggregate: str, exact: str, group: str = "AA"
) -> dict[str, object]:
    return {
        "owned_day": date(2013, 2, 8),
        "owned_hour": f"2013-02-08T{hour:02}",
        "query": query,
        "group_key": f'{{"carrier":"{group}"}}',
        "window_start": datetime(2013, 2, 8, hour - 1, tzinfo=UTC),
        "window_end": datetime(2013, 2, 8, hour, tzinfo=UTC),
        "aggregate": aggregate,
        "exact": exact,
        "log2": 1328.8 if exact == HUGE else float(len(exact)),
    }


RESULTS = [
    result(7, "chains", "COUNT(*)", "9"),
    result(7, "chains", "COUNT(D)", "1000"),
    result(8, "chains", "COUNT(*)", "10"),
    result(8, "chains", "COUNT(D)", "20"),
    result(8, "chains", "COUNT(*)", HUGE, "[red]UA"),
    result(8, "delays", "COUNT(D)", "7"),
    result(8, "delays", "AVG(D.dep_delay)", "5"),
    result(8, "longest", "MAX(D.dep_delay)", "99"),
    result(10, "chains", "COUNT(*)", HUGE + "0"),
]  # fmt: skip

LANDINGS = [
    {"landing": f"2013-02-08T{hour:02}", "files": 1, "lines": 100 * hour,
     "accepted": 100 * hour - 3, "duplicates": 2, "quarantined": 1}
    for hour in (7, 8, 9)
]  # fmt: skip

VALIDATIONS = [
    {"owned_hour": "2013-02-08T07", "status": "checked", "mismatch": False},
    {"owned_hour": "2013-02-08T08", "status": "checked", "mismatch": True},
    {"owned_hour": "2013-02-08T08", "status": "skipped", "mismatch": False},
    {"owned_hour": "2013-02-08T09", "status": "checked", "mismatch": True},
]


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    settings = Settings(home=tmp_path)
    for name, rows in [
        ("trend_aggregates", RESULTS),
        ("landings", LANDINGS),
        ("validations", VALIDATIONS),
    ]:
        table = pa.Table.from_pylist(rows)
        days = [column for column in table.column_names if column.endswith("_day")]
        write_deltalake(settings.lake / name, table, partition_by=days)
    return settings


def printed(settings: Settings, *, terminal: bool = False) -> str:
    console = Console(record=True, force_terminal=terminal, width=160)
    print_results(settings, INTERVAL, console, log=settings.home / "a.log", seconds=12.4)
    return console.export_text()


@pytest.mark.parametrize("terminal", [True, False])
def test_the_replayed_hours_alone_count_and_each_query_has_its_largest_count(
    settings: Settings, terminal: bool
) -> None:
    text = printed(settings, terminal=terminal)
    assert "1,500 lines of 2 files: 1,494 accepted, 4 duplicates, 2 quarantined" in text
    assert "2 values against the reference: 1 mismatch, 1 skipped" in text
    assert "401 digits, 2^1328.8" in text
    assert HUGE not in text
    assert "carrier=[red]UA" in text, "a group is no markup"
    if not terminal:
        chains, delays, longest = (line.split() for line in text.splitlines()[:3])
        assert chains[:3] == ["chains", "3", "COUNT(*)"]
        assert chains[-5:] == ["02-08", "07:00", "to", "02-08", "08:00"]
        assert delays[:4] == ["delays", "1", "COUNT(D)", "7"]
        assert longest == ["longest", "1"]


def test_the_pages_of_this_run_are_found(settings: Settings) -> None:
    assert "report    none\nData Docs none\n" in printed(settings)
    for run in ("2013-02-08T07_2013-02-08T09", "2013-02-01T00_2013-02-02T00"):
        settings.reports.mkdir(exist_ok=True)
        (settings.reports / f"{run}.html").write_text("x")
        path = judgement_file(settings.quality, run)
        path.parent.mkdir(parents=True)
        found = Judgement(run_name=run, verdicts=(), docs_index=f"/docs of {run}")
        path.write_text(found.model_dump_json())
    text = printed(settings)
    report = settings.reports / "2013-02-08T07_2013-02-08T09.html"
    assert f"report    {report}\nData Docs /docs of 2013-02-08T07_2013-02-08T09\n" in text


def test_a_missing_table_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot read the table landings"):
        printed(Settings(home=tmp_path))


def test_progress_is_a_line_for_each_step() -> None:
    console = Console(record=True, width=200)
    tell = ProgressPrinter(console)
    tell(TaskProgress("land", "started"))
    tell(TaskProgress("aggregate", "failed", label="07 to 08", reason="[x] went wrong"))
    lines = console.export_text().splitlines()
    assert lines == ["  started  land", "  failed   aggregate (07 to 08): [x] went wrong"]
