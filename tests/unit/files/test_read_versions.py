"""Versions of events in files, tables and DataFrames: `run` keeps what the pipeline keeps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

import elsinore
from elsinore.catalog.load_schema import read_schema
from elsinore.catalog.source_rule import format_of
from elsinore.catalog.stream import StreamSchema
from elsinore.choices import InputFormat
from elsinore.cli.main import run_command
from elsinore.errors import DataError
from elsinore.files.as_lines import as_lines
from elsinore.files.file_names import BY_ENDING
from elsinore.files.lake_tables import LakeTable
from elsinore.files.read_events import ReadReport, Source, read_events
from elsinore.files.read_parquet import Frame
from elsinore.files.records import ArrowRecords
from elsinore.files.versions import column_versions, record_versions
from elsinore.ingest.decode_records import raw_rows
from elsinore.ingest.event_keys import WINNERS_FIRST
from elsinore.ingest.landing_zone import decode_again
from tests.draws import draws
from tests.property.random_cases.dice import Dice

duckdb = pytest.importorskip("duckdb")

Record = dict[str, Any]

AT = 1_700_000_000
KINDS = ("jsonl", "csv", "parquet", "delta", "pandas", "polars", "arrow")


def schema_of(
    version: str = "v", more: str = "", attributes: str = "x: long", time: str = "at"
) -> StreamSchema:
    return read_schema(
        f"stream: s\ntime: {{field: {time}, unit: s}}\nid: {{field: id, version: {version}}}\n"
        f"{more}\ntypes: {{A: {{{attributes}}}}}\n"
    )


def event(x: int, version: Any, number: int = 1) -> Record:
    return {"id": str(number), "at": AT, "x": x, "v": version}


def source(kind: str, records: Sequence[Record], folder: Path, name: str = "e") -> Source:
    path = folder / f"{name}.{kind}"
    match kind:
        case "pandas":
            return Frame(name, pd.DataFrame(records))
        case "csv":
            pd.DataFrame(records, dtype=object).to_csv(path, index=False)
            return path
        case "jsonl":
            texts = (json.dumps(record, default=str) for record in records)
            path.write_text("".join(text + "\n" for text in texts))
            return path
    table = pa.Table.from_pylist(list(records))
    match kind:
        case "polars":
            return Frame(name, pl.from_arrow(table))
        case "arrow":
            return Frame(name, table)
        case "delta":
            write_deltalake(str(path), table)
        case _:
            pq.write_table(table, path)
    return path


def read(*sources: Source, schema: StreamSchema | None = None) -> tuple[list[int], ReadReport]:
    events, report = read_events(sources, schema or schema_of(), max_error_rate=1)
    return events.table["x"].to_pylist(), report


@pytest.mark.parametrize("kind", KINDS)
def test_the_highest_version_wins(kind: str, tmp_path: Path) -> None:
    first = [event(1, 3), event(2, None), event(3, 10), event(3, 2), event(9, None, 2)]
    later = [event(4, 9.5), event(5, None), event(8, None, 2)]
    found, report = read(source(kind, first, tmp_path), source(kind, later, tmp_path, "f"))
    assert found == [3, 8]
    assert (report.lines, report.accepted, report.duplicates) == (8, 2, 1)
    assert report.by_reason == {"superseded": 5}
    assert report.error_rate == 0
    superseded = map(json.loads, report.rejected["record"].to_pylist())
    assert sorted((row["x"], row.get("v")) for row in superseded) == [
        (1, 3), (2, None), (4, 9.5), (5, None), (9, None),
    ]  # fmt: skip
    assert report.warnings == ()


@pytest.mark.parametrize("kind", KINDS)
def test_timestamps_are_versions(kind: str, tmp_path: Path) -> None:
    times = [datetime(2024, 1, day, tzinfo=UTC) for day in (2, 3, 1)]
    records = [event(x, time) for x, time in enumerate(times)]
    # A number of another source is compared with their microseconds.
    for microseconds, winner in ((1_704_240_000_000_001, 7), (1_704_239_999_999_999, 1)):
        numbers = source("jsonl", [event(7, microseconds)], tmp_path, "f")
        folder = tmp_path / str(winner)
        folder.mkdir()
        assert read(source(kind, records, folder), numbers)[0] == [winner]


@pytest.mark.parametrize("kind", KINDS)
def test_bad_versions_are_rejected(kind: str, tmp_path: Path) -> None:
    records = [event(1, "2024-01-01"), event(2, "soon"), event(3, ""), event(4, None)]
    found, report = read(source(kind, records, tmp_path))
    is_csv_like = kind == "csv"  # an empty cell is NULL
    assert found == [1]
    bad = 1 if is_csv_like else 2
    assert report.by_reason == {"bad_version": bad, "superseded": 3 - bad}
    assert report.error_rate == bad / 4
    first = report.rejected.slice(0, 1).to_pylist()[0]
    assert first["record_number"] == (3 if is_csv_like else 2)
    assert first["reason"] == "v: 'soon' is not a number or ISO 8601 timestamp"
    assert "soon" in first["record"]
    with pytest.raises(DataError, match="bad_version: v: 'soon' is not a number"):
        read_events([source(kind, records, tmp_path, "f")], schema_of(), max_error_rate=0)


@pytest.mark.parametrize("kind", ["jsonl", "parquet", "delta", "arrow"])
def test_a_version_inside_of_another_field(kind: str, tmp_path: Path) -> None:
    records = [{**event(x, None), "m": {"v": v}} for x, v in ((1, 5), (2, 7), (3, None))]
    assert read(source(kind, records, tmp_path), schema=schema_of("m.v"))[0] == [2]


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_a_version_in_the_name_of_a_directory(kind: str, tmp_path: Path) -> None:
    for x, version in ((1, "9"), (2, "10"), (3, "-1"), (4, "__HIVE_DEFAULT_PARTITION__")):
        folder = tmp_path / f"v={version}"
        folder.mkdir()
        record = {name: value for name, value in event(x, None).items() if name != "v"}
        source(kind, [record], folder)
    assert read(tmp_path)[0] == [2]


def test_files_of_one_version_only_are_doubtful(tmp_path: Path) -> None:
    for name, version in (("e-late", 1), ("e", 1)):
        source("jsonl", [event(len(name), version)], tmp_path, name)
    assert read(tmp_path)[1].warnings == ()
    # Sorted by the whole name, the later one of equal versions looks like the earlier one.
    early, late = tmp_path / "d" / "T.jsonl", tmp_path / "d-late" / "T.jsonl"
    for path, version in ((early, 2), (late, 2)):
        path.parent.mkdir()
        source("jsonl", [event(len(path.parent.name), version)], path.parent, "T")
    (warning,) = read(early, late)[1].warnings
    assert BY_ENDING in warning
    source("jsonl", [event(3, 1)], late.parent, "T")
    assert read(early, late)[1].warnings == ()


@pytest.mark.parametrize("kind", KINDS)
def test_queries_need_not_read_the_version(kind: str, tmp_path: Path) -> None:
    workload = elsinore.workload(
        "QUERY q RETURN SUM(e.x) PATTERN A e WITHIN 1 day;",
        schema="stream: s\ntime: {field: at, unit: s}\nid: {field: id, version: v}\n"
        "types: {A: {x: long}}\n",
    )
    path = source(kind, [event(5, 2), event(7, 1)], tmp_path)
    assert not isinstance(path, LakeTable)
    given = path.data if isinstance(path, Frame) else path
    assert [row["SUM(e.x)"] for row in workload.run(given)["q"].to_pylist()] == [5]


def test_the_command_counts_bad_versions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = source("jsonl", [event(5, 2), event(7, 1), event(9, "x")], tmp_path)
    query, schema = tmp_path / "q.sase", tmp_path / "s.yaml"
    query.write_text("QUERY q RETURN SUM(e.x) PATTERN A e WITHIN 1 day;")
    schema.write_text(
        "stream: s\ntime: {field: at, unit: s}\nid: {field: id, version: v}\n"
        "types: {A: {x: long}}\n"
    )
    command = ["run", query, "--schema", schema, "--input", path, "--format", "csv"]
    assert run_command([str(each) for each in [*command, "--max-error-rate", 0.4]]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].endswith(",5")
    assert "2 of 3 records rejected (1 bad_version, 1 superseded)" in err
    assert run_command([str(each) for each in command]) != 0
    assert "bad_version: v: 'x' is not a number" in capsys.readouterr().err


# ---- as the pipeline

SCHEMAS = {
    "plain": schema_of(),
    "quoted": schema_of(more="quoted_numbers: true"),
    "an attribute of numbers": schema_of(attributes="x: long, v: {type: long, nullable: true}"),
    "an attribute of strings": schema_of(attributes="x: long, v: {type: string, nullable: true}"),
    "quoted, an attribute of strings": schema_of(
        more="quoted_numbers: true", attributes="x: long, v: {type: string, nullable: true}"
    ),
    "the time": schema_of("at"),
    "within days": read_schema(
        "stream: s\ntime: {field: at, unit: s}\nid: {field: id, version: v, unique_within: day}\n"
        "types: {A: {x: long}}\n"
    ),
}
#: Names in another order than their versions, and such as sort differently without extensions.
NAMES = ("a", "a-late", "a_2", "b/a", "b-2/a", "A")
VALUES: tuple[tuple[Any, ...], ...] = (
    (None, 1, 2, -1, 10**18, 10**18 + 1),
    (None, 1.5, 2.0, -0.5, 1e30, 1e-12, 1e3),
    (None, "2024-01-01", "2024-01-01T01:00:00+02:00", "soon", "7", " 8 ", "1e3", ""),
    (None, True, False),
)


def _lines(path: Path, schema: StreamSchema) -> pa.Table:
    return pa.Table.from_batches(as_lines(path, format_of(path.name) or InputFormat.JSONL, schema))


def _of_the_pipeline(paths: list[Path], schema: StreamSchema) -> tuple[list[Any], list[Any]]:
    """The records that win, and the invalid ones, by the pipeline's code and statement."""
    lines = pa.concat_tables([_lines(path, schema) for path in paths])
    hour = datetime.fromtimestamp(AT, UTC).strftime("%Y-%m-%dT%H")
    scanned = decode_again(lines.add_column(0, "file_hour", pa.repeat(hour, len(lines))), schema)
    raw = pa.Table.from_batches(
        [raw_rows(batch, schema, {}) for batch in scanned.combine_chunks().to_batches()]
    )
    span = "date_trunc('day', event_time)" if schema.id_span else "0"
    connection = duckdb.connect()
    connection.register("raw", raw)
    winners = connection.execute(
        "SELECT file, record_number FROM (SELECT *, row_number() OVER (PARTITION BY event_id, "
        f"{span} ORDER BY {WINNERS_FIRST}) AS place FROM raw WHERE reason_code IS NULL) "
        "WHERE place = 1 ORDER BY ALL"
    ).fetchall()
    bad = connection.execute(
        "SELECT file, record_number, reason_code, "
        "CASE reason_code WHEN 'bad_version' THEN reason ELSE '' END FROM raw "
        "WHERE reason_code IS NOT NULL ORDER BY ALL"
    ).fetchall()
    return winners, bad


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("seed", range(draws(12, 200)))
def test_run_keeps_the_records_that_the_pipeline_keeps(
    name: str, seed: int, tmp_path: Path
) -> None:
    schema, dice = SCHEMAS[name], Dice(f"versions {name} {seed}")
    paths, x = list[Path](), 0
    placed: dict[int, tuple[str, int]] = {}
    for file in NAMES:
        kind, values = dice.pick(("jsonl", "csv", "parquet")), dice.pick(VALUES)
        if kind == "jsonl":
            values = tuple(value for some in VALUES for value in some)
        folder = (tmp_path / file).parent
        folder.mkdir(exist_ok=True)
        records = [
            event(x + number, dice.pick(values), dice.number(0, 3))
            | {"at": AT - dice.pick((0, 1, 86_400))}
            for number in range(dice.number(1, 6))
        ]
        path = source(kind, records, folder, Path(file).name)
        assert isinstance(path, Path)
        paths.append(path)
        first = 2 if kind == "csv" else 1
        placed |= {x + at: (str(path), at + first) for at in range(len(records))}
        x += len(records)
    winners, bad = _of_the_pipeline(paths, schema)
    dice.shuffle(paths)
    found, report = read(*paths, schema=schema)
    assert sorted(placed[x] for x in found) == winners
    rejected = (row.values() for row in report.rejected.drop("record").to_pylist())
    assert bad == sorted(
        (file, number, code, reason if code == "bad_version" else "")
        for file, number, code, reason in rejected
        if code != "superseded"
    )
    assert report.lines == x


