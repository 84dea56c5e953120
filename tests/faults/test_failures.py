"""What Spark says when a process dies, as the harness has met it, and what a job makes of it."""

from __future__ import annotations

import pytest
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from elsinore.errors import LostWorkerError, SetupError
from elsinore.spark.failures import translate

CREATED = """
\tat org.apache.spark.api.python.PythonWorkerFactory.create(PythonWorkerFactory.scala:152)
\tat org.apache.spark.SparkEnv.createPythonWorker(SparkEnv.scala:182)
"""


@pytest.mark.parametrize(
    "text",
    [
        # Killed before it had said its first word.
        "Lost task 0.3 in stage 8.0: java.io.EOFException\n"
        "\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)" + CREATED,
        "java.net.SocketException: Connection reset" + CREATED,
        "SparkException: Python worker exited unexpectedly (crashed): java.io.IOException",
    ],
)
def test_a_lost_process_is_worth_another_try(text: str) -> None:
    assert isinstance(translate(PySparkException(text)), LostWorkerError)


@pytest.mark.parametrize(
    "text",
    [
        # Nothing was lost: it never was there.
        'java.io.IOException: Cannot run program "python": error=2' + CREATED,
        "java.io.EOFException: Unexpected end of ZLIB input stream\n\tat java.base/java.util.zip",
    ],
)
def test_what_would_end_the_same_again_is_not(text: str) -> None:
    assert translate(PySparkException(text)) is None


def test_a_full_disk_is_named_and_not_tried_again() -> None:
    error = translate(PySparkException("FSError: java.io.IOException: No space left on device"))
    assert isinstance(error, SetupError)
    assert str(error).startswith("cannot write: No space left on device (make room")
    assert not error.transient


def test_a_jvm_that_dies_in_a_call_is_a_lost_process_and_what_java_throws_is_not() -> None:
    """py4j 0.10.9.9: answers that never came, and one that carries what Java threw."""
    call = "An error occurred while calling o20927.setCallSite"
    assert isinstance(translate(Py4JError(call)), LostWorkerError)
    gone = "org.apache.spark.sql.classic.SparkSession does not exist in the JVM"
    assert isinstance(translate(Py4JError(gone)), LostWorkerError)
    assert translate(Py4JError(f"{call}. Trace:\njava.lang.NullPointerException\n")) is None
