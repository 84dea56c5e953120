"""The driver program of the embedded server, which `spark-submit` runs until the JVM ends.

Spark's plugin listens for clients. The driver ends the JVM if its keeper process is gone, because
no other process would end an idle JVM.

Starting Spark needs Py4J's gateway, a port of the JVM. Its connections read a line of any length
before they check the token, so another local user could fill the heap. This driver closes the port
once Spark has started.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession


def parent_of(process: int) -> int:
    """Return the id of a process's parent."""
    told = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    return int(told.rpartition(")")[2].split()[1])


if __name__ == "__main__":
    jvm, keeper = os.getppid(), os.environ.get("ELSINORE_SPARK_KEEPER")
    gateway = launch_gateway()  # connects to the JVM that has started this process
    SparkContext(gateway=gateway)
    SparkSession.builder.getOrCreate()
    gateway.shutdown(raise_exception=True)
    while os.getppid() == jvm:
        if keeper is not None and parent_of(jvm) != int(keeper):
            os.kill(jvm, signal.SIGKILL)
        time.sleep(1)
