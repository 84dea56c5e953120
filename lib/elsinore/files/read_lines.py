"""JSON-lines files as batches of raw lines, for landing and decoding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from elsinore.files.raw_lines import ReadLimits, raw_lines
from elsinore.files.rejection import printable

#: Columns of raw lines; `position` counts from 1.
LINES_SCHEMA = pa.schema(
    [
        pa.field("file", pa.string(), False),
        pa.field("position", pa.int64(), False),
        pa.field("line", pa.string(), False),
    ]
)

_DEFAULTS = ReadLimits()


def read_lines(
    path: Path, *, limits: ReadLimits = _DEFAULTS, name: str | None = None
) -> Iterator[pa.RecordBatch]:
    """Batches of `LINES_SCHEMA`; blank lines are no events and are left out, but counted.

    Bytes that are no UTF-8 and lines that are too long stay visible in the text, spelled such that
    `decode_lines` rejects them with their reason.

    Args:
        path: a `.jsonl` or `.jsonl.gz` file (any name in `.gz` is unpacked).
        limits: bounds on what is read.
        name: what the column `file` says; None: the path.

    Raises:
        DataError: the file cannot be read.
        UnreadableFile: nothing of it can be used; raised before the first batch, unless a plain
            file changes or breaks while it is read.
    """
    label = printable(str(path) if name is None else name)
    positions: list[int] = []
    lines: list[str] = []
    size = 0
    for line in raw_lines(path, limits):
        text = line.text.rstrip("\r")
        if not text.strip(" \t\r"):
            continue
        positions.append(line.position)
        lines.append(text)
        size += len(text)
        if len(lines) >= limits.batch_lines or size >= limits.batch_bytes:
            yield _batch(label, positions, lines)
            positions, lines, size = [], [], 0
    if lines:
        yield _batch(label, positions, lines)


def _batch(label: str, positions: list[int], lines: list[str]) -> pa.RecordBatch:
    columns = [pa.repeat(label, len(lines)), pa.array(positions), pa.array(lines, pa.string())]
    return pa.record_batch(columns, schema=LINES_SCHEMA)
