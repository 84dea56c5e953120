"""Times that are possible but suspicious: which events, the warnings, and the schema's rule."""

from __future__ import annotations

from pathlib import Path

import pytest

import elsinore
from elsinore.catalog.load_schema import read_schema
from elsinore.cli.main import run_command
from elsinore.errors import SchemaError
from elsinore.files.read_events import ReadReport, read_events

QUERY = "QUERY n RETURN COUNT(*) PATTERN Event x WITHIN 1 hour;"
OF_TODAY = [f"2025-06-03T06:{minute:02}:34Z" for minute in range(60)]


def schema(plausible: str = "", unit: str = "iso") -> str:
    rule = f", plausible: {{{plausible}}}" if plausible else ""
    return f"stream: s\ntime: {{field: ts, unit: {unit}{rule}}}\ntypes:\n  Event: {{k: string}}\n"


def read(times: list[str], folder: Path, text: str | None = None) -> ReadReport:
    path = folder / "m.csv"
    path.write_text("ts,k\n" + "".join(f"{time},a\n" for time in times))
    return read_events([path], read_schema(text or schema()), max_error_rate=1)[1]


@pytest.mark.parametrize(
    ("times", "odd"),
    [
        ([*OF_TODAY, "1970-01-01T02:00:36+0200"], ["62: 1970-01-01T00:00:36Z is 55 years from"]),
        (["1970-01-01", *OF_TODAY, "9999-12-31"], ["2 events", ":2: 1970", ":63: 9999-12-31"]),
        (["2025-01-01", "1970-01-01"], ["m.csv:3: 1970-01-01T00:00:00Z is 55", "other 1 event"]),
        (["2025-01-01", "2025-01-02", "1970-01-01"], ["m.csv:4: 1970"]),
        (["1970-01-01"] * 5 + OF_TODAY, ["5 events of", "; 2 more"]),
        (["1970-01-01"] * 60 + OF_TODAY, []),
        ([f"{year}-01-01" for year in range(1990, 2026)], []),
        ([f"{year}-01-01" for year in range(2100, 2300, 9)], []),
        (["2014-01-01", "2025-01-01"], ["11 years"]),
        (["2016-01-01", "2025-01-01"], []),
        (["2025-01-01"], []),
    ],
)  # fmt: skip
def test_events_far_from_the_others_of_their_file(
    times: list[str], odd: list[str], tmp_path: Path
) -> None:
    report = read(times, tmp_path)
    assert report.accepted == len(times)
    assert len(report.warnings) == bool(odd)
    assert all(part in report.warnings[0] for part in odd)


def test_files_are_looked_at_separately(tmp_path: Path) -> None:
    old, new = tmp_path / "old.csv", tmp_path / "new.csv"
    old.write_text("ts,k\n1990-01-01,a\n1991-01-01,a\n")
    new.write_text("ts,k\n2025-01-01,a\n")
    report = read_events([old, new], read_schema(schema()), max_error_rate=0)[1]
    assert report.warnings == ()


@pytest.mark.parametrize(
    ("plausible", "accepted", "warnings"),
    [
        ("otherwise: quarantine", 60, 0), ("otherwise: accept", 61, 0),
        ("within: 36500 days", 61, 0), ("within: 1 hour", 61, 1), ("min: 1970-01-01", 61, 0),
        ("min: 2000-01-01", 61, 1), ("min: 2000-01-01, otherwise: quarantine", 60, 0),
        ("max: 2000-01-01T00:00:00Z, otherwise: quarantine", 1, 0),
        ("min: 1900-01-01, within: 3650 days, otherwise: quarantine", 60, 0),
    ],
)  # fmt: skip
def test_the_schema_changes_the_check(
    plausible: str, accepted: int, warnings: int, tmp_path: Path
) -> None:
    report = read([*OF_TODAY, "1970-01-01"], tmp_path, schema(plausible))
    assert (report.accepted, len(report.warnings)) == (accepted, warnings)
    codes = ["implausible_time"] * (61 - accepted)
    assert report.rejected["reason_code"].to_pylist() == codes


@pytest.mark.parametrize("unit", ["s", "ms"])
def test_numbers_that_are_all_of_1970_are_warned_of(unit: str, tmp_path: Path) -> None:
    [warning] = read(["0", "5", "36"], tmp_path, schema(unit=unit)).warnings
    assert f"all times are in 1970: check time.unit: {unit}" in warning
    accepting = schema("min: 1970-01-01", unit)
    assert read(["0", "5", "36"], tmp_path, accepting).warnings == ()


