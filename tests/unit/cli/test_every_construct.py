"""Every construct in every command, and in the views; Spark's are in tests/spark."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
import yaml

import elsinore
from elsinore.catalog.load_schema import read_schema
from elsinore.choices import Engine
from elsinore.cli.main import run_command
from elsinore.files.read_events import read_events
from elsinore.lake.views import view_statements
from elsinore.library.results import answer
from elsinore.library.workload import sources_of
from elsinore.query.load_workload import read_workload
from tests.constructs_of_queries import QUERIES, SCHEMA, events, records, statement
from tests.long_rows import to_long

pytestmark = pytest.mark.parametrize("construct", QUERIES)


@pytest.fixture
def folder(construct: str, tmp_path: Path) -> Path:
    """A directory with the schema, the query, and the events before and after a change."""
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "w.sase").write_text(statement(construct))
    for name, changed in ("e.jsonl", False), ("changed.jsonl", True):
        lines = (json.dumps(one, default=str) for one in records(changed=changed))
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def run(folder: Path, *arguments: str) -> int:
    return run_command([str(folder / each) if "." in each else each for each in arguments])


def lines(folder: Path, name: str, executor: str) -> list[Any]:
    """The results of a file of events."""
    out = f"{executor}-{name}"
    inputs = ("w.sase", "--schema", "s.yaml", "--input", name)
    assert run(folder, "run", *inputs, "--executor", executor, "--output", out) == 0
    return [json.loads(line) for line in (folder / out).read_text().splitlines()]


def test_it_runs_as_the_reference_does(folder: Path) -> None:
    found = lines(folder, "e.jsonl", "auto")
    assert found == lines(folder, "e.jsonl", "twostep")
    assert any(value for row in found for value in row["values"].values())


def test_python_gives_the_values_of_the_command(folder: Path, construct: str) -> None:
    [table] = elsinore.workload(statement(construct), schema=SCHEMA).run(events()).values()
    rows = lines(folder, "e.jsonl", "auto")
    names = list(rows[0]["values"])
    assert table.num_rows == len(rows)
    assert set(names) <= set(table.column_names)
    of_null = [[row[name] is None for name in names] for row in table.to_pylist()]
    assert of_null == [[value is None for value in row["values"].values()] for row in rows]


def test_check_and_explain_and_plan_describe_it(
    folder: Path, construct: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in ("check", "explain", "plan"):
        inputs = () if command == "check" else ("--events", "e.jsonl")
        assert run(folder, command, "w.sase", "--schema", "s.yaml", *inputs) == 0
        assert capsys.readouterr().out
    [found] = elsinore.workload(statement(construct), schema=SCHEMA).check().to_list()
    assert "greta" in found["executors"]
    explained = elsinore.workload(statement(construct), schema=SCHEMA).explain(events()).to_dict()
    names = {query["query"] for query in explained["queries"]}
    assert names == ({"q step 1", "q step 2", "q step 3"} if construct == "STEPS" else {"q"})


def test_a_case_accepts_its_rows_and_rejects_others(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for wrong, code in (False, 0), (True, 1):
        rows = []
        for row in lines(folder, "e.jsonl", "auto"):
            values = dict.fromkeys(row["values"], "wrong") if wrong else row["values"]
            step = [row["step"]] if "step" in row else []
            group = [row["group"]] if row["group"] else []
            rows.append([row["window_start"], row["window_end"], *step, *group, values])
        raw = [json.loads(json.dumps(one, default=str)) for one in records()]
        case = {"name": "own", "workload": "w.sase", "query": "q", "schema": "s.yaml",
                "events": raw, "rows": rows}  # fmt: skip
        (folder / "cases.yaml").write_text(yaml.safe_dump([case], sort_keys=False))
        assert run(folder, "test", "cases.yaml") == code, capsys.readouterr()


def test_diff_shows_changed_values(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, after = (lines(folder, name, "auto") for name in ("e.jsonl", "changed.jsonl"))
    capsys.readouterr()
    assert run(folder, "diff", "auto-e.jsonl", "auto-changed.jsonl", "--format", "json") == 0
    changes = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert changes
    assert {one["query"] for one in changes} == {"q"}
    assert before != after


def test_why_lists_the_trends_of_each_row(folder: Path, construct: str) -> None:
    work = elsinore.workload(statement(construct), schema=SCHEMA)
    for row in lines(folder, "e.jsonl", "auto"):
        step = {"step": row["step"]} if "step" in row else {}
        found = work.why(events(), "q", row["group"], row["window_start"], **step)
        assert found.count is not None
        assert len(found.trends) == min(found.count, 10)
        assert found.count > 0 or row.get("step", 1) > 1
        asked = [one for one in found.participants if one["kind"] == "events"]
        assert bool(asked) == (construct in EACH)


#: Constructs whose queries count events once.
EACH = ("EACH", "dispersion", "percentiles", "ANY", "SPAN", "SESSION", "parameters")


def test_a_view_has_its_values(construct: str) -> None:
    workload = read_workload(statement(construct), read_schema(SCHEMA))
    read, _ = read_events(sources_of(events()), workload.schema, max_error_rate=0)
    long = to_long(workload, answer(workload, read))
    for name in ("window_start", "window_end"):
        instants = long[name].cast(pa.timestamp("us", "UTC"))
        long = long.set_column(long.column_names.index(name), name, instants)
    [query] = workload.queries
    prints = pa.repeat(query.fingerprint, long.num_rows)
    connection = duckdb.connect()
    connection.register("results", long.append_column("query_fingerprint", prints))
    for each in view_statements(workload, Engine.DUCKDB, []):
        connection.execute(each)
    cursor = connection.execute('SELECT * EXCLUDE (window_start, window_end) FROM "q"')
    names = [column[0] for column in cursor.description or []]
    named = [output.name for output in query.outputs if output.named or query.steps]
    assert {*named, *(["step"] if query.steps else [])} <= set(names)
    rows = cursor.fetchall()
    assert len(rows) == len(set(zip(*(long[name].to_pylist() for name in _ROW), strict=True)))
    for row in rows:
        values = dict(zip(names, row, strict=True))
        assert [name for name in named if values[name] is None] == []


#: What identifies a row of the view.
_ROW = ("group_key", "window_start", "step")
