"""Raw records as columns: what every format is read into before its values are typed."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from functools import cache
from itertools import accumulate
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from elsinore.files.typed import Column, is_plain, one_chunk

Rows = npt.NDArray[np.int64]

#: Characters of rows that become JSON at a time, and of a row that are kept.
_TEXT_AT_ONCE, _LONGEST_TEXT = 16 << 20, 10_000
#: Characters of rows that are kept in full, and of each later row.
_TEXT_KEPT, _SHORT_TEXT = 128 << 20, 1_000
#: Values of rows that become Python objects at a time, including those inside of lists.
_VALUES_AT_ONCE = 500_000


def first_name(path: str, names: Container[str]) -> str | None:
    """Return the longest name that is a beginning of a field's path; None if there is none."""
    for name in beginnings(path):
        if name in names:
            return name
    return None


@cache  # asked for each line
def beginnings(path: str) -> list[str]:
    """Return a path and its beginnings before a dot, the longest first."""
    return [*accumulate(path.split("."), "{}.{}".format)][::-1]


def field_paths(columns: pa.Schema | pa.StructType, before: str = "") -> Iterator[str]:
    """Yield the fields of a table as paths with dots, also those inside of structs."""
    for field in columns:
        yield (path := f"{before}{field.name}")
        if types.is_struct(field.type):
            yield from field_paths(field.type, f"{path}.")


class Records(Protocol):
    """Raw records, by row number from 0; `quoted`: whether strings may contain numbers."""

    quoted: bool

    def select(self, rows: Rows) -> Self:
        """Return the records of rows, in this order."""

    def column(self, field: str) -> Column:
        """Return the values of a field; all are NULL if no record has it."""

    def texts(self) -> list[str]:
        """Return each record as in the input."""


class ArrowRecords:
    """The rows of a table.

    Args:
        table: a column for each field.
        lines: each row as it came; None: as JSON.
        quoted: whether strings may contain numbers.
    """

    def __init__(
        self, table: pa.Table, lines: list[str] | None = None, *, quoted: bool = False
    ) -> None:
        self.quoted = quoted
        self._lines = lines
        for index, field in enumerate(table.schema):
            chunks = table[index].chunks
            # Arrow cannot join dictionaries that hold NULL.
            is_split = types.is_dictionary(field.type) and len(chunks) > 1
            if is_split or not _is_selectable(field.type):
                parts = [_selectable(chunk) for chunk in chunks or [one_chunk(table[index])]]
                table = table.set_column(index, field.name, pa.chunked_array(parts))
        self._table = table
        self._names = frozenset(table.column_names)

    def select(self, rows: Rows) -> ArrowRecords:
        """Return the records of rows, in this order."""
        lines = self._lines and [self._lines[row] for row in rows.tolist()]
        return ArrowRecords(self._table.take(rows), lines, quoted=self.quoted)

    def column(self, field: str) -> pa.Array:
        """Return a column as one chunk, without dictionaries and views.

        A field that is not a column can be inside of one; otherwise all values are NULL.
        """
        name = first_name(field, self._names)
        column = pa.nulls(self._table.num_rows) if name is None else one_chunk(self._table[name])
        while name is not None and name != field:
            field = field[len(name) + 1 :]
            inside = column.type.names if types.is_struct(column.type) else []
            name = first_name(field, inside)
            if name is None or inside.count(name) > 1:
                return pa.nulls(self._table.num_rows)
            column = pc.struct_field(column, [inside.index(name)])
        if types.is_dictionary(column.type):
            column = column.dictionary_decode()
        return column.cast(pa.string()) if types.is_large_string(column.type) else column

    def texts(self) -> list[str]:
        """Return each row as it was read, or as a JSON object.

        Values that JSON cannot represent are strings. A long object is cut.
        """
        if self._lines is not None:
            return self._lines
        names, paths = self._table.column_names, list(field_paths(self._table.schema))
        most = max(1, _TEXT_AT_ONCE // (sum(map(len, paths)) + 32 * len(paths) + 1))
        texts, length = list[str](), 0
        for part in few_at_once(self._table, most, names=_TEXT_AT_ONCE):
            rows = zip(*map(_texts, part.columns), strict=True)
            records = (dict(zip(names, row, strict=True)) for row in rows)
            longest = _LONGEST_TEXT if length < _TEXT_KEPT else _SHORT_TEXT
            new = [_shortened(json.dumps(record, default=str), longest) for record in records]
            length += sum(map(len, new))
            texts += new
        return texts


def few_at_once(rows: pa.Table, most: int, names: int) -> Iterator[pa.Table]:
    """Yield rows in their order, so few at once that their values fit in memory as objects.

    Args:
        rows: the rows.
        most: maximum number of rows at once.
        names: maximum number of characters of the names of columns, repeated in each row.
    """
    waiting = [rows[begin : begin + most] for begin in range(0, len(rows), most)][::-1]
    while waiting:
        part = waiting.pop()
        length = sum(map(len, part.column_names)) * len(part)
        if len(part) > 1 and (length > names or number_of_values(part) > _VALUES_AT_ONCE):
            half = len(part) // 2
            waiting += [part[half:], part[:half]]
        else:
            yield part


def number_of_values(rows: pa.Table) -> int:
    """Return how many values rows have, including values inside of structs and lists."""
    return sum(_number_in(chunk) for column in rows.columns for chunk in column.chunks)


def _number_in(column: pa.Array) -> int:
    of = column.type
    if types.is_struct(of):
        return len(column) + sum(map(_number_in, column.flatten()))
    if types.is_map(of):  # Arrow flattens no map that has views
        first, last = (column.offsets[end].as_py() for end in (0, -1))
        return len(column) + _number_in(column.values[first:last])
    if of.num_fields and hasattr(column, "flatten"):
        return len(column) + _number_in(column.flatten())
    return len(column)


def _shortened(text: str, longest: int) -> str:
    """Return a text, or its start: each row repeats the names of all columns."""
    if len(text) <= longest:
        return text
    return f"{text[:longest]} …[cut, {len(text)} bytes]"


#: Types whose rows Arrow cannot select, also inside of other types, and equivalent types.
_AS_GOOD_AS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}


