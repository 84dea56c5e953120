"""The view of a query holds what the library makes of its results; `elsinore sql` reads it."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import deltalake
import duckdb
import pytest

import elsinore
from elsinore.choices import Engine
from elsinore.cli.main import run_command
from elsinore.errors import DataError
from elsinore.lake.old_names import OLD_NAMES
from elsinore.lake.views import TABLES, statements, view_statements
from elsinore.library.results import Results
from elsinore.query.bound import Workload
from elsinore.settings import Settings
from elsinore.store.tables import Lake
from tests.unit.quality import lake as lake_rows
from tests.unit.quality.lake import REPOSITORY
from tests.views_lake import COLUMNS, VIEWS, expected, ordered, publish_odd_rows, settings_of
from tests.written_tables import write_hours, write_table

Odd = tuple[Settings, Workload, Results]


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Odd:
    settings = settings_of(tmp_path_factory.mktemp("odd"))
    return settings, *publish_odd_rows(settings)


@pytest.fixture
def lake(odd: Odd) -> duckdb.DuckDBPyConnection:
    return elsinore.connect(odd[0])


@pytest.mark.parametrize("number", range(len(VIEWS)))
def test_a_view_holds_what_the_library_gives(
    odd: Odd, lake: duckdb.DuckDBPyConnection, number: int
) -> None:
    _, workload, results = odd
    query = workload.queries[number]
    view = lake.table(VIEWS[number])
    assert ordered(view.fetchall()) == expected(query, results[query.name])


def test_names_are_those_of_the_library_as_far_as_sql_tells_them_apart(
    lake: duckdb.DuckDBPyConnection,
) -> None:
    for view, columns in COLUMNS.items():
        assert lake.table(view).columns == columns


def test_types_are_those_of_the_attributes(lake: duckdb.DuckDBPyConnection) -> None:
    view = lake.table("numbers")
    kinds = dict(zip(view.columns, map(str, view.types), strict=True))
    instant, whole = "TIMESTAMP WITH TIME ZONE", "DECIMAL(38,0)"
    assert kinds == {
        "n": "BIGINT", "x": "DOUBLE", "on": "BOOLEAN", "seen": instant, "window_start_": "BIGINT",
        "window_start": instant, "window_end": instant, "trends": whole,
        "trends_digits": "VARCHAR", "trends_log2": "DOUBLE", "sum_a_x": "DOUBLE",
        "avg_a_x": "DOUBLE", "min_a_x": "DOUBLE", "max_a_x": "DOUBLE", "min_a_seen": instant,
        "max_a_seen": instant, "stddev_a_n": "DOUBLE", "max_a_n_a_n": whole,
        "max_a_n_a_n_digits": "VARCHAR", "max_a_n_a_n_log2": "DOUBLE",
    }  # fmt: skip


def test_results_of_an_earlier_wording_are_in_no_view(odd: Odd) -> None:
    settings, _, results = odd
    text = settings.workload_file.read_text()
    other = settings.workload_file.with_name("other.sase")
    other.write_text(text.replace("PATTERN A a WITHIN", "PATTERN A a WHERE a.n > 1 WITHIN"))
    changed = elsinore.connect(settings.model_copy(update={"workload_file": other}))
    assert len(changed.table("events_")) == 0
    assert len(changed.table("texts")) == results["texts"].num_rows > 100


#: Trino's functions by DuckDB's.
TRINO = r"""
CREATE MACRO json_extract_scalar(t, p) AS
    json_extract_string(t, replace(replace(p, '["', '."'), '"]', '"'));
