"""Versions, commits and numbers of rows from the log of a table, without Spark."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from uuid import UUID

import deltalake
import pyarrow as pa
import pytest

from elsinore.errors import DataError
from elsinore.store.read_log import (
    count_between,
    count_by_hour,
    latest_commits,
    latest_version,
    stored_definition,
)
from elsinore.store.regions import Hours
from elsinore.timeline import Interval


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with a row per commit, each of an hour of its own."""
    path = tmp_path / "rows"
    for hour in ("T09", "T10", "T11"):
        note = deltalake.CommitProperties(custom_metadata={"userMetadata": hour})
        rows = pa.table({"file_hour": [hour]})
        deltalake.write_deltalake(path, rows, mode="append", commit_properties=note)
    return path


def test_versions_and_commits(table: Path) -> None:
    assert latest_version(str(table)) == 2
    commits = latest_commits(str(table), 2)
    assert commits is not None
    assert [(one.version, one.operation, one.note) for one in commits] == [
        (2, "WRITE", "T11"), (1, "WRITE", "T10"),
    ]  # fmt: skip
    assert latest_version(str(table.parent)) is None
    assert latest_commits(str(table.parent / "absent"), 2) is None
    assert latest_version("s3://bucket/rows") is None


def test_numbers_of_rows(table: Path) -> None:
    assert count_between(str(table), "file_hour", "T10", "T11") == 2
    assert count_between(str(table), "file_hour", "T12", "T13") == 0
    assert count_between(str(table.parent), "file_hour", "T10", "T11") is None


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A table of results that is partitioned by day: two commits with rows of three hours."""
    path = tmp_path / "results"
    for labels in (["2013-01-01T22", "2013-01-01T23", "2013-01-01T23"], ["2013-01-02T00"]):
        days = [date.fromisoformat(label[:10]) for label in labels]
        rows = pa.table({"window_end_day": days, "window_end_hour": labels})
        deltalake.write_deltalake(path, rows, mode="append", partition_by=["window_end_day"])
    return path


def test_numbers_of_rows_by_hour(results: Path) -> None:
    late = Hours(Interval.parse("2013-01-01T23:00Z", "2013-01-02T03:00Z"))
    assert count_by_hour(str(results), late) == {"2013-01-01T23": 2, "2013-01-02T00": 1}
    assert count_by_hour(str(results), late, version=0) == {"2013-01-01T23": 2}
    whole = Hours(Interval.parse("2013-01-01", "2013-01-03"))
    every = {"2013-01-01T22": 1, "2013-01-01T23": 2, "2013-01-02T00": 1}
    assert count_by_hour(str(results), whole) == every
    other = Hours(Interval.parse("2013-01-03", "2013-01-04"))
    assert count_by_hour(str(results), other) == {}
    assert count_by_hour(str(results.parent), whole) is None


def test_vacuumed_rows_are_not_counted(results: Path) -> None:
    for file in results.rglob("*.parquet"):
        file.unlink()
    assert count_by_hour(str(results), Hours(Interval.parse("2013-01-01", "2013-01-02"))) is None


def test_columns_and_properties(table: Path) -> None:
    deltalake.DeltaTable(table).alter.set_table_properties({"delta.appendOnly": "true"})
    found = stored_definition(str(table))
    assert found is not None
    assert [(one["name"], one["type"]) for one in found.columns["fields"]] == [
        ("file_hour", "string")
    ]
    assert found.properties == {"delta.appendOnly": "true"}
    assert stored_definition(str(table.parent)) is None


def test_only_spark_knows_the_commits_of_a_catalog(table: Path) -> None:
    staged = table / "_delta_log" / "_staged_commits"
    staged.mkdir()
    assert latest_version(str(table)) == 2
    (staged / f"{3:020}.{UUID(int=0)}.json").touch()
    assert latest_version(str(table)) is None
    assert latest_commits(str(table), 1) is None
    assert count_between(str(table), "file_hour", "T10", "T11") is None


def test_data_files_that_contain_other_rows(table: Path) -> None:
    """Spark counts the rows of a table with deletion vectors."""
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    protocol = {"minReaderVersion": 3, "minWriterVersion": 7, **features}
    log = table / "_delta_log"
    (log / f"{3:020}.json").write_text(json.dumps({"protocol": protocol}) + "\n", encoding="utf-8")
    assert latest_version(str(table)) == 3
    assert count_between(str(table), "file_hour", "T10", "T11") is None
    assert stored_definition(str(table)) is None


def test_a_damaged_commit(table: Path) -> None:
    (table / "_delta_log" / f"{2:020}.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="damaged at version 2"):
        latest_commits(str(table), 1)
