"""Steps of a query in Python, in files of results, and in what commands say of them."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console

import elsinore
from elsinore.cli.main import run_command
from elsinore.errors import ParameterError
from elsinore.results.wide import rows_of

SCHEMA = """
stream: shop
time: {field: t, unit: integer}
type: {field: type}
types:
  View: {user: string, step: {type: long, nullable: true}}
  Cart: {user: string}
  Buy: {user: string}
  Error: {user: string}
"""
FUNNEL = "QUERY funnel RETURN STEPS PATTERN SEQ(View+, Cart, Buy) WHERE [user] WITHIN 100;"
#: Groups that are called like the column.
GROUPS = "QUERY groups RETURN step, COUNT(*) PATTERN View GROUP-BY step WITHIN 100;"
EVENTS = [
    {"t": 1, "type": "View", "user": "ann", "step": 1}, {"t": 2, "type": "View", "user": "ann"},
    {"t": 3, "type": "View", "user": "bob"}, {"t": 4, "type": "Cart", "user": "ann"},
    {"t": 5, "type": "Buy", "user": "ann"},
]  # fmt: skip
ROWS = [(1, 4, 2), (2, 3, 1), (3, 3, 1)]


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a schema, events and two files of queries."""
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "w.sase").write_text(FUNNEL + GROUPS)
    (tmp_path / "other.sase").write_text((FUNNEL + GROUPS).replace("View+", "View"))
    (tmp_path / "e.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in EVENTS))
    return tmp_path


def workload(text: str = FUNNEL) -> elsinore.Workload:
    return elsinore.workload(text, schema=SCHEMA)


def events() -> pa.Table:
    return pa.Table.from_pylist([{"step": None} | each for each in EVENTS])


def run(folder: Path, *arguments: str) -> int:
    names = (str(folder / each) if "." in each else each for each in arguments)
    return run_command([*names])


def printed(shown: Any) -> str:
    out = io.StringIO()
    shown.print(Console(file=out, width=200))
    return out.getvalue()


def test_a_table_has_a_row_per_step() -> None:
    table = workload().run(events())["funnel"]
    assert table.column_names == ["window_start", "window_end", "step", "trends", "keys"]
    assert [(row["step"], row["trends"], row["keys"]) for row in table.to_pylist()] == ROWS


def test_groups_with_the_name_of_the_column_stay() -> None:
    table = workload(FUNNEL + GROUPS).run(events())["groups"]
    assert table.column_names == ["step", "window_start", "window_end", "COUNT(*)"]


def test_trends_of_a_step_are_listed() -> None:
    found = workload()
    assert found.why(events(), "funnel", {}, 0).count == 3
    first = found.why(events(), "funnel", {}, 0, step=1)
    assert first.count == 4
    assert printed(first).startswith("funnel step 1 in [0, 100): 4 trends")
    assert {len(trend) for trend in first.trends} == {1, 2}
    with pytest.raises(ParameterError, match="no step 4"):
        found.why(events(), "funnel", {}, 0, step=4)
    with pytest.raises(ParameterError, match="groups returns no steps"):
        workload(GROUPS).why(events(), "groups", {"step": 1}, 0, step=1)


def test_explain_and_plan_show_the_steps() -> None:
    two = workload(FUNNEL.replace("View+", "View") + FUNNEL.replace("funnel", "again"))
    found = two.explain(events()).to_dict()
    names = [query["query"] for query in found["queries"]]
    assert names == [f"{name} step {n}" for name in ("funnel", "again") for n in (1, 2, 3)]
    assert "again step 2" in printed(two.explain(events()))
    assert "proven optimal" in printed(two.plan(events()))


def test_check_shows_steps_and_what_to_mind() -> None:
    text = "QUERY q RETURN STEPS PATTERN SEQ(View, Cart?, Buy, NOT Error) WHERE [user] WITHIN 9;"
    [found] = workload(text).check().to_list()
    assert found["steps"] == ["View", "SEQ(View, Cart?)", "SEQ(View, Cart?, Buy)"]
    assert found["aggregates"] == ["trends", "keys"]
    assert found["additive"] == ["trends"]
    assert found["notes"] == ["step 2 can be skipped, so it has the trends of step 1"]
    assert found["warnings"] == ["no step reads NOT Error, which follows the last part: remove it"]
    assert found["hints"] == []
    assert "steps        1: View\n" in printed(workload(text).check())


def test_files_of_results_have_steps(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = ("w.sase", "--schema", "s.yaml", "--input", "e.jsonl")
    for name in ("r.jsonl", "r.csv", "r.parquet", "r.arrow", "r.txt"):
        assert run(files, "run", *inputs, "--output", name) == 0
    lines = [json.loads(line) for line in (files / "r.jsonl").read_text().splitlines()]
    own = [line for line in lines if line["query"] == "funnel"]
    assert list(own[0]) == ["query", "group", "step", "window_start", "window_end", "values"]
    assert [(one["step"], *one["values"].values()) for one in own] == ROWS
    assert all("step" not in line for line in lines if line["query"] == "groups")
    head, *rows = (files / "r.csv").read_text().splitlines()
    assert head == '"query","window_start","window_end","step","step_","trends","keys","COUNT(*)"'
    assert rows[0] == '"funnel",0,100,1,,4,2,'
    found = list(rows_of(pq.read_table(files / "r.parquet")))
    assert [(row.step, *(v for _, v in row.values)) for row in found[:3]] == ROWS
    assert {row.step for row in found[3:]} == {None}
    assert found[3].group[0][0] == "step"
    assert "step  trends  keys" in (files / "r.txt").read_text()


def test_differences_name_the_step(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = ("--schema", "s.yaml", "--input", "e.jsonl")
    for name, queries in (("a.jsonl", "w.sase"), ("b.parquet", "other.sase")):
        assert run(files, "run", queries, *inputs, "--output", name) == 0
    assert run(files, "diff", "a.jsonl", "b.parquet", "--format", "json") == 0
    changes = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(one["aggregate"], one["before"], one["after"]) for one in changes} == {
        ("trends of step 1", "4", "3"), ("trends of step 2", "3", "2"),
        ("trends of step 3", "3", "2"),
    }  # fmt: skip
    assert run(files, "diff", "w.sase", "other.sase", *inputs, "--format", "json") == 0
    again = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert again == changes
