"""Failures of Spark and Delta in terms of who must act: conflict, lost process, or our own error.

The texts are Spark's and Delta's error classes; they are looked for in the whole message, since an
error of a worker arrives wrapped in those of the task, the stage and the job.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.errors.exceptions.base import PySparkRuntimeError

from elsinore import errors
from elsinore.errors import ConflictError, ElsinoreError, LostWorkerError, SetupError

_CONFLICT = re.compile(
    r"DELTA_CONCURRENT_\w+|DELTA_PROTOCOL_CHANGED|DELTA_METADATA_CHANGED|ProtocolChangedException"
    r"|MetadataChangedException|Concurrent(Append|Write|DeleteRead|DeleteDelete|Transaction)"
    r"Exception|ConcurrentModificationException"
)
_LOST = re.compile(
    r"ExecutorLostFailure|Python worker exited unexpectedly|Python worker .*crash"
    r"|SparkContext was shut down|has already been stopped|executor.* lost|FetchFailed"
    r"|Answer from Java side is empty|while trying to connect to the Java server|Connection refused"
    r"|Error while sending or receiving"
    # The JVM died in a call: py4j knows no more to say. What Java throws comes with its trace.
    r"|An error occurred while calling [\w$]+\.\w+\Z| does not exist in the JVM\Z"
    # A Python worker, or the process that forks them, died before it had said its first word.
    r"|(?:EOF|Socket|ClosedChannel|IO)Exception(?!: Cannot run)[^\n]*(?:\n\s+at [^\n]*)*?"
    r"\.createPythonWorker\("
)
_MASTER = re.compile(r"All masters are unresponsive|JAVA_GATEWAY_EXITED|Could not parse Master URL")
_UNWRITABLE = re.compile(
    r"No space left on device|Disk quota exceeded|File too large|Read-only file system"
)
#: An error of our own family, raised in a Python worker, as the last line of its traceback.
_OURS = re.compile(r"^elsinore\.(?:\w+\.)*(\w+): (.+)$", re.MULTILINE)

_SHOWN = 300


@contextmanager
def spark_failures() -> Iterator[None]:
    """Raise what Spark reports as one of the Elsinore errors, where it is known to be one.

    Raises:
        ConflictError: another writer got there first.
        LostWorkerError: an executor, a Python worker or the JVM died.
        SetupError: the JVM or the master cannot be had, or a disk is full or read-only.
        ElsinoreError: of the class that a Python worker raised.
    """
    try:
        yield
    except (PySparkException, Py4JError, OSError, EOFError) as error:
        known = translate(error)
        if known is None:
            raise
        raise known from error


def translate(error: BaseException) -> ElsinoreError | None:
    """The error in our terms; None if it is none that is known."""
    if isinstance(error, ElsinoreError):
        return error
    if not isinstance(error, PySparkException | Py4JError | OSError | EOFError):
        return None
    text = f"{type(error).__name__}: {error}"
    if isinstance(error, PySparkException | Py4JError):
        if found := _CONFLICT.search(text):
            return ConflictError(f"another writer got there first: {found[0]}")
        if ours := _own(text):
            return ours
        if isinstance(error, PySparkRuntimeError | Py4JError) and _MASTER.search(text):
            return SetupError(f"Spark does not start: {first_line(text)}")
    if found := _UNWRITABLE.search(text):
        return SetupError(
            f"cannot write: {found[0]}", hint="make room, or the lake writable, and run it again"
        )
    if _LOST.search(text):
        return LostWorkerError(f"a Spark process was lost: {first_line(text)}")
    return None


def first_line(text: str) -> str:
    """The first line of a text, cut so that a report of it stays one line."""
    line = next((part.strip() for part in text.splitlines() if part.strip()), "")
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "..."


def _own(text: str) -> ElsinoreError | None:
    for name, message in _OURS.findall(text):
        kind = getattr(errors, name, None)
        if isinstance(kind, type) and issubclass(kind, ElsinoreError):
            return kind(message)
    return None
