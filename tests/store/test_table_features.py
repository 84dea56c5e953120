"""The statements that hints give for Delta features do make the tables usable again."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date
from pathlib import Path

import deltalake
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from pyarrow.acero import AggregateNodeOptions
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql import SparkSession

from elsinore.errors import SetupError
from elsinore.lake.event_files import events_in_order
from elsinore.lake.stored_events import files_of
from elsinore.settings import Settings
from elsinore.store.delta_log import (
    aggregate_rows,
    arrow_dataset,
    open_table,
    read_by_day,
    read_rows,
    write_failures,
)
from elsinore.store.regions import Landings
from elsinore.store.tables import Lake
from elsinore.timeline import Interval
from tests.data_tables import append, create_data_tables
from tests.draws import draws
from tests.results_lake import flights_lake

#: Properties that a Spark user sets, by the feature that they turn on. Features that readers need,
#: such as deletion vectors, are not among them: Delta drops those a day after their last use.
PROPERTIES = {
    "appendOnly": {"delta.appendOnly": "true"},
    "inCommitTimestamp": {"delta.enableInCommitTimestamps": "true"},
    "rowTracking": {"delta.enableRowTracking": "true"},
    "typeWidening": {"delta.enableTypeWidening": "true"},
}
#: So that Delta does not ask to wait for a day.
AT_ONCE = {"delta.dropFeatureTruncateHistory.retentionDuration": "interval 0 hours"}


def use(path: Path) -> int:
    """Write a row as runs do, and count the rows."""
    rows = pa.table({"a": ["z"], "day": ["1"]})
    with write_failures(path):
        deltalake.write_deltalake(open_table(path), rows, mode="overwrite", predicate="day = '1'")
    return open_table(path).dataset().count_rows()


def set_properties(spark: SparkSession, path: Path, properties: dict[str, str]) -> None:
    told = ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())
    spark.sql(f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ({told})").collect()


@pytest.mark.parametrize("feature", list(PROPERTIES)[: draws(2, len(PROPERTIES))])
def test_the_hint_makes_the_table_usable(feature: str, spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "events"
    rows = pa.table({"a": ["x", "y"], "day": ["1", "2"]})
    deltalake.write_deltalake(str(path), rows, partition_by=["day"])
    assert use(path) == 2
    set_properties(spark, path, PROPERTIES[feature])
    for _ in range(5):
        try:
            found = use(path)
        except SetupError as error:
            hint = str(error.hint)
        else:
            assert found == 2
            return
        set_properties(spark, path, AT_ONCE)
        for statement in re.findall(r"(ALTER TABLE .*?)(?:; |$)", hint):
            try:
                spark.sql(statement).collect()
            except SparkConnectGrpcException as error:  # it is to be repeated, as the hint says
                if "DROP_WAIT_FOR_RETENTION_PERIOD" not in str(error):
                    raise
    pytest.fail(f"{feature} is still there: {open_table(path).protocol()}")


def test_tables_with_deletion_vectors_are_read_without_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake, events = flights_lake(Settings(home=tmp_path))
    path = lake.path("events")
    carriers = events.table["carrier"].to_pylist()
    others = Counter(carrier for carrier in carriers if carrier != "UA")
    assert 0 < others.total() < len(carriers)
    set_properties(spark, Path(str(path)), {"delta.enableDeletionVectors": "true"})
    spark.sql(f"DELETE FROM delta.`{path}` WHERE carrier = 'UA'").collect()
    assert open_table(path).kept_rows()

    hours = Interval.parse("2013-02-07", "2013-02-10")
    files, types = files_of(path, None, hours), lake.stream.by_name
    found = events_in_order(files, hours, lake.stream, types, ["carrier"])
    assert Counter(name for batch in found for name in batch["carrier"].to_pylist()) == others
    rows = read_rows(lake.root, "events", columns=["carrier"], hours=Landings(hours))
    assert Counter(rows["carrier"].to_pylist()) == others
    count = AggregateNodeOptions([([], "hash_count_all", None, "events")], keys=["carrier"])
    counts = aggregate_rows(
        lake.root, "events", {"carrier": ds.field("carrier")}, count, hours=Landings(hours)
    )
    assert sum(counts["events"].to_pylist()) == others.total()


def test_days_of_a_table_with_deletion_vectors(spark: SparkSession, tmp_path: Path) -> None:
    lake = Lake.open(Settings(home=tmp_path))
    create_data_tables(lake, ["raw_events"])
    path, hours = lake.path("raw_events"), ["2013-02-07T23", "2013-02-08T00", "2013-02-08T01"]
    append(lake, "raw_events", [
        {"file_day": date.fromisoformat(hour[:10]), "file_hour": hour, "file": name,
         "record_number": 1, "record": "{}"}
        for hour in hours for name in ("a", "b")
    ])  # fmt: skip
    set_properties(spark, Path(str(path)), {"delta.enableDeletionVectors": "true"})
    spark.sql(f"DELETE FROM delta.`{path}` WHERE file = 'a' AND file_hour < '2013-02-08T01'")
    own = Landings(Interval.parse("2013-02-07", "2013-02-09"))
    days = [
        day["file"].to_pylist()
        for day in read_by_day(lake.root, "raw_events", own, columns=["file"])
    ]
    assert [sorted(files) for files in days] == [["b"], ["a", "b", "b"]]


def test_renamed_columns_are_read_by_their_names(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "results"
    deltalake.write_deltalake(str(path), pa.table({"a": [1, 2], "b": [10, 20], "c": ["x", "y"]}))
    set_properties(spark, path, {"delta.columnMapping.mode": "name"})
    for statement in ("RENAME COLUMN a TO d", "DROP COLUMN b", "ADD COLUMN (b LONG)"):
        spark.sql(f"ALTER TABLE delta.`{path}` {statement}").collect()
    spark.sql(f"INSERT INTO delta.`{path}` (d, c, b) VALUES (3, 'z', 30)").collect()
    found = arrow_dataset(open_table(path)).to_table().select(["d", "b", "c"]).to_pylist()
    assert sorted(tuple(row.values()) for row in found) == [
        (1, None, "x"),
        (2, None, "y"),
        (3, 30, "z"),
    ]
