"""NaN in files: a value of every double without limits, in each format; nothing is infinite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.catalog.stream import Attribute, AttributeType, EventType, StreamSchema
from elsinore.files.read_events import ReadReport, read_events
from elsinore.timeline import TimeUnit
from tests.golden_cases import bound_query, row_texts
from tests.property.compare import greta
from tests.unit.files.rides import decode, write

NAN, INFINITY = float("nan"), float("inf")
SCHEMA = StreamSchema(
    "trips", "time", TimeUnit.INTEGER, "type", "id",
    (EventType("A", (
        Attribute("x", AttributeType.DOUBLE, nullable=True),
        Attribute("low", AttributeType.DOUBLE, nullable=True, minimum=0.0),
        Attribute("high", AttributeType.DOUBLE, nullable=True, maximum=9.0),
        Attribute("one", AttributeType.DOUBLE, nullable=True, allowed=(1.0,)),
        Attribute("zero", AttributeType.DOUBLE, nullable=True, allowed=(0.0,)),
        Attribute("n", AttributeType.LONG, nullable=True),
        Attribute("s", AttributeType.STRING, nullable=True),
    )),),
)  # fmt: skip
FORMATS = ("jsonl", "csv", "parquet")


def read(folder: Path, kind: str, *values: dict[str, Any]) -> tuple[list[Any], ReadReport]:
    """The values of `x` that are read from a file of events, and what became of its rows."""
    path = folder / f"e.{kind}"
    rows = [{"id": f"e{n}", "time": n, "type": "A"} | found for n, found in enumerate(values)]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if kind == "jsonl":
        write(path, *map(json.dumps, rows))
    elif kind == "csv":
        cells = [[str(row.get(name, "")) for name in names] for row in rows]
        write(path, *(",".join(line) for line in [names, *cells]))
    else:
        pq.write_table(pa.Table.from_pylist([dict.fromkeys(names) | row for row in rows]), path)
    events, report = read_events([path], SCHEMA, max_error_rate=1.0)
    return events.table["x"].to_pylist(), report


@pytest.mark.parametrize("kind", FORMATS)
def test_a_double_may_be_nan(tmp_path: Path, kind: str) -> None:
    found, report = read(tmp_path, kind, {"x": 1.5}, {"x": NAN}, {"n": 1})
    assert repr(found) == "[1.5, nan, None]"
    assert report.rejected.num_rows == 0


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("low", NAN, "not_finite"),
        ("high", NAN, "not_finite"),
        ("one", NAN, "not_allowed"),
        ("n", NAN, "not_finite"),
        ("x", INFINITY, "not_finite"),
        ("x", -INFINITY, "not_finite"),
    ],
)
def test_what_is_set_aside(tmp_path: Path, kind: str, name: str, value: float, code: str) -> None:
    found, report = read(tmp_path, kind, {"x": 1.0}, {name: value})
    assert found == [1.0]
    assert report.by_reason == {code: 1}


@pytest.mark.parametrize("text", ["NaN", "nan", "NAN", "-nan"])
def test_spellings_in_csv(tmp_path: Path, text: str) -> None:
    found, report = read(tmp_path, "csv", {"x": text, "s": text})
    assert repr(found) == "[nan]"
    assert report.rejected.num_rows == 0


@pytest.mark.parametrize("text", ["nan", "-NaN", '"NaN"'])
def test_json_has_one_spelling(text: str) -> None:
    decoded = decode(f'{{"id": "a", "time": 1, "type": "A", "x": {text}}}', schema=SCHEMA)
    assert decoded.rejected.num_rows == 1


def test_equal_events_with_nan_are_duplicates(tmp_path: Path) -> None:
    twice = {"id": "a", "time": 1, "x": NAN}
    found, report = read(tmp_path, "jsonl", twice, twice, {"id": "a", "time": 1, "x": 1.0}, twice)
    assert repr(found) == "[nan]"
    assert (report.duplicates, report.by_reason) == (2, {"superseded": 1})


@pytest.mark.parametrize("kind", FORMATS)
def test_the_rules_on_nan_hold_for_what_was_read(tmp_path: Path, kind: str) -> None:
    """A comparison with it is not true, and it makes a sum NaN."""
    read(tmp_path, kind, {"x": 1.0}, {"x": NAN}, {"x": 3.0})
    events, _ = read_events([tmp_path / f"e.{kind}"], SCHEMA, max_error_rate=0.0)
    for where, values in (
        ("", '"COUNT(*)": 3, "SUM(A.x)": "NaN", "MAX(A.x)": 3.0'),
        ("WHERE NOT A.x < 2", '"COUNT(*)": 1, "SUM(A.x)": 3.0, "MAX(A.x)": 3.0'),
    ):
        query = bound_query(
            f"RETURN COUNT(*), SUM(A.x), MAX(A.x) PATTERN A {where} WITHIN 9", SCHEMA
        )
        (text,) = row_texts(greta(query, events))
        assert text.endswith(f'"values": {{{values}}}}}')


@pytest.mark.parametrize("kind", FORMATS)
def test_zero_has_no_sign_where_values_are_listed(tmp_path: Path, kind: str) -> None:
    _, report = read(tmp_path, kind, {"zero": -0.0}, {"zero": 0.0}, {"zero": 1.0})
    assert report.rejected["reason"].to_pylist() == ["zero: 1.0 is not one of 0.0"]
