"""What starts Spark's Connect server: a command, and the environment that its workers inherit."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

from elsinore.errors import SetupError
from elsinore.settings import Settings

LOOPBACK = "127.0.0.1"

PACKAGE = Path(__file__).parents[1]
_LOGGING = Path(__file__).with_name("log4j2.properties")
_JARS = ("delta-spark_*.jar", "delta-storage-*.jar")
#: What PySpark sets in a process that has been a client; a server cannot start with it.
_OF_CLIENTS = {"SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED"}
_DRIVER = Path(__file__).with_name("server_driver.py")


def server_command(settings: Settings) -> list[str]:
    """What starts a server, but for where it listens and its token.

    Raises:
        SetupError: Java or a jar is missing.
    """
    _require_java()
    conf = _configuration(settings, _find_jars(settings.jars))
    program = str(_spark_home() / "bin" / "spark-submit")
    return [program, "--master", settings.spark_master, *_options(conf)]


def complete(command: list[str], host: str, port: int, **conf: str) -> list[str]:
    """The command with where the server listens, and what else it is told of its place."""
    conf = {"spark.connect.grpc.binding.address": host, **conf}
    conf |= {"spark.connect.grpc.binding.port": str(port)}
    return [*command, *_options(conf), str(_DRIVER)]


def server_environment() -> dict[str, str]:
    """This process's environment, with what Python workers need to run this very library."""
    path = os.pathsep.join(filter(None, (str(PACKAGE.parent), os.environ.get("PYTHONPATH"))))
    python = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": path}
    inherited = {name: text for name, text in os.environ.items() if name not in _OF_CLIENTS}
    return {**inherited, **python, "SPARK_HOME": str(_spark_home())}


def _configuration(settings: Settings, jars: list[Path]) -> dict[str, str]:
    java = f"-Duser.timezone=UTC -XX:+ExitOnOutOfMemoryError {settings.spark_java_options}".strip()
    configuration = {
        "spark.app.name": "elsinore",
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.jars": ",".join(str(jar) for jar in jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.warehouse.dir": str(settings.home / "spark-warehouse"),
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOGGING.as_uri()} {java}",
        "spark.executor.extraJavaOptions": java,
        "spark.driver.memory": settings.spark_memory,
        "spark.ui.enabled": "false",
        # Defaults are for large tables: a read of any Delta table would start 50 tasks.
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
        "spark.sql.shuffle.partitions": str(settings.shuffle_partitions),
        "spark.sql.execution.pyspark.udf.faulthandler.enabled": "true",
        "spark.python.worker.faulthandler.enabled": "true",
        # Nothing is shipped with a session. With it each one would have Python workers of its own,
        # which import all anew: 3 s. Spark's own class for a server insists on it, its plugin not.
        "spark.sql.artifact.isolation.enabled": "false",
        "spark.python.daemon.module": "elsinore.spark.worker_daemon",
        # Compiling takes a small run longer than it saves; `Lake.compiled` is for the others. What
        # was compiled is kept: by default, for a hundred expressions.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.codegen.cache.maxEntries": "5000",
        # A commit whose reply was lost is recognised, not made twice.
        "spark.databricks.delta.commit.idempotencyCheck.enabled": "true",
    }
    if kernels := os.environ.get("NUMBA_CACHE_DIR"):  # workers find compiled kernels there as well
        configuration["spark.executorEnv.NUMBA_CACHE_DIR"] = kernels
    if settings.spark_master.startswith("local"):
        configuration |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return configuration


def _options(conf: Mapping[str, str]) -> list[str]:
    return [f"--conf={name}={value}" for name, value in conf.items()]


def _spark_home() -> Path:
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SetupError("PySpark is missing", hint="run `make setup`")
    return Path(spec.origin).parent


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
