"""Versions of events: a raw field with numbers or ISO 8601 timestamps that orders their records."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import pyarrow as pa

from elsinore.catalog.stream import StreamSchema
from elsinore.files.decode import field_values
from elsinore.files.rejection import Fault, Reason, shown
from elsinore.timeline import parse_instant

#: Versions as numbers; a timestamp is its microseconds since 1970.
VERSION_TYPE = pa.decimal128(38, 9)

_DECIMALS = 9
#: Python's decimals are exact with 28 digits, 9 of which are behind the point.
_LIMIT = Decimal(10) ** 19


def record_versions(
    lines: Iterable[str], schema: StreamSchema
) -> tuple[pa.Array, dict[int, Fault]]:
    """Return the version of each record, and the errors of others by row.

    A version is a number or an ISO 8601 timestamp. A record without one, or with NULL, has none.
    The numbers have at most 19 digits before the point and 9 behind it. Quoted numbers are versions
    if the schema accepts them.

    Args:
        lines: JSON objects, one per record.
        schema: a schema that names the field.

    Returns:
        An array of `VERSION_TYPE`, NULL without a version; and faults `bad_version`.
    """
    assert schema.version_field is not None
    versions: list[Decimal | None] = []
    faults: dict[int, Fault] = {}
    for row, value in enumerate(field_values(lines, schema.version_field)):
        try:
            versions.append(_version(value, quoted=schema.quoted_numbers))
        except ValueError:
            versions.append(None)
            text = f"{schema.version_field}: {shown(value)} is not a number or ISO 8601 timestamp"
            faults[row] = Fault(Reason.BAD_VERSION, text)
    return pa.array(versions, VERSION_TYPE), faults


def _version(value: Any, *, quoted: bool) -> Decimal | None:
    """Return a version as a number; ValueError: it is of another kind."""
    if value is None or (quoted and value == ""):
        return None
    if isinstance(value, str):
        number = _quoted(value) if quoted else None
        return Decimal(parse_instant(value)) if number is None else number
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise ValueError("of another kind")
    return _bounded(Decimal(str(value)))


def _quoted(text: str) -> Decimal | None:
    try:
        return _bounded(Decimal(text.strip()))
    except ArithmeticError:
        return None


def _bounded(number: Decimal) -> Decimal:
    """Return a number that fits; ValueError: it is too large or has too many decimals."""
    if not number.is_finite() or abs(number) >= _LIMIT:
        raise ValueError("too large")
    if number != (rounded := round(number, _DECIMALS)):
        raise ValueError("too many decimals")
    return rounded
