"""A nullable attribute whose field is missing is reported, with the field that was meant."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import elsinore
from elsinore.catalog.load_schema import read_schema
from elsinore.files.read_events import Source, read_events
from elsinore.files.read_parquet import Frame

SCHEMA = """\
stream: shop
time: {field: ts, unit: iso}
type: {field: event}
types:
  Buy: {user: string, price: {type: double, nullable: true}}
  Sell: {user: string, price: {type: double, nullable: true}}
  Ping:
"""
NESTED = SCHEMA.replace("price: {type: double,", "price: {type: double, field: item.price,")
SAID = "no event has a value in the field price"
FORMS = ["jsonl", "jsonl.gz", "csv", "parquet", "frame"]


def event(kind: str = "Buy", **fields: Any) -> dict[str, Any]:
    return {"ts": "2024-01-01T10:00:00Z", "event": kind, "user": "u", **fields}


def source(folder: Path, form: str, *records: dict[str, Any], name: str = "e") -> Source:
    if form == "frame":
        return Frame(name, pa.Table.from_pylist(list(records)))
    path = folder / f"{name}.{form}"
    if form == "parquet":
        pq.write_table(pa.Table.from_pylist(list(records)), path)
    elif form == "csv":
        names = list(dict.fromkeys(key for record in records for key in record))
        rows = [names, *([str(record.get(key) or "") for key in names] for record in records)]
        path.write_text("".join(",".join(row) + "\n" for row in rows))
    else:
        text = "".join(json.dumps(record) + "\n" for record in records).encode()
        path.write_bytes(gzip.compress(text) if form.endswith("gz") else text)
    return path


def warnings(*sources: Source, schema: str = SCHEMA) -> tuple[str, ...]:
    return read_events(sources, read_schema(schema), max_error_rate=0)[1].warnings


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["Price", "prise", "PRICE", "price_"])
def test_a_misspelt_field_is_named(tmp_path: Path, form: str, name: str) -> None:
    given = source(tmp_path, form, event() | {name: 19.9}, event() | {name: 5.0})
    assert warnings(given) == (f"{SAID} (did you mean {name}?)",)


@pytest.mark.parametrize("form", FORMS)
def test_a_field_that_is_there_may_be_empty(tmp_path: Path, form: str) -> None:
    assert warnings(source(tmp_path, form, event(price=None), event(price=None))) == ()


@pytest.mark.parametrize("form", FORMS)
def test_a_field_without_a_likely_name_is_reported_too(tmp_path: Path, form: str) -> None:
    assert warnings(source(tmp_path, form, event(weather="rain"))) == (SAID,)


def test_a_field_that_another_attribute_reads_is_not_meant(tmp_path: Path) -> None:
    schema = SCHEMA.replace("Buy: {", "Buy: {x: {type: double, nullable: true, field: prices}, ")
    given = source(tmp_path, "jsonl", event(prices=1.0))
    assert warnings(given, schema=schema) == (SAID,)


@pytest.mark.parametrize("form", ["jsonl", "parquet", "frame"])
@pytest.mark.parametrize(
    ("item", "hint"),
    [({"Price": 1.0}, " (did you mean item.Price?)"), ({"x": 1}, "")],
)
def test_nested_fields(tmp_path: Path, form: str, item: dict[str, Any], hint: str) -> None:
    given = source(tmp_path, form, event(item=item))
    said = f"no event has a value in the field item.price{hint}"
    assert warnings(given, schema=NESTED) == (said,)


def test_what_is_inside_of_null_may_be_there(tmp_path: Path) -> None:
    assert warnings(source(tmp_path, "jsonl", event(item=None)), schema=NESTED) == ()


def test_a_field_at_another_depth_is_meant(tmp_path: Path) -> None:
    given = source(tmp_path, "jsonl", event(item={"price": 1.0}))
    assert warnings(given) == (f"{SAID} (did you mean item.price?)",)


def test_the_types_that_lack_a_field_are_named(tmp_path: Path) -> None:
    records = [event(price=1.0)] * 300 + [event("Sell", Price=1.0)]  # beyond the first lines
    said = "no event of type Sell has a value in the field price (did you mean Price?)"
    assert warnings(source(tmp_path, "jsonl", *records)) == (said,)
    # A table has the column for all types: there it is only empty.
    assert warnings(source(tmp_path, "csv", *records)) == ()


@pytest.mark.parametrize("form", FORMS)
def test_files_that_lack_what_others_have_are_named(tmp_path: Path, form: str) -> None:
    good = source(tmp_path, form, event(price=1.0), name="a")
    bad = source(tmp_path, form, event(Price=1.0), name="b")
    label = bad.name if isinstance(bad, Frame) else str(bad)
    assert warnings(good, bad) == (
        f"no event in {label} has a value in the field price, which is missing there "
        "(did you mean Price?)",
    )


def test_an_optional_key_of_json_may_be_away_in_a_file(tmp_path: Path) -> None:
    good = source(tmp_path, "jsonl", event(price=1.0), name="a")
    bare = source(tmp_path, "jsonl", event(), name="b")
    assert warnings(good, bare) == ()
    table = source(tmp_path, "csv", event(), name="c")
    assert warnings(good, table) == (
        f"no event in {table} has a value in the field price, which is missing there",
    )


def test_no_events_of_a_type_say_nothing(tmp_path: Path) -> None:
    assert warnings(source(tmp_path, "jsonl", event("Ping"))) == ()


def test_results_have_the_warning() -> None:
    work = elsinore.workload(
        "QUERY q RETURN COUNT(*), SUM(b.price) PATTERN Buy b WITHIN 1 day;", schema=SCHEMA
    )
    results = work.run(pa.Table.from_pylist([event(Price=1.0)]))
    assert results.warnings == (f"{SAID} (did you mean Price?)",)
    assert f"{SAID} (did you mean Price?)" in repr(results)
