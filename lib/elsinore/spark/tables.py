"""The lake with Spark, which reads its tables; only delta-rs writes them (`lake.tables`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from elsinore.errors import DataError
from elsinore.lake.tables import Lake
from elsinore.spark.failures import spark_failures


@dataclass(frozen=True)
class SparkLake(Lake):
    """A lake with the Spark session that reads its tables.

    Attributes:
        spark: the session.
    """

    spark: SparkSession

    @classmethod
    def of(cls, lake: Lake, spark: SparkSession) -> Self:
        """A lake with a session."""
        return cls(lake.cores, lake.root, lake.stream, lake.tables, spark)

    def read(self, table: str, version: int | None = None) -> DataFrame:
        """A table's rows, at the latest version or at a pinned one.

        Raises:
            DataError: the table does not exist, or that version is no longer kept.
        """
        latest = self.version(table)
        pinned = latest if version is None else version
        if not 0 <= pinned <= latest:
            raise DataError(f"the table {table} has no version {pinned}; its latest is {latest}")
        reader = self.spark.read.format("delta").option("versionAsOf", pinned)
        with spark_failures():
            return reader.load(str(self.path(table)))


def arrow_tables(rows: DataFrame) -> Iterator[pa.Table]:
    """Rows as they come, a part at a time; `toArrow` would hold them all."""
    frame: Any = rows
    client, plan = frame.sparkSession.client, frame._plan
    with spark_failures():
        for part in client.to_table_as_iterator(plan.to_proto(client), plan.observations):
            if isinstance(part, pa.Table):
                yield part
