"""Read batches of Parquet files, and refuse files that would take too much memory.

A file of 1 KB can decode to 60 GB: one long value in a dictionary that many rows refer to, pages
that repeat a byte, a column of one value. So the decoded sizes are computed before decoding: from
page headers, and from the lengths of the values in dictionaries.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from elsinore.catalog.source_rule import PACKED
from elsinore.errors import DataError, OutOfMemoryError
from elsinore.files.advice import MAGIC, odd_file
from elsinore.files.parquet_footer import require_sound_chunks
from elsinore.files.parquet_pages import Pages, longest_text, read_pages
from elsinore.files.read_lines import (
    ReadLimits,
    open_unpacked,
    read_whole,
    require_few_columns,
    too_large,
    unreadable,
)
from elsinore.files.rejection import Reason

#: Row groups of a file: each takes a millisecond to check, and memory for its description.
MAX_ROW_GROUPS = 10_000
#: Bytes of the description at the end of a packed file, unless the packed file has more: reading it
#: takes 25 times as much memory.
_FOOTER = 16 << 20
#: Rows of a batch, at most.
BATCH_ROWS = 65_536
#: Bytes per value of each physical type once decoded; a text takes an offset and its own bytes.
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 8, "FLOAT": 4, "DOUBLE": 8}
_OFFSET = 4
#: Bytes of a dictionary whose values need no check, because they are short.
_SHORT = 256
#: Maximum number of bytes of a decoded decimal that is stored as text.
_DECIMAL = 32


class Columns(NamedTuple):
    """The columns to read, and the optional ones to leave out if the file is too large."""

    wanted: Sequence[str]
    optional: Collection[str] = ()


#: Chooses columns from the columns of a file.
Choose = Callable[[list[str]], Columns]


class Piece(NamedTuple):
    """Some rows, and the optional columns that were left out."""

    rows: pa.Table
    left_out: tuple[str, ...] = ()


def parquet_batches(path: Path, limits: ReadLimits, choose: Choose) -> Iterator[Piece]:
    """Yield the rows of a Parquet file in their order, in batches of bounded size.

    `.parquet.gz` and `.parquet.zst` are unpacked in memory.

    Args:
        path: the file.
        limits: bounds on the file and on what is decoded.
        choose: chooses the columns to read, and raises if one is missing.

    Raises:
        DataError: the file cannot be opened.
        UnreadableFile: the file is damaged or decodes to more than `limits` allow. Damage to a
            page may show after earlier batches.
        OutOfMemoryError: there is too little memory.
    """
    with _opened(path, limits) as file:
        yield from file.batches(*choose(file.names))


def require_bounded(path: Path, limits: ReadLimits) -> None:
    """Refuse a Parquet file that decodes to too much, for other readers.

    Raises:
        DataError: the file cannot be opened.
        UnreadableFile: it is damaged, or decodes to more than `limits` allow.
    """
    with _opened(path, limits) as file:
        file.require_bounded()


@contextmanager
def _opened(path: Path, limits: ReadLimits) -> Iterator[_BoundedFile]:
    """Open a file; raises as `parquet_batches`."""
    with open_unpacked(path, limits) as stream:
        # A packed file, or a pipe.
        is_packed = path.suffix.lower() in PACKED
        if is_packed or not stream.seekable():
            content = read_whole(path, stream, limits)
            size = path.stat().st_size if is_packed else len(content)
            source = pa.BufferReader(content)
        else:
            size, source = os.fstat(stream.fileno()).st_size, pa.PythonFile(stream, "r")
        if odd := odd_file(head := source.read(64), MAGIC[".parquet"]):
            raise unreadable(path, f" {odd[0]}", Reason.CORRUPT_FILE, odd[1])
        if is_packed:
            _require_short_footer(path, source, size)
        source.seek(0)
        try:
            yield _BoundedFile(path, source, size, limits)
        except DataError:
            raise
        except MemoryError as error:
            raise OutOfMemoryError.of(f"reading {path}", error) from error
        except (pa.ArrowException, OSError, ValueError) as error:
            problem = f" is not a valid Parquet file: {str(error).splitlines()[0][:200]}"
            if "magic bytes" in problem and head.startswith(MAGIC[".parquet"]):
                problem = " is truncated: its end is missing"
            raise unreadable(path, problem, Reason.CORRUPT_FILE, "export the file again") from error


def _require_short_footer(path: Path, source: pa.NativeFile, packed_size: int) -> None:
    if source.size() >= 8:
        source.seek(source.size() - 8)
        length, most = int.from_bytes(source.read(4), "little"), max(_FOOTER, packed_size)
        if length > most:
            problem = f" describes its columns in {length:,} bytes, more than {most:,}"
            hint = "write it again with fewer columns and larger row groups"
            raise unreadable(path, problem, Reason.TOO_LARGE, hint)


@dataclass(slots=True)
class _Size:
    """The decoded size of one column."""

    least: int = 0  #: bytes that it takes at least
    most: int = 0  #: bytes that it takes if each value is as long as the longest one
    per_row: float = 0  #: bytes per row, about the maximum
    leaves: set[str] = field(default_factory=set)  #: paths of the leaves that hold texts
    prefixes: int = 0  #: bytes of the largest page whose values repeat the value before
    longest: int = 0  #: bytes of the longest value in a dictionary


class _BoundedFile:
    """A Parquet file, with limits on its decoded size."""

    def __init__(self, path: Path, source: pa.NativeFile, size: int, limits: ReadLimits) -> None:
        self._path, self._source, self._limits = path, source, limits
        self._allowed = limits.decoded(size)
        self._file = self._open()
        self._metadata = self._file.metadata
        schema = self._metadata.schema
        self._paths = [schema.column(at).path for at in range(self._metadata.num_columns)]
        require_few_columns(path, self._paths)
        if (groups := self._metadata.num_row_groups) > MAX_ROW_GROUPS:
            problem = f" has {groups:,} row groups, more than {MAX_ROW_GROUPS:,}"
            hint = "write it with larger row groups, for example of 100,000 rows"
            raise unreadable(path, problem, Reason.TOO_LARGE, hint)
        columns = [schema.column(at) for at in range(self._metadata.num_columns)]
        require_sound_chunks(source, columns)
        self.names: list[str] = self._file.schema_arrow.names

    def _open(self, **options: Any) -> Any:
        import pyarrow.parquet as pq  # not needed where lines are decoded

        return pq.ParquetFile(
            self._source,
            page_checksum_verification=True,
            coerce_int96_timestamp_unit="us",
            # A thread that still had the file open at Python's exit made one run in seven of a file
            # without rows fail (pyarrow 26).
            pre_buffer=False,
            **options,
        )

    def batches(self, wanted: Sequence[str], optional: Collection[str]) -> Iterator[Piece]:
        """Yield the rows with some columns; see `parquet_batches`."""
        columns, rows = self._plan(wanted, optional)
        left_out = tuple(column for column in wanted if column not in columns)
        decoded = count = 0
        for batch in self._file.iter_batches(rows, columns=columns, use_threads=False):
            decoded += batch.nbytes
            count += batch.num_rows
            if decoded > self._allowed:
                raise self._too_much(f"it decodes to {decoded:,} bytes or more")
            self._require_short(batch)
            yield Piece(pa.table(batch), left_out)
        if columns and count != (number := self._metadata.num_rows):
            problem = f" is damaged: it has {count:,} rows, but its footer says {number:,}"
            raise unreadable(self._path, problem, Reason.CORRUPT_FILE, "export the file again")

    def require_bounded(self) -> None:
        """Refuse the file if all its columns decode to too many bytes."""
        self._plan(self.names, ())

    def _plan(self, columns: Sequence[str], optional: Collection[str]) -> tuple[list[str], int]:
        """Return the columns to read, and how many rows at once to stay below the bounds."""
        groups = range(self._metadata.num_row_groups)
        chosen = self._chosen(columns)
        found = [leaf for group in groups for leaf in self._leaves(group, chosen)]
        sizes = {column: _Size() for column in columns}
        for leaf in found:
            sizes[leaf.column].least += leaf.least
        self._fit(sizes, optional, {column: size.least for column, size in sizes.items()})
        for leaf in found:
            if leaf.column in sizes:
                self._add(leaf, sizes[leaf.column])
        for column, size in list(sizes.items()):
            if size.longest > self._limits.line_bytes:
                if column not in optional:
                    raise self._too_long(column, size.longest)
                del sizes[column]
        most = {column: size.most for column, size in sizes.items()}
        total = sum(most.values())
        for column in sorted(most, key=lambda name: -most[name]):
            if total > self._allowed and most[column] > sizes[column].least:
                exact = self._exact_size(column, sizes[column])
                total += exact - most[column]
                most[column] = exact
        self._fit(sizes, optional, most)
        per_row = int(sum(size.per_row for size in sizes.values()))
        rows = self._limits.decoded_batch_bytes // max(per_row, 1)
        return list(sizes), max(1, min(BATCH_ROWS, rows))

    def _chosen(self, columns: Sequence[str]) -> list[tuple[int, str]]:
        """Return the leaves of some columns, as `iter_batches` selects them, with their columns."""
        order = {column: at for at, column in reversed(list(enumerate(columns)))}
        lengths = sorted({*map(len, columns)})
        chosen = []
        for index, path in enumerate(self._paths):
            starts = (path[:n] for n in lengths if len(path) == n or path[n : n + 1] == ".")
            if found := [start for start in starts if start in order]:
                chosen.append((index, min(found, key=order.__getitem__)))
        return chosen

    def _leaves(self, group: int, chosen: Sequence[tuple[int, str]]) -> Iterator[_Leaf]:
        """Yield the chunks of some leaves in a row group."""
        row_group = self._metadata.row_group(group)
        for index, column in chosen:
            chunk, stored = row_group.column(index), self._metadata.schema.column(index)
            if _is_plainly_bounded(chunk, stored):
                values = max(chunk.num_values, row_group.num_rows)
                pages = Pages(values, chunk.total_uncompressed_size)
            else:
                pages = read_pages(self._source, chunk)
            yield _Leaf(chunk, column, group, row_group.num_rows, stored, pages)

    def _fit(
        self, sizes: dict[str, _Size], optional: Collection[str], decoded: dict[str, int]
    ) -> None:
        """Remove optional columns, the largest first, until the size is allowed."""
        total = sum(decoded.values())
        for column in sorted(decoded, key=lambda name: -decoded[name]):
            if total > self._allowed and column in optional:
                total -= decoded.pop(column)
                del sizes[column]
        if total > self._allowed:
            column = max(decoded, key=lambda name: decoded[name])
            raise self._too_much(f"column {column} decodes to {decoded[column]:,} bytes or more")

    def _add(self, leaf: _Leaf, size: _Size) -> None:
        """Add to the size of a column what a leaf of it can decode to in a row group."""
        pages = leaf.pages
        longest = self._longest_value(leaf)
        most = leaf.least + pages.values * longest
        if leaf.is_text and pages.has_prefixes:
            most += pages.values * pages.largest
            size.prefixes = max(size.prefixes, pages.largest)
        size.most += most
        size.per_row += most / max(leaf.rows, 1)
        size.longest = max(size.longest, longest)
        if leaf.is_text and pages.dictionary:
            size.leaves.add(leaf.path)

    def _longest_value(self, leaf: _Leaf) -> int:
        """Return how long a value that comes from a dictionary can be; 0 if none does."""
        if not leaf.is_text or not leaf.pages.dictionary:
            return 0
        if leaf.pages.dictionary <= _SHORT:
            return leaf.pages.dictionary
        longest = longest_text(self._source, leaf.chunk, leaf.pages)
        if longest is not None:
            return longest
        coded = self._coded(leaf.path)
        batches = coded.iter_batches(1, row_groups=[leaf.group], columns=[leaf.path])
        with closing(batches):
            first = next(batches, None)
        lengths = [pc.max(pc.binary_length(c.dictionary)).as_py() for c in _coded_parts(first)]
        return max((length or 0 for length in lengths), default=0)

    def _exact_size(self, column: str, size: _Size) -> int:
        """Return the bytes that a column decodes to, or more than is allowed.

        Texts in dictionaries are counted without decoding them.
        """
        total = size.least
        for leaf in size.leaves:
            coded = self._coded(leaf).iter_batches(BATCH_ROWS, columns=[leaf], use_threads=False)
            for part in (part for batch in coded for part in _coded_parts(batch)):
                lengths = pc.binary_length(part.dictionary).cast(pa.int64())
                total += pc.sum(lengths.take(part.indices)).as_py() or 0
                if total > self._allowed:
                    return total
        if size.prefixes:
            rows = max(1, self._limits.decoded_batch_bytes // size.prefixes)
            for batch in self._file.iter_batches(rows, columns=[column], use_threads=False):
                total += batch.nbytes
                if total > self._allowed:
                    return total
        return total

    def _coded(self, leaf: str) -> Any:
        """Return the file, opened so that the texts of a leaf stay codes of a dictionary."""
        return self._open(read_dictionary=[leaf], arrow_extensions_enabled=False)

    def _too_much(self, what: str) -> DataError:
        if self._allowed == self._limits.file_bytes:
            return too_large(self._path, f"is too large: {what}, and {self._allowed:,} are allowed")
        problem = f"is too large: {what}, and {self._allowed:,} are allowed for its size"
        hint = "if you trust it, read it with pyarrow and pass the table to Workload.run"
        return unreadable(self._path, f" {problem}", Reason.TOO_LARGE, hint)

    def _too_long(self, column: str, length: int) -> DataError:
        most = self._limits.line_bytes
        problem = f" has a value of {length:,} bytes in the column {column}, more than {most:,}"
        hint = "shorten the value, or drop the column"
        return unreadable(self._path, problem, Reason.TOO_LARGE, hint)

    def _require_short(self, batch: pa.RecordBatch) -> None:
        """Refuse a value that is longer than a line may be."""
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            if column.nbytes > self._limits.line_bytes and _is_text(column.type):
                length = pc.max(pc.binary_length(column)).as_py() or 0
                if length > self._limits.line_bytes:
                    raise self._too_long(name, length)


class _Leaf:
    """A column chunk; a column of structs or lists has several in a row group."""

    def __init__(
        self, chunk: Any, column: str, group: int, rows: int, stored: Any, pages: Pages
    ) -> None:
        self.chunk, self.path = chunk, chunk.path_in_schema
        self.column, self.group, self.rows = column, group, rows
        self.pages = pages
        self._stored = stored

    @property
    def least(self) -> int:
        """Minimum number of decoded bytes."""
        return max(self.pages.size, self.pages.values * self._width)

    @cached_property
    def is_text(self) -> bool:
        """Return whether values are strings or bytes of any length."""
        return self._stored.physical_type == "BYTE_ARRAY" and not self._is_decimal

    @cached_property
    def _width(self) -> int:
        """Minimum number of bytes of each decoded value."""
        if self._is_decimal:
            return _DECIMAL
        if self._stored.physical_type == "FIXED_LEN_BYTE_ARRAY":
            return int(self._stored.length)
        return _WIDTHS.get(self._stored.physical_type, _OFFSET)

    @cached_property
    def _is_decimal(self) -> bool:
        return self._stored.logical_type.type == "DECIMAL"


def _is_plainly_bounded(chunk: Any, stored: Any) -> bool:
    """Return whether the row count bounds the decoded size, whatever the pages state.

    Its values have one width and one row each, and its packing is no more than 22-fold.
    """
    is_fixed = stored.physical_type in _WIDTHS and stored.max_repetition_level == 0
    return is_fixed and chunk.compression in ("SNAPPY", "UNCOMPRESSED")


def _is_text(kind: pa.DataType) -> bool:
    return (
        types.is_string(kind)
        or types.is_binary(kind)
        or types.is_large_string(kind)
        or (types.is_large_binary(kind))
    )


def _coded_parts(batch: pa.RecordBatch | None) -> Iterator[pa.DictionaryArray]:
    """Yield the one leaf of a batch that was read as codes, from inside of structs and lists."""
    for column in batch.columns if batch is not None else ():
        while not types.is_dictionary(column.type):
            column = column.field(0) if types.is_struct(column.type) else column.flatten()
        yield column
