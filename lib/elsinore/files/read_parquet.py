"""Events from Parquet files and frames, and records that are Arrow columns already.

Blocks of clean JSON are such records too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import DataError
from elsinore.events import ARROW_TYPES
from elsinore.files.read_lines import (
    DEFAULT_LIMITS,
    ReadLimits,
    column_problem,
    open_unpacked,
    too_large,
    unreadable,
)
from elsinore.files.rejection import Fault, Reason, printable
from elsinore.files.type_records import Decoded, Rows, type_records
from elsinore.files.typed import (
    Typed,
    iso_instants,
    json_ids,
    json_times,
    json_values,
    nothing,
    one_chunk,
)
from elsinore.timeline import (
    DAY,
    MAX_INSTANT,
    MICROSECOND,
    MILLISECOND,
    MIN_INSTANT,
    SECOND,
    TimeUnit,
)

_AT_ONCE = 65_536
#: Microseconds in one unit of a timestamp column; nanoseconds are cut off.
_SCALES = {"s": SECOND, "ms": MILLISECOND, "us": MICROSECOND}


def read_parquet(
    path: Path, schema: StreamSchema, *, limits: ReadLimits = DEFAULT_LIMITS
) -> Iterator[Decoded]:
    """Typed events of a Parquet file, some ten thousand rows at a time; see `ArrowRecords`.

    Positions are rows, from 1. A rejected row is kept as JSON.

    Args:
        path: a `.parquet` file; `.parquet.gz` is unpacked in memory.
        schema: what events may be.
        limits: bounds on what is read.

    Raises:
        DataError: the file cannot be read.
        UnreadableFile: nothing of it can be used. Parquet has no checksum of the whole: damage
            to a page may show when earlier batches are out, so use none before the last.
    """
    with open_unpacked(path, limits) as stream:
        whole = path.suffix.lower() == ".gz" or not stream.seekable()  # a pipe
        source = pa.BufferReader(stream.read()) if whole else pa.PythonFile(stream, "r")
        yield from _typed(_batches(path, source, schema, limits), printable(str(path)), schema)


class Frame(NamedTuple):
    """Events at hand, as a table of anything that speaks Arrow; `name` says where they came from.

    `data` has `__arrow_c_stream__` or `__arrow_c_array__`, as frames of pandas, polars and DuckDB
    have, and Arrow's tables, batches and readers.
    """

    name: str
    data: Any


def read_frame(frame: Frame, schema: StreamSchema) -> Iterator[Decoded]:
    """Typed events of a frame, as `read_parquet` reads files.

    Raises:
        DataError: a column is missing, or there twice, or the frame cannot be read.
    """
    try:
        table = pa.table(frame.data)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise DataError(f"{frame.name} is no table that Arrow can read: {error}") from error
    if problem := column_problem(table.column_names, schema, nested=True):
        raise DataError(f"{frame.name}: {problem}")
    # In pieces of a table: batches may be of any size.
    pieces = (table.slice(at, _AT_ONCE) for at in range(0, table.num_rows, _AT_ONCE))
    yield from _typed(pieces, frame.name, schema)


def _typed(pieces: Iterable[pa.Table], label: str, schema: StreamSchema) -> Iterator[Decoded]:
    position = 1
    for piece in pieces:
        size = piece.num_rows
        numbers = np.arange(position, position + size)
        where = pa.table({"file": pa.repeat(label, size), "position": numbers})
        records = ArrowRecords(piece, quoted=schema.quoted_numbers)
        yield type_records(records, where, {}, schema)
        position += size


def _batches(
    path: Path, source: pa.NativeFile, schema: StreamSchema, limits: ReadLimits
) -> Iterator[pa.Table]:
    import pyarrow.parquet as pq  # not needed where lines are decoded

    try:
        file = pq.ParquetFile(source, page_checksum_verification=True)
        _check_columns(path, file, schema, limits)
        for batch in file.iter_batches(_AT_ONCE, use_threads=False):
            yield pa.table(batch)
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        problem = f" is no sound Parquet file: {str(error).splitlines()[0][:200]}"
        raise unreadable(path, problem, Reason.CORRUPT_FILE, "write it anew") from error


def _check_columns(path: Path, file: Any, schema: StreamSchema, limits: ReadLimits) -> None:
    groups = (file.metadata.row_group(index) for index in range(file.metadata.num_row_groups))
    if sum(group.total_byte_size for group in groups) > limits.file_bytes:
        raise too_large(path, f"unpacks to more than {limits.file_bytes} bytes")
    if problem := column_problem(file.schema_arrow.names, schema, nested=True):
        raise unreadable(path, f": {problem}", Reason.BAD_HEADER)


class ArrowRecords:
    """The rows of a table.

    Any width of integer is a long, any integer, float or decimal a double. Timestamps of any unit
    are microseconds, without a zone in UTC; dates are their midnight. Everything else follows the
    rules for JSON.
    """

    def __init__(self, table: pa.Table, *, quoted: bool = False) -> None:
        self._quoted = quoted
        for index, field in enumerate(table.schema):
            # Arrow cannot select rows of string views, nor of what holds some.
            if "view" in str(field.type):
                table = table.set_column(index, field.name, _without_views(table[index]))
        self._table = table

    def select(self, rows: Rows) -> ArrowRecords:
        """These rows only, in this order."""
        return ArrowRecords(self._table.take(rows), quoted=self._quoted)

    def times(self, field: str, unit: TimeUnit) -> Typed:
        """A column as event times; timestamps say their unit themselves."""
        column = self.column(field)
        if column is None:
            return nothing(AttributeType.TIMESTAMP, self._table.num_rows)
        if _is_instant(column.type) and unit.is_calendar:
            return _micros(column, Reason.BAD_TIME)
        if types.is_string(column.type) and unit is TimeUnit.ISO:
            return iso_instants(column, Reason.BAD_TIME)
        if not _is_plain(column.type):
            return _all_wrong(
                column, AttributeType.TIMESTAMP, Reason.BAD_TIME, f"a {column.type} is no time"
            )
        return json_times(_python_values(column), unit, quoted=self._quoted)

    def values(self, field: str, kind: AttributeType) -> Typed:
        """A column as an attribute's type."""
        column = self.column(field)
        if column is None or types.is_null(column.type):
            return nothing(kind, self._table.num_rows)
        natural = _natural(column, kind)
        if natural is not None:
            return natural
        if not _is_plain(column.type):
            return _all_wrong(column, kind, Reason.WRONG_TYPE, f"a {column.type} is not a {kind}")
        return json_values(_python_values(column), kind, quoted=self._quoted)

    def ids(self, field: str) -> Typed:
        """A column as event ids, integers as text; NULL where missing or empty."""
        column = self.column(field)
        if column is None:
            return nothing(AttributeType.STRING, self._table.num_rows)
        if types.is_string(column.type):
            return Typed(pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column), [])
        if types.is_integer(column.type):
            return Typed(column.cast(pa.string()), [])
        if not _is_plain(column.type):
            return _all_wrong(
                column, AttributeType.STRING, Reason.WRONG_TYPE, f"a {column.type} is no id"
            )
        return json_ids(_python_values(column))

    def texts(self) -> list[str]:
        """Each row as a JSON object, values that JSON lacks as text."""
        if not self._table.num_rows:
            return []
        columns = [_texts(self._table[name]) for name in self._table.column_names]
        rows = zip(*columns, strict=True)
        return [
            json.dumps(dict(zip(self._table.column_names, row, strict=True)), default=str)
            for row in rows
        ]

    def column(self, field: str) -> pa.Array | None:
        """A column in one piece, its text and dictionaries in their plainest form."""
        names = self._table.column_names
        first, *path = [field] if field in names else field.split(".")
        if first not in names:
            return None
        column = one_chunk(self._table[first])
        for name in path:
            if not types.is_struct(column.type) or column.type.get_field_index(name) < 0:
                return None
            column = pc.struct_field(column, name)
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return column.cast(pa.string()) if types.is_large_string(column.type) else column