def test_a_mix_up_of_units_is_refused_unless_the_schema_has_a_minimum(tmp_path: Path) -> None:
    [reason] = read(["1748930400"], tmp_path, schema(unit="ms")).rejected["reason"].to_pylist()
    assert "1748930400 in ms is 1970-01-21" in reason
    assert "if it is in s, set unit: s" in reason
    assert read(["1748930400"], tmp_path, schema("min: 1970-01-01", "ms")).accepted == 1


@pytest.mark.parametrize(
    ("plausible", "message"),
    [
        ("min: 2025-01-01, max: 2020-01-01", "min is after max"), ("within: soon", "within"),
        ("otherwise: drop", "otherwise"), ("least: 2020-01-01", "least"), ("min: noon", "min"),
    ],
)  # fmt: skip
def test_other_settings_are_refused(plausible: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        read_schema(schema(plausible))


def test_ticks_have_no_plausible_years() -> None:
    with pytest.raises(SchemaError, match="leave it out for integer times"):
        read_schema(schema("within: 1 day", "integer"))


def test_run_and_the_library_warn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read([*OF_TODAY, "1970-01-01"], tmp_path)
    (tmp_path / "s.yaml").write_text(schema())
    (tmp_path / "q.sase").write_text(QUERY)
    command = ["run", "q.sase", "--schema", "s.yaml", "--input", "m.csv"]
    paths = [str(tmp_path / part) if "." in part else part for part in command]
    assert run_command(paths) == 0
    assert "m.csv:62: 1970-01-01T00:00:00Z is 55 years from" in capsys.readouterr().err
    results = elsinore.workload(QUERY, schema=schema()).run(tmp_path / "m.csv")
    assert "55 years" in results.warnings[0]
    assert "55 years" in repr(results)


@pytest.mark.parametrize("otherwise", ["warn", "quarantine"])
def test_ingest_warns_or_leaves_out(
    otherwise: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    read([*OF_TODAY, "1970-01-01"], tmp_path)
    (tmp_path / "s.yaml").write_text(schema(f"otherwise: {otherwise}"))
    (tmp_path / "q.sase").write_text(QUERY)
    for name, value in {"HOME": "var", "SCHEMA_FILE": "s.yaml", "WORKLOAD_FILE": "q.sase"}.items():
        monkeypatch.setenv(f"ELSINORE_{name}", str(tmp_path / value))
    assert run_command(["put", str(tmp_path / "m.csv"), "--max-error-rate", "0.1"]) == 0
    out, err = capsys.readouterr()
    warns = otherwise == "warn"
    assert ("m.csv:62: 1970-01-01T00:00:00Z is 55 years from" in err) is warns
    assert ("1 of 61 records left out" in err) is not warns
    assert (tmp_path / "var" / "landing" / "1970").exists() is warns
    assert ("1970" in out) is warns


@pytest.mark.parametrize(
    ("unit", "cell", "hint"),
    [
        ("iso", "45292.4166", "if it is an Excel date"),
        ("iso", "1748930400", "if it is in s, set unit: s"),
        ("iso", "2024-W01-1", "week date"),
    ],
)  # fmt: skip
def test_reasons_name_what_times_may_be(unit: str, cell: str, hint: str, tmp_path: Path) -> None:
    [reason] = read([cell], tmp_path, schema(unit=unit)).rejected["reason"].to_pylist()
    assert hint in reason


def test_quoted_numbers_are_advised_where_they_are_times(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text('{"ts": "1717243200000", "k": "a"}\n')
    report = read_events([path], read_schema(schema(unit="ms")), max_error_rate=1)[1]
    assert "quoted_numbers: true in the schema" in report.rejected["reason"].to_pylist()[0]


@pytest.mark.parametrize(
    ("cell", "reason"),
    [
        ("1.23457E+15", "1.23457E+15 has an exponent"), ("1e3", "1e3 has an exponent"),
        ("9007199254740993.0", "9007199254740993.0 may have lost digits"),
        ("5.5", "5.5 is not a whole number"), ("5.0", None),
    ],
)  # fmt: skip
@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_shortened_ids_are_no_longs(
    suffix: str, cell: str, reason: str | None, tmp_path: Path
) -> None:
    path = tmp_path / f"e.{suffix}"
    of_json = f'{{"ts": "2024-01-01", "k": {cell}}}\n'
    path.write_text(f"ts,k\n2024-01-01,{cell}\n" if suffix == "csv" else of_json)
    longs = read_schema(schema().replace("string", "long"))
    rejected = read_events([path], longs, max_error_rate=1)[1].rejected["reason"].to_pylist()
    assert [reason in text for text in rejected if reason] == [True] * (reason is not None)
    assert bool(rejected) is (reason is not None)
