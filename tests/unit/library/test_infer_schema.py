"""A first schema from events: what is guessed, and that it can be used at once."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
import json
import math
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import yaml
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

import elsinore
from elsinore.catalog.load_schema import read_schema
from elsinore.cli.main import run_command
from elsinore.errors import DataError
from elsinore.files import first_rows
from elsinore.files.read_events import read_events
from elsinore.files.read_parquet import Frame
from tests.draws import draws

RIDES = Path(__file__).parents[3] / "docs" / "example"

CLICKS = pd.DataFrame({
    "ts": [1_740_996_000_000, 1_740_996_001_000, 1_740_996_002_000],
    "event": ["view", "on", "view"],
    "id": [7, 8, 9],
    "user-id": ["x", "y", "z"],
    "price": [1.5, None, None],
    "n": [1, 2, 3],
    "ok": [True, False, True],
    "seen": pd.to_datetime(["2025-01-01"] * 3),
    "tags": [["a"], ["b"], []],
})  # fmt: skip
GUESSED = """\
# Inferred from events: check the lines that end in a question mark.
stream: clicks
time: {field: ts, unit: ms}  # ?
type: {field: event}  # ?
id: {field: id}  # ?
types:
  view:
    user_id: {type: string, field: "user-id"}
    price: {type: double, nullable: true}  # ?
    n: long
    ok: boolean
    seen: timestamp
    # tags: ignored (list<element: string>)
  "on":
    user_id: {type: string, field: "user-id"}
    n: long
    ok: boolean
    seen: timestamp
    # tags: ignored (list<element: string>)
"""


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.from_pandas])
def test_a_frame_has_a_schema_that_fits_it(make: Any) -> None:
    text = elsinore.infer_schema(make(CLICKS), stream="clicks")
    assert without_types(text) == without_types(GUESSED)
    work = elsinore.workload("QUERY q RETURN COUNT(*) PATTERN view WITHIN 1 hour;", schema=text)
    results = work.run(make(CLICKS))
    assert results["q"]["COUNT(*)"].to_pylist() == [2]


def without_types(text: str) -> list[str]:
    """Lists are spelled differently."""
    return [re.sub(r"tags: ignored .*", "tags: ignored", line) for line in text.splitlines()]


NESTED = """\
# Inferred from events: check the lines that end in a question mark.
stream: events
time: {field: "meta.ts", unit: iso, then: record_number}  # ? equal times: in the order of the file
type: {field: "meta.type", names: {page_view: "page view", order_created: "order.created"}}  # ?
id: {field: id}  # ?
types:
  page_view:
    file_: {type: string, field: file}
    ID: {type: long, field: "body.user.ID", nullable: true}  # ?
  order_created:
    file_: {type: string, field: file}
    x_1st: {type: long, field: "body.1st"}
    ID: {type: long, field: "body.user.ID"}
