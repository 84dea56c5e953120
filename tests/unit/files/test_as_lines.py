"""Rows as lines of JSON: what is decided of a line is what is decided of its row."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.catalog.load_schema import read_schema
from elsinore.catalog.source_rule import format_of
from elsinore.catalog.stream import StreamSchema
from elsinore.choices import InputFormat
from elsinore.errors import DataError
from elsinore.files import as_lines as as_lines_module
from elsinore.files.as_lines import as_lines
from elsinore.files.decode import decode_lines, line_times
from elsinore.files.read_csv import read_csv
from elsinore.files.read_lines import ReadLimits
from elsinore.files.read_parquet import read_parquet
from elsinore.files.rejection import UnreadableFile
from elsinore.files.type_records import Decoded, concat_decoded

SECOND = 1740996000
MICROS = SECOND * 1_000_000


def lines_of(path: Path, schema: StreamSchema) -> pa.Table:
    form = format_of(path.name)
    assert form is not None
    return pa.Table.from_batches(as_lines(path, form, schema))


def both(path: Path, schema: StreamSchema) -> Decoded:
    """What becomes of a file's rows, which is what becomes of its lines."""
    read = read_csv if path.suffix == ".csv" else read_parquet
    rows = concat_decoded(read(path, schema), schema)
    lines = decode_lines(lines_of(path, schema), schema)
    assert lines.events == rows.events
    said = [
        decoded.rejected.select(["record_number", "reason_code"])
        .sort_by("record_number")
        .to_pylist()
        for decoded in (lines, rows)
    ]
    assert said[0] == said[1]
    assert lines.ignored == rows.ignored
    return rows


TWO_KINDS = [
    ("id: {field: order}", "{order: long}", "order", "text and as a number"),
    ("id: {field: order}", "{order: boolean}", "order", "text and as a boolean"),
    ("", "{n: {type: long, field: order}, t: {type: string, field: order}}", "order",
     "a number and as text"),
    ("", "{n: {type: double, field: order}, b: {type: boolean, field: order, nullable: true}}",
     "order", "a number and as a boolean"),
    ("", "{t: {type: string, field: ts}}", "ts", "a number and as text"),
    ("type: {field: order, names: {A: \"7\"}}", "{n: {type: long, field: order}}", "order",
     "text and as a number"),
]  # fmt: skip


@pytest.mark.parametrize(("head", "attributes", "field", "kinds"), TWO_KINDS)
def test_a_field_of_two_kinds_is_refused_or_stays_text(
    tmp_path: Path, head: str, attributes: str, field: str, kinds: str
) -> None:
    text = f"stream: s\ntime: {{field: ts, unit: s}}\n{head}\ntypes: {{A: {attributes}}}\n"
    path = tmp_path / "x.csv"
    cells = ["007", "7", "8.0", "", "x", "true", "nan", "9" * 500]
    path.write_text("ts,order\n" + "".join(f"{SECOND},{cell}\n" for cell in cells))
    with pytest.raises(DataError, match=f"field '{field}' is read as {kinds}.*quoted_numbers"):
        lines_of(path, read_schema(text))
    decoded = both(path, read_schema(f"{text}quoted_numbers: true\n"))
    if attributes == "{order: long}":
        assert decoded.events["event_id"].to_pylist() == ["007", "7", "8.0"]
        assert decoded.events["order"].to_pylist() == [7, 7, 8]


def test_a_field_of_two_kinds_in_two_types_is_as_each_type_reads_it(tmp_path: Path) -> None:
    schema = read_schema(
        "stream: s\ntime: {field: ts, unit: s}\ntype: {field: ty}\n"
        "types: {A: {n: {type: long, field: f}}, B: {t: {type: string, field: f}}}\n"
    )
    (tmp_path / "x.csv").write_text(f"ts,ty,f\n{SECOND},A,007\n{SECOND},B,007\n{SECOND},A,x\n")
    events = both(tmp_path / "x.csv", schema).events
    assert (events["n"].to_pylist(), events["t"].to_pylist()) == ([7, None], [None, "007"])


