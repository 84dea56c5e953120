"""What Spark says when a process dies, and what it means for a task."""

from __future__ import annotations

import pytest
from deltalake.exceptions import CommitFailedError
from grpc import StatusCode  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from elsinore.errors import (
    ConflictError,
    DataError,
    ElsinoreError,
    LostWorkerError,
    OutOfMemoryError,
    QueryError,
    SetupError,
)
from elsinore.store.delta_log import write_failures
from elsinore.store.task_failures import BrokenServerError, translate

CREATED = """
\tat org.apache.spark.api.python.PythonWorkerFactory.create(PythonWorkerFactory.scala:152)
\tat org.apache.spark.SparkEnv.createPythonWorker(SparkEnv.scala:182)
"""


@pytest.mark.parametrize(
    "text",
    [
        # Killed before it sent anything.
        "Lost task 0.3 in stage 8.0: java.io.EOFException\n"
        "\tat java.base/java.io.DataInputStream.readInt(DataInputStream.java:386)" + CREATED,
        "java.net.SocketException: Connection reset" + CREATED,
        # Killed with what forks them.
        "Lost task 0.3: java.lang.IllegalStateException: Python daemon failed to launch worker.",
        # Killed while Spark wrote to it.
        "Lost task 0.3 in stage 0.0: java.io.IOException: Broken pipe\n\tat sun.nio.ch.Write",
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


def test_a_server_that_has_lost_a_class_is_to_be_replaced() -> None:
    """Its disk was full when it unpacked the library, and it does not try again."""
    text = "Lost task 1.3: java.lang.NoClassDefFoundError: Could not initialize class org.x.Snappy"
    error = translate(PySparkException(text))
    assert isinstance(error, BrokenServerError)
    assert error.transient


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[FAILED_READ_FILE.FILE_NOT_EXIST] Encountered error while reading file "
         "file:/lake/events/day=1/part-0.parquet. File does not exist. It is possible that",
         "Spark cannot read /lake/events/day=1/part-0.parquet: it is missing or damaged"),
        ("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file "
         "file:///lake/events/_delta_log/02.json.  SQLSTATE: KD001\n\tat org.apache.Spark",
         "Spark cannot read /lake/events/_delta_log/02.json: it is missing or damaged"),
        ("[FAILED_READ_FILE.NO_HINT] Encountered error while reading file s3://b/l/e.parquet.",
         "Spark cannot read s3://b/l/e.parquet: it is missing or damaged"),
        ("[DELTA_VERSIONS_NOT_CONTIGUOUS] Versions (0, 2, 3) are not contiguous. \nA gap",
         "the log of a table lacks a commit: Versions (0, 2, 3)"),
    ],
)  # fmt: skip
def test_a_damaged_table_is_an_error_of_one_line(text: str, problem: str) -> None:
    error = translate(PySparkException(text))
    assert isinstance(error, DataError)
    assert str(error) == f"{problem} (restore it from a backup, or check ELSINORE_HOME)"


def test_a_full_disk_is_named_and_not_tried_again() -> None:
    error = translate(PySparkException("FSError: java.io.IOException: No space left on device"))
    assert isinstance(error, SetupError)
    assert str(error).startswith("cannot write: No space left on device (free disk space")
    assert not error.transient


@pytest.mark.parametrize(
    "line",
    [
        "MemoryError",
        "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8.00 GiB for an array",
        "pyarrow.lib.ArrowMemoryError: malloc of size 4294967296 failed",
    ],
)
def test_a_worker_without_memory_is_named_with_the_setting(line: str) -> None:
    text = f'PythonException: Traceback (most recent call last):\n  File "x.py", line 1\n{line}\n'
    error = translate(PySparkException(text))
    assert isinstance(error, OutOfMemoryError)
    assert line in error.message
    assert "ELSINORE_MEMORY_LIMIT" in str(error.hint)
    assert not error.transient


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: can't start new thread",
        "pyarrow.lib.ArrowException: Unknown error: Failed to launch worker thread: Resource",
    ],
)
def test_a_worker_that_cannot_start_a_thread_is_out_of_memory(line: str) -> None:
    text = f'PythonException: Traceback (most recent call last):\n  File "x.py", line 1\n{line}\n'
    error = translate(PySparkException(text))
    assert isinstance(error, OutOfMemoryError)
    assert "no thread can be started" in error.message


def test_a_server_that_is_gone_or_another_is_a_lost_process() -> None:
    """Spark 4.2: the status of gRPC, and what a new server says of a session of the old one."""
    gone = SparkConnectGrpcException(message="", grpc_status_code=StatusCode.UNAVAILABLE)
    assert isinstance(translate(gone), LostWorkerError)
    changed = SparkConnectGrpcException(
        message="[INVALID_HANDLE.SESSION_CHANGED] The existing Spark server driver instance has "
        "restarted. Please reconnect.",
        errorClass="INVALID_HANDLE.SESSION_CHANGED",
    )
    assert isinstance(translate(changed), LostWorkerError)


def test_a_server_that_does_not_know_us_is_a_matter_of_set_up() -> None:
    refused = SparkConnectGrpcException(
        message="Invalid authentication token", grpc_status_code=StatusCode.UNAUTHENTICATED
    )
    assert isinstance(translate(refused), SetupError)


def test_a_record_that_others_keep_writing_names_its_table() -> None:
    told = "^another writer changed the table landings: CommitFailedError"
    with pytest.raises(ConflictError, match=told), write_failures("landings"):
        raise CommitFailedError("version 3 exists")
    with pytest.raises(SetupError), write_failures("landings"):
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("kind", [QueryError, OutOfMemoryError])
def test_what_a_worker_refuses_names_its_query_and_is_not_tried_again(
    kind: type[ElsinoreError],
) -> None:
    said = "q.sase:3:5: query q: more than 5,000,000 result rows (write a larger SLIDE)"
    text = (
        f"Job aborted: Lost task 0.3\nTraceback (most recent call last):\n{_name(kind)}: {said}\n"
    )
    error = translate(PySparkException(text))
    assert type(error) is kind
    assert str(error) == said
    assert not error.transient


def _name(kind: type[ElsinoreError]) -> str:
    """How Python's tracebacks call a class."""
    return f"{kind.__module__}.{kind.__qualname__}"