"""


def test_what_lies_inside_or_has_no_name_is_given_one() -> None:
    def event(key: str, kind: str, first: int | None, user: int | None) -> dict[str, Any]:
        meta = {"ts": "2025-03-03T10:00:00Z", "type": kind}
        return {"meta": meta, "id": key, "file": "f", "body": {"1st": first, "user": {"ID": user}}}

    events = [event("a", "page view", None, 1), event("b", "page view", None, None)]
    table = pa.Table.from_pylist([*events, event("c", "order.created", 3, 4)])
    text = elsinore.infer_schema(table)
    assert text == NESTED
    query = "QUERY q RETURN SUM(C.ID), MAX(C.x_1st) PATTERN order_created C WITHIN 1 hour;"
    rows = elsinore.workload(query, schema=text).run(table)["q"].to_pylist()
    assert [(row["SUM(C.ID)"], row["MAX(C.x_1st)"]) for row in rows] == [(4, 3)]


@pytest.mark.parametrize(
    ("values", "unit"),
    [
        ([1_740_996_000], "s"), ([1_740_996_000.5], "s"), ([1_740_996_000_000_000], "us"),
        (["2025-03-03T10:00:00+01:00"], "iso"), ([5, -3], "integer"),
        (list(pd.to_datetime(["2025-01-01"])), "iso"),
    ],
)  # fmt: skip
def test_the_unit_of_time_follows_from_its_size(values: list[Any], unit: str) -> None:
    frame = pd.DataFrame({"Time": values, "type": "A"})
    assert f"time: {{field: Time, unit: {unit}}}  # ?" in elsinore.infer_schema(frame)


@pytest.mark.parametrize(
    ("times", "naive"),
    [
        (["2025-03-03T10:00:00", "2025-03-03 11:00"], True),
        (["2025-03-03T10:00:00Z", "2025-03-03 11:00+01:00"], False),
        (pd.to_datetime(["2025-03-03T10:00:00"]), True),
        (pd.to_datetime(["2025-03-03T10:00:00Z"]), False),
        (pd.Series(["2025-03-03T10:00:00"], dtype="category"), True),
        ([dt.date(2025, 3, 3)], True),
        ([1740996000], False),
    ],
)
def test_times_without_an_offset_are_said_to_be_utc(times: Any, naive: bool) -> None:
    found = elsinore.infer_schema(pd.DataFrame({"ts": times}))
    assert ("# ? no offset: read as UTC" in found) is naive


@pytest.mark.parametrize(
    ("times", "note"),
    [
        (["2024-01-01T10:00:00Z", "2024-01-01T11:00:00+02:00"], None),
        (["2024-01-01 10:00:00+00", "2024-01-01 10:00:00 UTC"], None),
        (["2024-01-01T10:00:00-0500", "2024-01-01t10:00:00z"], None),
        (["2024-01-01T10:00:00", "2024-01-02"], "no offset: read as UTC"),
        (["2024-01-01T10:00:00+01:00", "2024-01-01 10:00:00"], "some values lack an offset"),
        (["2024-01-01T10:00:00Z", "2024-01-02"], "some values lack an offset"),
    ],
)
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_the_note_about_offsets_is_true_of_files(
    suffix: str, times: list[str], note: str | None, tmp_path: Path
) -> None:
    path = tmp_path / f"e.{suffix}"
    frame = pd.DataFrame({"ts": times, "event": ["A", "B"]})
    if suffix == "parquet":
        frame.to_parquet(path)
    elif suffix == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_json(path, orient="records", lines=True)
    [line] = [each for each in elsinore.infer_schema(path).splitlines() if "time:" in each]
    assert ("offset" in line) is (note is not None)
    assert (note or "") in line


def test_numbers_in_quotes_are_times(tmp_path: Path) -> None:
    path = tmp_path / "ga4.jsonl"
    path.write_text(
        '{"event_timestamp": "1704103200000000", "event_name": "view", "user": "1700000000"}\n'
        '{"event_timestamp": "1704103201000000", "event_name": "buy", "user": "1.2"}\n'
    )
    schema = elsinore.infer_schema(path)
    assert yaml.safe_load(schema)["time"] == {"field": "event_timestamp", "unit": "us"}
    assert yaml.safe_load(schema)["quoted_numbers"] is True
    query = "QUERY q RETURN COUNT(*) PATTERN SEQ(view, buy) WITHIN 1 hour;"
    assert elsinore.workload(query, schema=schema).run(path)["q"]["COUNT(*)"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        (["a", [1, 2]], False), ([{"b": 1}, 5], False), ([1, "5"], True), (["5", True, 7], True),
        ([1.5, "x"], False), ([[1, "x"]], False), ([[{"v": 1}, {"v": "x"}]], False),
    ],
)  # fmt: skip
def test_a_field_of_two_kinds_does_not_stop_the_guess(
    values: list[Any], kept: bool, tmp_path: Path
) -> None:
    path = tmp_path / "e.jsonl"
    events = [{"ts": f"2024-01-0{n}T10:00:00Z", "in": {"odd": v}} for n, v in enumerate(values, 1)]
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    schema = elsinore.infer_schema(path)
    if kept:
        assert read_schema(schema).attributes == {"odd": "string"}
    else:
        assert re.search(r"# in\.odd.*: .* in some records and .* in others; ignored", schema)
    _, report = read_events([path], read_schema(schema), max_error_rate=0)
    assert report.accepted == len(events)


def test_types_that_are_numbers_are_found() -> None:
    table = pa.table({"time": [1, 2, 3], "type": [4625, 4625, 4624]})
    schema = elsinore.infer_schema(table)
    line = 'type: {field: type, names: {x_4625: "4625", x_4624: "4624"}}  # ?'
    assert line in schema.splitlines()
    assert read_events([Frame("f", table)], read_schema(schema), max_error_rate=0)[1].accepted == 3


def test_packed_files_are_read_as_runs_read_them(tmp_path: Path) -> None:
    padded, empty = tmp_path / "e.jsonl.gz", tmp_path / "none.jsonl.gz"
    padded.write_bytes(gzip.compress(b'{"time": "2024-01-01T10:00:00Z"}\n') + bytes(512))
    empty.write_bytes(gzip.compress(b""))
    assert "time: {field: time, unit: iso}  # ?" in elsinore.infer_schema(padded)
    with pytest.raises(elsinore.DataError, match=r"none\.jsonl\.gz has no events"):
        elsinore.infer_schema(empty)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "jsonl", "csv.gz"])
def test_files_of_every_format(
    suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_json(RIDES / "rides.jsonl", lines=True)
    path = tmp_path / f"rides.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(path)
    elif suffix == "jsonl":
        path = RIDES / "rides.jsonl"
    else:
        frame.to_csv(path, index=False)
    assert run_command(["schema", "infer", str(path), "--stream", "rides"]) == 0
    text = capsys.readouterr().out
    work = elsinore.workload(RIDES / "rides.sase", schema=text)
    assert work.run(path)["slow_cancelled"]["COUNT(*)"].to_pylist() == [11]


@pytest.mark.parametrize(
    ("frame", "error"),
    [
        (pd.DataFrame({"type": ["A"], "v": [1.0]}), "no column looks like times"),
        (
            pd.DataFrame({"time": ["soon"], "type": ["A"]}),
            "time looks like the time, but 'soon' is",
        ),
        (
            pd.DataFrame({"time": [None, "2015/01/01"]}),
            r"but '2015/01/01' is not a timestamp .write times",
        ),
    ],
)
def test_what_cannot_be_guessed_is_said(frame: pd.DataFrame, error: str) -> None:
    with pytest.raises(elsinore.DataError, match=error):
        elsinore.infer_schema(frame)


def test_a_list_in_a_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "e.json"
    path.write_text('[{"time": 1}, {"time": 2}]')
    with pytest.raises(elsinore.DataError, match=r"a list is not an object; .*jq -c"):
        elsinore.infer_schema(path)


@pytest.mark.parametrize("day", ["2020-01-01", dt.date(2020, 1, 1), pd.Timestamp(2020, 1, 1)])
def test_times_are_found_under_any_name(day: object) -> None:
    schema = elsinore.infer_schema(pd.DataFrame({"born": ["x"], "died on": [day]}))
    assert yaml.safe_load(schema)["time"] == {"field": "died on", "unit": "iso"}


_TEXTS = [
    "2025-01-01", "2025-01-01T10:00:00+02:00", "2025-01-01T10", "0000-01-01", "10:15", "1", "1.5",
    "007", "-0", "+1", "inf", "nan", "true", "True", "18446744073709551615", "12345678901234567.5",
]  # fmt: skip
_SCALARS = [
    st.none(), st.booleans(), st.integers(-(2**62), 2**62), st.floats(), st.integers(0, 2**64 - 1),
    st.text(max_size=5), st.sampled_from(_TEXTS), st.sampled_from(_TEXTS[:3]),
    st.lists(st.integers(0, 9), max_size=2),
]  # fmt: skip
_NAMES = st.sampled_from([
    "x", "a.b", "user-id", "on", "1st", "\u00fcn\u00ef", "k\n", "\U0001f600", "", "y" * 201, "NEXT",
])  # fmt: skip
_INSIDE = st.dictionaries(_NAMES, st.sampled_from(_SCALARS), max_size=3)


def _some_of(fields: dict[str, Any]) -> Any:
    """Events that each have some of the fields, or objects inside of them."""
    kinds = {name: _some_of(of) if isinstance(of, dict) else of for name, of in fields.items()}
    return st.fixed_dictionaries({}, optional=kinds)


def _as_csv(events: list[dict[str, Any]]) -> str:
    """Cells as Python writes them; the file's records are its lines."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    names = list(dict.fromkeys(name for event in events for name in event))
    for row in [dict(zip(names, names, strict=True)), *events]:
        cells = ("" if row.get(name) is None else str(row[name]) for name in names)
        writer.writerow([" ".join(cell.split()) for cell in cells])
    return text.getvalue()