def _natural(column: pa.Array, kind: AttributeType) -> Typed | None:
    """A column whose type needs no look at the values; None if it has another type."""
    of = column.type
    match kind:
        case AttributeType.STRING if types.is_string(of):
            return Typed(column, [])
        case AttributeType.BOOLEAN if types.is_boolean(of):
            return Typed(column, [])
        case AttributeType.LONG if types.is_integer(of) and of != pa.uint64():
            return Typed(column.cast(pa.int64()), [])
        case AttributeType.DOUBLE if (
            types.is_integer(of) or types.is_floating(of) or types.is_decimal(of)
        ):
            return Typed(column.cast(pa.float64(), safe=False), [])
        case AttributeType.TIMESTAMP if _is_instant(of):
            return _micros(column, Reason.WRONG_TYPE)
        case AttributeType.TIMESTAMP if types.is_string(of):
            return iso_instants(column, Reason.WRONG_TYPE)
    return None


def _is_instant(of: pa.DataType) -> bool:
    return types.is_timestamp(of) or types.is_date(of)


def _is_plain(of: pa.DataType) -> bool:
    """Whether the values are such as JSON has."""
    return (
        types.is_string(of) or types.is_boolean(of) or types.is_integer(of)
        or types.is_floating(of) or types.is_decimal(of) or types.is_null(of)
    )  # fmt: skip


