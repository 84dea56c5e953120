"""`elsinore replay`: which raw files it makes and what it refuses, a run followed, what it prints.

A few lines of Python stand in place of Airflow.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from rich.console import Console

from elsinore import replay
from elsinore.errors import (
    AuthorError,
    ConflictError,
    DataError,
    ElsinoreError,
    ParameterError,
    SetupError,
)
from elsinore.orchestration.callbacks import PROGRESS_FILE, TaskProgress
from elsinore.orchestration.run_params import run_interval
from elsinore.quality.check_expectations import FILE_NAME, ValidationResults
from elsinore.raw_names import hour_path
from elsinore.replay import ProgressPrinter, print_open_windows, print_results, run_dag
from elsinore.settings import Settings
from elsinore.timeline import Interval, hours_of
from tests.unit.quality.lake import hour_row, published
from tests.written_tables import declared, write_hours, write_table

SIX_HOURS = Interval.parse("2013-02-08T00:00", "2013-02-08T06:00")
HOURS = ("2013-02-08T00:00", "2013-02-08T06:00")


class Stopped(Exception):
    """Raised in place of running Airflow."""


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    calls: list[tuple[str, str]] = []

    def generate(output: Path, *, start: datetime, end: datetime) -> None:
        calls.append((f"{start:%H}", f"{end:%H}"))

    def stop(*arguments: Any) -> Path:
        raise Stopped

    monkeypatch.setattr(replay, "generate_flights", generate)
    monkeypatch.setattr(replay, "run_dag", stop)
    monkeypatch.setattr(replay, "server_url", lambda settings: "")
    return calls


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        ([], [("00", "06")]),
        ([0, 1, 2, 3, 4, 5], []),
        ([2, 3], [("00", "02"), ("04", "06")]),
        ([0, 5], [("01", "05")]),
    ],
)
def test_only_missing_hours_are_generated(
    tmp_path: Path, generated: list[tuple[str, str]], present: list[int],
    expected: list[tuple[str, str]],
) -> None:  # fmt: skip
    settings = Settings(home=tmp_path)
    for number, hour in enumerate(hours_of(SIX_HOURS)):
        if number in present:
            path = hour_path(settings.landing, hour)
            path.parent.mkdir(parents=True, exist_ok=True)
            # However its owner named the rest of it.
            path.with_name(path.name.replace(".jsonl.gz", "-corrected.jsonl")).touch()
    with pytest.raises(Stopped):
        replay.replay(settings, "2013-02-08T00:00", "2013-02-08T06:00", Console())
    assert generated == expected


@pytest.mark.parametrize(
    ("start", "end"),
    [("2013-02-08", "2013-02-08"), ("2013-02-09", "2013-02-08"), ("x", "2013-02-08"),
     ("2013-02-08T00:30", "2013-02-08T02:00")],
)  # fmt: skip
def test_a_bad_stretch_is_refused_before_anything_is_made(
    tmp_path: Path, generated: list[tuple[str, str]], start: str, end: str
) -> None:
    with pytest.raises(ParameterError):
        replay.replay(Settings(home=tmp_path), start, end, Console())
    assert generated == []


@pytest.mark.slow
def test_a_second_replay_is_refused_and_names_the_first(
    tmp_path: Path, generated: list[tuple[str, str]]
) -> None:
    program = (
        "import sys\nfrom rich.console import Console\nfrom elsinore import replay\n"
        "from elsinore.settings import Settings\n"
        "replay.generate_flights = lambda *_, **__: None\n"
        "replay.server_url = lambda settings: ''\n"
        "replay.run_dag = lambda *_: (print('runs', flush=True), sys.stdin.read(), sys.exit(0))\n"
        f"replay.replay(Settings(home={str(tmp_path)!r}), *{HOURS}, Console())"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == b"runs\n"
        told = rf"process {first.pid} replays \[2013-02-08T00:.* into {tmp_path} \(wait"
        with pytest.raises(ConflictError, match=told):
            replay.replay(
                Settings(home=tmp_path), "2013-02-08T00:00", "2013-02-08T06:00", Console()
            )
        assert generated == []
    with pytest.raises(Stopped):
        replay.replay(Settings(home=tmp_path), *HOURS, Console())


def test_flights_are_never_made_for_another_stream(
    tmp_path: Path, generated: list[tuple[str, str]]
) -> None:
    mine = tmp_path / "flights.yaml"
    own = Settings(home=tmp_path, schema_file=mine)
    mine.write_text("stream: s\ntime: {field: t, unit: iso}\ntypes: {A: }\n")
    (own.landing / "2013" / "02" / "08").mkdir(parents=True)
    with pytest.raises(DataError, match=r"no raw file of these hours .* raw files are YYYY/MM"):
        replay.replay(own, *HOURS, Console())
    with pytest.raises(DataError, match=r"\(2013-02-08T.*.*add events with `elsinore put FILE`"):
        replay.replay(own, *HOURS, Console())
    (own.landing / "2013" / "02" / "08" / "events-2013-02-08T03.jsonl").touch()
    with pytest.raises(Stopped):
        replay.replay(own, *HOURS, Console())
    (own.landing / "2013" / "02" / "08" / "events-2013-02-08T03.jsonl").unlink()
    mine.write_text(mine.read_text() + "sources: [{files: x.csv}]\n")
    with pytest.raises(Stopped):
        replay.replay(own, *HOURS, Console())
    assert generated == []


# ---- following a run of the DAG
INTERVAL = Interval.parse("2013-02-08T07:00", "2013-02-08T09:00")

DONE = [TaskProgress("ingest", "started"), TaskProgress("ingest", "done")]


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "is_prepared", lambda root: True)


def replace_airflow(
    monkeypatch: pytest.MonkeyPatch, steps: list[TaskProgress], code: int, *, then: str = "",
    first: str = "",
) -> None:  # fmt: skip
    program = (
        f"import os, sys, time\n{first}\nfor line in {[*map(json.dumps, steps)]!r}:\n"
        f"    with open(os.environ['{PROGRESS_FILE}'], 'a') as file: file.write(line + chr(10))\n"
        f"print('the log')\n{then}\nsys.exit({code})"
    )
    monkeypatch.setattr(replay, "_command", lambda interval: [sys.executable, "-c", program])


def test_every_step_is_passed_on_and_the_log_is_kept_where_a_task_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [TaskProgress("ingest", "retried", reason="conflict", exit_code=1), *DONE]
    replace_airflow(monkeypatch, steps, 0)
    heard: list[TaskProgress] = []
    log = run_dag(Settings(home=tmp_path), INTERVAL, heard.append)
    assert heard == steps
    assert log == tmp_path / "logs" / "2013-02-08T07_2013-02-08T09.log"
    assert log.read_text() == "the log\n"


def test_airflow_is_made_ready_where_it_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []
    monkeypatch.setattr(replay, "is_prepared", lambda root: bool(made))
    monkeypatch.setattr(replay, "prepare_airflow", made.append)
    replace_airflow(monkeypatch, DONE, 0)
    settings = Settings(home=tmp_path)
    for _ in range(2):
        run_dag(settings, INTERVAL, lambda step: None)
    assert made == [settings.root]


def test_each_task_has_the_part_of_the_log_that_it_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logs = [tmp_path / name for name in ("land.log", "plan.log")]
    steps = [
        TaskProgress("ingest", "started", log=str(logs[0]), written=4),
        TaskProgress("ingest", "done", log=str(logs[0]), written=8),
        TaskProgress("plan", "started", log=str(logs[1]), written=10),
        TaskProgress("plan", "retried", log=str(logs[1]), written=12),
    ]
    replace_airflow(monkeypatch, steps, 0, first="print('0123456789abcdef', flush=True)")
    run_dag(Settings(home=tmp_path), INTERVAL, lambda step: None)
    assert [log.read_text() for log in logs] == ["4567", "ab"]


def test_airflow_gets_this_processes_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = "('ELSINORE_HOME', 'ELSINORE_SLICES', 'ELSINORE_NOTIFIERS')"
    replace_airflow(monkeypatch, [], 0, then=f"print(*map(os.environ.get, {names}))")
    told: Any = '[{"class":"a.B","to":["x"]}]'  # as a variable has it
    log = run_dag(Settings(home=tmp_path, slices=7, notifiers=told), INTERVAL, lambda step: None)
    assert log.read_text().splitlines()[1] == f"{tmp_path} 7 {told}"


@pytest.mark.parametrize(("exit_code", "kind"), [(1, ElsinoreError), (2, AuthorError)])
def test_the_first_failed_task_is_named_in_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exit_code: int, kind: type[ElsinoreError]
) -> None:
    failed = TaskProgress("aggregate", "failed", "07 to 08", "no such column", exit_code)
    replace_airflow(monkeypatch, [*DONE, failed, TaskProgress("x", "failed")], 1)
    with pytest.raises(ElsinoreError, match=r"aggregate \(07 to 08\) failed: no such") as caught:
        run_dag(Settings(home=tmp_path), INTERVAL, lambda step: None)
    assert type(caught.value) is kind
    assert str(tmp_path / "logs") in str(caught.value)


def test_airflow_that_ends_without_a_failed_task_is_a_fault_of_the_set_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_airflow(monkeypatch, DONE, 3)
    with pytest.raises(SetupError, match="exit code 3"):
        run_dag(Settings(home=tmp_path), INTERVAL, lambda step: None)


def test_airflow_does_not_outlive_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_airflow(monkeypatch, DONE, 0, then="time.sleep(600)")

    def interrupt(step: TaskProgress) -> None:
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run_dag(Settings(home=tmp_path), INTERVAL, interrupt)
    assert time.monotonic() - began < 60


# ---- what is printed of tables of a few rows
HUGE = "1" + "0" * 400


def result(hour: int, query: str, aggregate: str, exact: str, group: str = "AA") -> dict[str, Any]:
    start, end = (datetime(2013, 2, 8, border, tzinfo=UTC) for border in (hour - 1, hour))
    return {
        "window_end_day": date(2013, 2, 8), "window_end_hour": f"2013-02-08T{hour:02}",
        "query": query,
        "query_fingerprint": "f" * 64, "group_key": f'{{"carrier":"{group}"}}',
        "window_start": start, "window_end": end, "aggregate": aggregate,
        "exact": exact, "value": float(exact) if exact[:9] != HUGE[:9] else None,
        "log2": 1328.8 if exact == HUGE else float(len(exact)),
    }  # fmt: skip


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

HOURS_OF_FILES = (7, 8, 9)
INGESTED = [
    hour_row("ingested", f"2013-02-08T{hour:02}", file_count=2, records=100 * hour + 1,
             bad_records=2, first_event=datetime(2013, 2, 8, hour, tzinfo=UTC),
             last_event=datetime(2013, 2, 8, hour, 30, tzinfo=UTC))
    for hour in HOURS_OF_FILES
]  # fmt: skip
EVENTS = [
    {"event_day": date(2013, 2, 8), "file_hour": f"2013-02-08T{hour:02}"}
    for hour in HOURS_OF_FILES for _ in range(100 * hour - 3)
]  # fmt: skip
QUARANTINE = [
    {"file_day": date(2013, 2, 8), "file_hour": f"2013-02-08T{hour:02}", "reason_code": code}
    for hour in HOURS_OF_FILES for code in ("bad_json", "empty_file")
]  # fmt: skip

VALIDATIONS = [
    {"window_end_hour": "2013-02-08T07", "status": "checked", "mismatch": False},
    {"window_end_hour": "2013-02-08T07", "status": "checked", "mismatch": False, "aggregate": "*"},
    {"window_end_hour": "2013-02-08T08", "status": "checked", "mismatch": True},
    {"window_end_hour": "2013-02-08T08", "status": "skipped", "mismatch": False},
    {"window_end_hour": "2013-02-08T09", "status": "checked", "mismatch": True},
]


#: Of every row that says of which workload it is; values are of COUNT(*).
_of_workload = {"workload_fingerprint": "c" * 64, "aggregate": "COUNT(*)"}

QUERIES = """
QUERY chains RETURN COUNT(*) PATTERN Departure D+ WITHIN 1 hour;
QUERY delays RETURN COUNT(*) PATTERN Departure D+ WITHIN 1 day;
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    workload = tmp_path / "flights.sase"
    workload.write_text(QUERIES)
    settings = Settings(home=tmp_path, workload_file=workload)
    for name, rows in {
        "results": RESULTS, "events": EVENTS, "quarantine": QUARANTINE,
        "validations": [_of_workload | row for row in VALIDATIONS],
    }.items():  # fmt: skip
        write_table(settings.lake, declared(name), rows)
    own = {"workload": "flights", "workload_fingerprint": "c" * 64}
    write_hours(settings.lake, INGESTED, [published("2013-02-08T07") | own])
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
    assert "ingested  1,500 records of 2 files: 1,494 accepted, 4 repeated, 2 quarantined" in text
    assert "; 2 empty files" in text
    assert "checked   a sample of 2 values and 1 whole window against the reference: 1 mism" in text
    assert "replayed  2013-02-08 07:00 UTC to 2013-02-08 09:00 UTC (2 hours) in " in text
    assert "published nothing" not in text
    assert "e400 (401 digits)" in text
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
        path = settings.quality / run / FILE_NAME
        path.parent.mkdir(parents=True)
        found = ValidationResults(run_name=run, verdicts=(), docs_index=f"/docs of {run}")
        path.write_text(found.model_dump_json())
    text = printed(settings)
    report = settings.reports / "2013-02-08T07_2013-02-08T09.html"
    assert f"report    {report}\nData Docs /docs of 2013-02-08T07_2013-02-08T09\n" in text


