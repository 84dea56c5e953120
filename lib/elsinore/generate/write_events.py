"""Events to files that `files.read_events` reads: jsonl, jsonl.gz, parquet."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from elsinore.catalog.stream import AttributeType, EventType, StreamSchema
from elsinore.errors import ParameterError
from elsinore.events import TIME_COLUMN, TYPE_COLUMN, EventTable
from elsinore.places import whole_file

#: Events written at once: some 20 MB of text.
_AT_ONCE = 131_072
#: The fourth level packs nearly as well as the sixth in half the time.
_COMPRESSION = 4
_FORMATS = (".jsonl", ".jsonl.gz", ".parquet")

#: Called with the number of written events.
OnWritten = Callable[[int], None]


def require_format(path: Path) -> str:
    """The format that a file's name says, one of three (`_FORMATS`); else ParameterError."""
    for suffix in _FORMATS:
        if path.name.lower().endswith(suffix) and path.name.lower() != suffix:
            return suffix
    raise ParameterError(
        f"unknown format: {path}", hint=f"use a name that ends in {', '.join(_FORMATS)}"
    )


def write_events(events: EventTable, path: Path, on_written: OnWritten | None = None) -> None:
    """Write events in their order; `id` counts them from 1.

    The same events give the same bytes. The file, whose name says the format, appears only when it
    is whole, in place of an existing one. The schema has ids and ISO times, and no timestamps among
    its attributes; the text of events needs no escapes in JSON.

    Raises:
        ParameterError: the name says no format, or the file cannot be written.
    """
    kind = require_format(path)
    write = _write_parquet if kind == ".parquet" else _write_jsonl
    try:
        with whole_file(path, _COMPRESSION if kind.endswith(".gz") else None) as out:
            for written in write(events, out):
                if on_written is not None:
                    on_written(written)
    except OSError as error:
        hint = "name a file in a writable directory"
        raise ParameterError(
            f"cannot write {path}: {error.strerror or error}", hint=hint
        ) from error


def _write_jsonl(events: EventTable, out: BinaryIO) -> Iterator[int]:
    """Write events bit by bit; gives how many have been written."""
    for begin in range(0, len(events), _AT_ONCE):
        out.write(json_lines(events, begin, begin + _AT_ONCE))
        yield min(begin + _AT_ONCE, len(events))


def json_lines(events: EventTable, begin: int, end: int) -> bytes:
    """The events from `begin` up to `end` as lines of JSON."""
    table = events.table.slice(begin, end - begin)
    numbers = pa.array(np.arange(begin + 1, begin + 1 + table.num_rows))
    types = table[TYPE_COLUMN].to_numpy()
    parts, rows = [], []
    for code, kind in enumerate(events.schema.types):
        chosen = np.flatnonzero(types == code)
        if chosen.size:
            rows.append(chosen)
            parts.append(_lines(events.schema, kind, table.take(chosen), numbers.take(chosen)))
    in_order = pa.concat_arrays(parts).take(pa.array(np.argsort(np.concatenate(rows))))
    # The bytes of a column of text lie one after the other, and every line has its line end.
    _, ends, characters = in_order.buffers()
    length = int(np.frombuffer(ends, np.int32)[len(in_order)])
    return bytes(memoryview(characters)[:length])


def _lines(schema: StreamSchema, kind: EventType, table: pa.Table, numbers: pa.Array) -> pa.Array:
    """One string an event, all of one type."""
    pieces: list[pa.Array | str] = [f'{{"{schema.id_field}":', numbers.cast(pa.string())]
    pieces += [f',"{schema.time_field}":"', _iso(table[TIME_COLUMN]), '"']
    pieces.append(f',"{schema.type_field}":"{kind.name}"')
    for attribute in kind.attributes:
        values = table[attribute.name].combine_chunks().cast(pa.string())
        if attribute.type is AttributeType.STRING:
            values = pc.binary_join_element_wise('"', values, '"', "")
        pieces += [f',"{attribute.name}":', pc.coalesce(values, "null")]
    return pc.binary_join_element_wise(*pieces, "}\n", "")


def _iso(times: pa.ChunkedArray) -> pa.Array:
    texts = times.combine_chunks().cast(pa.timestamp("us")).cast(pa.string())
    return pc.binary_join_element_wise(pc.replace_substring(texts, " ", "T"), "Z", "")


def _write_parquet(events: EventTable, out: BinaryIO) -> Iterator[int]:
    schema, names = events.schema, pa.array([kind.name for kind in events.schema.types])

    def piece(begin: int) -> pa.Table:
        table = events.table.slice(begin, _AT_ONCE)
        columns = {
            str(schema.id_field): pa.array(np.arange(begin + 1, begin + 1 + table.num_rows)),
            schema.time_field: table[TIME_COLUMN].cast(pa.timestamp("us", "UTC")),
            str(schema.type_field): names.take(table[TYPE_COLUMN].combine_chunks()),
        }
        return pa.table(columns | {name: table[name] for name in schema.attributes})

    with pq.ParquetWriter(out, piece(0).schema, compression="zstd") as writer:
        for begin in range(0, len(events), _AT_ONCE):
            writer.write_table(table := piece(begin))
            yield begin + table.num_rows
