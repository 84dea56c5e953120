"""The Spark session of a job: Delta from local jars, UTC, and small-table settings."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from shlex import quote

from pyspark.sql import SparkSession

from elsinore.errors import SetupError
from elsinore.settings import DEBUG, Settings
from elsinore.spark.failures import spark_failures
from elsinore.spark.start_noise import without_start_noise

_JARS = ("delta-spark_*.jar", "delta-storage-*.jar")
#: In the folder of the jars, if it was made (`class_archive`).
CLASS_ARCHIVE = "spark-classes.jsa"
#: Java says on a job's output what it misses in an archive, or that one does not fit.
SILENT_ARCHIVE = "-Xlog:cds*=off"
_LOGGING = Path(__file__).with_name("log4j2.properties")


def open_session(settings: Settings, app: str) -> SparkSession:
    """A session named `app`; one process has one, and a second call gives the same.

    It works offline: nothing is resolved or fetched. Times are UTC whatever the machine says.

    Raises:
        SetupError: Java or a jar is missing, or the master does not answer.
    """
    _require_java()
    jars = _find_jars(settings.jars)
    # Workers must run this interpreter: another one lacks the packages (or has other versions).
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName(app).master(settings.spark_master)
    for name, value in _configuration(settings, jars).items():
        builder = builder.config(name, value)
    with spark_failures(), without_start_noise():
        spark = builder.getOrCreate()
        # Spark raises what it logs as errors; beside the one line of a job they would be pages.
        spark.sparkContext.setLogLevel("ERROR" if os.environ.get(DEBUG) else "OFF")
    return spark


def _configuration(settings: Settings, jars: list[Path]) -> dict[str, str]:
    java = f"-Duser.timezone=UTC {settings.spark_java_options}".strip()
    if (archive := settings.jars / CLASS_ARCHIVE).exists():
        java = f"{java} -XX:SharedArchiveFile={quote(str(archive))} {SILENT_ARCHIVE}"
    logging = f"-Dlog4j2.configurationFile={_LOGGING.as_uri()}"
    configuration = {
        "spark.jars": ",".join(str(jar) for jar in jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(settings.home / "spark-warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": f"{logging} {java}",
        "spark.executor.extraJavaOptions": java,
        "spark.driver.memory": settings.spark_memory,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Defaults are for large tables: a read of any Delta table would start 50 tasks.
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
        "spark.python.worker.faulthandler.enabled": "true",
        # A commit whose reply was lost is recognised, not made twice.
        "spark.databricks.delta.commit.idempotencyCheck.enabled": "true",
    }
    if kernels := os.environ.get("NUMBA_CACHE_DIR"):  # workers find compiled kernels there as well
        configuration["spark.executorEnv.NUMBA_CACHE_DIR"] = kernels
    if settings.spark_master.startswith("local"):
        configuration |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return configuration


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home, "bin", "java")) if home else "java"
    if shutil.which(program) is None:
        raise SetupError(
            f"Java is missing: there is no {program}",
            hint="install Java 17, or point JAVA_HOME at it",
        )


def _find_jars(folder: Path) -> list[Path]:
    found = [(pattern, sorted(folder.glob(pattern))) for pattern in _JARS]
    missing = [pattern for pattern, jars in found if not jars]
    if missing:
        raise SetupError(f"{folder} lacks {' and '.join(missing)}", hint="run `make setup`")
    return [jar for _, jars in found for jar in jars]
