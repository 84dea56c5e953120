"""`elsinore replay`: the DAG `hourly_replay` over some hours of a stream.

It uses Airflow's one-process runner, `airflow dags test`: see
docs/internals/decisions/0004-replay-in-one-process.md. It reads the outcome without a JVM.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow.compute as pc
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import (
    AuthorError,
    ConflictError,
    DataError,
    ElsinoreError,
    QueryError,
    SetupError,
)
from elsinore.generate.flights import generate_flights
from elsinore.lake.answered import joint_name
from elsinore.lake.own_workload import load_own_workload
from elsinore.ledger.fold import Fold
from elsinore.ledger.table import state_of
from elsinore.ledger.to_compute import in_words, named
from elsinore.orchestration.airflow_environment import (
    airflow_environment,
    is_prepared,
    prepare_airflow,
)
from elsinore.orchestration.callbacks import PROGRESS_FILE, TaskProgress
from elsinore.orchestration.run_params import run_interval
from elsinore.places import make_home
from elsinore.planned_hours import planned_replay
from elsinore.quality.check_expectations import load_validation_results
from elsinore.quality.ingested_hours import ingested_hours
from elsinore.quality.lake import ResultCounts, count_results
from elsinore.quality.measures import measures_of
from elsinore.quality.open_windows import (
    is_reached,
    open_windows,
    replay_command,
    show_minute,
    split_at,
)
from elsinore.quality.staged import checks_of_staged
from elsinore.quality.validate import EVERY_AGGREGATE
from elsinore.query.bound import Workload
from elsinore.query.print_query import count_of
from elsinore.raw_names import RAW_NAMES, hour_path
from elsinore.results.published import shorten_count
from elsinore.settings import RENAMED, Settings
from elsinore.spark.server import server_url
from elsinore.store.regions import Hours, run_key
from elsinore.timeline import (
    EPOCH,
    HOUR,
    Interval,
    format_instant,
    hour_label,
    hours_of,
    instant_of,
    stretches,
)
from elsinore.wording import program, some_of, visible

#: Two winter days with a snow storm in the first: many delays, many cancellations.
DEFAULT_START, DEFAULT_END = "2013-02-08T00:00:00Z", "2013-02-10T00:00:00Z"

#: Called after each step of each task.
OnProgress = Callable[[TaskProgress], None]

#: The schema of the stream whose missing raw files are generated.
FLIGHTS: Path = Settings.model_fields["schema_file"].default

_DAG = "hourly_replay"

_POLL_SECONDS = 0.2


def replay(settings: Settings, start: str, end: str, console: Console) -> None:
    """Replay consecutive hours: run the DAG in Airflow and print the results.

    For the stream of flights, missing raw files are generated; existing files do not change. A
    replay is idempotent: it leaves the same tables. `start` and `end` are ISO 8601.

    Raises:
        ParameterError: the time range is empty, not over, or not of whole hours.
        DataError: none of the hours has a file, and the stream is not flights.
        ConflictError: another process replays into the same home.
        AuthorError: a task found an invalid query, schema or parameter.
        ElsinoreError: a task failed; the message names it and Airflow's log.
    """
    interval = run_interval(start, end)
    with _alone(settings.local, interval):
        _replay(settings, interval, console)


@contextmanager
def _alone(home: Path, interval: Interval) -> Iterator[None]:
    """Lock a home for one replay at a time.

    Two replays would generate the same raw files and wait for each other's commits.

    Raises:
        ConflictError: another process replays.
    """
    make_home(home)
    with (home / "replay.lock").open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            lock.seek(0)
            raise ConflictError(
                f"{lock.read() or 'another process replays'} into {home}", hint="wait until it ends"
            ) from error
        lock.truncate(0)
        lock.write(f"process {os.getpid()} replays {interval}")
        lock.flush()
        yield


def _replay(settings: Settings, interval: Interval, console: Console) -> None:
    began = time.monotonic()
    for stretch in stretches(_hours_to_generate(settings, interval)):
        generate_flights(settings.landing, start=_moment(stretch.start), end=_moment(stretch.end))
    with ThreadPoolExecutor(1) as thread:
        # While Airflow starts; should it fail, the first task says why.
        thread.submit(server_url, settings)
        log = run_dag(settings, interval, ProgressPrinter(console))
    every = [settings.of_workload(name) for name in settings.workloads]
    for own in every:
        if len(every) > 1:
            console.print(own.queries.stem, style="bold", highlight=False)
        print_results(own, interval, console, log=log, seconds=time.monotonic() - began)
    print_open_windows(every, interval, console)


def _hours_to_generate(settings: Settings, interval: Interval) -> list[int]:
    """Return the hours whose raw files a replay generates: missing ones of the sample flights.

    Raises:
        DataError: none of the hours has a file, and the stream is not flights.
    """
    landing = settings.landing
    missing = [
        hour
        for hour in hours_of(interval)
        if not any(hour_path(landing, hour).parent.glob(f"events-{hour_label(hour)}*"))
    ]
    if load_schema(settings.schema_file).sources:
        return []  # the ingest finds its files where they are stored
    if settings.schema_file == settings.root / FLIGHTS:  # files of other streams have producers
        return missing
    if len(missing) == interval.length // HOUR and not _is_reached(settings, interval):
        hours = " to ".join(map(hour_label, (interval.start, interval.end)))
        hint = f"add events with `elsinore put FILE`, or change --start and --end; {RAW_NAMES}"
        raise DataError(f"no raw file of these hours ({hours}) is in {landing}", hint=hint)
    return []


def print_plan(settings: Settings, start: str, end: str, console: Console) -> None:
    """Print the hours that a replay would compute, each with the reason; change nothing.

    Raises:
        ParameterError: the time range is empty, not over, or not of whole hours.
        DataError: none of the hours has a file, and the stream is not flights; or the landing zone
            is missing.
        AuthorError: no workload is valid.
    """
    interval, own = run_interval(start, end), _as_replayed(settings)
    plan = planned_replay(own, interval, made=_hours_to_generate(own, interval))
    hours = f"{show_minute(interval.start)} to {show_minute(interval.end)}"
    lines = [f"would compute {count_of(len(plan.own), 'hour')} of {hours}"]
    lines += [f"  {line}" for line in in_words(plan.own)]
    if plan.others:
        lines.append(f"would also recompute {count_of(len(plan.others), 'hour')}")
        lines += [f"  {line}" for line in in_words(plan.others)]
    if len(plan.changed):
        lines.append(f"files are new, changed or removed in {named(plan.changed)}")
    if plan.collected:
        files = f"{count_of(len(plan.collected), 'file')}: {some_of(plan.collected, 3)}"
        lines.append(f"would first collect {files}; the hours of their events are not listed")
    lines += [f"cannot ingest {label}: {why}" for label, why in sorted(plan.refused.items())]
    if plan.lost:
        removed = count_of(plan.lost, "hour")
        lines.append(f"cannot compute {removed}, because events of their windows were removed")
    if plan.left:
        lines.append(f"would leave {count_of(plan.left, 'hour')} to later runs")
    lines.append(f"in total {count_of(len(plan.own) + len(plan.others), 'hour')}")
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _as_replayed(settings: Settings) -> Settings:
    """Return the settings of the tasks of a replay."""
    # No scheduler runs that could recompute the backlog.
    return settings.model_copy(update={"recompute_hours": 1_000, "workload": ""})


def _is_reached(settings: Settings, interval: Interval) -> bool:
    """Return whether a window that ends in these hours contains an earlier event."""
    for own in map(settings.of_workload, settings.workloads):
        workload = _workload(own)
        if workload and is_reached(state_of(own), workload, interval):
            return True
    return False


def _workload(settings: Settings) -> Workload | None:
    """Return the queries of some settings; None if invalid, which their tasks report."""
    with suppress(QueryError):
        return load_own_workload(settings, load_schema(settings.schema_file))
    return None


def _moment(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)


def run_dag(settings: Settings, interval: Interval, progress: OnProgress) -> Path:
    """Run the DAG over the interval, wait for it, and return Airflow's log of it.

    Raises:
        AuthorError: a task found an invalid query, schema or parameter.
        ElsinoreError: a task failed.
        SetupError: Airflow could not be made ready, or ended without any task's doing.
    """
    if not is_prepared(settings.root):
        prepare_airflow(settings.root)
    log = settings.local / "logs" / f"{hour_label(interval.start)}_{hour_label(interval.end)}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    steps = log.with_suffix(".progress")
    steps.write_text("", encoding="utf-8")
    failures: list[TaskProgress] = []
    begin = 0

    def note(step: TaskProgress) -> None:
        nonlocal begin
        if step.state == "failed":
            failures.append(step)
        if step.state == "started":
            begin = step.written
        elif step.log:  # one after another: what is written in between is the task's
            Path(step.log).write_bytes(log.read_bytes()[begin : step.written])
        progress(step)

    code = _run(_command(interval), _environment(settings, steps), settings.root, log, note)
    if code:
        raise _failure(failures, code, log)
    return log


def _command(interval: Interval) -> list[str]:
    borders = {"start": format_instant(interval.start), "end": format_instant(interval.end)}
    test = ["dags", "test", _DAG, "--conf", json.dumps(borders)]
    return [sys.executable, "-P", "-m", "airflow", *test]


def _environment(settings: Settings, steps: Path) -> dict[str, str]:
    """Return the environment of Airflow, with the settings of this process for its tasks."""
    settings = _as_replayed(settings)
    # Settings are serialized as they are read, so JSON values are JSON again.
    values = settings.model_dump(mode="json", by_alias=True, round_trip=True, exclude_none=True)
    ours = {f"ELSINORE_{name.upper()}": str(value) for name, value in values.items()}
    known = {**airflow_environment(settings.root), **ours, PROGRESS_FILE: str(steps)}
    # Values under old names are already in the settings, and `recompute_hours` differs.
    old = {f"ELSINORE_{name.upper()}" for name in RENAMED}
    return {name: value for name, value in known.items() if name not in old}


def _run(argv: list[str], env: dict[str, str], root: Path, log: Path, note: OnProgress) -> int:
    """Run Airflow until it ends, pass on the progress of its tasks, and return its exit code."""
    with log.open("wb") as output, Path(env[PROGRESS_FILE]).open(encoding="utf-8") as lines:
        airflow = subprocess.Popen(
            argv, cwd=root, env=env, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            while True:
                code = airflow.poll()
                for line in lines:
                    note(TaskProgress(*json.loads(line)))
                if code is not None:
                    return code
                time.sleep(_POLL_SECONDS)
        finally:
            airflow.kill()
            airflow.wait()


def _failure(failures: list[TaskProgress], code: int, log: Path) -> ElsinoreError:
    where = f"read the log: {log}"
    if not failures:
        return SetupError(f"Airflow ended with exit code {code}", hint=where)
    first = failures[0]
    kind = AuthorError if first.exit_code == AuthorError.exit_code else ElsinoreError
    task = f"{first.task} ({first.label})" if first.label else first.task
    return kind(f"task {task} failed: {first.reason}", hint=where, task=first.task)


# ---- progress and results, for people


class ProgressPrinter:
    """Prints one line when a task starts to run and one when it has ended, with its seconds."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._started: dict[tuple[str, str], float] = {}

    def __call__(self, step: TaskProgress) -> None:
        """Print one step."""
        key = (step.task, step.label)
        if step.state == "started":
            self._started[key] = time.monotonic()
        name = f"{step.task} ({step.label})" if step.label else step.task
        line = f"  {step.state:8} {name}"
        if step.state != "started" and key in self._started:
            line += f"  {time.monotonic() - self._started[key]:.1f} s"
        if step.reason:
            line += f": {step.reason}"
        style = {"failed": "red", "retried": "yellow", "done": "green"}.get(step.state)
        self._console.print(escape(line), style=style, highlight=False, soft_wrap=True)