def _as_frame(events: list[dict[str, Any]]) -> pa.Table:
    try:
        return pa.Table.from_pandas(pd.DataFrame(events))
    except OverflowError:  # of numbers inside of objects
        reject()


@pytest.mark.slow
@settings(max_examples=draws(60, 1_000), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(
        _NAMES | st.sampled_from(["type", "id"]), st.sampled_from(_SCALARS) | _INSIDE, max_size=5
    )
    .map(_some_of).flatmap(lambda event: st.lists(event, min_size=1, max_size=6)),
    st.sampled_from(["jsonl", "csv", "frame"]),
)  # fmt: skip
def test_what_is_guessed_reads_all_events(found: list[dict[str, Any]], form: str) -> None:
    events = [{"time": 1_740_996_000 + n, **event} for n, event in enumerate(found)]
    with TemporaryDirectory() as folder:
        path = Path(folder, f"e.{form}")
        lines = "".join(f"{json.dumps(event)}\n" for event in events)
        path.write_text(_as_csv(events) if form == "csv" else lines)
        what = _as_frame(events) if form == "frame" else path
        schema = read_schema(elsinore.infer_schema(what))
        source = Frame("frame", what) if form == "frame" else path
        _, report = read_events([source], schema, max_error_rate=1)
    assert not report.rejected.num_rows, report.rejected.to_pylist()