@pytest.mark.parametrize("others", ["error", "skip"])
@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_rows_of_other_types_keep_their_time(tmp_path: Path, unit: str, others: str) -> None:
    schema = read_schema(
        f"stream: s\ntime: {{field: ts, unit: {unit}}}\ntype: {{field: ty}}\n"
        f"unknown_types: {others}\ntypes: {{A: {{x: long}}}}\n"
    )
    time = SECOND * {"s": 1, "ms": 1_000, "us": 1_000_000}[unit]
    path = tmp_path / "x.csv"
    path.write_text(f"ts,ty,x\n{time},A,1\n{time},B,1\n{time},,1\n")
    decoded = both(path, schema)
    found = decoded.rejected["reason_code"].to_pylist()
    assert found == ["unknown_type", "missing_type"][others == "skip" :]
    assert (
        line_times(lines_of(path, schema)["record"].to_pylist(), schema).to_pylist() == [MICROS] * 3
    )


def test_a_number_that_is_declared_later_needs_quoted_numbers(tmp_path: Path) -> None:
    text = "stream: s\ntime: {field: ts, unit: s}\ntypes: {A: {x: string"
    path = tmp_path / "x.csv"
    path.write_text(f"ts,x,n,b\n{SECOND},a,7.0,TRUE\n{SECOND},b,,\n")
    lines = lines_of(path, read_schema(text + "}}\n"))
    optional = ", n: {type: long, nullable: true}, b: {type: boolean, nullable: true}}}\n"
    later = read_schema(text + optional + "quoted_numbers: true\n")
    events = decode_lines(lines, later).events
    assert (events["n"].to_pylist(), events["b"].to_pylist()) == ([7, None], [True, None])
    refused = decode_lines(lines, read_schema(text + optional)).rejected["reason"].to_pylist()
    assert len(refused) == 1
    assert "quoted_numbers: true" in refused[0]


INSTANTS = [
    pa.array([MICROS, None], pa.timestamp("us", "UTC")),
    pa.array([MICROS * 1_000, None], pa.timestamp("ns")),
    pa.array([date(2025, 3, 3), None]),
    pa.array([date(2025, 3, 3), None], pa.date64()),
]
ISO = "stream: s\ntime: {field: ts, unit: UNIT}\n"


