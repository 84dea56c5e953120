"""Read record batches of Arrow files, and refuse files that would take too much memory.

A file of 1 KB can hold a billion NULLs, a dictionary can repeat one long text, and a batch of
zeros is compressed to a thousandth. Arrow allocates all of it before it returns a batch. So types
and the unpacked sizes are checked first.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc, types

from elsinore.files.read_lines import ReadLimits, open_unpacked, read_whole, too_large, unreadable
from elsinore.files.rejection import Reason

#: The first bytes of a file; its batches follow as in a stream.
_MAGIC = b"ARROW1\0\0"
#: Types whose values take as many bytes in a file without compression as in memory.
_PLAIN = (
    types.is_string, types.is_large_string, types.is_integer, types.is_floating, types.is_decimal,
    types.is_timestamp, types.is_boolean,
)  # fmt: skip
#: Fields of the flatbuffers of a message, a schema and a record batch.
_VERSION, _HEADER, _BYTE_ORDER, _BUFFERS, _COMPRESSION = 0, 2, 0, 2, 3
#: The version of messages, and how a schema calls the order of the bytes of numbers.
_V5, _BYTE_ORDERS = 4, {"little": 0, "big": 1}


def arrow_batches(path: Path, limits: ReadLimits) -> Iterator[pa.Table]:
    """Yield the rows of an Arrow file, batch by batch.

    Args:
        path: the file.
        limits: bounds on the file and on what it unpacks to.

    Raises:
        DataError: the file cannot be opened.
        UnreadableFile: it unpacks to too much, or has columns of other types than numbers, texts
            and timestamps.
        ValueError: it is not an Arrow file, or is damaged.
    """
    with open_unpacked(path, limits) as stream:
        content = pa.py_buffer(read_whole(path, stream, limits))
    if content.slice(0, len(_MAGIC)).to_pybytes() != _MAGIC:
        raise ValueError("not an Arrow file")
    # The end of a file, which may be cut off, has the number of its batches.
    expected = ipc.open_file(content).num_record_batches
    messages = ipc.MessageReader.open_stream(pa.BufferReader(content.slice(len(_MAGIC))))
    if (first := next(messages, None)) is None:
        raise ValueError("the file has no schema")
    _require_native(first)
    schema = ipc.read_schema(first)
    for field in schema:
        if not any(is_plain(field.type) for is_plain in _PLAIN):
            problem = f" has a column of the type {str(field.type)[:40]}, which is not read"
            hint = "cast it to a number, a string or a timestamp"
            raise unreadable(path, problem, Reason.BAD_HEADER, hint)
    size, number, allowed = 0, 0, limits.decoded(len(content))
    for message in messages:
        number += 1
        size += _unpacked_size(message)
        if size > allowed:
            raise too_large(path, f"unpacks to more than {allowed:,} bytes")
        batch = ipc.read_record_batch(message, schema)
        batch.validate(full=True)
        yield pa.table(batch)
    if number != expected:
        raise ValueError(f"the file has {number:,} batches, but its end says {expected:,}")


def _require_native(message: ipc.Message) -> None:
    """Refuse a schema whose batches have numbers in the byte order of other processors.

    Raises:
        ValueError: it is such a schema, or is damaged.
    """
    data = message.metadata.to_pybytes()
    with _naming_damage():
        header = _target(data, _field(data, _root(data), _HEADER))
        order = _short(data, _field(data, header, _BYTE_ORDER))
    if order != _BYTE_ORDERS[sys.byteorder]:
        raise ValueError("its numbers have the byte order of other processors")


def _unpacked_size(message: ipc.Message) -> int:
    """Return the bytes that the buffers of a record batch take once they are unpacked.

    A compressed buffer begins with its unpacked size, which Arrow allocates; -1: not compressed.

    Raises:
        ValueError: the message is damaged, or is of an old version, in which Arrow also finds a
            compression outside of the record batch.
    """
    data, body = message.metadata.to_pybytes(), message.body
    with _naming_damage():
        root = _root(data)
        if _short(data, _field(data, root, _VERSION)) != _V5:
            raise ValueError("a message is of an old version of Arrow")
        header = _target(data, _field(data, root, _HEADER))
        at = _target(data, _field(data, header, _BUFFERS))
        (count,) = struct.unpack_from("<I", data, at)
        buffers = [*struct.iter_unpack("<qq", data[at + 4 : at + 4 + 16 * count])]
        # Arrow does not read every buffer, so it accepts negative numbers in some of them.
        if any(start < 0 or length < 0 for start, length in buffers):
            raise ValueError("a message is damaged: a buffer has a negative position or length")
        sizes = [(start, length) for start, length in buffers if length]
        if not _field(data, header, _COMPRESSION):
            return sum(length for _, length in sizes)
        prefixes = (struct.unpack_from("<q", body, start)[0] for start, _ in sizes)
        return sum(max(length, size) for (_, length), size in zip(sizes, prefixes, strict=True))


@contextmanager
def _naming_damage() -> Iterator[None]:
    try:
        yield
    except (struct.error, TypeError) as error:
        raise ValueError(f"a message is damaged: {error}") from error


def _root(data: bytes) -> int:
    """Return where the table of a message is."""
    return int(struct.unpack_from("<I", data)[0])


def _short(data: bytes, at: int) -> int:
    """Return the 16-bit integer of a field; 0 if it is missing."""
    return int(struct.unpack_from("<h", data, at)[0]) if at else 0


def _field(data: bytes, table: int, number: int) -> int:
    """Return where a field of a flatbuffer's table is; 0 if it is missing."""
    (back,) = struct.unpack_from("<i", data, table)
    (size,) = struct.unpack_from("<H", data, table - back)
    slot = 4 + 2 * number
    if slot >= size:
        return 0
    (offset,) = struct.unpack_from("<H", data, table - back + slot)
    return table + int(offset) if offset else 0


def _target(data: bytes, at: int) -> int:
    """Return where the table or vector is that a field refers to."""
    if not at:
        raise ValueError("a message is damaged: a field is missing")
    return at + int(struct.unpack_from("<I", data, at)[0])
