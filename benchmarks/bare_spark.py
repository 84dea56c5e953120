"""What Spark alone takes for the bookkeeping of a replay: the measure of what the pipeline costs.

It reads the same raw files, removes duplicates by id, writes one Delta table by day, groups that by
hour, carrier and origin, and writes the groups. No patterns, no checks, no quarantine.
`python -m benchmarks.bare_spark LANDING OUTPUT` prints one line of JSON with seconds.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812  (its usual name)

from elsinore.settings import Settings

COLUMNS = "id string, type string, time timestamp, carrier string, origin string"


def run(landing: Path, output: Path) -> dict[str, float]:
    """Seconds of the session's start and of the work, and how many events and groups there were."""
    began = time.perf_counter()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    jars = ",".join(map(str, sorted(Settings.load().jars.glob("*.jar"))))
    spark = (
        SparkSession.builder.master("local[*]")
        .config("spark.jars", jars)
        .config("spark.sql.extensions", "io.delta.sql.DeltaSparkSessionExtension")
        .config(
            "spark.sql.catalog.spark_catalog", "org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.shuffle.partitions", "4")
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    started = time.perf_counter()
    events, groups = str(output / "events"), str(output / "groups")
    raw = spark.read.schema(COLUMNS).option("recursiveFileLookup", True).json(str(landing))
    days = raw.dropDuplicates(["id"]).withColumn("day", F.to_date("time")).repartition("day")
    days.write.format("delta").partitionBy("day").mode("overwrite").save(events)
    written = spark.read.format("delta").load(events)
    hours = written.groupBy(F.date_trunc("hour", "time").alias("hour"), "carrier", "origin")
    hours.count().write.format("delta").mode("overwrite").save(groups)
    done = time.perf_counter()
    counts = {
        "events": written.count(),
        "groups": spark.read.format("delta").load(groups).count(),
    }
    spark.stop()
    return {"start": started - began, "seconds": done - started, **counts}


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]).absolute(), Path(sys.argv[2]).absolute())))