ARRAYS: dict[str, pa.Array] = {
    "bytes": pa.array([1, None, -7], pa.int8()),
    "unsigned": pa.array([1, None, 2**64 - 1, 10**19 - 1], pa.uint64()),
    "floats": pa.array([0.1, None, float("nan"), float("inf"), -2.5], pa.float32()),
    "halves": pa.array(np.array([0.5, 2], np.float16)),
    "decimals": pa.array([Decimal("1.25"), None, Decimal(3)], pa.decimal128(20, 9)),
    "large decimals": pa.array([Decimal(10**30), Decimal(10**18)], pa.decimal128(38, 2)),
    "booleans": pa.array([True, None]),
    "nothing": pa.nulls(2),
    "words": pa.array(["2024-01-01", "7", None, "", "x"], pa.large_string()),
    "views": pa.array(["2024-01-01", "7", None], pa.string_view()),
    "categories": pa.array(["2024-01-01", None, "soon"]).dictionary_encode(),
    "binary": pa.array([b"2024-01-01", None]),
    "lists": pa.array([[1], None], pa.list_(pa.int64())),
    "structs": pa.array([{"a": 1}, None]),
    "dates": pa.array([date(2024, 1, 1), None, date(1, 1, 1)]),
    "long dates": pa.array([date(2024, 1, 1), None], pa.date64()),
    "nanoseconds": pa.array([1, None, -1, 1_700_000_000_123_456_789], pa.timestamp("ns")),
    "seconds in a zone": pa.array([0, None, -5], pa.timestamp("s", "Europe/Berlin")),
    "milliseconds": pa.array([1_700_000_000_123, None], pa.timestamp("ms", "UTC")),
    "years": pa.array([253_402_300_800, None], pa.timestamp("s")),
    "times": pa.array([1, None], pa.time32("s")),
    "durations": pa.array([1, None], pa.duration("s")),
}


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("of", ["plain", "quoted", "an attribute of strings"])
def test_columns_have_the_versions_of_their_lines(name: str, of: str, tmp_path: Path) -> None:
    schema, column = SCHEMAS[of], ARRAYS[name]
    path, count = tmp_path / "e.parquet", len(ARRAYS[name])
    columns = {"id": ["a"] * count, "at": [AT] * count, "x": [1] * count, "v": column}
    pq.write_table(pa.table(columns), path)
    versions, faults = record_versions(_lines(path, schema)["record"].to_pylist(), schema)
    _, report = read_events([path], schema, max_error_rate=1)
    own = {
        row["record_number"] - 1: row["reason_code"] for row in report.rejected.to_pylist()
        if row["reason_code"] != "superseded"
    }  # fmt: skip
    if of == "an attribute of strings":  # most of these columns are not strings
        assert set(own.values()) <= {"bad_version", "wrong_type", "not_finite"}
        assert set(faults) <= set(own)
        return
    assert own == dict.fromkeys(faults, "bad_version")
    table = pq.read_table(path)
    plain = ArrowRecords(table).column("v")
    again, wrong = column_versions(plain, np.zeros(count, np.int64), schema)
    assert again.to_pylist() == versions.to_pylist()
    assert set(wrong) == set(faults)
