"""Tables that exist are compared with their declarations; nullable columns are added."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import SchemaError, SetupError
from elsinore.ingest.tables import IngestTables
from elsinore.settings import Settings
from elsinore.store.spark_tables import SparkTables
from elsinore.store.tables import Column, load_tables
from tests.ingest.landing_zone import NewTables, departure, hour, ingest, put, rows

pytestmark = pytest.mark.spark


def with_schema(tables: IngestTables, old: str, new: str) -> IngestTables:
    """The tables with another schema of their stream."""
    home = Path(tables.store.root).parent
    text = (home / "flights.yaml").read_text(encoding="utf-8")
    assert old in text
    (home / "other.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
    stream: StreamSchema = load_schema(home / "other.yaml")
    schemas = load_tables(Settings(home=home).tables_dir, stream)
    store = SparkTables.open(tables.store.spark, tables.store.root, schemas)
    return replace(tables, store=store, stream=stream)


def test_columns_are_added_and_columns_of_others_stay(new_tables: NewTables) -> None:
    tables, zone = new_tables()
    put(zone, hour(10), departure(1))
    ingest(tables, zone, [hour(10)])
    tables.store.spark.sql(f"ALTER TABLE {tables.store.name('events')} ADD COLUMN (mine STRING)")
    assert tables.create() == ()
    with pytest.raises(SchemaError, match=r"existing events have no Departure\.gate, which the"):
        with_schema(tables, "  Departure:\n", "  Departure:\n    gate: string\n").create()
    optional = "  Departure:\n    gate: {type: string, nullable: true}\n"
    grown = with_schema(tables, "  Departure:\n", optional)
    assert grown.create() == ("gate",)
    assert grown.create() == ()
    put(zone, hour(11), departure(2, gate="B7"))
    ingest(grown, zone, [hour(11)])
    assert rows(grown, "events", "event_id", "gate", "mine") == [
        ("d1", None, None), ("d2", "B7", None)
    ]  # fmt: skip


#: A text of the schema, another one in its place, and the problem.
OTHERS = [
    ("id: {field: id}", "id: {field: uid}", "the field of its ids is id, but uid"),
    ("id: {field: id}\n", "", "the field of its ids is id, but none"),
    ("id: {field: id}", "id: {field: id, unique_within: day}",
     "the uniqueness of its ids is for ever, but within a day"),
    ("\ntypes:", "\nbuckets: {by: [carrier], number: 4}\ntypes:",
     "it has no column event_bucket"),
    ("dep_delay: long", "dep_delay: double", "dep_delay is bigint, but double"),
]  # fmt: skip


def test_other_ids_buckets_and_types_are_refused(new_tables: NewTables) -> None:
    tables, _ = new_tables()
    for old, new, problem in OTHERS:
        other = with_schema(tables, old, new)
        with pytest.raises(SetupError, match=f"the table events .* differs .*{problem}"):
            other.create()


def test_a_log_without_a_commit_is_no_table(new_tables: NewTables) -> None:
    tables, _ = new_tables()
    path = Path(tables.store.path("quarantine"))
    shutil.rmtree(path)
    (path / "_delta_log" / "_staged_commits").mkdir(parents=True)
    assert tables.create() == ()
    assert tables.store.version("quarantine") == 0


def test_a_column_that_cannot_be_null_is_refused(new_tables: NewTables) -> None:
    tables, _ = new_tables()
    raw = tables.store.schemas["raw_events"]
    column: Any = Column(type="string", description="New.")
    grown = raw.model_copy(update={"columns": {**raw.columns, "new": column}})
    store = replace(tables.store, schemas={**tables.store.schemas, "raw_events": grown})
    with pytest.raises(SetupError, match="it has no column new"):
        replace(tables, store=store).create()
