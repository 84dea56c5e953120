"""What `run` and `ingest` say of input that they read, and that is probably not as it was meant."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest

from elsinore.cli.main import run_command

SCHEMA = """\
stream: shop
time: {field: ts, unit: iso}
type: {field: event}
id: {field: id}
types:
  Fail: {user: string, price: {type: double, nullable: true}}
  Login: {user: string, day: {type: timestamp, nullable: true}}
"""
RUN = ("run", "q.sase", "--schema", "s.yaml", "--input")
QUERY = "QUERY q RETURN COUNT(*) PATTERN SEQ(Fail+, Login) WHERE [user] WITHIN 1 hour;"


Said = Callable[..., str]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "q.sase").write_text(QUERY)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def line(number: int, second: int, kind: str = "Fail", user: str = "u", **more: object) -> str:
    at = f"2024-01-01T10:00:{second:02}Z"
    return json.dumps({"id": number, "ts": at, "event": kind, "user": user, **more}) + "\n"


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str]) -> Said:
    """Runs a command that succeeds, and returns what it writes to standard error."""

    def run(*argv: str) -> str:
        assert run_command(list(argv)) == 0, capsys.readouterr().err
        return capsys.readouterr().err

    return run


def use_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ELSINORE_HOME", str(folder / "home"))
    monkeypatch.setenv("ELSINORE_SCHEMA_FILE", str(folder / "s.yaml"))
    monkeypatch.setenv("ELSINORE_WORKLOAD_FILE", str(folder / "q.sase"))


def test_ties_are_the_reason_why_there_is_no_row(folder: Path, said: Said) -> None:
    # Six failed logons and a success within a second: none of them are adjacent.
    lines = [*(line(n, 1, price=1.0) for n in range(6)), line(6, 1, "Login")]
    (folder / "e.jsonl").write_text("".join(lines))
    text = said(*RUN, "e.jsonl")
    assert (
        "none meet all clauses in one window; 7 of 7 events share their time with another "
        "event of their partition (user); events with equal times are never adjacent\n"
    ) in text
    assert text.count("share their time") == 1


def test_ties_are_reported_if_they_are_many(folder: Path, said: Said) -> None:
    lines = [line(0, 1), line(1, 1), line(2, 2), line(3, 3, "Login")]
    (folder / "e.jsonl").write_text("".join(lines))
    assert "elsinore: q: 2 of 4 events share their time with another" in said(*RUN, "e.jsonl")
    others = [line(n, n % 60, user=f"u{n}") for n in range(10, 300)]
    (folder / "e.jsonl").write_text("".join(lines + others))
    assert "share their time" not in said(*RUN, "e.jsonl")


def test_a_missing_field_is_reported_also_of_a_pipe(folder: Path, said: Said) -> None:
    text = line(0, 1, Price=1.0) + line(1, 2, "Login")
    os.mkfifo(folder / "e.jsonl")
    writer = Thread(target=(folder / "e.jsonl").write_text, args=(text,))
    writer.start()
    told = said(*RUN, "e.jsonl")
    writer.join()
    assert "elsinore: no event has a value in the field price (did you mean Price?)\n" in told
    assert "elsinore: no event has a value in the field day\n" in told


def test_plan_and_put_report_missing_fields(
    folder: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "e.csv").write_text(
        "id,ts,event,user,Price,day\n"
        "1,2024-01-01T10:00:01Z,Fail,u,1.5,\n2,2024-01-01T10:00:02Z,Login,u,,2024-01-01\n"
    )
    wanted = "elsinore: no event has a value in the field price (did you mean Price?)\n"
    assert wanted in said("plan", "q.sase", "--schema", "s.yaml", "--events", "e.csv")
    use_home(folder, monkeypatch)
    assert wanted in said("put", "e.csv")


def test_put_keeps_the_columns_of_directories(
    folder: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    for user in ("a", "b%2Fc"):
        path = folder / "in" / f"user={user}" / "n=007"
        path.mkdir(parents=True)
        (path / "e.csv").write_text(f"id,ts,event\n{user[:1]},2024-01-01T10:00:01Z,Login\n")
    use_home(folder, monkeypatch)
    said("put", "in")
    (file,) = (folder / "home" / "landing").rglob("*.jsonl.gz")
    events = [json.loads(each) for each in gzip.decompress(file.read_bytes()).splitlines()]
    assert [(event["user"], event["n"]) for event in events] == [("a", "007"), ("b/c", "007")]


BORDER = "elsinore: q: matches across a window border are not counted (`elsinore check` suggests"


def test_windows_that_miss_matches_are_named_on_demand(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Scripts are not told each time; JSON stays as it is."""
    (folder / "e.jsonl").write_text(line(0, 1, price=1.0) + line(1, 2, "Login"))
    assert run_command([*RUN, "e.jsonl"]) == 0
    quiet = capsys.readouterr()
    assert "border" not in quiet.err
    assert run_command([*RUN, "e.jsonl", "-v"]) == 0
    verbose = capsys.readouterr()
    assert BORDER in verbose.err
    assert verbose.out == quiet.out
    for query in (QUERY.replace("1 hour", "1 hour SLIDE 10 minutes"),
                  "QUERY q RETURN COUNT(*) PATTERN Fail WITHIN 1 hour;"):  # fmt: skip
        (folder / "q.sase").write_text(query)
        assert run_command([*RUN, "e.jsonl", "--verbose"]) == 0
        assert "border" not in capsys.readouterr().err


def test_a_terminal_names_windows_that_miss_matches(
    folder: Path, said: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "e.jsonl").write_text(line(0, 1, price=1.0) + line(1, 2, "Login"))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert BORDER in said(*RUN, "e.jsonl")


def test_each_is_named_if_matches_are_many(folder: Path, said: Said) -> None:
    """Once per run, for the query with the most matches, unless it has EACH or DISTINCT."""
    lines = [*(line(n, n, price=1.0) for n in range(16)), line(16, 20, "Login")]
    (folder / "e.jsonl").write_text("".join(lines))
    hint = "elsinore: q: COUNT(*) counts matches, 65,535 of 17 events; COUNT(EACH Login) counts "
    hint += "each event once, COUNT(DISTINCT user) each user\n"
    second = QUERY.replace("QUERY q", "QUERY p").replace("1 hour", "10 seconds")
    (folder / "q.sase").write_text(QUERY + second)
    assert hint in (told := said(*RUN, "e.jsonl"))
    assert told.count("counts matches") == 1
    for returned in ("COUNT(*), COUNT(EACH Login)", "COUNT(Fail)"):
        (folder / "q.sase").write_text(QUERY.replace("COUNT(*)", returned))
        assert "counts matches" not in said(*RUN, "e.jsonl")
    (folder / "q.sase").write_text(QUERY)
    (folder / "e.jsonl").write_text("".join(lines[7:]))
    assert "counts matches" not in said(*RUN, "e.jsonl")
