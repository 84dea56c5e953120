"""Counts of 30,000 digits go through every output, and Python's own limit stays as it is."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import elsinore
from elsinore.catalog.yaml_text import read_yaml
from elsinore.cli.main import run_command
from elsinore.errors import ParameterError, SchemaError
from elsinore.integers import digits_of, from_json, integer_of, to_json
from elsinore.quality.lake import TopResult
from elsinore.quality.sample import shows_more
from elsinore.results.row import ResultRow, encode_row
from elsinore.wording import shown

EVENTS = 100_000
#: Every non-empty subset of the events is a trend of `A+`.
COUNT = 2**EVENTS - 1
DIGITS = digits_of(COUNT)

SCHEMA = """\
stream: many
time: {field: t, unit: integer}
type: {field: type}
types:
  A: {}
"""
QUERY = "QUERY q RETURN COUNT(*) PATTERN A+ WITHIN 1000000;"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCHEMA)
    Path("q.sase").write_text(QUERY)
    Path("fewer.sase").write_text(QUERY.replace("A+", "SEQ(A one, A+)"))
    times = pa.array(range(EVENTS), pa.int64())
    pq.write_table(pa.table({"t": times, "type": ["A"] * EVENTS}), "e.parquet")
    return tmp_path


def run(*words: str) -> int:
    return run_command([*words, "--schema", "s.yaml", "--input", "e.parquet"])


@pytest.mark.slow
def test_importing_the_library_and_its_plugin_leaves_the_limit_alone() -> None:
    """A web service that imports the library refuses a million digits at once, as before."""
    program = """
import json, sys, time
before = sys.get_int_max_str_digits()
import elsinore, elsinore.cli.main, elsinore.library.workload, elsinore.cli.run
import elsinore.orchestration.airflow_pages
assert sys.get_int_max_str_digits() == before == 4300
begin = time.perf_counter()
try:
    json.loads("9" * 1_000_000)
except ValueError:
    print(time.perf_counter() - begin)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert float(done.stdout.splitlines()[-1]) < 0.5


def test_no_source_changes_the_limit() -> None:
    root = Path(__file__).parents[2]
    sources = [
        p for part in ("lib", "jobs", "dags", "benchmarks") for p in root.glob(f"{part}/**/*.py")
    ]
    assert sources
    name = "set_int_max" + "_str_digits"
    assert [path for path in sources if name in path.read_text(encoding="utf-8")] == []


def test_every_format_of_run_has_all_digits(files: Path) -> None:
    for name in ("r.jsonl", "r.csv", "r.parquet", "r.arrow", "r.txt"):
        assert run("run", "q.sase", "--output", name) == 0
    row = from_json(Path("r.jsonl").read_text())
    assert row["values"] == {"COUNT(*)": COUNT}
    csv.field_size_limit(10**6)
    with Path("r.csv").open() as lines:
        assert next(csv.DictReader(lines))["COUNT(*)"] == DIGITS
    assert pq.read_table("r.parquet")["COUNT(*)"].to_pylist() == [DIGITS]
    with pa.ipc.open_file("r.arrow") as file:
        assert file.read_all()["COUNT(*)"].to_pylist() == [DIGITS]
    assert f"({len(DIGITS)} digits)" in Path("r.txt").read_text()


