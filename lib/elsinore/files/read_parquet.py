"""Events from Parquet files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import DataError
from elsinore.files.arrow_records import ArrowRecords
from elsinore.files.read_lines import DEFAULT_LIMITS, ReadLimits, open_unpacked, too_large
from elsinore.files.rejection import Reason, UnreadableFile, printable
from elsinore.files.type_records import Decoded, type_records
from elsinore.timeline import Interval

_AT_ONCE = 65_536


def read_parquet(
    path: Path,
    schema: StreamSchema,
    *,
    limits: ReadLimits = DEFAULT_LIMITS,
    plausible: Interval | None = None,
) -> Iterator[Decoded]:
    """Typed events of a Parquet file, some ten thousand rows at a time; see `ArrowRecords`.

    Positions are rows, from 1. A rejected row is kept as JSON.

    Args:
        path: a `.parquet` file; `.parquet.gz` is unpacked in memory.
        schema: what events may be.
        limits: bounds on what is read.
        plausible: as for `decode_lines`.

    Raises:
        DataError: the file cannot be read.
        UnreadableFile: nothing of it can be used. Parquet has no checksum of the whole: damage
            to a page may show when earlier batches are out, so use none before the last.
    """
    label = printable(str(path))
    position = 1
    with open_unpacked(path, limits) as stream:
        packed = path.suffix.lower() == ".gz"
        source = pa.BufferReader(stream.read()) if packed else pa.PythonFile(stream, "r")
        for batch in _batches(path, source, schema, limits):
            size = batch.num_rows
            numbers = pa.array(range(position, position + size), pa.int64())
            where = pa.table({"file": pa.repeat(label, size), "position": numbers})
            yield type_records(ArrowRecords(batch), where, {}, schema, plausible)
            position += size


def _batches(
    path: Path, source: pa.NativeFile, schema: StreamSchema, limits: ReadLimits
) -> Iterator[pa.Table]:
    try:
        file = pq.ParquetFile(source, page_checksum_verification=True)
        _check_columns(path, file, schema, limits)
        for batch in file.iter_batches(_AT_ONCE, use_threads=False):
            yield pa.table(batch)
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnreadableFile(
            f"{path} is no sound Parquet file: {str(error).splitlines()[0][:200]}",
            reason_code=Reason.CORRUPT_FILE,
            hint="write it anew",
            file=str(path),
        ) from error


def _check_columns(
    path: Path, file: pq.ParquetFile, schema: StreamSchema, limits: ReadLimits
) -> None:
    names = file.schema_arrow.names
    groups = (file.metadata.row_group(index) for index in range(file.metadata.num_row_groups))
    size = sum(group.total_byte_size for group in groups)
    if size > limits.file_bytes:
        raise too_large(path, f"unpacks to more than {limits.file_bytes} bytes")
    needed = [schema.time_field, schema.type_field, schema.id_field]
    lacking = [name for name in needed if name is not None and name not in names]
    twice = [name for name in names if names.count(name) > 1]
    if lacking or twice:
        problem = f"column {lacking[0]!r} is missing" if lacking else f"{twice[0]!r} occurs twice"
        raise UnreadableFile(f"{path}: {problem}", reason_code=Reason.BAD_HEADER, file=str(path))
