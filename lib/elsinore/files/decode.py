"""Lines of JSON made into typed events as columns, every unusable line kept with its reason."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.files.arrow_records import ArrowRecords
from elsinore.files.clean_block import parse_clean_block
from elsinore.files.decoded import Decoded, concat_decoded
from elsinore.files.json_values import json_ids, json_times, json_values
from elsinore.files.parse_json import parse_json
from elsinore.files.read_lines import LINES_SCHEMA
from elsinore.files.rejection import Fault, printable
from elsinore.files.type_records import Rows, type_records
from elsinore.files.typed import Typed
from elsinore.timeline import Interval, TimeUnit

#: Lines decoded at a time: enough to make columns pay, few enough for the processor's caches; and
#: one bad line slows down no more than these.
_AT_ONCE = 8_192


def decode_lines(
    lines: pa.RecordBatch | pa.Table, schema: StreamSchema, *, plausible: Interval | None = None
) -> Decoded:
    """Typed events of raw JSON lines.

    A line is an event or it is rejected with the first fault found in it, in the order: the line
    as text and JSON, time, type, id, attributes as the schema lists them. Text is kept as it came:
    it is neither trimmed nor brought into a Unicode normal form.

    A call costs some milliseconds whatever its size: hand over the lines of many small files at
    once.

    Args:
        lines: columns `file` (string), `position` (int64), `line` (string); others are ignored.
        schema: what events may be.
        plausible: event times that are taken for real; None: years 1900 to 2199, from 1971 for
            times written as numbers, and `timeline.TICKS` (see `instants.plausible_times`).
    """
    table = pa.table(lines) if isinstance(lines, pa.RecordBatch) else lines
    # In one piece: a table of many small files would be decoded in as many small blocks.
    batches = table.select(LINES_SCHEMA.names).combine_chunks().to_batches(max_chunksize=_AT_ONCE)
    return concat_decoded((_decode(batch, schema, plausible) for batch in batches), schema)


def _decode(batch: pa.RecordBatch, schema: StreamSchema, plausible: Interval | None) -> Decoded:
    where = pa.table(batch.select(["file", "position"]))
    clean = parse_clean_block(batch["line"], schema)
    if clean is not None:
        decoded = type_records(ArrowRecords(clean), where, {}, schema, plausible)
        # Whatever is wrong is left to the way that can tell what.
        if not decoded.rejected.num_rows:
            return decoded
    lines: list[str] = batch["line"].to_pylist()
    parsed = list(map(parse_json, lines))
    faults = {row: fault for row, fault in enumerate(parsed) if isinstance(fault, Fault)}
    return type_records(_JsonRecords(parsed, lines), where, faults, schema, plausible)


class _JsonRecords:
    """Parsed lines; those that are faults are never asked for their fields."""

    def __init__(self, records: list[Any], lines: list[str]) -> None:
        self._records = records
        self._lines = lines

    def select(self, rows: Rows) -> _JsonRecords:
        chosen = rows.tolist()
        return _JsonRecords(
            [self._records[row] for row in chosen], [self._lines[row] for row in chosen]
        )

    def times(self, field: str, unit: TimeUnit) -> Typed:
        return json_times(self._column(field), unit)

    def values(self, field: str, kind: AttributeType) -> Typed:
        return json_values(self._column(field), kind)

    def ids(self, field: str) -> Typed:
        return json_ids(self._column(field))

    def other_fields(self, known: frozenset[str]) -> Counter[str]:
        counts: Counter[str] = Counter()
        strange = {name for names in set(map(tuple, self._records)) for name in names} - known
        if strange:
            for record in self._records:
                counts.update(name for name in strange & record.keys() if record[name] is not None)
        return Counter({printable(name): count for name, count in counts.items()})

    def texts(self) -> list[str]:
        return self._lines

    def _column(self, field: str) -> list[Any]:
        return [record.get(field) for record in self._records]