def test_a_missing_table_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the table validations does not exist in"):
        printed(Settings(home=tmp_path))


@pytest.mark.parametrize(
    ("within", "why"),
    [("1 day", "no window of the queries ends"), ("1 hour", "no window that ends in these hours")],
)
def test_a_replay_that_publishes_nothing_says_so_in_its_last_line(
    settings: Settings, within: str, why: str
) -> None:
    settings.workload_file.write_text(
        QUERIES.split(";", maxsplit=1)[0].replace("1 hour", within) + ";"
    )
    write_deltalake(
        settings.lake / "results", pa.Table.from_pylist(RESULTS[-1:]),
        partition_by=["window_end_day"], mode="overwrite", schema_mode="overwrite",
    )  # fmt: skip
    assert printed(settings).splitlines()[-1].startswith(f"published nothing: {why}")


def opened(settings: Settings) -> str:
    console = Console(record=True, width=160)
    print_open_windows([settings], INTERVAL, console)
    return console.export_text()


def test_windows_that_end_later_are_listed_with_the_command_for_them(settings: Settings) -> None:
    first, *_, command = opened(settings).splitlines()
    assert first.endswith("after these hours: delays (the last ends 2013-02-09 00:00 UTC)")
    assert command == "elsinore replay --start 2013-02-08T23:00 --end 2013-02-09T00:00"
    settings.workload_file.write_text(QUERIES.splitlines()[1])
    assert opened(settings) == "", "its windows end with their hours"