CREATE MACRO from_unixtime_nanos(n) AS make_timestamptz(CAST(n // 1000 AS BIGINT));
CREATE MACRO from_iso8601_timestamp_nanos(t) AS CAST(t AS TIMESTAMP WITH TIME ZONE);
"""


def test_views_of_trino_say_the_same(odd: Odd, lake: duckdb.DuckDBPyConnection) -> None:
    """As far as can be told without it."""
    settings, workload, _ = odd
    there = [sorted(map(repr, lake.table(view).fetchall())) for view in VIEWS]
    tables = Lake.open(settings).tables
    # Tables are in its catalog.
    assert len(list(statements(settings, Engine.TRINO))) == len(VIEWS) + len(OLD_NAMES)
    lake.execute(TRINO)
    for statement in view_statements(workload, Engine.TRINO, tables):
        lake.execute(statement.replace("TIMESTAMP(6)", "TIMESTAMP"))
    assert [sorted(map(repr, lake.table(view).fetchall())) for view in VIEWS] == there


# ---- commands
@pytest.fixture
def home(odd: Odd, monkeypatch: pytest.MonkeyPatch) -> Path:
    settings = odd[0]
    for name in ("home", "schema_file", "workload_file"):
        monkeypatch.setenv(f"ELSINORE_{name.upper()}", str(getattr(settings, name)))
    return settings.home


@pytest.mark.usefixtures("home")
def test_sql_prints_rows_as_run_does(capsys: pytest.CaptureFixture[str]) -> None:
    asked = """SELECT 1::HUGEINT << 70 AS wide, 2.0 AS half, 'NaN'::DOUBLE AS none, [1] AS list,
        NULL AS nothing, TIMESTAMPTZ '2013-02-08T10:00:00Z' AS t, DATE '2013-02-08' AS d"""
    assert run_command(["sql", asked]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "wide": 2**70, "half": "2.0", "none": "NaN", "list": [1], "nothing": None,
        "t": "2013-02-08T10:00:00.000000Z", "d": "2013-02-08",
    }  # fmt: skip
    assert run_command(["sql", asked, "--format", "table"]) == 0
    assert "1,180,591,620,717,411,303,424  2.0    nan" in capsys.readouterr().out
    within = (
        "SELECT {'x': [1e0 / 0, 'nan'::DOUBLE, 2], 't': [TIMESTAMPTZ '2013-02-08T00:00:00Z']} AS s"
    )
    for form in ("json", "table"):
        assert run_command(["sql", within, "--format", form]) == 0
        found = json.loads(re.findall(r'\{"x".*?\}', capsys.readouterr().out)[0])
        assert found == {"x": ["Infinity", "NaN", 2.0], "t": ["2013-02-08T00:00:00.000000Z"]}
    assert run_command(["sql", "FROM texts", "--format", "table"]) == 0
    assert "more: --output FILE.csv writes all" in capsys.readouterr().out


def test_sql_writes_files_with_all_rows(odd: Odd, home: Path, tmp_path: Path) -> None:
    file = tmp_path / "texts.parquet"
    assert run_command(["sql", "FROM texts", "--output", str(file)]) == 0
    query = odd[1].by_name["texts"]
    assert ordered(duckdb.read_parquet(str(file)).fetchall()) == expected(query, odd[2]["texts"])


def test_sql_compares_texts_also_where_delta_rs_has_deleted_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = settings_of(tmp_path)
    publish_odd_rows(settings)
    for name in ("home", "schema_file", "workload_file"):
        monkeypatch.setenv(f"ELSINORE_{name.upper()}", str(getattr(settings, name)))
    table = deltalake.DeltaTable(str(settings.lake / "results"))
    exact = table.to_pyarrow_table()["exact"].drop_null()[0].as_py()
    asked = ["sql", f"SELECT count(*) > 0 AS any FROM results WHERE exact = '{exact}'"]
    table.delete(f"exact != '{exact}'")
    assert run_command(asked) == 0
    assert json.loads(capsys.readouterr().out) == {"any": True}


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("asked", "told"),
    [("SELECT nothing FROM texts", '"nothing" not found'), ("SELEC 1", "syntax error"),
     ("SELECT 1::TINYINT + x FROM (SELECT 127::TINYINT AS x)", "Overflow")],
)  # fmt: skip
def test_wrong_sql_is_one_line(asked: str, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sql", asked]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert told in line
    assert "SHOW TABLES" in line


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("SELEC\n1", 'elsinore: syntax error at or near "SELEC" in line 1 (SHOW TABLES'),
        ("SELECT count FROM texts", "(the count of trends is the column trends)"),
        ("DELETE FROM results", "(the lake is read-only here)"),
        (
            "QUERY q RETURN COUNT(*) PATTERN A",
            "(`elsinore run` evaluates queries",
        ),
        ("report.sql", '(pass the text, as in "$(cat report.sql)")'),
        ("", "the SQL is empty (try SHOW TABLES)"),
        ("SELECT \udcff", "the SQL is not UTF-8"),
        ("/* nothing */", "the SQL is empty (try SHOW TABLES)"),
        ("SELECT 1; SELECT 2", "the SQL has 2 statements (run one at a time)"),
        ("SHOW TABLES; SELECT 1;", "the SQL has 2 statements (run one at a time)"),
    ],
)
def test_wrong_sql_is_told_what_to_write(
    asked: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["sql", asked]) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert told in error
    assert "Error:" not in error
    assert "LINE" not in error


@pytest.mark.usefixtures("home")
def test_what_has_no_rows_may_stand_before_what_is_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert (
        run_command(["sql", "SET threads = 1; CREATE TEMP VIEW v AS SELECT 1 AS x; FROM v;"]) == 0
    )
    assert capsys.readouterr().out == '{"x": 1}\n'


@pytest.mark.usefixtures("home")
def test_what_a_format_cannot_hold_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sql", "SELECT [1] AS a", "--format", "csv"]) == 2
    assert "list" in capsys.readouterr().err


@pytest.mark.usefixtures("home")
def test_what_fails_leaves_the_file_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "out.csv"
    file.write_text("old")
    assert run_command(["sql", "SELECT [1] AS l", "--output", str(file)]) == 2
    assert run_command(["sql", "SELECT error('broken')", "--output", str(file)]) == 2
    assert run_command(["sql", "SELECT 1 AS x, 2 AS x", "--format", "json"]) == 2
    assert "two columns have the name x (rename one, as in SELECT" in capsys.readouterr().err
    assert [path.read_text() for path in tmp_path.glob("[.o]*")] == ["old"]
    assert run_command(["sql", "SELECT 1 AS x", "--output", str(file)]) == 0
    assert file.read_text() == '"x"\n1\n'


@pytest.mark.usefixtures("home")
def test_spreadsheets_run_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    asked = "SELECT unnest(['=1+1', '+cmd', '-5', '-x', '@a', 'plain', NULL]) AS t, -1 AS n"
    assert run_command(["sql", asked, "--format", "csv"]) == 0
    cells = [line.split(",")[0].strip('"') for line in capsys.readouterr().out.splitlines()]
    assert cells == ["t", "'=1+1", "'+cmd", "-5", "'-x", "'@a", "plain", ""]


@pytest.mark.usefixtures("home")
def test_white_space_before_a_formula_does_not_hide_it(tmp_path: Path) -> None:
    file = tmp_path / "out.csv"
    asked = "SELECT unnest([chr(10) || '=1', chr(13) || '=1', chr(9) || '=1', ' =1', ' a', "
    asked += "chr(65309) || '1', chr(65291) || '1', chr(65293) || 'a', chr(65312) || 'a']) AS t"
    assert run_command(["sql", asked, "--output", str(file)]) == 0
    with file.open(newline="") as lines:
        cells = [cell for (cell,) in csv.reader(lines)]
    plain = ["t", "'\n=1", "'\r=1", "'\t=1", "' =1", " a"]
    assert cells == [*plain, "'\uff1d1", "'\uff0b1", "'\uff0da", "'\uff20a"]


@pytest.mark.usefixtures("home")
def test_sql_without_rows_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["sql", "SELECT 1 WHERE false"]) == 0
    assert run_command(["sql", "SET threads = 1"]) == 0
    assert capsys.readouterr().out == ""


def test_a_lake_without_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="create it with `elsinore replay"):
        elsinore.connect(Settings(home=tmp_path))


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("dialect", Engine)
def test_views_prints_the_statements(
    odd: Odd, dialect: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["views", "--dialect", dialect]) == 0
    printed = capsys.readouterr().out
    made = list(statements(odd[0], dialect))
    assert printed == "".join(f"{statement};\n" for statement in made)
    if dialect is Engine.DUCKDB:
        assert len(duckdb.extract_statements(printed)) == len(made)


def test_views_of_another_workload(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    example = Path(__file__).parents[3] / "docs" / "example"
    files = [str(example / "rides.sase"), "--schema", str(example / "rides.yaml")]
    assert run_command(["views", *files]) == 0
    assert 'VIEW "slow_cancelled" AS' in capsys.readouterr().out


def test_views_of_the_file_of_a_workload_are_over_its_own_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path / "var"))
    settings = Settings.load().of_workload("flights_cancellations")
    assert run_command(["views", str(settings.queries)]) == 0
    printed = capsys.readouterr().out
    assert str(tmp_path / "var/workloads/flights_cancellations/lake/results'") in printed
    assert str(tmp_path / "var/lake/events'") in printed


def test_the_names_that_views_avoid_are_the_declared_tables() -> None:
    declared = {path.stem for path in (REPOSITORY / "schemas" / "tables").glob("*.yaml")}
    assert set(TABLES) == declared


def test_old_names_are_views_over_the_tables_of_this_release(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    publish_odd_rows(settings)
    lake = Lake.open(settings)
    ingested = {"file_count": 2, "bytes": 20, "records": 9, "bad_records": 1}
    rows = [lake_rows.hour_row("ingested", "2013-01-01T10", **ingested)]
    again = [rows[0] | {"records": 10}]
    own = {"workload": settings.workload_name, "missing_inputs": ["2013-01-01T09"]}
    done = [lake_rows.published("2013-01-01T10") | own, lake_rows.published("2013-01-01T11")]
    write_hours(lake.root, rows, again, done)
    events = lake_rows.healthy()["events"]
    write_table(lake.root, lake.schema("events"), events)
    asked = elsinore.connect(settings)
    columns = "landing, files, lines, accepted, duplicates, quarantined"
    assert asked.sql(f"SELECT {columns} FROM landings").fetchall() == [
        ("2013-01-01T10", 2, 10, 3, 6, 1)
    ]
    columns = "owned_hour, rows, validated, published_version, awaited"
    assert asked.sql(f"SELECT {columns} FROM publications").fetchall() == [
        ("2013-01-01T10", 4, 2, 0, ["2013-01-01T09"])
    ]
    assert asked.sql("SELECT count(*) FROM trend_aggregates_staged").fetchall() == [(0,)]
    count = "SELECT count(DISTINCT owned_hour), count(*) FROM trend_aggregates"
    results = "SELECT count(DISTINCT window_end_hour), count(*) FROM results"
    assert asked.sql(count).fetchall() == asked.sql(results).fetchall()
