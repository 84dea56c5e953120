"""Processes around Spark's server: the keeper of one on demand, and what a deployment starts.

`python -m elsinore.spark.keep_server HOST PORT` becomes the server of a deployment, where others
start and end it and have made its token; with more arguments it is the keeper (`server`). With a
port alone it has a new server do a little of all that tasks do, so that the first of them finds it
warm: of a cold one the first write and MERGE take 5 to 20 s, the first Python worker another 5.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from elsinore.settings import Settings
from elsinore.spark.server import (
    LOOK,
    LOOPBACK,
    TOKEN,
    Server,
    complete,
    is_free,
    locked,
    server_command,
    server_environment,
    with_token,
)


def keep(folder: Path, alive: int, port: int, digest: str, idle: float, command: list[str]) -> int:
    """Runs the JVM until it ends or nobody has worked with it for a while; its exit code.

    Args:
        folder: with the files of `server`.
        alive: the lock of that name, which the JVM inherits.
        port: that the server will listen on.
        digest: what it is made of.
        idle: seconds without a client after which it ends.
        command: starts the server.
    """
    known = {"ELSINORE_SPARK_KEEPER": str(os.getpid())}  # to the driver (`server_driver`)
    jvm = subprocess.Popen(command, pass_fds=(alive,), env=os.environ | known)
    try:
        while jvm.poll() is None and not _answers(port):
            time.sleep(LOOK)
        if jvm.poll() is None:
            Server(os.getpid(), port, os.environ[TOKEN], digest).tell(folder)
            subprocess.Popen([sys.executable, "-m", "elsinore.spark.keep_server", str(port)])
            _wait_until_idle(folder, jvm, idle)
    finally:
        # Also where its home has been taken away. All commits are done; scratch files go next time.
        jvm.kill()
        code = jvm.wait()
        print(f"Spark has ended with {code}", flush=True)
    return code


def _wait_until_idle(folder: Path, jvm: subprocess.Popen[bytes], idle: float) -> None:
    """Returns when the JVM has ended or should."""
    last = time.monotonic()
    while jvm.poll() is None:
        time.sleep(1)
        if not is_free(folder / "clients"):
            last = time.monotonic()
        elif time.monotonic() - last > idle:
            # Who comes from now on waits until it has ended, and starts another one.
            with locked(folder / "starting"):
                if is_free(folder / "clients"):
                    jvm.kill()
                    jvm.wait()


def serve(host: str, port: int) -> None:
    """Becomes the server that the settings describe."""
    command = complete(server_command(Settings.load()), host, port)
    os.execve(command[0], command, server_environment())  # noqa: S606


def warm_up(port: int) -> None:
    """Hand rows to Python workers, write them to a table, merge, read and aggregate them."""
    # The keeper itself needs none of it.
    import pyarrow as pa
    from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

    from elsinore.spark.session import connect

    spark = connect(with_token(f"sc://{LOOPBACK}:{port}", os.environ.pop(TOKEN)))
    rows = spark.range(0, 100, 1, 2).mapInArrow(_load_engine, "id long")
    rows = rows.select("id", F.lit("x").alias("part"), F.timestamp_micros("id").alias("at"))
    few = spark.createDataFrame(pa.table({"id": [1, 200]})).join(rows, "id", "left")
    few = few.select("id", F.lit("x").alias("part"), F.timestamp_micros("id").alias("at"))
    with TemporaryDirectory() as folder:
        path = str(Path(folder, "table"))
        rows.write.format("delta").partitionBy("part").save(path)
        replaced = rows.write.format("delta").mode("overwrite")
        replaced.option("replaceWhere", "part = 'x'").save(path)
        table = spark.read.format("delta").load(path)
        spark.sql(
            "MERGE INTO {t} t USING {s} s ON t.id = s.id AND t.part = 'x' "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
            t=table,
            s=few,
        ).collect()
        table.groupBy("part").agg(F.count("*"), F.max("at"), F.count_distinct("id")).toArrow()
        spark.stop()


def _load_engine(batches: Iterator[Any]) -> Iterator[Any]:
    import elsinore.spark.aggregate_worker  # noqa: F401  (each worker keeps what it has imported)

    yield from batches


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def main(words: list[str]) -> int:
    """By the number of words: warms, serves, or keeps."""
    if len(words) == 1:
        warm_up(int(words[0]))
        return 0
    if len(words) == 2:
        serve(words[0], int(words[1]))
    folder, alive, port, digest, idle, *command = words
    return keep(Path(folder), int(alive), int(port), digest, float(idle), command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
