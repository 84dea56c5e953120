"""Versions of events: numbers and timestamps in one order; others are errors."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from elsinore.catalog.load_schema import load_schema
from elsinore.choices import InputFormat
from elsinore.files.as_lines import as_lines
from elsinore.files.versions import record_versions
from elsinore.settings import Settings

FLIGHTS = load_schema(Settings(root=Path(__file__).parents[3]).schema_file)
SCHEMA = replace(FLIGHTS, version_field="meta.updated")


@pytest.mark.parametrize(
    ("value", "version"),
    [
        (3, "3"), (-1, "-1"), (2.5, "2.5"), (2**63, str(2**63)), (1e3, "1000"), (None, None),
        ("1970-01-01T00:00:01Z", "1000000"), ("1970-01-01T01:00:01+01:00", "1000000"),
    ],
)  # fmt: skip
def test_numbers_and_timestamps(value: object, version: str | None) -> None:
    found, faults = record_versions([json.dumps({"meta": {"updated": value}}), "{}"], SCHEMA)
    assert not faults
    assert found.to_pylist() == [None if version is None else Decimal(version), None]


@pytest.mark.parametrize(
    "value", ["soon", "", "7", True, [1], {"a": 1}, 10**19, 1e30, 1e-12, float("nan")]
)
def test_others_are_errors(value: object) -> None:
    found, faults = record_versions(["{}", json.dumps({"meta": {"updated": value}})], SCHEMA)
    assert found.to_pylist() == [None, None]
    assert [*faults] == [1]
    assert faults[1].code == "bad_version"


def test_quoted_numbers() -> None:
    quoted = replace(SCHEMA, quoted_numbers=True)
    lines = [json.dumps({"meta": {"updated": value}}) for value in ("7", " 2.5 ", "")]
    assert record_versions(lines, quoted)[0].to_pylist() == [Decimal(7), Decimal("2.5"), None]


def test_cells_of_csv_are_numbers_or_timestamps(tmp_path: Path) -> None:
    schema, path = (
        replace(FLIGHTS, id_field=None, version_field="updated"),
        tmp_path / "flights.csv",
    )
    cells = ["7", "2.5", "1970-01-01T00:00:01Z", ""]
    header = f"{FLIGHTS.type_field},{FLIGHTS.time_field},updated\n"
    path.write_text(header + "".join(f"Departure,2013-01-01T10:00:00Z,{one}\n" for one in cells))
    parts = as_lines(path, InputFormat.CSV, schema)
    lines = [line for part in parts for line in part["record"].to_pylist()]
    versions, faults = record_versions(lines, schema)
    assert not faults
    assert versions.to_pylist() == [Decimal(7), Decimal("2.5"), Decimal(1_000_000), None]