def _is_selectable(of: pa.DataType) -> bool:
    inside = of.value_type if types.is_dictionary(of) else None
    parts = [of.field(index).type for index in range(of.num_fields)] if inside is None else [inside]
    is_plain = of not in _AS_GOOD_AS and not types.is_run_end_encoded(of)
    return is_plain and all(map(_is_selectable, parts))


def _selectable(column: pa.Array) -> pa.Array:
    """Return a column whose rows Arrow can select; fields of a struct separately."""
    of = column.type
    if types.is_dictionary(of):
        coded = pa.DictionaryArray.from_arrays(column.indices, _selectable(column.dictionary))
        return coded.dictionary_decode()
    if _is_selectable(of):
        return column
    if of in _AS_GOOD_AS:
        return column.cast(_AS_GOOD_AS[of])
    if types.is_run_end_encoded(of):
        return _selectable(pc.run_end_decode(column))
    if types.is_struct(of):
        fields = [_selectable(field) for field in column.flatten()]
        return pa.StructArray.from_arrays(fields, of.names, mask=column.is_null())
    if types.is_list(of) or types.is_large_list(of) or types.is_fixed_size_list(of):
        values = column.flatten() if of.num_fields else column
        with suppress(pa.ArrowException):
            return _rebuilt(column, pa.list_(_selectable(values).type), lambda value: value)
    # As bytes, so that a value of a nested type is not treated as a string.
    return _rebuilt(
        column, pa.binary(), lambda value: None if value is None else str(value).encode()
    )


def _rebuilt(column: pa.Array, of: pa.DataType, convert: Callable[[Any], Any]) -> pa.Array:
    """Return a column of another type from its values as Python objects, a part at a time."""
    rows = pa.table([column], [""])
    parts = (part.column(0).to_pylist() for part in few_at_once(rows, _VALUES_AT_ONCE, names=1))
    return pa.concat_arrays([pa.array([], of), *(pa.array(map(convert, p), of) for p in parts)])


def _texts(column: pa.ChunkedArray) -> list[Any]:
    """Return readable values: JSON values if possible, otherwise strings."""
    if is_plain(column.type):
        with suppress(UnicodeDecodeError):
            return column.to_pylist()
        raw = column.cast(pa.binary()).to_pylist()
        return [None if value is None else value.decode("utf-8", "replace") for value in raw]
    with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid):  # nested, or no text
        return column.cast(pa.string()).to_pylist()
    if sum(map(_number_in, column.chunks)) > 2 * _VALUES_AT_ONCE:  # one row with a long list
        return [f"a {column.type}"] * len(column)
    try:  # as Python spells them
        return [None if value is None else str(value) for value in column.to_pylist()]
    except (ValueError, OverflowError):
        return [f"a {column.type}"] * len(column)  # Instants that Python has no value for.
