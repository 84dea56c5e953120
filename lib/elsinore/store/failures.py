"""Failures of Delta statements in terms of who must act, and statements that are tried again.

Conditions and SQLSTATE classes are part of Spark's and Delta's interface; messages are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

# The import registers Delta's exceptions with Spark Connect, which else raises an unknown error.
import delta.connect.exceptions  # noqa: F401
from pyspark.errors import PySparkException
from tenacity import Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from elsinore.errors import ConflictError, DataError, ElsinoreError, SetupError

T = TypeVar("T")

#: Times that a statement is tried while other writers commit first.
TRIES = 8

#: Delta lacks a feature that the table uses (SQLSTATE).
_UNSUPPORTED = "56038"
#: The condition of a change to rows of an append-only table.
_APPEND_ONLY = "DELTA_CANNOT_MODIFY_APPEND_ONLY"
#: Conditions that mean that another writer committed first, all of SQLSTATE 2D521.
_LOST = ("DELTA_CONCURRENT_", "DELTA_METADATA_CHANGED", "DELTA_PROTOCOL_CHANGED")
#: The condition of a conflict with a transaction of the same application id.
_SAME_APPLICATION = "DELTA_CONCURRENT_TRANSACTION"
#: Conditions of removed files and commits. Errors of tasks have them in their text only.
_GONE = (
    "FAILED_READ_FILE.FILE_NOT_EXIST", "DELTA_CHANGE_DATA_FILE_NOT_FOUND", "FILE_NOT_EXIST",
    "DELTA_VERSION_NOT_CONTIGUOUS", "DELTA_LOG_FILE_NOT_FOUND", "DELTA_MISSING_CHANGE_DATA",
    "DELTA_TRUNCATED_TRANSACTION_LOG", "VersionNotFoundException", "DELTA_VERSIONS_NOT_CONTIGUOUS",
    "DELTA_CHANGE_TABLE_FEED_DISABLED", "DELTA_VERSION_NOT_FOUND",
)  # fmt: skip
_WINNER = re.compile(r"concurrent (?P<name>[A-Z][A-Z ]*[A-Z])\b|\"operation\":\"(?P<json>[^\"]+)\"")


def try_again(
    statement: Callable[[], T], table: str, name: str, *, lost: type[ConflictError] = ConflictError
) -> T:
    """Run a statement on a table, and run it again if another writer commits first.

    The pause between two tries is random and grows up to 5 s.

    Args:
        statement: Runs the statement; it must be safe to run again.
        table: Name of the table, for messages.
        name: Its name in SQL statements, for fixes.
        lost: The error after which it is run again.

    Returns:
        The result of the statement.

    Raises:
        ConflictError: other writers won each time; the message names the last one.
        DataError: the table uses a feature that Delta does not support.
        SetupError: the table is append-only.
    """

    def once() -> T:
        try:
            return statement()
        except PySparkException as error:
            if failure := table_failure(error, table, name):
                raise failure from error
            raise

    trying = Retrying(
        retry=retry_if_exception_type(lost),
        stop=stop_after_attempt(TRIES),
        wait=wait_random_exponential(multiplier=0.1, max=5),
        reraise=True,
    )
    return trying(once)


def table_failure(error: PySparkException, table: str, name: str) -> ElsinoreError | None:
    """Return the error of a table that Spark reports; None if it is of another kind."""
    condition, state = error.getCondition() or "", error.getSqlState()
    if condition.startswith(_LOST):
        winner = _winner(str(error))
        return ConflictError(f"another writer changed the table {table} first: {winner}")
    if state == _UNSUPPORTED:
        named = (error.getMessageParameters() or {}).get("unsupported") or condition
        return DataError(
            f"Delta does not support a feature of the table {table}: {named}",
            hint=f"use a newer delta-spark, or run in Spark: ALTER TABLE {name} DROP FEATURE, "
            "with the name of the feature",
        )
    if condition == _APPEND_ONLY:
        return SetupError(
            f"the table {table} is append-only (delta.appendOnly)",
            hint=f"run in Spark: ALTER TABLE {name} UNSET TBLPROPERTIES ('delta.appendOnly')",
        )
    return None


def is_of_same_application(error: BaseException | None) -> bool:
    """Return whether a transaction with the same application id committed first."""
    condition = error.getCondition() if isinstance(error, PySparkException) else ""
    return (condition or "").startswith(_SAME_APPLICATION)


def is_vacuumed(error: PySparkException) -> bool:
    """Return whether files or commits of a change feed or an old version were removed."""
    condition = error.getCondition() or ""
    return condition.startswith(_GONE) or any(text in str(error) for text in _GONE)


def _winner(message: str) -> str:
    """Return the name of the operation that committed first, or the first line of the message."""
    if found := _WINNER.search(message):
        return found["name"] or found["json"]
    return message.strip().partition("\n")[0][:200]
