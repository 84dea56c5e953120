"""Why a line, row or file cannot be used: stable codes for programs, a sentence for people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, TextIO

import pyarrow as pa

from elsinore.errors import DataError

_SHOWN = 60
#: Columns of rejected records: position, record and reason.
REJECTED_SCHEMA = pa.schema(
    [
        pa.field("file", pa.string(), False),
        pa.field("record_number", pa.int64(), False),
        pa.field("record", pa.string(), False),
        pa.field("reason_code", pa.string(), False),
        pa.field("reason", pa.string(), False),
    ]
)


class Reason(StrEnum):
    """Reasons for which a record or a whole file is rejected (quarantine)."""

    # The line as text.
    BAD_ENCODING = "bad_encoding"
    LINE_TOO_LONG = "line_too_long"
    BAD_JSON = "bad_json"
    TOO_DEEP = "too_deep"
    TOO_MANY_KEYS = "too_many_keys"
    NOT_AN_OBJECT = "not_an_object"
    BAD_CSV = "bad_csv"
    # Fields that every event has.
    MISSING_TIME = "missing_time"
    BAD_TIME = "bad_time"
    TIME_OUT_OF_RANGE = "time_out_of_range"
    IMPLAUSIBLE_TIME = "implausible_time"
    TIME_FAR_FROM_LANDING = "time_far_from_landing"
    MISSING_TYPE = "missing_type"
    UNKNOWN_TYPE = "unknown_type"
    IGNORED_TYPE = "ignored_type"
    MISSING_ID = "missing_id"
    BAD_VERSION = "bad_version"
    # Attributes.
    MISSING_ATTRIBUTE = "missing_attribute"
    WRONG_TYPE = "wrong_type"
    NOT_FINITE = "not_finite"
    OUT_OF_RANGE = "out_of_range"
    NOT_ALLOWED = "not_allowed"
    # Among all events that were read.
    SUPERSEDED = "superseded"
    # The file as a whole.
    CORRUPT_FILE = "corrupt_file"
    EMPTY_FILE = "empty_file"
    TOO_LARGE = "too_large"
    BAD_HEADER = "bad_header"


#: Reasons of a whole file; BAD_ENCODING can be the reason of a single line, too.
OF_FILES = (
    Reason.BAD_ENCODING,
    Reason.CORRUPT_FILE,
    Reason.EMPTY_FILE,
    Reason.TOO_LARGE,
    Reason.BAD_HEADER,
)


#: Reasons in quarantine that do not count as invalid: superseded records, empty files, and types
#: that the schema ignores.
_HARMLESS = (Reason.SUPERSEDED, Reason.EMPTY_FILE, Reason.IGNORED_TYPE)


class Fault(NamedTuple):
    """The error of a record or value."""

    code: Reason
    text: str


def rejected_rows(where: pa.Table, lines: Sequence[str], faults: Sequence[Fault]) -> pa.Table:
    """Return rows of `REJECTED_SCHEMA`; `where` has `file` and `record_number` per record."""
    columns = {
        "file": where["file"],
        "record_number": where["record_number"],
        "record": lines,
        "reason_code": [fault.code.value for fault in faults],
        "reason": [fault.text for fault in faults],
    }
    return pa.table(columns, schema=REJECTED_SCHEMA)


class UnreadableFile(DataError):
    """No record of a file can be used, so the whole file is quarantined.

    Attributes:
        reason_code: `corrupt_file`, `too_large`, `bad_encoding` or `bad_header`.
    """

    code = "data.unreadable"

    def __init__(
        self, message: str, *, reason_code: str, hint: str | None = None, **fields: Any
    ) -> None:
        super().__init__(message, hint=hint, reason_code=reason_code, **fields)
        self.reason_code = reason_code

    @property
    def reason(self) -> str:
        """The stored reason, without column names, which may be an event instead."""
        return self.message if self.reason_code == Reason.BAD_HEADER else str(self)


def invalid_records(reasons: Mapping[str, int]) -> int:
    """Return the number of invalid records among quarantined ones, from the counts per reason.

    >>> invalid_records({"bad_json": 2, "superseded": 5, "empty_file": 1})
    2
    """
    return sum(number for reason, number in reasons.items() if reason not in _HARMLESS)


def empty_files(reasons: Mapping[str, int]) -> int:
    """Return the number of empty files among quarantined lines, from the counts per reason."""
    return reasons.get(Reason.EMPTY_FILE, 0)


def checked_records(lines: int, reasons: Mapping[str, int]) -> int:
    """Return the number of records that count for the share of invalid ones."""
    return lines - reasons.get(Reason.IGNORED_TYPE, 0)


def printable(name: str) -> str:
    r"""Return a name as a string that can be stored, with lone surrogates as `\\udcNN`."""
    return name.encode("utf-8", "backslashreplace").decode()


def shown(value: object) -> str:
    """Return a value for a rejection reason: short, printable, and safe to encode.

    >>> shown("x" * 100) == repr("x" * 60) + "..."
    True
    """
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case list():
            return "a list"
        case dict():
            return "an object"
        case str():
            text = repr(value[:_SHOWN])
            return text + "..." if len(value) > _SHOWN else text
    text = str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."


def write_rejected(rejected: pa.Table, out: TextIO) -> int:
    """Write rejected records as JSON lines with the columns of `REJECTED_SCHEMA`; return how many.

    Output is plain ASCII: lines that were rejected may hold anything, and this cannot harm.
    """
    for batch in rejected.to_batches(max_chunksize=1_024):
        for row in batch.to_pylist():
            out.write(json.dumps(row) + "\n")
    return int(rejected.num_rows)