def print_results(
    settings: Settings, interval: Interval, console: Console, *, log: Path, seconds: float
) -> None:
    """Print the top result of each query, row counts, checks, and the paths of reports and logs.

    A terminal gets a table; otherwise there is a line per query.

    Raises:
        DataError: a table is missing.
    """
    state = state_of(settings)
    checks = checks_of_staged(settings.lake, state, Hours(interval))
    measures = measures_of(_workload(settings))
    queries = count_results(settings.lake, Hours(interval), tops=1, measures=measures)
    is_window = pc.equal(checks["aggregate"], EVERY_AGGREGATE)
    windows = pc.filter(checks["status"], is_window).to_pylist().count("checked")
    values = pc.filter(checks["status"], pc.invert(is_window)).to_pylist()
    mismatches = pc.sum(checks["mismatch"]).as_py() or 0
    validation = load_validation_results(settings.quality, interval)
    report = settings.reports / f"{run_key(interval)}.html"
    told = [
        _ingested(settings, state, interval),
        f"checked   a sample of {count_of(values.count('checked'), 'value')} and "
        f"{count_of(windows, 'whole window')} against the reference: "
        f"{count_of(mismatches, 'mismatch')}, {values.count('skipped'):,} skipped",
        f"report    {_place(report if report.is_file() else None)}",
        f"Data Docs {_place(validation.docs if validation else None)}",
        f"log       {_place(log)}",
        f"replayed  {show_minute(interval.start)} to {show_minute(interval.end)} "
        f"({count_of(interval.length // HOUR, 'hour')}) in {seconds:.0f} s",
    ]
    if not queries:
        told.append(f"published nothing: {_why_nothing(_workload(settings), interval)}")
    if console.is_terminal:
        console.print(_table(queries))
    else:
        told = ["\t".join(_cells(name, counts)) for name, counts in queries.items()] + told
    for line in told:
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _ingested(settings: Settings, state: Fold, interval: Interval) -> str:
    """Return the row counts of the hours, without the empty files of hours without an event."""
    hours = ingested_hours(settings.lake, state, interval)
    names = ("records", "file_count", "accepted", "repeated", "bad_records", "empty")
    records, files, accepted, repeated, bad, empty = (int(hours[name].sum()) for name in names)
    also = f"; {count_of(empty, 'empty file')}" if empty else ""
    return (
        f"ingested  {count_of(records, 'record')} of {count_of(files - empty, 'file')}: "
        f"{accepted:,} accepted, {repeated:,} repeated, {bad:,} quarantined{also}"
    )


