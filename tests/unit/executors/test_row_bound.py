"""Queries with too many windows or rows are refused before they take all memory."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from pyarrow.lib import ArrowMemoryError

import elsinore
from elsinore.cli.main import run_command
from elsinore.errors import OutOfMemoryError, QueryError
from elsinore.executors import row_bound
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.plan import Executor
from elsinore.library.results import answer
from elsinore.query.bound import Workload
from elsinore.windows import MOST_OVERLAPPING
from tests.golden_cases import bound_query, event_table, stream_schema

SCHEMA = "stream: s\ntime: {field: t, unit: us}\ntype: {field: k}\ntypes: {A: {}, B: {}}\n"
QUERY = "QUERY {name} RETURN COUNT(*)\nPATTERN A+ {window};\n"
STREAM = stream_schema({"A": {"v": "long"}, "B": {"v": "long"}}, "us")


def bomb(folder: Path, window: str) -> list[str]:
    """The arguments of a query over two events."""
    (folder / "s.yaml").write_text(SCHEMA)
    (folder / "q.sase").write_text(QUERY.format(name="good", window="WITHIN 1 hour") + QUERY.format(
        name="bomb", window=window
    ))  # fmt: skip
    lines = ('{"t": 1700000000000000, "k": "A"}\n', '{"t": 1700000000000005, "k": "A"}\n')
    (folder / "e.jsonl").write_text("".join(lines))
    return [str(folder / "q.sase"), "--schema", str(folder / "s.yaml")]


@pytest.mark.parametrize("command", ["check", "run", "plan", "explain"])
def test_commands_refuse_too_many_windows_at_once(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [command, *bomb(tmp_path, "WITHIN 1 minute SLIDE 1 microsecond")]
    arguments += {"check": [], "run": ["--input"]}.get(command, ["--events"])
    arguments += [str(tmp_path / "e.jsonl")] if command != "check" else []
    began = time.process_time()
    assert run_command(arguments) == 2
    assert time.process_time() - began < 5  # importing it all included
    (first, *_) = capsys.readouterr().err.splitlines()
    assert first == (
        f"elsinore: {tmp_path}/q.sase:4:34: query bomb has 60,000,000 windows for each event "
        "(WITHIN divided by SLIDE), at most 10,000 are supported "
        "(write SLIDE 6 milliseconds or longer)"
    )


@pytest.mark.parametrize(
    ("window", "hint"),
    [
        ("WITHIN 1 day SLIDE 1 second", "SLIDE 9 seconds"),
        ("WITHIN 365000 days SLIDE 1 minute", "SLIDE 37 days"),
        ("WITHIN 10001 SLIDE 1", "SLIDE 2 microseconds"),
        ("WITHIN 1 hour SLIDE 1 hour", None),
        (f"WITHIN {MOST_OVERLAPPING} SLIDE 1", None),
        ("WITHIN 1 day SLIDE 10 seconds", None),
    ],
)
def test_the_hint_is_a_slide_that_is_accepted(window: str, hint: str | None) -> None:
    text = QUERY.format(name="q", window=window)
    if hint is None:
        elsinore.workload(text, schema=SCHEMA)
        return
    with pytest.raises(elsinore.QueryError, match=f"write {hint} or longer") as caught:
        elsinore.workload(text, schema=SCHEMA)
    (fault,) = caught.value.diagnostics
    assert str(fault.location) == "<text>:2:" + str(12 + window.index("SLIDE") + 6)
    elsinore.workload(text.replace(window[window.index("SLIDE") :], hint), schema=SCHEMA)


PATTERNS = {
    "swept": "RETURN COUNT(*) PATTERN A+ WITHIN 10 SLIDE 1",
    "by panes": "RETURN COUNT(*) PATTERN SEQ(A x, B+) WITHIN 10 SLIDE 1",
    "summed": "RETURN COUNT(*), SUM(A.v) PATTERN A+ WITHIN 10 SLIDE 1",
    "segments": "RETURN COUNT(*), SUM(A.v) PATTERN SEQ(A, B) WITHIN 10 SLIDE 1",
    "greta": "RETURN COUNT(*) PATTERN A+ WHERE A.v <= NEXT(A).v WITHIN 10 SLIDE 1",
}


@pytest.mark.parametrize("executor", [Executor.AUTO, Executor.GRETA, Executor.HAMLET])
@pytest.mark.parametrize("name", PATTERNS)
def test_rows_are_counted_while_they_are_made(
    name: str, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = bound_query(PATTERNS[name], STREAM)
    events = event_table(" ".join(f"a{n}(v={n}) b{n + 1}(v=1)" for n in range(0, 400, 2)), STREAM)
    workload = Workload(STREAM, (query,))
    rows = len(answer(workload, events, executor))
    assert rows > 300
    monkeypatch.setattr(row_bound, "MOST_ROWS", rows)
    assert len(answer(workload, events, executor)) == rows
    monkeypatch.setattr(row_bound, "MOST_ROWS", rows - 1)
    with pytest.raises(QueryError, match=rf"<text>:1:\d+: query q: more than {rows - 1} result"):
        answer(workload, events, executor)


@pytest.mark.parametrize("name", PATTERNS)
def test_values_are_counted_while_they_are_made(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = PATTERNS[name].replace("RETURN", "RETURN COUNT(*) AS one, COUNT(*) AS two,")
    query = bound_query(text, STREAM)
    events = event_table(" ".join(f"a{n}(v={n}) b{n + 1}(v=1)" for n in range(0, 400, 2)), STREAM)
    workload = Workload(STREAM, (query,))
    values = sum(len(row.values) for row in answer(workload, events))
    monkeypatch.setattr(row_bound, "MOST_VALUES", values)
    answer(workload, events)
    monkeypatch.setattr(row_bound, "MOST_VALUES", values - 1)
    with pytest.raises(
        QueryError, match=f"query q: more than {values - 1:,} values in result rows"
    ):
        answer(workload, events)


def test_values_of_all_queries_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "RETURN COUNT(*), COUNT(EACH A) AS {} PATTERN A+ WITHIN 10"
    queries = [bound_query(f"QUERY {n} {text.format(n)}", STREAM) for n in ("one", "two")]
    events = event_table("a1(v=1) a21(v=2)", STREAM)
    workload = Workload(STREAM, (*queries,))
    monkeypatch.setattr(row_bound, "MOST_VALUES", 8)
    assert len(answer(workload, events)) == 4
    monkeypatch.setattr(row_bound, "MOST_VALUES", 7)
    with pytest.raises(QueryError, match="more than 7 values in result rows"):
        answer(workload, events)


def test_rows_of_each_side_of_a_conjunction_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    query = bound_query("RETURN COUNT(*) PATTERN A AND B WITHIN 10 SLIDE 1", STREAM)
    events = event_table("a1..9 b200", STREAM)
    monkeypatch.setattr(row_bound, "MOST_ROWS", 17)
    with pytest.raises(QueryError, match="query q: more than 17 result rows"):
        aggregate_query(query, events)  # 18 windows hold an A, and none a B


def test_windows_are_counted_before_room_is_made_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    query = bound_query(PATTERNS["greta"], STREAM)
    events = event_table("a0(v=1) a1000(v=2)", STREAM)
    monkeypatch.setattr(row_bound, "MOST_WINDOWS", 20)
    assert sum(map(len, aggregate_query(query, events))) == 20
    monkeypatch.setattr(row_bound, "MOST_WINDOWS", 19)
    with pytest.raises(
        QueryError, match="q: 20 windows of its groups contain events, at most 19 may"
    ):
        aggregate_query(query, events)


@pytest.mark.parametrize("kind", [MemoryError, ArrowMemoryError])
def test_a_lack_of_memory_names_the_query(
    kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def fail(*_: object, **__: object) -> None:
        raise kind("malloc of size 1735556416 failed")

    arguments = [*bomb(tmp_path, "WITHIN 1 hour"), "--input", str(tmp_path / "e.jsonl")]
    with monkeypatch.context() as patched:
        patched.setattr("elsinore.executors.linear.sweep.run_sweep", fail)
        assert run_command(["run", *arguments]) == 1
        with pytest.raises(OutOfMemoryError, match="out of memory while computing bomb"):
            elsinore.workload(tmp_path / "q.sase", schema=tmp_path / "s.yaml").run(
                tmp_path / "e.jsonl"
            )
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "elsinore: out of memory while computing bomb: malloc of size 1735556416 failed (write a "
        "shorter WITHIN or a larger SLIDE, or run parts of the events separately)"
    )
    monkeypatch.setattr("elsinore.cli.run.read_events", fail)
    assert run_command(["run", *arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line == (
        "elsinore: out of memory (read fewer events, or set a higher ELSINORE_MEMORY_LIMIT)"
    )
