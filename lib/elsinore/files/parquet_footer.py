"""Check the footer of a Parquet file before pyarrow describes its column chunks.

pyarrow aborts the process if a column chunk is encrypted, has an unknown compression, or has size
statistics that do not fit its column. A footer is a Thrift struct in the compact protocol
(parquet.thrift, `FileMetaData`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from elsinore.files.parquet_pages import read_integer, read_varint, skip_value

#: Bytes at the end of a file: the length of the footer, and the magic bytes.
_TAIL = 8
_INTEGER, _LONG, _LIST, _STRUCT = 5, 6, 9, 12
#: Fields of `FileMetaData`, `RowGroup`, `ColumnChunk` and `ColumnMetaData`: number and kind.
_ROW_GROUPS, _COLUMNS = (4, _LIST), (1, _LIST)
_META_DATA, _CRYPTO_METADATA = (3, _STRUCT), (8, _STRUCT)
_CODEC, _SIZE_STATISTICS = (4, _INTEGER), (16, _STRUCT)
#: Numbers of the known codecs (`CompressionCodec`).
_CODECS = range(8)
#: Fields of `SizeStatistics`.
_TEXT_BYTES, _REPETITION, _DEFINITION = (1, _LONG), (2, _LIST), (3, _LIST)

#: Check the value at a byte, and return where it ends.
_Check = Callable[[int], int]


def require_sound_chunks(source: Any, columns: Sequence[Any]) -> None:
    """Refuse a file for whose column chunks pyarrow would abort the process.

    Args:
        source: The file, which pyarrow has opened.
        columns: `pyarrow.parquet.ColumnSchema` of each leaf.

    Raises:
        ValueError: A chunk is encrypted or missing, its compression is unknown, or its size
            statistics or the footer are damaged.
    """
    source.seek(source.size() - _TAIL)
    length = int.from_bytes(source.read(4), "little")
    source.seek(source.size() - _TAIL - length)
    try:
        _Footer(source.read(length), columns).check()
    except IndexError:
        raise ValueError("its footer is cut off") from None


class _Footer:
    """A footer, and the checks of each leaf's column chunks."""

    def __init__(self, data: bytes, columns: Sequence[Any]) -> None:
        self._data = data
        self._checks = [self._of_column(column) for column in columns]

    def check(self) -> None:
        """Check all column chunks; raises as `require_sound_chunks`, or IndexError if cut off."""
        self._struct(0, {_ROW_GROUPS: self._row_groups})

    def _of_column(self, column: Any) -> Mapping[tuple[int, int], _Check]:
        """Return the checks of the fields of a column's chunks."""
        sizes = {
            _REPETITION: lambda at: self._histogram(at, column.max_repetition_level),
            _DEFINITION: lambda at: self._histogram(at, column.max_definition_level),
        }
        if column.physical_type != "BYTE_ARRAY":
            sizes[_TEXT_BYTES] = _refuse_sizes
        inner = {_CODEC: self._codec, _SIZE_STATISTICS: lambda at: self._struct(at, sizes)}
        return {_META_DATA: lambda at: self._struct(at, inner), _CRYPTO_METADATA: _refuse_encrypted}

    def _row_groups(self, at: int) -> int:
        return self._list(at, lambda _, at: self._struct(at, {_COLUMNS: self._chunks}))

    def _chunks(self, at: int) -> int:
        if (count := self._head(at)[1]) != len(self._checks):
            raise ValueError(f"a row group has {count} columns, not {len(self._checks)}")
        return self._list(at, lambda number, at: self._struct(at, self._checks[number]))

    def _codec(self, at: int) -> int:
        codec, at = read_integer(self._data, at)
        if codec not in _CODECS:
            raise ValueError(f"a column has the unknown compression {codec}")
        return at

    def _histogram(self, at: int, highest_level: int) -> int:
        if self._head(at)[1] not in (0, highest_level + 1):
            _refuse_sizes(at)
        return skip_value(self._data, at, _LIST)

    def _struct(self, at: int, checks: Mapping[tuple[int, int], _Check]) -> int:
        """Check the fields of the struct at a byte, and skip others; return where it ends."""
        number, data = 0, self._data
        while head := data[at]:
            at += 1
            if head >> 4:
                number += head >> 4
            else:
                number, at = read_integer(data, at)
            check = checks.get((number, head & 15))
            at = check(at) if check else skip_value(data, at, head & 15)
        return at + 1

    def _list(self, at: int, check: Callable[[int, int], int]) -> int:
        """Check the structs of the list at a byte by their number; return where it ends."""
        kind, count, at = self._head(at)
        if count and kind != _STRUCT:
            raise ValueError("its footer is damaged")
        for number in range(count):
            at = check(number, at)
        return at

    def _head(self, at: int) -> tuple[int, int, int]:
        """Return the kind of the entries of a list, their number, and where the first one is."""
        head, at = self._data[at], at + 1
        count, at = (head >> 4, at) if head >> 4 < 15 else read_varint(self._data, at)
        return head & 15, count, at


def _refuse_sizes(_at: int) -> NoReturn:
    raise ValueError("the size statistics of a column are damaged")


def _refuse_encrypted(_at: int) -> NoReturn:
    raise ValueError("a column is encrypted")
