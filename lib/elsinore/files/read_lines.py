"""Text files line by line, gzip checked first: what spoils a line stays visible in its text."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.source_rule import PACKED
from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError
from elsinore.files.advice import MAGIC, odd_file
from elsinore.files.records import beginnings, first_name
from elsinore.files.rejection import Fault, Reason, UnreadableFile, printable
from elsinore.wording import command, some_of

_BLOCK = 1 << 20
_SHOWN = 40
UTF8_BOM = b"\xef\xbb\xbf"
#: Marks of errors are written into the text of a line, such that no JSON reader accepts it: a line
#: that is stored and decoded later is rejected as reliably as one from the file. U+FFFD after a
#: backslash is not an escape, nor is `\x`; text after a cut is outside of any value, or in a string
#: that never ends.
_ESCAPED = re.compile("\ufffd\\\\x[0-9a-f]{2}")
_CUT = re.compile(r"…\[cut, \d+ bytes\]$")
#: The reason itself, for records of other formats and for whole files.
_SAID = re.compile(f"\ufffd\\\\({'|'.join(Reason)}): (.*)$")
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")
#: Columns of records; `record_number` counts from 1.
LINES_SCHEMA = pa.schema(
    [
        pa.field("file", pa.string(), False),
        pa.field("record_number", pa.int64(), False),
        pa.field("record", pa.string(), False),
    ]
)


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Bounds on what is read from one file, so that no file fills the memory."""

    line_bytes: int = 10_000_000  #: longer lines are rejected
    kept_bytes: int = 10_000  #: number of bytes that are kept of a line that is too long
    file_bytes: int = 4 << 30  #: larger files, once unpacked, are refused
    ratio: int = 200  #: gzip files that unpack to more than this many times their size are refused
    #: ... once they exceed this many bytes: small files may well be repetitive.
    ratio_from: int = 64 << 20
    #: the maximum number of lines in a batch, and about the maximum number of bytes.
    batch_lines: int = 32_768
    batch_bytes: int = 16 << 20
    #: about the maximum decoded bytes of a Parquet batch. `file_bytes`, `ratio` and `ratio_from`
    #: limit the decoded bytes of a Parquet file, and `line_bytes` the bytes of each value.
    decoded_batch_bytes: int = 128 << 20

    def decoded(self, size: int) -> int:
        """Return the maximum number of decoded bytes of a file of some bytes."""
        return min(self.file_bytes, max(self.ratio_from, self.ratio * size))


DEFAULT_LIMITS = ReadLimits()
#: Columns of a file, those inside of structs and lists counted, and characters of all their names.
#: Rows that become JSON repeat the names.
MAX_COLUMNS, MAX_NAMES = 10_000, 1_000_000
TOO_LONG = Fault(
    Reason.LINE_TOO_LONG, f"the line is longer than {DEFAULT_LIMITS.line_bytes:,} bytes"
)
_NO_UTF8 = Fault(
    Reason.BAD_ENCODING, "the line is not UTF-8; convert the file, as in iconv -f latin1 -t utf-8"
)


class RawLine(NamedTuple):
    """One line without its line feed; `fault` is why it cannot be used, if known."""

    position: int
    text: str
    fault: Fault | None


def raw_lines(path: Path, limits: ReadLimits) -> Iterator[RawLine]:
    r"""Yield every line of a UTF-8 text file, also blank lines, with positions from 1.

    A BOM is dropped. Bytes that are not UTF-8 are shown as `\ufffd\xNN`.

    Raises:
        DataError: the file cannot be opened or read.
        UnreadableFile: it is too large, not UTF-8 at all, or a damaged gzip file, which is checked
            to its end before the first line; or it replaces such a file (`unusable_line`).
    """
    for first, block, stream in _blocks(path, limits):
        yield from _each(first, block, stream, limits)