@pytest.mark.parametrize(
    ("columns", "lines"),
    [
        ({"n": pa.array([2**64 - 1], pa.uint64())},
         ["# n: ignored (18446744073709551615 does not fit 64 bits)"]),
        ({"x": [math.inf]}, ["# x: ignored (inf is not finite)"]),
        ({"at": pa.array([2**40], pa.timestamp("s"))},
         ["# at: ignored (the time is not in the years 1 to 9999)"]),
        ({"x": pa.array([10**30], pa.decimal128(38))},
         ["x: double  # ? its largest numbers may be rounded"]),
        ({"h": pa.array([1.5], pa.float16())}, ["h: double"]),
        ({"": [1], "y" * 200: [1]}, ['# "": ignored (no name)',
                                     f'{"y" * 60}: {{type: long, field: "{"y" * 200}"}}']),
        ({"y" * 201: [1]}, [f"# {'y' * 201}: ignored (a name of more than 200 characters)"]),
        ({"NOT": [1], "next": [2], "seq": [3]},
         ["NOT_: {type: long, field: NOT}", "next: long", "seq: long"]),
    ],
)  # fmt: skip
def test_what_no_attribute_can_have_is_a_comment(columns: dict[str, Any], lines: list[str]) -> None:
    table = pa.table({"time": [5], **columns})
    schema = elsinore.infer_schema(table)
    assert [line.strip() for line in schema.splitlines()][-len(lines) :] == lines
    _, report = read_events([Frame("f", table)], read_schema(schema), max_error_rate=0)
    assert report.accepted == 1


