"""Directories that are called `name=value` are columns of the files below them, as in Hive."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.catalog.load_schema import read_schema
from elsinore.choices import InputFormat
from elsinore.errors import DataError
from elsinore.files.as_lines import as_lines
from elsinore.files.decode import decode_lines
from elsinore.files.directory_columns import add_to_lines, columns_below
from elsinore.files.read_events import ReadReport, read_events
from elsinore.library.infer_schema import infer_schema

SCHEMA = """\
stream: shop
time: {field: ts, unit: iso}
type: {field: event}
types:
  Buy:
    k: {type: KIND, nullable: true}
    user: string
"""
FORMS = ["jsonl", "csv", "parquet"]
EVENT = {"ts": "2024-01-01T10:00:00Z", "event": "Buy", "user": "u"}
DEFAULT = "__HIVE_DEFAULT_PARTITION__"


def put(path: Path, *records: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(list(records)), path)
    elif path.suffix == ".csv":
        rows = [list(records[0]), *(map(str, record.values()) for record in records)]
        path.write_text("".join(",".join(row) + "\n" for row in rows))
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def read(folder: Path, kind: str = "string", schema: str = SCHEMA) -> tuple[list[Any], ReadReport]:
    events, report = read_events([folder], read_schema(schema.replace("KIND", kind)),
                                 max_error_rate=1)  # fmt: skip
    return events.table.to_pylist(), report


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", "DE", "DE"), ("string", "a%2Fb%20c%3D%C3%A9", "a/b c=é"), ("string", "7", "7"),
        ("long", "-7", -7), ("double", "2.5", 2.5), ("boolean", "true", True),
        ("timestamp", "2024-01-02", 1704153600000000),
        ("string", DEFAULT, None), ("long", DEFAULT, None), ("timestamp", DEFAULT, None),
    ],
)  # fmt: skip
def test_columns_of_every_type(
    tmp_path: Path, form: str, kind: str, text: str, value: object
) -> None:
    put(tmp_path / f"k={text}" / f"e.{form}", EVENT, EVENT)
    events, report = read(tmp_path, kind)
    assert [event["k"] for event in events] == [value, value]
    assert report.warnings == ()


@pytest.mark.parametrize("form", FORMS)
def test_a_value_of_another_type_is_a_bad_record(tmp_path: Path, form: str) -> None:
    put(tmp_path / "k=many" / f"e.{form}", EVENT)
    _, report = read(tmp_path, "long")
    assert report.by_reason == {"wrong_type": 1}


@pytest.mark.parametrize("form", FORMS)
def test_time_type_and_id_may_be_directories(tmp_path: Path, form: str) -> None:
    schema = SCHEMA.replace("types:", "id: {field: id}\ntypes:")
    put(tmp_path / "ts=2024-01-01" / "event=Buy" / "id=7" / f"e.{form}", {"user": "u"})
    put(tmp_path / "ts=2024-01-02" / "event=Buy" / "id=8" / f"e.{form}", {"user": "v"})
    events, report = read(tmp_path, schema=schema)
    assert [event["user"] for event in events] == ["u", "v"], report.by_reason
    assert [event["_time"] for event in events] == [1704067200000000, 1704153600000000]


@pytest.mark.parametrize("form", FORMS)
def test_numbers_may_be_times(tmp_path: Path, form: str) -> None:
    put(tmp_path / "ts=1704067200" / f"e.{form}", {"event": "Buy", "user": "u"})
    events, _ = read(tmp_path, schema=SCHEMA.replace("iso", "s"))
    assert [event["_time"] for event in events] == [1704067200000000]


@pytest.mark.parametrize("form", FORMS)
def test_a_column_of_the_file_wins(tmp_path: Path, form: str) -> None:
    put(tmp_path / "k=path" / f"e.{form}", EVENT | {"k": "file"})
    assert [event["k"] for event in read(tmp_path)[0]] == ["file"]


@pytest.mark.parametrize("form", FORMS)
def test_only_directories_below_the_input_count(tmp_path: Path, form: str) -> None:
    path = put(tmp_path / "user=x" / "k=a" / f"e.{form}", EVENT)
    assert [event["k"] for event in read(tmp_path / "user=x" / "k=a")[0]] == [None]
    assert [event["k"] for event in read(tmp_path / "user=x")[0]] == ["a"]
    assert columns_below(path, [tmp_path]) == {"user": "x", "k": "a"}
    assert columns_below(path, []) == {}


def test_a_column_twice_is_refused(tmp_path: Path) -> None:
    put(tmp_path / "k=a" / "k=b" / "e.jsonl", EVENT)
    with pytest.raises(DataError, match="two directories have the column k"):
        read(tmp_path)


@pytest.mark.parametrize("name", [b"k=\xff", b"\xff=a", b"k=%FF"])
@pytest.mark.parametrize("form", FORMS)
def test_a_column_that_is_not_utf8_is_refused(tmp_path: Path, form: str, name: bytes) -> None:
    """Replaced bytes would make two keys one."""
    path = put(tmp_path / "k=a" / f"e.{form}", EVENT)
    path.parent.rename(tmp_path / os.fsdecode(name))  # Arrow writes no such paths
    with pytest.raises(DataError, match=r"the directory of the column .* is not UTF-8"):
        read(tmp_path)


@pytest.mark.parametrize(
    ("line", "longer"),
    [
        ('{"a": 1.50}', '{"a": 1.50, "k": "x"}'),
        (' {"a": "k"} \t', '{"a": "k", "k": "x"}'),
        ("{ }", '{"k": "x"}'),
        ('{"k": null}', '{"k": null}'),
        ('{"in": {"k": 1}}', '{"in": {"k": 1}, "k": "x"}'),
        ("[1]", "[1]"),
        ('{"a": 1', '{"a": 1'),
        ('{"a" "k"}', '{"a" "k"}'),
    ],
)
def test_lines_keep_their_text(line: str, longer: str) -> None:
    schema = read_schema(SCHEMA.replace("KIND", "string"))
    assert add_to_lines(pa.array([line]), {"k": "x"}, schema).to_pylist() == [longer]


def test_keys_beyond_ascii_are_not_added_twice() -> None:
    schema = read_schema(SCHEMA.replace("KIND", "string"))
    lines = [json.dumps({"größe": 1}), json.dumps({"größe": 1}, ensure_ascii=False)]
    assert add_to_lines(pa.array(lines), {"größe": "x"}, schema).to_pylist() == lines


@pytest.mark.parametrize("form", list(InputFormat))
def test_rows_as_lines_have_the_columns(tmp_path: Path, form: InputFormat) -> None:
    path = put(tmp_path / f"e.{form}", EVENT)
    schema = read_schema(SCHEMA.replace("KIND", "long"))
    columns = {"k": "7", "later": "x", "none": None}
    lines = pa.Table.from_batches(as_lines(path, form, schema, columns))
    (line,) = map(json.loads, lines["record"].to_pylist())
    assert (line["k"], line["later"], line["none"]) == (7, "x", None)
    assert decode_lines(lines, schema).events["k"].to_pylist() == [7]


@pytest.mark.parametrize("form", FORMS)
def test_infer_offers_the_columns(tmp_path: Path, form: str) -> None:
    for name in ("7", "8", DEFAULT):
        put(tmp_path / f"k={name}" / f"e.{form}", EVENT, EVENT, EVENT)
    assert "k: {type: long, nullable: true}" in infer_schema(tmp_path)
    put(tmp_path / "k=x" / f"e.{form}", EVENT)
    assert "k: {type: string, nullable: true}" in infer_schema(tmp_path)