def _python_values(column: pa.Array) -> list[Any]:
    values = column.to_pylist()
    if not types.is_decimal(column.type):
        return values
    return [_number(value) if isinstance(value, Decimal) else value for value in values]


def _number(value: Decimal) -> int | float:
    whole = value.to_integral_value()
    return int(whole) if whole == value else float(value)


def _all_wrong(column: pa.Array, kind: AttributeType, code: Reason, text: str) -> Typed:
    present = np.flatnonzero(pc.is_valid(column).to_numpy(zero_copy_only=False))
    faults = [(int(index), Fault(code, text)) for index in present]
    return Typed(pa.nulls(len(column), ARROW_TYPES[kind]), faults)


def _micros(column: pa.Array, wrong: Reason) -> Typed:
    """Microseconds since the epoch of timestamps and dates."""
    of = column.type
    missing = pc.is_null(column).to_numpy(zero_copy_only=False)
    width = pa.int32() if types.is_date32(of) else pa.int64()
    counts = column.cast(width).cast(pa.int64()).fill_null(0).to_numpy()
    if types.is_timestamp(of) and of.unit == "ns":
        counts, scale = counts // 1_000, 1
    else:
        scale = _SCALES[of.unit] if types.is_timestamp(of) else MILLISECOND
        scale = DAY if types.is_date32(of) else scale
    # Compared before they are scaled: afterwards they may have overflowed.
    outside = (counts < MIN_INSTANT // scale) | (counts > MAX_INSTANT // scale)
    micros = np.where(outside, 0, counts) * scale
    fault = Fault(wrong, "the time is not in the years 1 to 9999")
    faults = [(int(index), fault) for index in np.flatnonzero(outside)]
    return Typed(pa.array(micros, pa.int64(), mask=missing | outside), faults)


def _without_views(column: pa.ChunkedArray) -> pa.ChunkedArray | pa.Array:
    if "view" not in str(plain := _without_view(column.type)):
        return column.cast(plain)
    # As bytes: what holds texts must not be taken for one.
    values = [None if value is None else str(value).encode() for value in column.to_pylist()]
    return pa.array(values, pa.binary())


def _without_view(of: pa.DataType) -> pa.DataType:
    """A type whose texts are plain, also those inside of structs."""
    if types.is_struct(of):
        return pa.struct([field.with_type(_without_view(field.type)) for field in of.fields])
    plain = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
    return plain.get(of, of)


def _texts(column: pa.ChunkedArray) -> list[Any]:
    """Values for a person to read: as JSON where it has them, or as text."""
    if _is_plain(column.type):
        return column.to_pylist()
    with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid):  # nested, or no text
        return column.cast(pa.string()).to_pylist()
    try:  # as Python spells them
        return [None if value is None else str(value) for value in column.to_pylist()]
    except (ValueError, OverflowError):
        return [f"a {column.type}"] * len(column)  # Instants that Python has no value for.
