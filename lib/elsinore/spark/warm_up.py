"""Has a new server do a little of all that tasks do, so that the first of them finds it warm.

Of a cold server the first write and MERGE take 5 to 20 s, the first Python worker another 5.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.spark.server import TOKEN, with_token
from elsinore.spark.session import connect

_PARTS = 2


def warm_up(spark: SparkSession, path: str) -> None:
    """Hand rows to Python workers, write them to a table, merge, read and aggregate them."""
    rows = spark.range(0, 100, 1, _PARTS).mapInArrow(_load_engine, "id long")
    rows = rows.select("id", F.lit("x").alias("part"), F.timestamp_micros("id").alias("at"))
    rows.write.format("delta").partitionBy("part").save(path)
    replaced = rows.write.format("delta").mode("overwrite").option("replaceWhere", "part = 'x'")
    replaced.save(path)
    table = spark.read.format("delta").load(path)
    few = spark.createDataFrame(pa.table({"id": [1, 200]})).join(rows, "id", "left")
    few = few.select("id", F.lit("x").alias("part"), F.timestamp_micros("id").alias("at"))
    spark.sql(
        "MERGE INTO {t} t USING {s} s ON t.id = s.id AND t.part = 'x' "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
        t=table,
        s=few,
    ).collect()
    table.groupBy("part").agg(F.count("*"), F.max("at"), F.count_distinct("id")).toArrow()


def _load_engine(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    import elsinore.spark.aggregate_worker  # noqa: F401  (each worker keeps what it has imported)

    yield from batches


def main(port: int) -> None:
    """Warms the server on a port of the loopback address; its environment holds the token."""
    url = with_token(f"sc://127.0.0.1:{port}", os.environ.pop(TOKEN))
    with TemporaryDirectory() as folder:
        spark = connect(url)
        warm_up(spark, str(Path(folder, "table")))
        spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]))