class _Bounded:
    """A stream with a minimum and a maximum size: a file can grow or shrink while it is read."""

    def __init__(self, stream: BinaryIO, path: Path, most: int, least: int) -> None:
        self._stream, self._path, self._most, self._least = stream, path, most, least
        self._size = 0

    def read(self, most: int) -> bytes:
        """Return at most some bytes; UnreadableFile: there are too many in all."""
        return self._counted(self._stream.read(most))

    def readline(self, most: int) -> bytes:
        """Return the bytes up to the next line feed, as `read`."""
        return self._counted(self._stream.readline(most))

    def _counted(self, piece: bytes) -> bytes:
        self._size += len(piece)
        if not piece and self._size < self._least:
            # The lines that are left might be of another file.
            problem = f"{self._path} was truncated while it was read"
            raise DataError(problem, hint="read it again when it is complete", file=str(self._path))
        if self._size > self._most:
            raise too_large(self._path, f"exceeds {self._most} bytes")
        return piece


def _blocks(path: Path, limits: ReadLimits) -> Iterator[tuple[int, bytes, _Bounded]]:
    """Yield blocks of whole lines, with the position of the first line, and the stream.

    The stream continues after the block. If the last line is too long, the block has only the
    beginning of it, which is longer than the limit.
    """
    with open_unpacked(path, limits) as whole:
        least = 0 if path.suffix.lower() in PACKED else os.fstat(whole.fileno()).st_size
        stream, position = _Bounded(whole, path, limits.file_bytes, least), 1
        while block := stream.read(limits.batch_bytes):
            if not block.endswith(b"\n"):
                block += stream.readline(limits.line_bytes + 1)
            if position == 1:
                if odd := odd_file(block[:8]):
                    raise unreadable(path, f" {odd[0]}", Reason.BAD_ENCODING, odd[1])
                block = block.removeprefix(UTF8_BOM)
                if said := _SAID.match(visible(block.partition(b"\n")[0])):
                    raise UnreadableFile(said[2], reason_code=Reason(said[1]), file=str(path))
            yield position, block, stream
            position += block.count(b"\n") + (not block.endswith(b"\n"))


def _each(first: int, block: bytes, stream: _Bounded, limits: ReadLimits) -> Iterator[RawLine]:
    lines = block.removesuffix(b"\n").split(b"\n")
    for position, raw in enumerate(lines, first):
        if len(raw) > limits.line_bytes:
            is_last = position == first + len(lines) - 1
            size = len(raw) + (not is_last or block.endswith(b"\n"))
            while is_last and not block.endswith(b"\n") and (rest := stream.readline(_BLOCK)):
                size += len(rest)
                if rest.endswith(b"\n"):
                    break
            start = visible(raw[: limits.kept_bytes])
            yield RawLine(position, f"{start} …[cut, {size} bytes]", TOO_LONG)
            continue
        try:
            yield RawLine(position, raw.decode(), None)
        except UnicodeDecodeError:
            yield RawLine(position, visible(raw), _NO_UTF8)


def _column(block: bytes) -> pa.Array | None:
    """Return the lines of a block as an Arrow array; None if a line is not UTF-8."""
    block = block if block.endswith(b"\n") else block + b"\n"
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
    offsets = np.append(0, ends - np.arange(len(ends))).astype(np.int32)
    buffers = pa.py_buffer(offsets), pa.py_buffer(block.replace(b"\n", b""))
    lines = pa.StringArray.from_buffers(len(ends), *buffers)
    try:
        lines.validate(full=True)
    except pa.ArrowInvalid:
        return None
    return lines


def fault_in(text: str) -> Fault | None:
    """Return the error that marks in a line's text record, for lines that do not decode."""
    if said := _SAID.search(text):
        return Fault(Reason(said[1]), said[2])
    return TOO_LONG if _CUT.search(text) else _NO_UTF8 if _ESCAPED.search(text) else None


def unusable_line(code: str, reason: str, text: str | None = None) -> str:
    """Return a line that is rejected with the same reason whenever it is read again.

    A first line without text marks the whole file as unusable.
    """
    shown = "" if text is None else json.dumps(text, ensure_ascii=False)
    return f"{shown}\ufffd\\{code}: {' '.join(reason.split())}"