@pytest.mark.slow
def test_diff_compares_long_counts(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("q", "fewer"):
        assert run("run", f"{name}.sase", "--output", f"{name}.jsonl") == 0
        assert run("run", f"{name}.sase", "--output", f"{name}.parquet") == 0
    for one, other in (("q.jsonl", "fewer.parquet"), ("q.parquet", "fewer.jsonl")):
        capsys.readouterr()
        assert run_command(["diff", one, other, "--format", "json"]) == 0
        (change,) = map(json.loads, capsys.readouterr().out.splitlines())
        assert change["before"] == DIGITS
        assert change["after"] == digits_of(COUNT - EVENTS)
    capsys.readouterr()
    assert run_command(["diff", "q.jsonl", "q.parquet", "--format", "json"]) == 0
    assert capsys.readouterr().out == ""
    assert run("diff", "q.sase", "fewer.sase", "--output", "d.csv") == 0
    assert DIGITS in Path("d.csv").read_text()


def test_cases_compare_long_counts(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of 15,000 events the count has 4,516 digits, more than Python converts."""
    right, wrong = digits_of(2**15_000 - 1), digits_of(2**15_000)
    Path("cases.yaml").write_text(
        "schema: {A: {}}\nquery: RETURN COUNT(*) PATTERN A+ WITHIN 100000\nevents: a1..15000\n"
        f"cases:\n- rows: [[0, 100000, {{COUNT(*): {right}}}]]\n"
        f"- rows: [[0, 100000, {{COUNT(*): {wrong}}}]]\n"
    )
    assert run_command(["test", "cases.yaml"]) == 1
    out = capsys.readouterr().out
    assert "ok      case 1" in out
    assert f'  expected [0, 100000, {{"COUNT(*)": {wrong}}}]' in out
    assert f'     found [0, 100000, {{"COUNT(*)": {right}}}]' in out


@pytest.mark.slow
@pytest.mark.parametrize("executor", ["auto", "greta", "hamlet"])
def test_results_of_the_python_api_can_be_shown(files: Path, executor: str) -> None:
    results = elsinore.workload("q.sase", schema="s.yaml").run("e.parquet", executor=executor)
    assert results["q"]["COUNT(*)"].to_pylist() == [DIGITS]
    frame = results.to_pandas()["q"]
    assert isinstance(frame, pd.DataFrame)
    assert integer_of(frame["COUNT(*)"][0]) == COUNT
    assert results.to_polars()["q"]["COUNT(*)"][0] == DIGITS
    assert "q: 1 row" in repr(results)
    assert "q: 1 row" in results._repr_html_()


def test_a_long_integer_of_a_caller_is_refused_in_one_line(files: Path) -> None:
    workload = elsinore.workload("q.sase", schema="s.yaml")
    with pytest.raises(ParameterError, match=r"^10000.*is not a long"):
        workload.why("e.parquet", "q", {}, 10**5_000)
    with pytest.raises(ParameterError, match="max_error_rate is 1000"):
        workload.run("e.parquet", max_error_rate=10**5_000)


def test_a_schema_with_a_long_integer_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCHEMA.replace("stream: many", f"stream: {'9' * 5_000}"))
    with pytest.raises(SchemaError, match=r"stream.*9999"):
        elsinore.load_schema(tmp_path / "s.yaml")
    (tmp_path / "k.yaml").write_text(f"? {'9' * 5_000}\n: 1\n")
    with pytest.raises(SchemaError, match="is not a string"):
        read_yaml(tmp_path / "k.yaml")


def test_long_counts_are_ranked_and_sampled() -> None:
    at = datetime(2013, 1, 1, tzinfo=UTC)
    more, less = (
        TopResult("COUNT(*)", digits_of(count), None, "{}", at, at) for count in (COUNT, COUNT - 1)
    )
    assert more.rank > less.rank
    [query] = elsinore.workload(QUERY, schema=SCHEMA).bound.queries
    assert shows_more(query, {"COUNT(*)": (DIGITS, None)}, 200_000)


def test_a_row_is_strict_json() -> None:
    row = ResultRow("q", (("k", None),), 0, 10, (("COUNT(*)", COUNT), ("AVG(A.x)", float("nan"))))
    assert from_json(encode_row(row))["values"] == {"COUNT(*)": COUNT, "AVG(A.x)": "NaN"}
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json([COUNT, float("inf")], allow_nan=False)


def test_text_that_is_not_an_integer_is_refused() -> None:
    for text in ("9" * 5_000 + "x", "9 " * 5_000, "9" * 5_000 + "_9", "", "1.5"):
        with pytest.raises(ValueError, match=r"not an integer|invalid literal"):
            integer_of(text)
    assert shown([10**5_000]) == "a list with an integer of thousands of digits"
