"""What a schema says of raw events: where fields lie, which types count, numbers in quotes.

Each event is read in every format that can hold it; all must give the same.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.catalog.load_schema import read_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError
from elsinore.events import EventTable
from elsinore.files.read_events import ReadReport, Source, read_events
from elsinore.files.read_parquet import Frame

ENVELOPES = """\
stream: shop
time: {field: payload.ts, unit: ms}
type: {field: payload.event, names: {PageView: page view, Buy: order.created}}
id: {field: key}
types:
  PageView: {user: {type: string, field: payload.user.id}, site: {type: string, field: "@site"}}
  Buy:
    user: {type: string, field: payload.buyer}
    total: {type: double, field: payload.total-sum, nullable: true, min: 0}
"""
EVENTS: list[dict[str, Any]] = [
    {"key": "1", "@site": "a", "payload":
     {"ts": 1740996000000, "event": "page view", "user": {"id": "u"}, "buyer": None,
      "total-sum": None}},
    {"key": "2", "@site": "b", "payload":
     {"ts": 1740996001000, "event": "order.created", "user": None, "buyer": "u",
      "total-sum": 2.5}},
]  # fmt: skip
FORMATS = ["jsonl", "parquet", "frame", "polars"]
FLAT = """\
stream: flat
time: {field: ts.ms, unit: ms}
type: {field: event}
types:
  A: {n: long, x: {type: double, nullable: true}, ok: boolean, s: string}