def test_many_names_of_other_scripts_are_short_enough() -> None:
    fields = [chr(0x4E00 + number) for number in range(100)]
    table = pa.table({"time": [5], **{field: [1] for field in fields}})
    schema = read_schema(elsinore.infer_schema(table))
    assert [attribute.raw for attribute in schema.types[0].attributes] == fields
    assert [*schema.attributes][:4] == ["x_", "x__", "x__2", "x__3"]


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["18446744073709551615", "18446744073709551614"], "string"), (["007", "7"], "string"),
        (["10:15", "11:15"], "string"), (["+1", "1"], "string"), (["inf", "1.5"], "string"),
        (["1.5", "12345678901234567"], "string"), (["2020-01-01T10", "2020-01-01"], "timestamp"),
        (["20200101", "20200102"], "long"),
        (["9223372036854775807", "-1"], "long"), (["0", ""], "long"), (["1.0", "2"], "double"),
        (["0.5", "nan"], "double"), (["2020-01-01 10:15", "2020-01-01"], "timestamp"),
        (["TRUE", "false"], "boolean"),
    ],
)  # fmt: skip
def test_cells_of_csv_are_numbers_where_these_give_them_back(
    cells: list[str], kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "e.csv"
    path.write_text(f"time,v\n1,{cells[0]}\n2,{cells[1]}\n")
    schema = read_schema(elsinore.infer_schema(path))
    assert schema.attributes == {"v": kind}
    assert read_events([path], schema, max_error_rate=0)[1].accepted == 2


def test_a_column_in_which_more_than_a_few_events_have_no_type_is_not_taken_for_it() -> None:
    table = pa.table({"time": [1, 2], "type": ["A", None]})
    schema = elsinore.infer_schema(table)
    line = "# type: {field: type}  # ? some events lack it; without it, all events have one type"
    few = pa.table({"time": range(40), "type": ["A"] * 39 + [None]})
    told = elsinore.infer_schema(few)
    assert "type: {field: type}  # ? records without it are rejected" in told.splitlines()
    work = elsinore.workload("QUERY q RETURN COUNT(*) PATTERN A WITHIN 50;", schema=told)
    assert work.run(few)["q"]["COUNT(*)"].to_pylist() == [39]
    assert line in schema.splitlines()
    assert yaml.safe_load(schema)["types"]["Event"] == {
        "type": {"type": "string", "nullable": True}
    }
    table = table.append_column("kind", [["view", "buy"]])
    assert "type: {field: kind}  # ?" in elsinore.infer_schema(table).splitlines()


def test_types_called_as_words_of_the_language_have_other_names() -> None:
    frame = pd.DataFrame({"time": range(4), "type": ["SEQ", "not", "Null", "within"]})
    line = 'type: {field: type, names: {SEQ_: "SEQ", not_: "not"}}  # ?'
    assert line in elsinore.infer_schema(frame).splitlines()


@pytest.mark.parametrize(
    ("times", "line"),
    [
        ({"time": ["1850/01/01", "2020-01-01"], "ts": ["2020-01-01"] * 2},
         "{field: ts, unit: iso, then: record_number}"),
        ({"time": ["0001-01-01", "9999-12-31"], "ts": ["2020-01-01"] * 2},
         "{field: time, unit: iso}"),
        ({"time": [math.inf, 1.5], "ts": [5, 2**62 - 1]}, "{field: ts, unit: integer}"),
        ({"time": [5, None], "ts": [5, 6]}, "{field: ts, unit: integer}"),
        ({"time": [5, None]}, "{field: time, unit: integer}  # ? records without it are rejected"),
        ({"": ["2020-01-01"] * 2, "when": ["2020-01-01"] * 2},
         "{field: when, unit: iso, then: record_number}"),
    ],
)  # fmt: skip
def test_what_holds_no_plausible_time_is_not_the_time(times: dict[str, Any], line: str) -> None:
    assert f"time: {line}" in elsinore.infer_schema(pa.table(times))


@pytest.mark.parametrize(
    ("times", "odd"),
    [
        (pa.array([2**62, 1]), "4611686018427387904"), (pa.array([1.5], pa.float16()), "1.5"),
        (pa.array([1.5, math.inf]), "1.5"), (["2020-01-01", "1850-1-01"], "'1850-1-01'"),
        (pa.array([0, 2**40], pa.timestamp("s")), "'<value out of range"), ([True], "true"),
    ],
)  # fmt: skip
def test_the_value_that_is_no_time_is_said(times: Any, odd: str) -> None:
    with pytest.raises(elsinore.DataError, match=f"time looks like the time, but {odd}"):
        elsinore.infer_schema(pa.table({"time": times}))


def test_names_with_dots_are_found_inside_of_others_unless_hidden(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    event = {
        "time": 1, "a.b": 2, "a": {"b": {"l": 7}}, "c": {"d.e": 3, "f": 4}, "g.h": {"i": 5},
        "j\nk: x": [6],
    }  # fmt: skip
    path.write_text(json.dumps(event) + "\n")
    schema = elsinore.infer_schema(path)
    assert "# a.b.l: ignored (hidden by a field of a longer name)" in schema
    fields = {"b": "a.b", "e": "c.d.e", "f": "c.f", "i": "g.h.i"}
    found = {name: {"type": "long", "field": field} for name, field in fields.items()}
    assert yaml.safe_load(schema)["types"] == {"Event": found}
    query = "QUERY q RETURN SUM(Event.e), SUM(Event.i) PATTERN Event WITHIN 9;"
    result = elsinore.workload(query, schema=schema).run(path)["q"]
    assert [result[f"SUM(Event.{name})"].to_pylist() for name in "ei"] == [[3], [5]]


@pytest.mark.parametrize("inner", ['"a.b": 1, "a": {"b": 2}', '"a": {"b": 2}, "a.b": 1'])
@pytest.mark.parametrize(("frame", "field"), [("%s", "a.b"), ('"c": {%s}', "c.a.b")])
def test_of_two_fields_with_one_path_the_schema_has_the_one_that_runs_read(
    tmp_path: Path, inner: str, frame: str, field: str
) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(f'{{"time": 1, {frame % inner}}}\n')
    schema = elsinore.infer_schema(path)
    attributes = yaml.safe_load(schema)["types"]["Event"]
    assert attributes == {"b": {"type": "long", "field": field}}
    query = "QUERY q RETURN SUM(Event.b) PATTERN Event WITHIN 9;"
    result = elsinore.workload(query, schema=schema).run(path)["q"]
    assert result["SUM(Event.b)"].to_pylist() == [1]


def test_times_are_numbers_where_nothing_else_is_there_in_all_events() -> None:
    frame = pd.DataFrame({"n": [1, 2], "seen": ["2020-01-01", None], "when": [1577836800000] * 2})
    schema = elsinore.infer_schema(frame)
    assert yaml.safe_load(schema)["time"] == {"field": "when", "unit": "ms", "then": "n"}


def test_what_a_file_spells_as_a_boolean_is_what_can_be_read_as_one(tmp_path: Path) -> None:
    path = tmp_path / "e.csv"
    path.write_text("time,ok,odd\n2020-01-01,true,true\n2020-01-02,False,1\n")
    schema = elsinore.infer_schema(path)
    assert yaml.safe_load(schema)["types"] == {"Event": {"ok": "boolean", "odd": "string"}}


def test_without_a_column_of_types_all_events_are_of_one() -> None:
    frame = pd.DataFrame({"time": [1, 2, 4], "v": [1, 2, 3]})
    schema = elsinore.infer_schema(frame)
    assert yaml.safe_load(schema)["types"] == {"Event": {"v": "long"}}
    work = elsinore.workload("QUERY q RETURN COUNT(*) PATTERN Event+ WITHIN 10;", schema=schema)
    assert work.run(frame)["q"]["COUNT(*)"].to_pylist() == [7]


def test_names_cannot_write_yaml() -> None:
    columns = {"time": [1], "type": ["A\n  B: {x: long}"], "v\n    w": [1], "no": [True]}
    lines = elsinore.infer_schema(pd.DataFrame(columns)).splitlines()
    assert lines[3] == r'type: {field: type, names: {A_B_x_long: "A\n  B: {x: long}"}}  # ?'
    assert lines[-3] == "  A_B_x_long:"
    assert lines[-2] == r'    v_w: {type: long, field: "v\n    w"}'
    assert lines[-1] == '    "no": boolean'


@pytest.mark.parametrize(
    ("name", "data", "error"),
    [
        ("e.csv", b"", r"e\.csv is empty .pass a file with events"),
        ("e.csv", b"time,x\n", "e.csv has no events"),
        ("e.jsonl", b"{}\n", "e.jsonl has no events"),
        ("e.csv", b"time,x,x\n1,2,3\n", "e.csv: column 'x' occurs twice"),
        ("e.csv", b"time;x\n1;2\n", "e.csv: its columns are separated by ';'"),
        ("e.csv", b"Zeit;Betrag\n1;2,5\n", "e.csv: its columns are separated by ';'"),
        ("e.csv", "time,x\n1,2\n".encode("utf-16"), "e.csv is UTF-16 text"),
        ("e.json", b'{\n"time": 1,\n"x": 2\n}\n', "e.json: an object continues on other"),
        ("e.json", b'{"time": 1,\n"x": 2}\n', "e.json: an object continues on other"),
        ("e.csv", b"time,x\r1,2\r", "e.csv: a CR without LF outside of quotes"),
        ("e.csv", b"time,\xe9\n1,2\n", "e.csv: a column name is not UTF-8"),
        ("e.jsonl", b'{"time": 1, "\xe9": 2}\n', "e.jsonl: a column name is not UTF-8"),
    ],
)  # fmt: skip
def test_a_file_that_is_none_is_said(name: str, data: bytes, error: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(elsinore.DataError, match=error):
        elsinore.infer_schema(tmp_path / name)


@pytest.mark.parametrize(
    ("events", "error"),
    [
        ([], "no events were passed"), (pd.DataFrame({"time": [], "x": []}), "1 has no events"),
        (pa.table({"time": pa.array([], pa.int64())}), "1 has no events"),
        (pd.DataFrame({"time": [None], "x": ["a"]}), "the time, but no event has a value in it"),
        (pd.DataFrame([[1, 2, 3]], columns=["time", "x", "x"]), "Duplicate column names found"),
        (pd.DataFrame({"time": [1], "x": [{"y": 2**70}]}), "Arrow cannot read .* too large.*cast"),
        (pa.table([[1], [2], [3]], ["time", "x", "x"]), "frame 1: column 'x' occurs twice"),
    ],
)  # fmt: skip
def test_a_frame_without_events_is_said(events: Any, error: str) -> None:
    with pytest.raises(elsinore.DataError, match=error):
        elsinore.infer_schema(events)


@pytest.mark.parametrize("suffix", ["csv", "jsonl"])
def test_text_that_is_no_utf8_is_not_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"e.{suffix}"
    path.write_bytes(b"time,v\n1,\xe9\n" if suffix == "csv" else b'{"time": 1, "v": "\xe9"}\n')
    assert elsinore.infer_schema(path).endswith("# v: ignored (binary or not UTF-8)\n")


# ---- the field of the event type
ORDERS = [
    {"time": f"2025-03-03T10:0{n}:00Z", "order": n // 2, "event": {"code": code}, "status": status}
    for n, (code, status) in enumerate(
        [(4625, "created"), (4624, "sent"), (4625, "created"), (4624, "sent"), (4625, "sent")]
    )
]


def test_fields_that_may_hold_the_type_are_named() -> None:
    text = elsinore.infer_schema(pa.Table.from_pylist(ORDERS))
    assert "# type: {field: ...}  # ? candidates: event.code, status; without it" in text
    assert [kind.name for kind in read_schema(text).types] == ["Event"]


@pytest.mark.parametrize(
    ("field", "names"), [("status", ["created", "sent"]), ("event.code", ["t_4625", "t_4624"])]
)
def test_the_field_of_the_type_can_be_given(field: str, names: list[str]) -> None:
    events = pa.Table.from_pylist(ORDERS)
    text = elsinore.infer_schema(events, type_field=field)
    assert "candidates" not in text
    schema = read_schema(text)
    assert schema.type_field == field
    assert len(schema.types) == len(names)
    query = f"QUERY q RETURN COUNT(*) PATTERN {schema.types[0].name} WITHIN 1 hour;"
    result = elsinore.workload(query, schema=text).run(events)["q"]
    assert result["COUNT(*)"].to_pylist() == [{"status": 2, "event.code": 3}[field]]


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("state", r"no event has a field state \(did you mean status\?\)"),
        ("kind", r"no event has a field kind \(fields are "),
        ("free", r"free has 101 values \(choose a field with at most 100 names of types\)"),
        ("blank", r"blank has empty values, or neither text nor integers"),
        ("x", r"x has empty values, or neither text nor integers"),
    ],
)
def test_a_field_that_cannot_be_the_type_is_refused(field: str, message: str) -> None:
    events = [
        {"time": n, "status": "a", "free": str(n), "blank": "", "x": n / 2} for n in range(101)
    ]
    with pytest.raises(elsinore.ParameterError, match=message):
        elsinore.infer_schema(pd.DataFrame(events), type_field=field)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["e.jsonl", "e.csv"])
def test_too_many_columns(tmp_path: Path, name: str) -> None:
    """Every key of JSON becomes a column, with a value for each line."""
    path, names = tmp_path / name, [f"c{number}" for number in range(10_000)]
    lines = (f'{{"ts": 1740996000, "{name}": 1}}' for name in names)
    header = ",".join(["ts", *names])
    path.write_text("\n".join(lines) if name == "e.jsonl" else f"{header}\n")
    with pytest.raises(DataError, match="10,001 columns, more than 10,000"):
        elsinore.infer_schema(path)


def test_many_keys_of_json_are_guessed_from_fewer_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(first_rows, "_VALUES", 30)
    path = tmp_path / "e.jsonl"
    path.write_text('{"ts": 1740996000, "a": 1}\n' * 10 + '{"ts": 1740996000, "b": 1}\n')
    assert "a: long" in (schema := elsinore.infer_schema(path))
    assert "b: " not in schema


@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a": ', "}")])
def test_deep_nesting_does_not_end_the_process(tmp_path: Path, opened: str, closed: str) -> None:
    path = tmp_path / "e.jsonl"
    inside = f"{opened * 100_000}1{closed * 100_000}"
    path.write_text(f'{{"ts": 1740996000}}\n{{"ts": 1740996000, "a": {inside}}}\n')
    with pytest.raises(DataError, match="has a record that is nested deeper than 64"):
        elsinore.infer_schema(path)