def says_unusable(whole: bytes) -> bool:
    """Return whether a file contains only the reason why another file was rejected."""
    return whole.count(b"\n") == 1 and _SAID.match(visible(whole.rstrip())) is not None


def visible(raw: bytes) -> str:
    r"""Return bytes as a string, with bytes that are not UTF-8 as `\ufffd\xNN`."""
    text = raw.decode("utf-8", "surrogateescape")
    return _ESCAPED_BYTE.sub(lambda found: f"\ufffd\\x{ord(found[0]) - 0xDC00:02x}", text)


@contextmanager
def open_unpacked(path: Path, limits: ReadLimits) -> Iterator[BinaryIO]:
    """Yield a stream of the bytes of a file, decompressed if its name ends in `.gz` or `.zst`.

    A compressed file is read twice. The first pass checks the checksum at its end, because no
    record of a damaged file may be ingested. Decompression is much faster than decoding, and two
    passes need no memory or disk for the decompressed bytes. Both passes read the same open file,
    so a replacement of the file does not matter.

    Raises:
        DataError: the file cannot be opened or read.
        UnreadableFile: it is too large, or damaged.
    """
    try:
        with path.open("rb") as file:
            if path.suffix.lower() in PACKED:
                _require_sound(path, file, limits)
                with _unpacked(path, file) as unpacked:
                    yield unpacked
            elif os.fstat(file.fileno()).st_size > limits.file_bytes:
                raise too_large(path, f"exceeds {limits.file_bytes} bytes")
            else:
                yield file
    except (EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # else it is of the packing
            hint = f"make it readable: {command('chmod', 'u+r', path)}"
            problem = f"cannot read {path}: {error.strerror}"
            raise DataError(problem, hint=hint, file=str(path)) from error
        if "requires too much memory for decoding" in str(error):
            problem = " is compressed with a window of more than 128 MiB"
            hint = "compress it again with the default window: `zstd FILE`"
            raise unreadable(path, problem, Reason.TOO_LARGE, hint) from error
        problem = f" is damaged: {str(error)[:200]}"
        raise unreadable(path, problem, Reason.CORRUPT_FILE, "export the file again") from error


def read_whole(path: Path, stream: BinaryIO, limits: ReadLimits) -> bytearray:
    """Return the rest of a stream, read in pieces.

    `read` with a size allocates that size first, whatever the stream holds: 4 GiB here.

    Raises:
        UnreadableFile: it is too large.
    """
    content = bytearray()
    while piece := stream.read(_BLOCK):
        content += piece
        if len(content) > limits.file_bytes:
            raise too_large(path, f"exceeds {limits.file_bytes} bytes")
    return content


def _unpacked(path: Path, file: BinaryIO) -> BinaryIO:
    if path.suffix.lower() == ".gz":
        return cast(BinaryIO, gzip.GzipFile(fileobj=file))
    # Arrow closes what it reads: a duplicate.
    stream: Any = pa.CompressedInputStream(os.fdopen(os.dup(file.fileno()), "rb"), "zstd")
    return cast(BinaryIO, io.BufferedReader(stream, _BLOCK))


def _require_sound(path: Path, file: BinaryIO, limits: ReadLimits) -> None:
    packed_size = os.fstat(file.fileno()).st_size
    if odd := odd_file(os.pread(file.fileno(), 64, 0), MAGIC[path.suffix.lower()]):
        raise unreadable(path, f" {odd[0]}", Reason.CORRUPT_FILE, odd[1])
    size = 0
    with _unpacked(path, file) as unpacked:
        while block := unpacked.read(_BLOCK):
            size += len(block)
            if size > limits.file_bytes:
                raise too_large(path, f"unpacks to more than {limits.file_bytes} bytes")
            if size > limits.ratio_from and size > limits.ratio * packed_size:
                raise too_large(path, f"unpacks to more than {limits.ratio} times its size")
    file.seek(0)


def too_large(path: Path, what: str) -> UnreadableFile:
    """Return the error of a file that is too large."""
    return unreadable(path, f" {what}", Reason.TOO_LARGE, "split the file")


def unreadable(path: Path, problem: str, code: Reason, hint: str) -> UnreadableFile:
    """Return the error of a file that cannot be used; `problem` follows its path."""
    return UnreadableFile(f"{path}{problem}", reason_code=code, hint=hint, file=str(path))


def require_few_columns(path: Path, names: Sequence[str] | Sequence[bytes]) -> None:
    """Refuse a file with too many columns, or with too long names.

    Raises:
        UnreadableFile: it has more than `MAX_COLUMNS` columns or `MAX_NAMES` characters of names.
    """
    problem = ""
    if len(names) > MAX_COLUMNS:
        problem = f" has {len(names):,} columns, more than {MAX_COLUMNS:,}"
    elif (length := sum(map(len, names))) > MAX_NAMES:
        problem = f" has {length:,} characters of column names, more than {MAX_NAMES:,}"
    if problem:
        raise unreadable(path, problem, Reason.TOO_LARGE, "write it with fewer or shorter columns")


def column_problem(
    names: Sequence[str], schema: StreamSchema, *, nested: bool = False
) -> tuple[str, str] | None:
    """Return the problem of a file's columns (one that is read is repeated or missing), and a hint.

    If columns may be `nested`, a field can be inside of the column that its path begins with. The
    hint lists the columns; without a header that is an event, so do not store it.
    """
    if names and names[0].startswith("sep="):
        return "the line sep= is not supported", "remove the line sep="
    if len(names) == 1 and (signs := [sign for sign in ";\t|" if sign in names[0]]):
        return f"its columns are separated by {signs[0]!r}", "separate columns with commas"
    looked_at = names_read(schema, nested=nested)
    twice = [name for name, count in Counter(names).items() if count > 1 and name in looked_at]
    if twice:
        return f"column {twice[0]!r} occurs twice", "rename one of them"
    lacking = [
        name for name in schema.raw_needed if name not in names
        and not (nested and first_name(name, names))
    ]  # fmt: skip
    shown = (printable(name[:_SHOWN]) for name in names)
    there = some_of(name if name == name.strip() else repr(name) for name in shown) or "none"
    return (f"column {lacking[0]!r} is missing", f"the columns are {there}") if lacking else None


def names_read(schema: StreamSchema, *, nested: bool) -> set[str]:
    """Return the names of columns that can be a field of the schema, or contain one if nested."""
    read = {*schema.raw_needed, *(field for field, _ in schema.raw_attributes)}
    if schema.version_field is not None:
        read.add(schema.version_field)
    return set().union(*map(beginnings, read)) if nested else read


def read_lines(
    path: Path, *, limits: ReadLimits = DEFAULT_LIMITS, name: str | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield batches of `LINES_SCHEMA`; blank lines are left out, but count for positions.

    Bytes that are not UTF-8, and lines that are too long, stay visible in the text, such that
    `decode_lines` rejects them with their reason. Files with a name in `.gz` or `.zst` are
    unpacked; the column `file` is `name`, or else the path.

    Raises:
        DataError: the file cannot be read.
        UnreadableFile: no record of it can be used; raised before the first batch, unless a plain
            file changes while it is read.
    """
    label = printable(str(path) if name is None else name)
    for first, block, stream in _blocks(path, limits):
        lines = _column(block)
        if lines is None or pc.max(pc.binary_length(lines)).as_py() > limits.line_bytes:
            lines = pa.array([line.text for line in _each(first, block, stream, limits)])
        if b"\r" in block:
            lines = pc.ascii_rtrim(lines, "\r")
        positions = pa.array(np.arange(first, first + len(lines)))
        there = pc.greater(pc.binary_length(pc.ascii_ltrim(lines, " \t\r")), 0)
        table = pa.table([pa.repeat(label, len(lines)), positions, lines], schema=LINES_SCHEMA)
        yield from table.filter(there).to_batches(max_chunksize=limits.batch_lines)
