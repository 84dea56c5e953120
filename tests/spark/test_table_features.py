"""The statements that hints give for Delta features do make the tables usable again."""

from __future__ import annotations

import re
from pathlib import Path

import deltalake
import pyarrow as pa
import pytest
from pyspark.errors.exceptions.connect import SparkConnectGrpcException
from pyspark.sql import SparkSession

from elsinore.errors import SetupError
from elsinore.lake.delta_log import open_table, write_failures
from tests.draws import draws

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
