"""An archive of the classes that every job loads: with it Spark's JVM starts on half the work.

Of the CPU time of a small job's JVM a third goes to finding, checking and linking some 17,000
classes. Java keeps them ready to be mapped ("class data sharing"), once a program has shown which
ones it wants. `make setup` has a session do a little of all that jobs do, and keeps its classes
beside the jars: find_plan takes 13 to 16 s of CPU time instead of 26 (2 cores, Java 17).

An archive fits the Java, the jars and the folders that it was made with. Where one of them is
another, Java passes it over without a word, and Spark starts as slowly as it does without.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.errors import ElsinoreError
from elsinore.settings import Settings
from elsinore.spark.session import CLASS_ARCHIVE, SILENT_ARCHIVE, open_session

#: Seconds that Java may take to write the archive.
_PATIENCE = 300


def make_archive(settings: Settings) -> bool:
    """Write the archive beside the jars, in place of an earlier one.

    Returns:
        Whether there is one: not every Java can.

    Raises:
        SetupError: Spark does not start.
        TimeoutExpired: Java does not come to an end.
    """
    archive, part = settings.jars / CLASS_ARCHIVE, settings.jars / f"{CLASS_ARCHIVE}.part"
    for earlier in (archive, part):
        earlier.unlink(missing_ok=True)
    written = f"-XX:ArchiveClassesAtExit={quote(str(part))} {SILENT_ARCHIVE}"
    options = f"{settings.spark_java_options} {written}"
    here = {"spark_master": "local[2]", "spark_java_options": options}
    with TemporaryDirectory() as folder:
        spark = open_session(settings.model_copy(update=here), "classes")
        _do_what_jobs_do(spark, str(Path(folder, "table")))
        gateway: Any = spark.sparkContext._gateway
        spark.stop()
        # The JVM ends, and writes, when nobody talks to it any more.
        gateway.proc.stdin.close()
        gateway.proc.wait(_PATIENCE)
    if not part.exists():
        return False
    part.replace(archive)
    return True


def _do_what_jobs_do(spark: SparkSession, path: str) -> None:
    """Write, merge, read, group, sort and hand rows to Python and back; nothing is kept."""
    instants = F.timestamp_micros("id").alias("at")
    rows = spark.range(0, 100, 1, 4).mapInArrow(_same, "id long")
    rows = rows.select("id", F.lit("x").alias("part"), instants).localCheckpoint()
    builder = DeltaTable.createIfNotExists(spark).location(path).addColumns(rows.schema)
    builder.partitionedBy("part").execute()
    writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", "part = 'x'")
    writer.save(path)
    few = pa.table({"id": [1, 200], "part": ["x", "x"]})
    source = spark.createDataFrame(few).select("id", "part", instants)
    matched = (F.col("t.id") == F.col("s.id")) & F.col("t.part").isin("x")
    merge = DeltaTable.forPath(spark, path).alias("t").merge(source.alias("s"), matched)
    merge = (
        merge.whenMatchedDelete(F.col("t.id") == 0).whenMatchedUpdateAll().whenNotMatchedInsertAll()
    )
    merge.execute()
    _read(spark.read.format("delta").option("versionAsOf", 1).load(path), source)


def _read(table: DataFrame, few: DataFrame) -> None:
    figures = (F.count("*"), F.count_distinct("id"), F.max("at"), F.collect_list("id"))
    table.join(few, "id", "left_semi").groupBy("part").agg(*figures).collect()
    both = table.repartition("part").mapInArrow(_same, table.schema).unionByName(table)
    sets = both.groupingSets([[F.col("part")], [F.col("id")]], "part", "id")
    sets.agg(F.grouping_id("part", "id"), F.sum("id")).toArrow()
    table.orderBy("id").dropDuplicates(["id"]).collect()


def _same(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches


def main() -> int:
    """Makes it for this checkout; 0, or an error's exit code after one line that says why."""
    try:
        made = make_archive(Settings.load())
    except ElsinoreError as error:
        print(f"setup: {error}", file=sys.stderr)
        return error.exit_code
    if not made:
        print("setup: this Java keeps no classes; Spark will start as slowly as ever")
    return 0


if __name__ == "__main__":
    sys.exit(main())