@pytest.mark.parametrize("column", INSTANTS, ids=lambda column: str(column.type))
@pytest.mark.parametrize("unit", ["iso", "ms"])
@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("types: {A: {x: {type: string, nullable: true}}}", "wrong_type"),
        ("types: {A: {y: {type: string, field: p.x, nullable: true}}}", "wrong_type"),
        ("id: {field: x}\ntypes: {A: {}}", "wrong_type"),
        ("id: {field: p.x}\ntypes: {A: {}}", "wrong_type"),
        ("type: {field: x}\ntypes: {A: {}}", "unknown_type"),
        ("types: {A: {x: {type: timestamp, nullable: true}}}", None),
        ("types: {A: {y: {type: timestamp, field: p.x, nullable: true}}}", None),
    ],
)
def test_instants_of_parquet_are_no_texts(
    tmp_path: Path, column: pa.Array, unit: str, text: str, code: str | None
) -> None:
    inside = pa.StructArray.from_arrays([column], ["x"])
    times = pa.array([MICROS] * 2, pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": times, "x": column, "p": inside}), tmp_path / "x.parquet")
    decoded = both(tmp_path / "x.parquet", read_schema(f"{ISO.replace('UNIT', unit)}{text}\n"))
    assert decoded.rejected["reason_code"].to_pylist()[:1] == [code] * (code is not None)


@pytest.mark.parametrize("unit", ["iso", "ms"])
def test_a_time_that_is_an_id_too_is_none_where_it_is_an_instant(tmp_path: Path, unit: str) -> None:
    table = pa.table({"ts": pa.array([MICROS], pa.timestamp("us", "UTC"))})
    pq.write_table(table, tmp_path / "x.parquet")
    schema = read_schema(f"{ISO.replace('UNIT', unit)}id: {{field: ts}}\ntypes: {{A: {{}}}}\n")
    assert decode_lines(lines_of(tmp_path / "x.parquet", schema), schema).rejected.num_rows == 1


def test_an_instant_that_is_declared_later_is_there(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"ts": ["2025-03-03"] * 2, "x": INSTANTS[1]}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    text = ISO.replace("UNIT", "iso")
    lines = lines_of(tmp_path / "x.parquet", read_schema(text + "types: {A: {}}\n"))
    later = read_schema(text + "types: {A: {x: {type: timestamp, nullable: true}}}\n")
    assert decode_lines(lines, later).events["x"].to_pylist() == [MICROS, None]


def test_columns_of_one_name_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(f"ts,n,n,m\n{SECOND},1,2,3\n")
    schema = read_schema("stream: s\ntime: {field: ts, unit: s}\ntypes: {A: {}}\n")
    (line,) = lines_of(tmp_path / "x.csv", schema)["record"].to_pylist()
    assert json.loads(line) == {"ts": SECOND, "m": "3"}


def test_bytes_are_a_list_of_their_text(tmp_path: Path) -> None:
    columns: dict[str, Any] = {"ts": [SECOND] * 2, "x": [b"x", b"\xff"]}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet")
    schema = read_schema("stream: s\ntime: {field: ts, unit: s}\ntypes: {A: {}}\n")
    lines = lines_of(tmp_path / "x.parquet", schema)["record"].to_pylist()
    assert [json.loads(line)["x"] for line in lines] == [["x"], ["\\xff"]]


FLAT = read_schema("""\
stream: s
time: {field: t, unit: s}
type: {field: k}
types: {A: {}}
""")


def wide_csv(path: Path) -> Path:
    """Write 200 rows of 2,000 bytes, whose names have 900,000."""
    names = (f"{'n' * 450}{number}" for number in range(1_998))
    row = f"{SECOND},A{',' * 1_998}\n"
    path.write_text(f"t,k,{','.join(names)}\n{row * 200}")
    return path


def wide_parquet(path: Path) -> Path:
    columns = {f"{'n' * 9_000}{number}": pa.nulls(200, pa.int32()) for number in range(99)}
    pq.write_table(pa.table({"t": [SECOND] * 200, "k": ["A"] * 200, **columns}), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("write", [wide_csv, wide_parquet])
def test_long_names_of_columns_take_bounded_memory(
    tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each line of JSON repeats all names."""
    form = InputFormat.CSV if write is wide_csv else InputFormat.PARQUET
    path = write(tmp_path / f"e.{form}")
    sizes = [part.nbytes for part in as_lines(path, form, FLAT)]
    assert sum(sizes) > 150 << 20
    assert max(sizes) < 20 << 20
    monkeypatch.setattr(as_lines_module, "DEFAULT_LIMITS", ReadLimits(file_bytes=100 << 20))
    with pytest.raises(UnreadableFile, match="becomes more than 104857600 bytes of JSON"):
        [*as_lines(path, form, FLAT)]


def test_a_row_with_too_many_values(tmp_path: Path) -> None:
    many = pa.ListArray.from_arrays([0, 1, 1_100_001], pa.repeat(pa.scalar(True), 1_100_001))
    table = pa.table({"t": [SECOND] * 2, "k": ["A"] * 2, "many": many})
    pq.write_table(table, tmp_path / "e.parquet")
    with pytest.raises(UnreadableFile, match="has a row of 1,100,003 values, more than 1,000,000"):
        lines_of(tmp_path / "e.parquet", FLAT)


def test_columns_of_directories_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(as_lines_module, "DEFAULT_LIMITS", ReadLimits(file_bytes=2_000))
    (tmp_path / "e.jsonl").write_text("{}\n" * 20)
    columns = {"c": "x" * 200}
    with pytest.raises(UnreadableFile, match="becomes more than 2000 bytes of JSON"):
        [*as_lines(tmp_path / "e.jsonl", InputFormat.JSONL, FLAT, columns)]