def _why_nothing(workload: Workload | None, interval: Interval) -> str:
    """Return why no result of these hours is published."""
    if workload and not any(query.window.ending_in(interval) for query in workload.queries):
        return "no window of the queries ends in these hours"
    return "no window that ends in these hours contains a trend"


def print_open_windows(every: Sequence[Settings], interval: Interval, console: Console) -> None:
    """Print which windows of some workloads end after a replay, and the command for them.

    Raises:
        DataError: a table is missing.
    """
    ends, hours = dict[str, int](), list[Interval]()
    for own in every:
        if workload := _workload(own):
            found = open_windows(state_of(own), workload, interval.end)
            names = (
                joint_name(own.workload, name) if own.workload else name for name in found.ends
            )
            ends |= zip(names, found.ends.values(), strict=True)
            hours += [found.hours] if found.hours else []
    if not hours:
        return
    whole = Interval(min(part.start for part in hours), max(part.end for part in hours))
    over, rest = split_at(whole, instant_of(datetime.now(UTC)))
    named = (f"{name} (the last ends {show_minute(end)})" for name, end in ends.items())
    told = [f"open      windows with events end after these hours: {some_of(named)}"]
    stream = every[0].stream
    if rest:
        command = replay_command(rest, program(), stream)
        told.append(
            "          scheduled runs publish windows that end after "
            f"{show_minute(rest.start)}; or run, after {show_minute(rest.end)}: {command}"
        )
    if over:
        told += ["          next:", replay_command(over, program(), stream)]
    for line in told:
        console.print(line, soft_wrap=True, markup=False, highlight=False)


def _table(queries: Mapping[str, ResultCounts]) -> Table:
    table = Table(title="Published trend aggregates: the largest count per query")
    for heading in ("query", "rows", "aggregate", "largest", "group", "window (UTC)"):
        right = heading in {"rows", "largest"}
        table.add_column(heading, justify="right" if right else "left", overflow="fold")
    for name, counts in queries.items():
        table.add_row(*(escape(cell) for cell in _cells(name, counts)))
    return table


def _cells(query: str, counts: ResultCounts) -> tuple[str, ...]:
    if not counts.tops:
        return query, f"{counts.rows:,}", "", "", "", ""
    top = counts.tops[0]
    group = ", ".join(f"{name}={value}" for name, value in json.loads(top.group_key).items())
    window = f"{top.window_start:%m-%d %H:%M} to {top.window_end:%m-%d %H:%M}"
    largest = shorten_count(top.exact)
    return query, f"{counts.rows:,}", top.aggregate, largest, visible(group), window


def _place(path: Path | None) -> str:
    if path is None:
        return "none"
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
