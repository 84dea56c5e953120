"""Failures of Spark in terms of who must act: lost process, full disk, or our own error.

The names are Spark's error classes. They are searched for in the whole message, because the errors
of the task, the stage and the job wrap an error of a worker.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException
from pyspark.errors.exceptions.connect import SparkConnectGrpcException

from elsinore import errors
from elsinore.errors import (
    DataError,
    ElsinoreError,
    LostWorkerError,
    OutOfMemoryError,
    SetupError,
    lacks_thread,
    storage_error,
)
from elsinore.memory_limit import MEMORY_LIMIT
from elsinore.store.delta_log import first_line
from elsinore.store.object_store import missing_connector

_BROKEN = re.compile(r"Could not initialize class [\w.$]+|UnsatisfiedLinkError: [^\n]{1,60}")
_LOST = re.compile(
    "|".join(
        (
            r"ExecutorLostFailure|Python worker exited unexpectedly|Python worker .*crash",
            r"SparkContext was shut down|has already been stopped|executor.* lost|FetchFailed",
            # The server is gone or was replaced, or a later try has closed our session.
            r"StatusCode\.UNAVAILABLE|INVALID_HANDLE\.\w+|OPERATION_CANCELED",
            # A Python worker died while Spark wrote to it. Or the worker, or the process that forks
            # workers, died before it sent anything.
            r"Exception: (?:Broken pipe|Connection reset)|Python daemon failed to launch worker",
            r"(?:EOF|Socket|ClosedChannel|IO)Exception(?!: Cannot run)[^\n]*(?:\n\s+at [^\n]*)*?"
            r"\.createPythonWorker\(",
        )
    )
)
_STRANGER = re.compile(r"StatusCode\.(UNAUTHENTICATED|PERMISSION_DENIED)")
#: A Python worker has reached its memory limit, by an error of Python, NumPy or Arrow.
_NO_MEMORY = re.compile(r"^(?:[\w.]+\.)?(?:_Array|Arrow)?MemoryError\b.*", re.MULTILINE)
#: A file of a table is missing or damaged, or its log lacks a commit, by Spark's conditions.
_UNREADABLE = re.compile(
    r"\[FAILED_READ_FILE(?:\.\w+)?\][^\n]*? reading file (?:file:(?://)?(?=/))?(?P<file>[^\n]+?)\.(?:\s|$)"
    r"|\[DELTA_VERSIONS_NOT_CONTIGUOUS\] (?P<versions>[^\n]+?) are not contiguous"
)
#: An error of our own family, raised in a Python worker, as the last line of its traceback.
_OURS = re.compile(r"^elsinore\.(?:\w+\.)*(\w+): (.+)$", re.MULTILINE)


class BrokenServerError(LostWorkerError):
    """The server lives, but has lost a class for good and must be replaced.

    It could not unpack a library onto a full disk, say, and a JVM tries that once.
    """


@contextmanager
def spark_failures() -> Iterator[None]:
    """Raise what Spark reports as one of the Elsinore errors, where it is known to be one.

    Raises:
        LostWorkerError: an executor, a Python worker or the server died.
        DataError: a file of a table, or a commit of its log, is missing or damaged.
        SetupError: the server does not know us, a disk is full or read-only, or Spark has no
            connector for an object store, or the store refuses access.
        OutOfMemoryError: a Python worker has reached its memory limit.
        StoreError: an object store does not answer.
        ElsinoreError: of the class that a Python worker raised.
    """
    try:
        yield
    except PySparkException as error:
        if known := translate(error):
            raise known from error
        raise


def translate(error: PySparkException) -> ElsinoreError | None:
    """The error in our terms; None if it is none that is known."""
    text = _describe(error)
    if known := _own(text):
        return known
    hint = f"give Spark's workers more memory, and set a higher {MEMORY_LIMIT}"
    if found := _NO_MEMORY.search(text):
        return OutOfMemoryError(
            f"a Python worker of Spark is out of memory: {first_line(found[0])}", hint=hint
        )
    if lacks_thread(text):
        return OutOfMemoryError(
            "Spark is out of memory or processes: no thread can be started", hint=hint
        )
    if _STRANGER.search(text):
        return SetupError(
            f"Spark refuses access: {first_line(text)}", hint="check ELSINORE_SPARK_TOKEN_FILE"
        )
    if missing := missing_connector(text):
        return missing
    if failing := storage_error(error):
        return failing
    if found := _BROKEN.search(text):
        return BrokenServerError(f"Spark has lost a class: {found[0]}")
    if found := _LOST.search(text):
        return LostWorkerError(f"a Spark process was lost: {first_line(text[found.start() :])}")
    if found := _UNREADABLE.search(text):
        problem = (
            f"Spark cannot read {found['file']}: it is missing or damaged" if found["file"]
            else f"the log of a table lacks a commit: {found['versions']}"
        )  # fmt: skip
        return DataError(problem, hint="restore it from a backup, or check ELSINORE_HOME")
    return None


def _describe(error: PySparkException) -> str:
    """Return the text of an error, with the names that Spark Connect stores separately."""
    names = [type(error).__name__, str(error.getCondition())]
    if isinstance(error, SparkConnectGrpcException):
        names.append(str(error.getGrpcStatusCode()))
    return f"{' '.join(names)}: {error}"


def _own(text: str) -> ElsinoreError | None:
    for name, message in _OURS.findall(text):
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, ElsinoreError):
            return kind(message)
    return None
