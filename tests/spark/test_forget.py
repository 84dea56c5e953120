"""`elsinore forget`: nothing is left of a key, and the tables are those of a replay without it."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import elsinore.lake.forget
import elsinore.lake.land
from elsinore.cli.main import run_command
from elsinore.errors import ConflictError, DataError, ParameterError
from elsinore.lake.forget import Key, forget
from elsinore.lake.land import find_landing
from elsinore.lake.tables import Lake
from elsinore.orchestration.run_step import Arguments, at_work
from elsinore.settings import Settings
from jobs import judge_quality, report_quality
from tests.lake_contents import contents, differences
from tests.spark.conftest import NewHome
from tests.spark.landing_zone import LANDED, departure, hours, land, put, rows, run_jobs

GONE = "N9Ü"

QUERIES = """
QUERY planes
RETURN tailnum, COUNT(*), SUM(D.dep_delay)
PATTERN Departure D+
GROUP-BY D.tailnum
WITHIN 2 hours SLIDE 1 hour;

QUERY all
RETURN COUNT(*), MAX(D.dep_delay)
PATTERN Departure D
WITHIN 1 hour;
"""

DAY = hours(9, 20)


@pytest.fixture
def settings(new_spark_home: NewHome, tmp_path: Path) -> Settings:
    path = tmp_path / "two.sase"
    path.write_text(QUERIES, encoding="utf-8")
    return new_spark_home().model_copy(update={"workload_file": path, "late_days": 1})


def write_zone(settings: Settings) -> None:
    """Hours 10 to 14: events of the key, repeated, corrected, moved, damaged; a file of nothing
    else, a packed one, and an event of another type that has its value in a field of no meaning.
    """
    gone: dict[str, Any] = {"tailnum": GONE}
    kept = departure(1, 5)
    put(settings, 10, kept, departure(2, 20, **gone), departure(3, 40, **gone), f"broken {GONE}!")
    # d2 comes again, d3 was another plane's; d4 is corrected by the key.
    put(settings, 11, departure(2, 20, **gone), departure(3, 40), departure(4, 5, 11))
    put(settings, 12, departure(4, 5, 11, **gone), departure(5, 1, 12, carrier=[7], **gone))
    of_it = departure(6, 1, 13, id=f"{GONE}-6", **gone)
    put(settings, 13, of_it, json.dumps(departure(7, 1, 13, **gone)))
    path = put(settings, 14, departure(8, 1, 14, **gone), departure(9, 2, 14))
    weather = {"id": "w", "type": "Weather", "time": "2013-01-01T14:00:00Z", "origin": "EWR",
               "precip": 0, "visib": 9, "tailnum": GONE}  # fmt: skip
    with gzip.open(path.with_suffix(".jsonl.gz"), "wt", encoding="utf-8") as packed:
        packed.write(json.dumps(weather) + "\n\n" + json.dumps(departure(10, 3, 14)) + "\n")
    path.unlink()
    put(settings, 14, departure(8, 1, 14, **gone), departure(9, 2, 14), name="-b")


def texts(home: Path) -> Iterator[tuple[Path, str]]:
    """Every file below a folder, with its text, unpacked; that of its name with it."""
    for path in sorted(home.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            yield path, str(path) + data.decode("utf-8", "replace")
            if path.suffix == ".gz":
                yield path, gzip.decompress(data).decode()
            if path.suffix == ".parquet":
                yield path, str(pq.read_table(io.BytesIO(data)).to_pylist())


def holding(settings: Settings) -> set[str]:
    """Folders and files of a home that hold the value, however it is spelled."""
    spelled = (GONE, json.dumps(GONE)[1:-1], json.dumps(json.dumps(GONE))[2:-2])
    return {
        "/".join(path.relative_to(settings.home).parts[:2])
        for path, text in texts(settings.home)
        if any(one in text for one in spelled)
    }


def copy_of(settings: Settings, new_home: NewHome) -> Settings:
    """A home with nothing but the same raw files."""
    clean = settings.model_copy(update={"home": new_home().home})
    shutil.rmtree(clean.landing)
    shutil.copytree(settings.landing, clean.landing)
    return clean


def test_nothing_is_left_of_a_key_and_its_hours_are_computed_anew(
    settings: Settings, new_home: NewHome, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    lake = Lake.open(settings)
    write_zone(settings)
    run_jobs(settings, DAY, "first")
    for job in (report_quality, judge_quality):
        job.main(Arguments(DAY, "first"), settings)
    said = [
        json.dumps({"dag": dag, "reason": reason})
        for dag in ("hourly_replay", "rides.hourly_replay")
        for reason in (f"about {GONE}", "another")
    ]
    settings.alerts.write_text("".join(f"{line}\n" for line in [f"a torn {GONE}", *said]), "utf-8")
    theirs = settings.home / "rides" / "reports" / "page.html"  # of another stream
    theirs.parent.mkdir(parents=True)
    theirs.write_text(GONE)
    server = settings.home / "spark" / "server.json"  # no log
    server.parent.mkdir()
    server.write_text(GONE)
    (lake.path("raw_events") / "part-0.parquet#1").write_text(GONE)  # of a killed writer
    assert {"lake/events", "lake/results", "lake/validations"} <= holding(settings)
    for name, value in settings.model_dump(mode="json", exclude_none=True).items():
        if name in ("home", "workload_file"):
            monkeypatch.setenv(f"ELSINORE_{name.upper()}", str(value))

    before = list(texts(settings.home))
    assert run_command(["forget", f"tailnum={GONE}", "--dry-run"]) == 0
    would = capsys.readouterr().out
    assert [one for one in texts(settings.home) if one[0].name != "steps.lock"] == before
    assert run_command(["forget", f"tailnum={GONE}"]) == 0
    told = capsys.readouterr().out
    assert [line.split()[:2] for line in would.splitlines()[1:6]] == [
        ["raw", "files"], ["raw_events", "10"], ["quarantine", "3"], ["events", "6"],
        ["results_staged", "12"],
    ]  # fmt: skip
    assert holding(settings) == (
        of_others := {"rides/reports", "spark/server.json", "alerts.jsonl"}
    )
    assert settings.alerts.read_text().splitlines() == said[1:]

    assert find_landing(lake, settings, hours(20, 21)).files == (), "no file has changed"
    clean = copy_of(settings, new_home)
    run_jobs(clean, DAY, "clean")
    assert differences(contents(lake.root, LANDED), contents(clean.lake, LANDED)) == []

    figures = run_jobs(settings, hours(20, 21), "next")
    assert figures["late_landings"] == 0
    assert f"published hours now stale {figures['reopened_hours']:>10}" in told
    assert figures["reopened_hours"] == 6, "10 to 15"
    tables = [contents(home.lake, ["results"]) for home in (settings, clean)]
    assert differences(*tables) == []
    assert holding(settings) == of_others


def test_lines_whose_raw_files_are_gone_are_forgotten_all_the_same(
    settings: Settings, lake: Lake, new_home: NewHome
) -> None:
    write_zone(settings)
    land(lake, settings, DAY)
    clean = copy_of(settings, new_home)
    shutil.rmtree(settings.landing / "2013")
    key = Key.parse([f"tailnum={GONE}"], lake.stream)
    forget(settings, key, run="test", dry_run=False)
    assert holding(settings) == set()
    # There the raw files are still there, and smaller by now, as `landings` knows; and a day is too
    # large to be judged at once.
    clean, theirs = clean.model_copy(update={"landing_bytes": 60_000}), Lake.open(clean)
    land(theirs, clean, DAY)
    forget(clean, key, run="test", dry_run=False)
    rows = set(LANDED) - {"landings"}
    assert differences(contents(lake.root, rows), contents(clean.lake, rows)) == []


def killed_at(module: object, point: str, settings: Settings, key: Key) -> None:
    """Forgets a key until a point is reached for the first time."""

    def ended(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, point, ended)
        with pytest.raises(KeyboardInterrupt):
            forget(settings, key, run="killed", dry_run=False)


@pytest.mark.parametrize("most", [1_000, 10**8])
def test_what_lands_while_it_forgets_is_not_lost(
    settings: Settings, lake: Lake, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    settings = settings.model_copy(update={"landing_bytes": most})
    put(settings, 10, departure(1), departure(2, tailnum=GONE), departure(3, tailnum=GONE))
    put(settings, 11, *(departure(n, hour=11) for n in range(4, 12)), departure(2, tailnum=GONE))
    land(lake, settings, hours(10, 12))
    landing = elsinore.lake.land._Landing
    real = landing.read

    def meanwhile(*arguments: Any) -> Any:
        """The hour lands again after its lines were read; what is forgotten is not in its file."""
        monkeypatch.setattr(landing, "read", real)
        read = real(*arguments)
        put(settings, 10, departure(1, dep_delay=7), departure(20))
        land(lake, settings, hours(10, 11))
        return read

    monkeypatch.setattr(landing, "read", meanwhile)
    forget(settings, Key.parse([f"tailnum={GONE}"], lake.stream), run="test", dry_run=False)
    assert rows(lake, "events", "event_id", "dep_delay") == [
        ("d1", 7), ("d10", 5), ("d11", 5), ("d20", 5), *((f"d{n}", 5) for n in range(4, 10))
    ]  # fmt: skip
    assert rows(lake, "raw_events", "file", "record_number")[:2] == [
        (file := "2013/01/01/events-2013-01-01T10.jsonl", 1), (file, 2)
    ]  # fmt: skip
    assert holding(settings) == set()


@pytest.mark.parametrize("is_gone", [False, True])
def test_a_raw_file_that_changes_while_it_is_searched_loses_no_line(
    settings: Settings, lake: Lake, is_gone: bool
) -> None:
    path = put(settings, 10, departure(1), departure(2, tailnum=GONE))
    land(lake, settings, hours(10, 11))
    key = Key.parse([f"tailnum={GONE}"], lake.stream)

    def meanwhile(_: Settings) -> int:
        put(settings, 10, departure(2, tailnum=GONE), departure(1), departure(3))
        if is_gone:
            path.unlink()
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(elsinore.lake.forget, "_stale", meanwhile)
        with pytest.raises(ConflictError, match="changed while it was searched"):
            forget(settings, key, run="test", dry_run=False)
    # Called again, it also finds a workload that has had no run yet, what an `ingest` left, and
    # accounts of an earlier release.
    (folder := settings.workload_file.with_suffix("")).mkdir()
    (folder / "fresh.sase").write_text(QUERIES, encoding="utf-8")
    (left := settings.landing / "_ingest-1" / "1356998400000000").parent.mkdir()
    unfinished = left.parent.with_name(f".{'0' * 32}.part")
    for file in (left, unfinished):
        file.write_bytes(gzip.compress(json.dumps(departure(4, tailnum=GONE)).encode()))
    accounts = lake.rows("landings").drop_columns(["kept_from"])
    at = str(lake.path("landings"))
    write_deltalake(at, accounts, mode="overwrite", schema_mode="overwrite")
    forget(settings, key, run="test", dry_run=False)
    assert holding(settings) == set()
    assert not unfinished.exists()
    land(lake, settings, hours(11, 12))
    events = ["d1"] if is_gone else ["d1", "d3"]
    assert sorted(rows(lake, "events", "event_id")) == events


def test_what_a_producer_adds_as_soon_as_a_raw_file_is_blank_is_not_lost(
    settings: Settings, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put(settings, 10, departure(1), departure(2, tailnum=GONE))
    land(lake, settings, hours(10, 11))
    key = Key.parse([f"tailnum={GONE}"], lake.stream)
    replace: Any = os.replace

    def replaced(part: Any, to: Any, **directories: int) -> None:
        replace(part, to, **directories)
        if to == path.name:
            with path.open("a") as file:
                file.write(json.dumps(departure(3)) + "\n")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replaced)
        with pytest.raises(ConflictError, match="changed while it was searched"):
            forget(settings, key, run="test", dry_run=False)
    forget(settings, key, run="again", dry_run=False)
    land(lake, settings, hours(11, 12))
    assert sorted(rows(lake, "events", "event_id")) == ["d1", "d3"]


@pytest.mark.parametrize(
    ("module", "point"),
    [(elsinore.lake.forget, "land_without"), (elsinore.lake.land, "change_events"),
     (elsinore.lake.land._LinesHere, "store_bad"), (Lake, "record"), (Lake, "amend"),
     (elsinore.lake.forget, "_purge"), (elsinore.lake.forget, "_clear_log")],
)  # fmt: skip
def test_killed_it_does_the_rest_when_it_is_called_again(
    settings: Settings, lake: Lake, new_home: NewHome, module: object, point: str
) -> None:
    write_zone(settings)
    land(lake, settings, DAY)
    key = Key.parse([f"tailnum={GONE}"], lake.stream)
    killed_at(module, point, settings, key)
    assert holding(settings) != set()
    forget(settings, key, run="again", dry_run=False)
    assert holding(settings) == set()
    clean = copy_of(settings, new_home)
    theirs = Lake.open(clean)
    land(theirs, clean, DAY)
    land(lake, settings, hours(20, 21))  # with the files that it takes for changed
    land(theirs, clean, hours(20, 21))
    assert differences(contents(lake.root, LANDED), contents(clean.lake, LANDED)) == []


@pytest.mark.parametrize(
    ("module", "point", "says_so"),
    [(elsinore.lake.forget, "land_without", True), (elsinore.lake.land, "change_events", False),
     (elsinore.lake.forget, "_purge", False), (elsinore.lake.forget, "_drop_spools", True)],
)  # fmt: skip
def test_what_it_has_mended_when_it_was_killed_is_not_taken_for_changed(
    settings: Settings, lake: Lake, module: object, point: str, says_so: bool
) -> None:
    """Landed anew, the hour would lose the events of a file that is archived by now."""
    archived = put(settings, 10, departure(1), name="-a")
    put(settings, 10, departure(2), departure(3, tailnum=GONE), name="-b")
    land(lake, settings, hours(10, 11))
    archived.unlink()
    key = Key.parse([f"tailnum={GONE}"], lake.stream)
    killed_at(module, point, settings, key)
    figures = land(lake, settings, hours(11, 12))
    assert ("an erasure was interrupted" in str(figures.get("refused_landings"))) == says_so
    assert {"d1", "d2"} <= set(rows(lake, "events", "event_id"))
    forget(settings, key, run="again", dry_run=False)
    figures = land(lake, settings, hours(12, 13))
    assert (figures["late_landings"], "refused_landings" in figures) == (0, False)
    assert rows(lake, "events", "event_id") == ["d1", "d2"]
    assert [name for text in rows(lake, "landings", "listing") for name in json.loads(text)] == [
        f"2013/01/01/events-2013-01-01T10-{name}.jsonl" for name in "ab"
    ]


ACCOUNT = ("file_hour", "lines", "accepted", "duplicates", "quarantined")


@pytest.mark.parametrize(
    ("module", "point"),
    [(elsinore.lake.land._LinesHere, "store_bad"), (elsinore.lake.land, "change_events"),
     (Lake, "record"), (Lake, "amend")],
)  # fmt: skip
def test_killed_it_leaves_accounts_right_also_where_raw_files_are_gone(
    settings: Settings, lake: Lake, new_home: NewHome, module: object, point: str
) -> None:
    write_zone(settings)
    put(settings, 15, departure(1, 5), f"broken {GONE}", "broken")  # no event of it changes
    land(lake, settings, DAY)
    clean = copy_of(settings, new_home)
    theirs = Lake.open(clean)
    land(theirs, clean, DAY)
    key = Key.parse([f"tailnum={GONE}"], lake.stream)
    shutil.rmtree(settings.landing / "2013")
    killed_at(module, point, settings, key)
    for home, tables in ((settings, lake), (clean, theirs)):
        forget(home, key, run="again", dry_run=False)
        land(tables, home, hours(20, 21))
    found = [contents(one.root, ["raw_events", "quarantine", "events"]) for one in (lake, theirs)]
    assert differences(*found) == []
    assert rows(lake, "landings", *ACCOUNT) == rows(theirs, "landings", *ACCOUNT)
    assert holding(settings) == set()


def test_hours_whose_raw_lines_have_expired_lose_the_lines_of_the_key_alone(
    settings: Settings, lake: Lake
) -> None:
    settings = settings.model_copy(update={"keep_days": {"events": 400, "raw_events": 402}})
    put(settings, 10, departure(1), f"broken {GONE}", "broken")
    land(lake, settings, hours(10, 11))
    for table, day in (("events", "event_day"), ("raw_events", "file_day")):
        lake.remove_before(table, day, date(2013, 1, 2), note='{"touched": {}}')
    accounts = rows(lake, "landings", *ACCOUNT)
    raw = settings.landing / "2013/01/01/events-2013-01-01T10.jsonl"
    forget(settings, Key.parse([f"tailnum={GONE}"], lake.stream), run="test", dry_run=False)
    assert raw.read_text().splitlines()[1:] == ["", "broken"]
    assert rows(lake, "quarantine", "record") == ["broken"]
    assert rows(lake, "landings", *ACCOUNT) == accounts
    put(settings, 11, departure(2, 0, 11))
    assert land(lake, settings, hours(11, 12))["late_landings"] == 0
    raw.touch()  # late from now on
    put(settings, 12, departure(3, 0, 12))
    why = "the raw records of 2013-01-01T10 were removed after their retention period"
    assert (
        land(lake, settings, hours(12, 13))["refused_landings"] == f'{{"2013-01-01T10": "{why}"}}'
    )
    assert rows(lake, "events", "event_id") == ["d2", "d3"]
    with pytest.raises(DataError, match="raw records of 2013-01-01T10 were removed"):
        land(lake, settings, hours(10, 11))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("tailnun=N1", "did you mean tailnum"),
        ("nothing=N1", "use one of tailnum"),
        ("flight=many", "'many' is not a long"),
        ("tailnum", "write it as user=ann"),
        ("tailnum=", "write it as user=ann"),
    ],
)
def test_a_key_that_is_none_is_refused(lake: Lake, given: str, said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        Key.parse([given], lake.stream)


def test_nobody_forgets_while_a_step_is_under_way(settings: Settings) -> None:
    forgetting = at_work(settings.home, alone=True)
    refused = pytest.raises(ConflictError, match="a run is working")
    with at_work(settings.home), at_work(settings.home), refused, forgetting:
        pass  # steps beside each other
    with at_work(settings.home, alone=True):
        pass


PEOPLE = """
stream: people
time: {field: at, unit: iso}
type: {field: event}
types:
  View: {user: {type: long, field: payload.user.id, nullable: true}, page: {type: string, nullable: true}}
  Restock: {item: {type: long, field: item.id, nullable: true}}
