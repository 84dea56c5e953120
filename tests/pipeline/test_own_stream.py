"""Streams of one's own: from samples of their events, without ids, with a schema that grows."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deltalake
import pytest
from rich.console import Console

import elsinore
from elsinore.cli.main import run_command
from elsinore.errors import SetupError
from elsinore.ledger.table import state_of
from elsinore.orchestration.run_params import run_interval
from elsinore.orchestration.run_step import Arguments, run_step
from elsinore.quality.open_windows import open_windows
from elsinore.quality.validate import VALIDATIONS
from elsinore.query.load_workload import load_workload
from elsinore.replay import print_results
from elsinore.settings import Settings
from elsinore.store.tables import RESULTS, Lake
from jobs import check_expectations, ingest_events
from tests.homes import NewHome
from tests.landing_zone import hours, run_hours, run_jobs

pytestmark = pytest.mark.spark

SCHEMA = "stream: sales\ntime: {field: at, unit: iso}\ntypes:\n  Sale: {shop: string, price: double"
RISING = """
QUERY rising RETURN COUNT(*) PATTERN Sale S+ WHERE [shop] AND S.price < NEXT(S).price
GROUP-BY S.shop WITHIN 2 hours SLIDE 1 hour;
"""
IN_CASH = """
QUERY in_cash RETURN COUNT(*) PATTERN Sale S+ WHERE [shop] AND S.paid = 'cash'
GROUP-BY S.shop WITHIN 2 hours SLIDE 1 hour;
"""
Sell = Callable[..., Path]


@pytest.fixture
def settings(new_spark_home: NewHome) -> Settings:
    made = new_spark_home()
    schema, queries = made.home / "sales.yaml", made.home / "sales.sase"
    schema.write_text(SCHEMA + "}\n")
    queries.write_text(RISING)
    return made.model_copy(update={"schema_file": schema, "workload_file": queries})


@pytest.fixture
def sell(settings: Settings) -> Sell:
    """Puts a file of two shops' sales into the landing zone."""

    def put(hour: int, **more: str) -> Path:
        sales = [
            {"at": f"2013-01-01T{hour}:{minute:02}:00Z", "shop": shop, "price": minute % 5} | more
            for minute in range(9)
            for shop in "xy"
        ]
        path = settings.landing / f"2013/01/01/events-2013-01-01T{hour}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        # A line that is there twice counts twice: nothing tells that it is not another sale.
        path.write_text("".join(f"{json.dumps(sale)}\n" for sale in [*sales, sales[0]]))
        return path

    return put


def published(settings: Settings) -> dict[tuple[str, str, Any], int]:
    return {
        (row["query"], json.loads(row["group_key"])["shop"], row["window_start"]): int(row["exact"])
        for row in Lake.open(settings).rows(RESULTS).to_pylist()
    }


def answered(settings: Settings, *files: Path) -> dict[tuple[str, str, Any], int]:
    """What the library says of the windows that end by the last hour."""
    work = elsinore.workload(settings.workload_file, schema=settings.schema_file)
    answers = work.run([*files])
    return {
        (name, row["shop"], row["window_start"]): row["COUNT(*)"]
        for name in answers
        for row in answers[name].to_pylist()
        if row["window_start"].hour < 9 + len(files)
    }


@pytest.mark.long
def test_events_without_ids_and_types_are_published(settings: Settings, sell: Sell) -> None:
    files = [sell(10), sell(11)]
    ingest_events.main(Arguments(hours(10, 12), "once"), settings)
    assert run_hours(settings, 10, 12)["accepted"] == 2 * 19
    check_expectations.main(Arguments(hours(10, 12), "by night"), settings)
    assert published(settings) == answered(settings, *files)
    assert len(published(settings)) == 4


#: Of some windows, all but the first end after the hours of the events.
WINDOWS = ("1 hour", "2 hours SLIDE 1 hour", "6 hours", "1 day", "1 day SLIDE 1 hour")


def test_the_replay_that_ingest_prints_publishes_what_run_answers(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Settings, "load", lambda: settings)
    text = "QUERY q{} RETURN COUNT(*) PATTERN Sale S WITHIN {};"
    queries = "".join(text.format(number, within) for number, within in enumerate(WINDOWS))
    settings.workload_file.write_text(queries)
    path = settings.home / "e.jsonl"
    times = ("10:00", "10:30", "13:10")
    sales = ({"at": f"2013-01-01T{time}:00Z", "shop": "x", "price": 1.5} for time in times)
    path.write_text("".join(f"{json.dumps(sale)}\n" for sale in sales))
    assert run_command(["put", str(path)]) == 0
    *_, command = capsys.readouterr().out.splitlines()
    interval = run_interval(*command.split()[3::2])
    run_jobs(settings, interval, "printed")
    found = {
        (row["query"], row["window_start"], row["window_end"], int(row["exact"]))
        for row in Lake.open(settings).rows(RESULTS).to_pylist()
    }
    answers = elsinore.workload(settings.workload_file, schema=settings.schema_file).run(path)
    wanted = {
        (name, row["window_start"], row["window_end"], row["COUNT(*)"])
        for name in answers
        for row in answers[name].to_pylist()
    }
    assert found == wanted
    assert {name for name, *_ in found} == {f"q{number}" for number in range(len(WINDOWS))}
    workload = load_workload(settings.queries, Lake.open(settings).stream)
    assert not open_windows(state_of(settings), workload, interval.end).ends
    console = Console(record=True, width=200)
    print_results(settings, hours(10, 14), console, log=path, seconds=1)
    told = console.export_text()
    counts = "3 records of 2 files: 3 accepted, 0 repeated, 0 quarantined; 2 empty files"
    assert f"ingested  {counts}" in told


