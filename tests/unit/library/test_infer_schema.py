"""A first schema from events: what is guessed, and that it can be used at once."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import elsinore
from elsinore.catalog.load_schema import read_schema
from elsinore.cli.main import run_command
from elsinore.files.read_events import read_events
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
# Guessed from events: look at what ends in a question mark.
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
    # tags: list<element: string> is not read
  "on":
    user_id: {type: string, field: "user-id"}
    n: long
    ok: boolean
    seen: timestamp
    # tags: list<element: string> is not read
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
    return [re.sub(r"tags: .* is", "tags: this is", line) for line in text.splitlines()]


NESTED = """\
# Guessed from events: look at what ends in a question mark.
stream: events
time: {field: "meta.ts", unit: iso}  # ?
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
        (pd.DataFrame({"time": [None, "2015/01/01"]}), r"but '2015/01/01' is none .write times as"),
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


_SCALARS = [
    st.none(), st.booleans(), st.integers(-(2**62), 2**62), st.floats(-1e9, 1e9),
    st.text(max_size=5), st.sampled_from(["2025-01-01", "2025-01-01T10:00:00+02:00", "1", "1.5"]),
    st.lists(st.integers(0, 9), max_size=2),
]  # fmt: skip
_NAMES = st.sampled_from(["x", "a.b", "user-id", "on", "1st", "\u00fcn\u00ef", "k\n", "\U0001f600"])
_INSIDE = st.dictionaries(_NAMES, st.sampled_from(_SCALARS), max_size=3)


def _some_of(fields: dict[str, Any]) -> Any:
    """Events that each have some of the fields, or objects inside of them."""
    kinds = {name: _some_of(of) if isinstance(of, dict) else of for name, of in fields.items()}
    return st.fixed_dictionaries({}, optional=kinds)


@settings(max_examples=draws(60, 1_000), suppress_health_check=[HealthCheck.too_slow])
@given(
    st.dictionaries(
        _NAMES | st.sampled_from(["type", "id"]), st.sampled_from(_SCALARS) | _INSIDE, max_size=5
    )
    .map(_some_of).flatmap(lambda event: st.lists(event, min_size=1, max_size=6))
)  # fmt: skip
def test_what_is_guessed_reads_all_events(found: list[dict[str, Any]]) -> None:
    events = [{"time": 1_740_996_000 + n, **event} for n, event in enumerate(found)]
    with TemporaryDirectory() as folder:
        path = Path(folder, "e.jsonl")
        path.write_text("".join(f"{json.dumps(event)}\n" for event in events))
        schema = read_schema(elsinore.infer_schema(path))
        _, report = read_events([path], schema, max_bad_share=1)
    without_type = sum(schema.type_field is not None and "type" not in event for event in events)
    assert report.rejected.num_rows == without_type, report.rejected.to_pylist()


def test_names_with_dots_are_found_inside_of_others_unless_hidden(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    event = {
        "time": 1, "a.b": 2, "a": {"b": {"l": 7}}, "c": {"d.e": 3, "f": 4}, "g.h": {"i": 5},
        "j\nk: x": [6],
    }  # fmt: skip
    path.write_text(json.dumps(event) + "\n")
    schema = elsinore.infer_schema(path)
    assert "# a.b.l: what a field of a longer name hides is not read" in schema
    fields = {"b": "a.b", "e": "c.d.e", "f": "c.f", "i": "g.h.i"}
    found = {name: {"type": "long", "field": field} for name, field in fields.items()}
    assert yaml.safe_load(schema)["types"] == {"Event": found}
    query = "QUERY q RETURN SUM(Event.e), SUM(Event.i) PATTERN Event WITHIN 9;"
    result = elsinore.workload(query, schema=schema).run(path)["q"]
    assert [result[f"SUM(Event.{name})"].to_pylist() for name in "ei"] == [[3], [5]]


def test_times_are_numbers_where_nothing_else_is_there_in_all_events() -> None:
    frame = pd.DataFrame({"n": [1, 2], "seen": ["2020-01-01", None], "when": [1577836800000] * 2})
    schema = elsinore.infer_schema(frame)
    assert yaml.safe_load(schema)["time"] == {"field": "when", "unit": "ms"}


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


def test_a_file_that_is_none_is_said(tmp_path: Path) -> None:
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(elsinore.DataError, match=r"cannot read .*empty\.csv"):
        elsinore.infer_schema(tmp_path / "empty.csv")