sources: [{files: "in/{date}-*.csv"}]
"""  # noqa: E501


@pytest.fixture
def people(tmp_path: Path) -> Settings:
    """A home of its own, where nothing has landed."""
    path, queries = tmp_path / "people.yaml", tmp_path / "people.sase"
    path.write_text(PEOPLE, encoding="utf-8")
    queries.write_text("QUERY q RETURN COUNT(*) PATTERN View WITHIN 1 hour", encoding="utf-8")
    return Settings(
        home=tmp_path / "home", schema_file=path, workload_file=queries, max_bad_share=1
    )


def of_people(kind: str, **fields: Any) -> dict[str, Any]:
    return {"event": kind, "at": "2013-01-01T10:00:00Z", **fields}


@pytest.mark.parametrize("is_landed", [True, False])
def test_a_key_is_looked_for_where_the_attribute_lies(people: Settings, is_landed: bool) -> None:
    """Other fields may be called like the last part of its path, and have the value."""
    of_key = [
        of_people("View", payload={"user": {"id": 7}}),
        of_people("Restock", payload={"user": {"id": 7}}),
        of_people("Restock", item={"id": 1}, **{"payload.user": {"id": "7"}}),
        of_people("Restock", payload={"user": {"id": 7.0}}),
    ]
    others = [
        of_people("Restock", item={"id": 7}, note=":7,"),
        of_people("View", payload={"user": {"id": 8}}, page="7"),
        of_people("View", payload={"id": 7, "user": {"name": {"id": 7}}}),
        of_people("Restock", user={"id": 7}, id=7),
        of_people("Restock", payload={"user": {"id": 7.5}}),
    ]
    path = put(people, 10, *of_key, *others)
    lake = Lake.open(people)
    if is_landed:
        lake.create_all()
        land(lake, people, hours(10, 11))
    key = Key.parse(["user=7"], lake.stream)
    told = {**forget(people, key, run="test", dry_run=True)[0]}
    removed, _ = forget(people, key, run="test", dry_run=False)
    assert [json.loads(line) for line in path.read_text().splitlines()[4:]] == others
    rows_of = {table: count for table, (count, _) in removed.items()}
    assert rows_of == {table: count for table, (count, _) in told.items()}
    assert (rows_of["raw files"], rows_of["events"]) == (4, 4 * is_landed)
    land(lake, people, hours(10, 11))
    assert len(rows(lake, "events", "file_hour")) == len(others)


def test_lines_in_other_spellings_are_found(people: Settings) -> None:
    """A byte of Windows in what is no UTF-8, quotes of CSV; not where more of a word follows."""
    path = put(people, 10)
    said = 'event "M\xfcller O""Neil", event "M\xfcller\xe9 O""Neil", other'
    path.write_bytes(said.replace(", ", "\n").encode("cp1252") + b"\n")
    lake = Lake.open(people)
    forget(people, Key.parse(['page=Müller O"Neil'], lake.stream), run="test", dry_run=False)
    assert path.read_bytes() == b'\nevent "M\xfcller\xe9 O""Neil"\nother\n'
    land(lake, people, hours(10, 11))
    forget(people, Key.parse(["page=Mülleré"], lake.stream), run="test", dry_run=False)
    assert rows(lake, "raw_events", "record") == ["other"]
    assert path.read_bytes() == b"\n\nother\n"


def test_a_file_without_a_header_is_told_of_without_its_values(people: Settings) -> None:
    """Nor does it keep a key from being forgotten: it says why another cannot be read."""
    source = people.landing / "in" / "2013-01-01-a.csv"
    source.parent.mkdir(parents=True)
    source.write_text(f"2013-01-01T10:00:00Z,View,{GONE},1\n", encoding="utf-8")
    lake = Lake.open(people)
    land(lake, people, hours(0, 23))
    problem = "column 'at' is missing; the first line of a CSV file must name its columns"
    reason = f"in/2013-01-01-a.csv:1: {problem}"
    assert rows(lake, "quarantine", "record_number", "reason") == [(0, reason)]
    source.unlink()
    forget(people, Key.parse([f"page={GONE}"], lake.stream), run="test", dry_run=False)
    assert holding(people) == set()
    put(people, 10).write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"T10.jsonl cannot be searched: .* is UTF-16 text"):
        forget(people, Key.parse([f"page={GONE}"], lake.stream), run="test", dry_run=False)