#: By stream the name of what says when, and two types of events without it.
SAMPLES: dict[str, tuple[str, dict[str, object], dict[str, object]]] = {
    "sales": ("at", {"type": "Sale", "shop": "x", "price": 3}, {"type": "Refund", "shop": "x"}),
    "steps": ("time", {"type": "Step", "walker": 7}, {"type": "Rest", "walker": 7, "long": True}),
}


@pytest.mark.long
def test_streams_of_one_home_from_samples_of_their_events(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, (clock, one, other) in SAMPLES.items():
        times = (f"2013-01-01T1{n // 20}:{n % 20:02}:00Z" for n in range(40))
        lines = ({clock: time, **(other if n % 3 == 2 else one)} for n, time in enumerate(times))
        sample = checkout / f"{name}.jsonl"
        sample.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        monkeypatch.setenv("ELSINORE_STREAM", name)
        assert run_command(["new-stream", name, "--from", str(sample)]) == 0
        assert run_command(["put", str(sample)]) == 0
    monkeypatch.delenv("ELSINORE_STREAM")
    for name in SAMPLES:
        settings = Settings.load(name)
        for hour in (10, 11):
            run_hours(settings, hour, hour + 1)
        work = elsinore.workload(settings.workload_file, schema=settings.schema_file)
        rows = work.run([checkout / f"{name}.jsonl"])["first"].num_rows
        assert Lake.open(settings).rows(RESULTS).num_rows == rows > 0
    assert sorted(path.name for path in (checkout / "var").iterdir() if path.is_dir()) == [*SAMPLES]


@pytest.mark.long
def test_the_steps_by_their_commands(
    settings: Settings,
    sell: Sell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Settings, "load", lambda: settings)
    file, when = sell(10), ("--start", "2013-01-01T10:00Z", "--end", "2013-01-01T11:00Z")

    def told(command: str, code: int = 0) -> str:
        assert run_command([command, *when]) == code
        return "".join(capsys.readouterr())

    told("ingest")
    told("validate")  # it aggregates first
    for command in ("aggregate", "validate", "publish", "report"):
        told(command)
    assert published(settings) == answered(settings, file)
    assert run_command(["report", "--night", "2999-01-01"]) == 2
    assert "the day '2999-01-01' is not over" in capsys.readouterr().err


@pytest.mark.long
def test_a_schema_that_grows(
    settings: Settings,
    sell: Sell,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(Settings, "load", lambda: settings)
    files = [sell(10)]
    run_hours(settings, 10, 11)

    def migrate(attribute: str, *options: str) -> tuple[int, str]:
        settings.schema_file.write_text(f"{SCHEMA}, {attribute}}}\n")
        code = run_command(["migrate", *options])
        return code, "".join(capsys.readouterr())

    code, said = migrate("paid: string")
    assert code == 2
    assert "existing events have no Sale.paid" in said
    code, said = migrate("shop: long")
    assert code == 2, "one name twice"
    optional = "paid: {type: string, nullable: true}"
    assert migrate(optional, "--dry-run") == (0, "the table events would get paid (string)\n")
    files.append(sell(11, paid="cash"))
    with files[-1].open("a") as late:
        late.write('{"at": "2013-01-01T10:30:00Z", "shop": "x", "price": 9}\n')
    assert migrate(optional) == (0, "the table events got paid (string)\n")
    path = Lake.open(settings).path(VALIDATIONS)  # as an earlier release made it
    less = deltalake.DeltaTable(path).to_pyarrow_table().drop_columns(["has_result"])
    deltalake.write_deltalake(path, less, mode="overwrite", schema_mode="overwrite")
    with pytest.raises(SetupError, match=r"no column has_result .*elsinore migrate"):
        run_step("report_quality", Arguments(hours(10, 12), "report"), settings)
    assert migrate(optional) == (0, "the table events has all columns of the schema\n")
    assert "has_result" in Lake.open(settings).dataset(VALIDATIONS).schema.names
    recomputed = [{"start": "2013-01-01T10:00:00.000000Z", "end": "2013-01-01T11:00:00.000000Z"}]
    assert run_hours(settings, 11, 12)["recomputed"] == recomputed, "its results are still its own"
    assert published(settings) == answered(settings, *files)
    # A query of the new attribute, over events from before and after.
    settings.workload_file.write_text(IN_CASH)
    run_hours(settings, 10, 12)
    assert published(settings) == answered(settings, *files)
    assert len(published(settings)) == 2
    # A column that the schema does not declare stays.
    other = "other: {type: string, nullable: true}"
    assert migrate(other) == (0, "the table events got other (string)\n")
    code, said = migrate("paid: {type: long, nullable: true}")
    assert code == 2
    assert "paid is string, but" in said