def test_deep_nesting_over_several_lines(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text('{"a":\r' * 100_000 + "1" + "}\r" * 100_000)
    with pytest.raises(DataError, match="has a record that is nested deeper than 64"):
        elsinore.infer_schema(path)


_MANY = [f"k{number}" for number in range(101)]


@pytest.mark.parametrize(
    "record",
    [
        dict.fromkeys(_MANY, dict.fromkeys(_MANY, 1)),  # equal keys in different objects
        {"ts": "v", **{f":{number}": 1 for number in range(10_001)}},  # keys that begin with :
    ],
)
def test_every_field_of_json_is_counted(tmp_path: Path, record: dict[str, object]) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(json.dumps(record, separators=(",", ":")) + "\n{}\n")
    with pytest.raises(DataError, match="more than 10,000 keys"):
        elsinore.infer_schema(path)


@pytest.mark.parametrize(
    "more", ["{}\n" * 100, '{"a": [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}]}\n' * 9]
)
def test_every_value_of_json_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    """Records on one line have a value for each field, and so have values of a list."""
    monkeypatch.setattr(first_rows, "_VALUES", 90)
    path, parsed = tmp_path / "e.jsonl", list[int]()
    path.write_text('{"ts": 1740996000, "a": [{"b": 1, "c": 2}]}\n' + more)

    def parse(block: bytes) -> None:
        parsed.append(len(block))
        raise ValueError

    monkeypatch.setattr(first_rows, "_json_rows", parse)
    with pytest.raises(DataError):
        elsinore.infer_schema(path)
    assert parsed[0] < 150


def test_too_many_fields_of_several_types(tmp_path: Path) -> None:
    """The file is parsed again for each of them."""
    path, names = tmp_path / "e.jsonl", [f"k{number}" for number in range(101)]
    lines = (json.dumps({"ts": 1740996000, **dict.fromkeys(names, value)}) for value in (1, "a"))
    path.write_text("\n".join(lines))
    with pytest.raises(DataError, match="more than 100 fields have values of several types"):
        elsinore.infer_schema(path)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (b'{"ts": 1740996000, "x": 1e999}', "a number is too large for a double"),
        (b'{"ts": 1740996000, "x": ' + b"9" * 5_000 + b"}", "a number is too large for a double"),
        (rb'{"ts": 1740996000, "s": "\ud800"}', "a half of a surrogate pair"),
        (rb'{"ts": 1740996000, "\udfff": 1}', "a half of a surrogate pair"),
        (b'{"ts": 1740996000, "s": "\0"}', "invalid JSON at column"),
        (b'{"ts": 17409', "the line ends inside an object"),
        (b'{"ts": 1740996000, "x": ' + b"[" * 99 + b"]" * 99 + b"}", "nested deeper than 64"),
        (b'{"ts": 1740996000, "x": 1, "x": 2}', "key 'x' occurs twice"),
        (b"[1]", "a list is not an object"),
        ('{"ts": 1740996000, "é": 1, "é": 2}'.encode(), "key 'é' occurs twice"),
    ],
)
@pytest.mark.parametrize("at", [1, 2])
def test_an_invalid_record_of_json_is_skipped_and_reported(
    line: bytes, why: str, at: int, tmp_path: Path
) -> None:
    good = b'{"ts": 1740996000, "x": 1, "s": "\xf0\x9f\x98\x80\\ud83d\\ude00"}'
    (path := tmp_path / "e.jsonl").write_bytes(b"\n".join([good] * (at - 1) + [line, good, good]))
    said = f"1 of {at + 2} records is invalid and skipped: line {at}: {why}"
    schema = elsinore.infer_schema(path)
    assert f"# {said}" in schema
    assert schema.endswith("x: long\n    s: string\n")


def test_a_project_of_events_with_an_invalid_record_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path := tmp_path / "e.jsonl").write_text('{"ts": 1740996000}\n' * 2 + "x\n")
    assert run_command(["init", str(tmp_path / "project"), "--from", str(path)]) == 0
    said = "1 of 3 records is invalid and skipped: line 3: invalid JSON at column 1"
    assert f"elsinore: {said}" in capsys.readouterr().err
    assert f"# {said}\n" in (tmp_path / "project" / "schema.yaml").read_text()
