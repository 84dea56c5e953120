"""Read page headers of Parquet files, to know the size of decoded pages before decoding.

The footer of a file states sizes, too, but nothing checks them. Decoders allocate what page headers
state. Headers are Thrift structs in the compact protocol (parquet.thrift, `PageHeader`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

#: Bytes that are read for a header; more if its statistics are longer, as far as Arrow reads.
_HEADER = 256
_LONGEST_HEADER = 16 << 20
#: The length of a chunk does not include the header of its dictionary in some old files.
_OVERHANG = 100
_DICTIONARY_PAGE = 2
#: Header fields with the number of values and their encoding, by the kind of the page.
_OF_VALUES = {0: (5, 2), 3: (8, 4)}
_DELTA_BYTE_ARRAY = 7
#: Codecs of column chunks that `pyarrow.decompress` reads as Parquet does.
_CODECS = {"BROTLI", "GZIP", "SNAPPY", "ZSTD"}
#: Larger dictionaries are left to Arrow; writers stop at 1 MiB.
_DICTIONARY = 4 << 20


@dataclass(slots=True)
class Pages:
    """The sizes that the pages of one or several column chunks state."""

    values: int = 0  #: values with NULLs, each entry of a list counted
    size: int = 0  #: bytes of all pages, unpacked
    largest: int = 0  #: bytes of the largest page, unpacked
    dictionary: int = 0  #: bytes of the dictionary, unpacked; 0 if there is none
    has_prefixes: bool = False  #: values repeat the start of the value before (DELTA_BYTE_ARRAY)
    #: where the bytes of each dictionary are, and how many, packed; a sound chunk has one at most.
    dictionaries: list[tuple[int, int]] = field(default_factory=list)


def read_pages(source: pa.NativeFile, chunk: Any) -> Pages:
    """Return the sizes in the page headers of a column chunk, in reading order.

    Args:
        source: the file.
        chunk: `pyarrow.parquet.ColumnChunkMetaData`.

    Raises:
        ValueError: a header is damaged.
    """
    pages, at = Pages(), chunk.data_page_offset
    if chunk.dictionary_page_offset is not None and 0 < chunk.dictionary_page_offset < at:
        at = chunk.dictionary_page_offset
    end = at + chunk.total_compressed_size + _OVERHANG
    while pages.values < chunk.num_values and at < end:
        header, length = _read_header(source, at)
        kind, size, packed = header.get(1), header.get(2), header.get(3)
        if not (isinstance(size, int) and isinstance(packed, int) and min(size, packed) >= 0):
            raise ValueError(f"a page header is damaged at byte {at}")
        pages.size += size
        pages.largest = max(pages.largest, size)
        if kind == _DICTIONARY_PAGE:
            pages.dictionary = max(pages.dictionary, size)
            pages.dictionaries.append((at + length, packed))
        elif kind in _OF_VALUES:
            place, encoding = _OF_VALUES[kind]
            of_values = header.get(place)
            if not isinstance(of_values, dict) or not isinstance(of_values.get(1), int):
                raise ValueError(f"a page header is damaged at byte {at}")
            pages.values += max(of_values[1], 0)
            pages.has_prefixes |= of_values.get(encoding) == _DELTA_BYTE_ARRAY
        at += length + packed
    return pages


def longest_text(source: pa.NativeFile, chunk: Any, pages: Pages) -> int | None:
    """Return the length of the longest text in a chunk's dictionary.

    Arrow needs ten times as long, because it looks for equal texts.

    Returns:
        None if the dictionary is large, has an empty or a long text or one with NUL characters, or
        is packed in another way.
    """
    if len(pages.dictionaries) != 1 or pages.dictionary > _DICTIONARY:
        return None
    (at, packed), codec = pages.dictionaries[0], chunk.compression
    source.seek(at)
    data = source.read(packed)
    if codec in _CODECS:
        data = pa.decompress(data, pages.dictionary, codec.lower())
    elif codec != "UNCOMPRESSED":
        return None
    page = np.frombuffer(data, np.uint8)
    # A text follows its length in four bytes: if it is shorter than 256, one byte and three zeros.
    is_zero = page == 0
    starts = np.flatnonzero(is_zero[1:-2] & is_zero[2:-1] & is_zero[3:])
    lengths = page[starts].astype(np.int64)
    # Zeros elsewhere break this chain, which covers the page from its start to its end.
    is_chain = np.array_equal(np.append(0, starts + 4 + lengths), np.append(starts, page.size))
    return int(lengths.max(initial=0)) if is_chain else None


def _read_header(source: pa.NativeFile, at: int) -> tuple[dict[int, Any], int]:
    """Return the fields of the header at a byte, by number, and its length."""
    wanted = _HEADER
    while True:
        source.seek(at)
        data = source.read(wanted)
        try:
            return _struct(data, 0, 0)
        except IndexError:
            if len(data) < wanted or wanted >= _LONGEST_HEADER:
                raise ValueError(f"a page header is cut off at byte {at}") from None
            wanted *= 8


def _struct(data: bytes, at: int, depth: int) -> tuple[dict[int, Any], int]:
    """Return the fields of a struct, by number, and where it ends; IndexError: beyond `data`."""
    if depth > 8:
        raise ValueError("a field is nested too deep")
    fields: dict[int, Any] = {}
    number = 0
    while kind := data[at]:
        at += 1
        if kind >> 4:
            number += kind >> 4
        else:
            number, at = read_integer(data, at)
        fields[number], at = _value(data, at, kind & 15, depth)
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    """Return a value of a kind and where it ends; texts and lists are skipped."""
    match kind:
        case 1 | 2:
            return kind == 1, at
        case 3:
            return data[at], at + 1
        case 4 | 5 | 6:
            return read_integer(data, at)
        case 7:
            return None, at + 8
        case 8:
            length, at = read_varint(data, at)
            return None, at + length
        case 9 | 10:
            head, at = data[at], at + 1
            count, at = (head >> 4, at) if head >> 4 < 15 else read_varint(data, at)
            if count > len(data) - at:  # each takes a byte at least
                raise IndexError
            for _ in range(count):
                # A boolean takes a byte in a list, none in a struct.
                of = 3 if head & 15 in (1, 2) else head & 15
                _, at = _value(data, at, of, depth + 1)
            return None, at
        case 12:
            return _struct(data, at, depth + 1)
    raise ValueError(f"a field has the unknown kind {kind}")


def skip_value(data: bytes, at: int, kind: int) -> int:
    """Return where a value of a kind of the compact protocol ends.

    Raises:
        IndexError: It ends beyond `data`.
        ValueError: It is damaged.
    """
    if 4 <= kind <= 6:  # most are numbers
        while data[at] > 127:
            at += 1
        return at + 1
    return _value(data, at, kind, 0)[1]


def read_integer(data: bytes, at: int) -> tuple[int, int]:
    """Return the signed number at a byte and where it ends; raises as `skip_value`."""
    if (number := data[at]) < 128:  # most are
        return (number >> 1) ^ -(number & 1), at + 1
    number, at = read_varint(data, at)
    return (number >> 1) ^ -(number & 1), at


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the unsigned number at a byte and where it ends; raises as `skip_value`."""
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number, at
        shift += 7
        if shift > 63:
            raise ValueError("a number has more than 64 bits")