def test_windows_that_end_in_the_future_are_left_to_scheduled_runs(settings: Settings) -> None:
    settings.workload_file.write_text(QUERIES.replace("1 day", "9000 days SLIDE 1 day"))
    *_, rest, _, command = opened(settings).splitlines()
    assert "scheduled runs publish windows that end after" in rest
    start, end = command.split()[3::2]
    assert start == "2013-02-08T23:00"
    assert run_interval(start, end).end <= time.time() * 1_000_000


def test_hours_without_a_file_are_replayed_if_windows_that_end_there_hold_events(
    settings: Settings, generated: list[tuple[str, str]]
) -> None:
    mine = settings.home / "mine.yaml"
    mine.write_text(settings.schema_file.read_text())
    settings = settings.model_copy(update={"schema_file": mine})
    with pytest.raises(Stopped):
        replay.replay(settings, "2013-02-08T12:00", "2013-02-09T00:00", Console())
    for start, end in (("12:00", "23:00"), ("06:00", "07:00")):
        with pytest.raises(DataError, match="no raw file of these hours"):
            replay.replay(settings, f"2013-02-08T{start}", f"2013-02-08T{end}", Console())


def test_progress_is_a_line_for_each_step() -> None:
    console = Console(record=True, width=200)
    tell = ProgressPrinter(console)
    tell(TaskProgress("ingest", "started"))
    tell(TaskProgress("aggregate", "failed", label="07 to 08", reason="[x] went wrong"))
    lines = console.export_text().splitlines()
    assert lines == ["  started  ingest", "  failed   aggregate (07 to 08): [x] went wrong"]