"""
RECORD: dict[str, Any] = {
    "ts.ms": "1740996000000", "event": "A", "n": "7", "x": "", "ok": "True", "s": "5",
}  # fmt: skip


def source(form: str, records: list[dict[str, Any]], folder: Path) -> Source:
    table = pa.Table.from_pylist(records)
    path = folder / f"e.{form}"
    match form:
        case "frame":
            return Frame("frame", table)
        case "polars":
            return Frame("frame", pl.DataFrame(records))
        case "parquet":
            pq.write_table(table, path)
        case "csv":
            pd.DataFrame(records).to_csv(path, index=False)
        case _:
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def read(
    schema: str | StreamSchema, form: str, records: list[dict[str, Any]], folder: Path
) -> tuple[EventTable, ReadReport]:
    stream = read_schema(schema) if isinstance(schema, str) else schema
    return read_events([source(form, records, folder)], stream, max_error_rate=0)


@pytest.mark.parametrize("form", FORMATS)
def test_fields_lie_inside_of_others_and_elsewhere_in_each_type(form: str, tmp_path: Path) -> None:
    events, _ = read(ENVELOPES, form, EVENTS, tmp_path)
    assert events.table.to_pylist() == [
        {"_time": 1740996000000000, "_type": 0, "user": "u", "site": "a", "total": None},
        {"_time": 1740996001000000, "_type": 1, "user": "u", "site": None, "total": 2.5},
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_missing_or_wrong_there_is_said(form: str, tmp_path: Path) -> None:
    lost = {**EVENTS[0], "payload": EVENTS[0]["payload"] | {"user": {"id": None}}}
    wrong = {**EVENTS[1], "payload": EVENTS[1]["payload"] | {"total-sum": -1.0}}
    with pytest.raises(DataError) as error:
        read(ENVELOPES, form, [lost, wrong], tmp_path)
    assert (
        "user (field payload.user.id) is missing; allow it with nullable: true"
        in error.value.message
    )
    assert "total: -1.0 is below 0" in error.value.message


@pytest.mark.parametrize("form", FORMATS)
def test_a_way_that_leads_nowhere_is_a_missing_field(form: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"payload\.ts\.at is missing"):
        read(ENVELOPES.replace("payload.ts", "payload.ts.at"), form, EVENTS, tmp_path)


@pytest.mark.parametrize("form", [*FORMATS, "csv"])
def test_a_field_whose_own_name_has_dots_comes_first(form: str, tmp_path: Path) -> None:
    records = [{"t": 5, "event": "A", "v.x": 1, "v": 0}]
    if form != "csv":
        records[0]["v"] = {"x": 2}
    schema = (
        "stream: s\ntime: {field: t, unit: integer}\ntype: {field: event}\n"
        "types: {A: {x: {type: long, field: v.x}}}\n"
    )
    assert read(schema, form, records, tmp_path)[0].table["x"].to_pylist() == [1]


@pytest.mark.parametrize("form", FORMATS)
def test_what_else_lies_beside_a_field_does_not_hide_it(form: str, tmp_path: Path) -> None:
    inside = {"user": "ann", "review": 1, "tags": ["a"], "more": {"views": ["b"], "n": 7}}
    schema = (
        "stream: s\ntime: {field: t, unit: integer}\ntype: {field: event}\ntypes: {A: {"
        "u: {type: string, field: in.user}, n: {type: long, field: in.more.n}}}\n"
    )
    records = [{"t": 5, "event": "A", "in": inside}, {"t": 6, "event": "A", "in": inside}]
    table = read(schema, form, records, tmp_path)[0].table
    assert table.select(["u", "n"]).to_pylist() == [{"u": "ann", "n": 7}] * 2


@pytest.mark.parametrize("form", FORMATS)
def test_names_have_dots_inside_of_others_too(form: str, tmp_path: Path) -> None:
    dotted = {"http.method": "GET", "http": {"method": "?", "code": 200}, ".x": 1.5, "": {"y.": 2}}
    records = [{"t": 5, "event": "A", "attributes": dotted}]
    schema = (
        "stream: s\ntime: {field: t, unit: integer}\ntype: {field: event}\ntypes: {A: {"
        "m: {type: string, field: attributes.http.method}, x: {type: double, field: attributes..x},"
        "c: {type: long, field: attributes.http.code}, y: {type: long, field: attributes..y.}}}\n"
    )
    table = read(schema, form, records, tmp_path)[0].table
    assert table.select(["m", "x", "c", "y"]).to_pylist() == [
        {"m": "GET", "x": 1.5, "c": 200, "y": 2}
    ]


@pytest.mark.parametrize("form", [*FORMATS, "csv"])
def test_other_types_are_passed_over_and_counted(form: str, tmp_path: Path) -> None:
    good = {"ts": 1740996000000, "event": "A", "n": 1}
    records = [good, good | {"event": "B", "ts": 1, "n": None}, good | {"event": "C"}, good]
    schema = (
        "stream: s\ntime: {field: ts, unit: ms}\ntype: {field: event}\nunknown_types: skip\n"
        "types: {A: {n: long}}\n"
    )
    events, report = read(schema, form, records, tmp_path)
    assert events.table["n"].to_pylist() == [1, 1]
    assert (report.lines, report.accepted, report.ignored) == (4, 2, 2)
    assert report.rejected.num_rows == 0
    with pytest.raises(DataError, match="unknown_types: skip ignores it"):
        read(schema.replace("skip", "error"), form, records, tmp_path)


@pytest.mark.parametrize("form", FORMATS)
def test_bad_lines_are_a_share_of_those_that_count(form: str, tmp_path: Path) -> None:
    schema = (
        "stream: s\ntime: {field: ts, unit: ms}\ntype: {field: event}\nunknown_types: skip\n"
        "types: {A: {n: long}}\n"
    )
    other = {"ts": 1740996000000, "event": "B", "n": 1}
    bad = [other | {"event": "A", "n": None}, other | {"event": None}]
    records = [other] * 100 + bad + [other | {"event": "A"}] * 2
    _, report = read_events(
        [source(form, records, tmp_path)], read_schema(schema), max_error_rate=0.5
    )
    assert report.by_reason == {"missing_attribute": 1, "missing_type": 1}
    assert report.error_rate == 0.5


@pytest.mark.parametrize("form", [*FORMATS, "csv"])
def test_numbers_in_quotes_are_taken_where_the_schema_says_so(form: str, tmp_path: Path) -> None:
    events, _ = read(FLAT + "quoted_numbers: true\n", form, [RECORD], tmp_path)
    assert events.table.to_pylist() == [
        {"_time": 1740996000000000, "_type": 0, "n": 7, "x": None, "ok": True, "s": "5"}
    ]


@pytest.mark.parametrize("form", FORMATS)
def test_else_they_are_not(form: str, tmp_path: Path) -> None:
    schema = FLAT.replace("unit: ms", "unit: iso")
    record = RECORD | {"ts.ms": "2025-03-03", "x": None}
    with pytest.raises(DataError, match="n: '7' is not a long; remove the quotes, or"):
        read(schema, form, [record], tmp_path)


def test_what_is_no_number_is_refused_with_its_quotes(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="n: '7 kg' is not a long"):
        read(FLAT + "quoted_numbers: true\n", "jsonl", [RECORD | {"n": "7 kg"}], tmp_path)


def test_a_line_of_csv_has_no_inside(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("payload,event\n{},A\n")
    schema = FLAT.replace("ts.ms", "payload.ts")
    with pytest.raises(DataError, match=r"column 'payload\.ts' is missing"):
        read_events([tmp_path / "e.csv"], read_schema(schema), max_error_rate=0)


@pytest.mark.parametrize(
    "names", ["{Failed: 4625, Logon: 4624}", '{Failed: "4625", Logon: "4624"}']
)
@pytest.mark.parametrize("as_text", [True, False, None])
@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet", "frame"])
def test_types_may_be_numbers(names: str, as_text: bool | None, form: str, tmp_path: Path) -> None:
    """As text in all events, in none, or (None) in some of JSON."""
    text = f"stream: w\ntime: {{field: t, unit: iso}}\ntype: {{field: kind, names: {names}}}\n"
    schema = read_schema(f"{text}types:\n  Failed: {{u: string}}\n  Logon: {{u: string}}\n")
    codes = [4625, 4625, 4625, 4624]
    kinds = [str(c) if as_text or (as_text is None and n % 2) else c for n, c in enumerate(codes)]
    if as_text is None and form in ("parquet", "frame"):
        pytest.skip("a column has values of one type")
    times = [f"2024-01-01T10:00:0{n}Z" for n in range(4)]
    rows = [{"t": t, "kind": kind, "u": "a"} for t, kind in zip(times, kinds, strict=True)]
    path, table = (
        tmp_path / f"e.{form}",
        pa.Table.from_pylist(rows) if as_text is not None else None,
    )
    if form == "jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif form == "csv":
        path.write_text("t,kind,u\n" + "".join(f"{r['t']},{r['kind']},a\n" for r in rows))
    elif form == "parquet":
        pq.write_table(table, path)
    source = Frame("f", table) if form == "frame" else path
    events, report = read_events([source], schema, max_error_rate=0)
    assert report.accepted == 4
    assert events.table["_type"].to_pylist() == [0, 0, 0, 1]
