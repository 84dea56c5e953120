"""Superseded records of a file, compared with the statement that Spark and DuckDB run."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from elsinore.files.versions import VERSION_TYPE
from elsinore.ingest.doubts import _beaten
from elsinore.ingest.event_keys import WINNERS_FIRST
from tests.property.random_cases.dice import Dice

duckdb = pytest.importorskip("duckdb")

FILES = ("a.jsonl", "a-late.jsonl.gz", "a_2.jsonl", "a.jsonl.gz", "b/a.csv", "b-2/a.csv", "A.JSONL")
SCHEMA = pa.schema(
    {
        "file_hour": pa.string(), "file": pa.string(), "record_number": pa.int64(),
        "event_key": pa.string(), "event_version": VERSION_TYPE, "content_hash": pa.int64(),
    }
)  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_beaten_records_are_those_of_the_definition(seed: int) -> None:
    dice = Dice(f"beaten {seed}")
    versions = dice.pick(((None,), (None, Decimal("-1.5"), Decimal(2))))
    drawn = [
        {
            "file_hour": dice.pick(("2024-01-01T10", "2024-01-01T11")), "file": dice.pick(FILES),
            "record_number": number, "event_key": dice.pick("uvwx"),
            "event_version": dice.pick(versions), "content_hash": dice.number(0, 3),
        }
        for number in range(dice.number(0, 40))
    ]  # fmt: skip
    raw = pa.Table.from_pylist(drawn, schema=SCHEMA)
    window = f"PARTITION BY event_key, file_hour ORDER BY {WINNERS_FIRST}"
    names = ("file", "record_number", "event_version", "content_hash")
    winner = ", ".join(f"first_value({name}) OVER w AS w_{name}" for name in names)
    statement = (
        f"SELECT file_hour, file, w_file, w_record_number FROM"
        f" (SELECT *, {winner} FROM raw WINDOW w AS ({window}))"
        f" WHERE content_hash <> w_content_hash AND file <> w_file"
        f" AND event_version IS NOT DISTINCT FROM w_event_version"
    )
    connection = duckdb.connect()
    connection.register("raw", raw)
    expected = sorted(connection.execute(statement).fetchall())
    found = sorted(tuple(row.values()) for row in _beaten(raw).to_pylist())
    assert found == expected
    in_dictionaries = raw.set_column(0, "file_hour", raw["file_hour"].dictionary_encode())
    assert _beaten(in_dictionaries).sort_by("file") == _beaten(raw).sort_by("file")
