"""What decoding gives: typed events as columns, and the lines that are none, with reasons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from elsinore.catalog.stream import StreamSchema
from elsinore.events import arrow_schema
from elsinore.files.rejection import REJECTED_SCHEMA

#: More names of unknown fields than this are counted together, under `OTHER_FIELDS`.
MAX_FIELD_NAMES = 1_000
OTHER_FIELDS = "(others)"


@dataclass(frozen=True)
class Decoded:
    """Events and rejected lines of one input; together they are all of its lines.

    Attributes:
        events: columns of `decoded_schema`, in the order of the input.
        rejected: columns of `REJECTED_SCHEMA`, in the order of the input.
        extra_fields: how many records of a known type carried each field that their type does not
            have. Such fields are no fault; a count shows that a producer changed.
    """

    events: pa.Table
    rejected: pa.Table
    extra_fields: dict[str, int]

    @property
    def lines(self) -> int:
        """How many lines or rows were decoded."""
        return int(self.events.num_rows + self.rejected.num_rows)


def decoded_schema(schema: StreamSchema) -> pa.Schema:
    """`event_id` (NULL where events have none), the columns of `arrow_schema`, file, position.

    Position is the 1-based line (jsonl, csv) or row (parquet) in the file.
    """
    return pa.schema(
        [
            pa.field("event_id", pa.string()),
            *arrow_schema(schema),
            pa.field("file", pa.string(), False),
            pa.field("position", pa.int64(), False),
        ]
    )


def concat_decoded(parts: Iterable[Decoded], schema: StreamSchema) -> Decoded:
    """Several parts as one; no parts give empty tables."""
    events, rejected = [decoded_schema(schema).empty_table()], [REJECTED_SCHEMA.empty_table()]
    fields: Counter[str] = Counter()
    for part in parts:
        events.append(part.events)
        rejected.append(part.rejected)
        fields.update(part.extra_fields)
    return Decoded(pa.concat_tables(events), pa.concat_tables(rejected), bounded(fields))


def bounded(fields: Counter[str]) -> dict[str, int]:
    """Counts by name, so many names at most that hostile input cannot fill the memory."""
    names = Counter(fields)
    others = names.pop(OTHER_FIELDS, 0)
    named = dict(names.most_common(MAX_FIELD_NAMES))
    others += sum(names.values()) - sum(named.values())
    return {**named, OTHER_FIELDS: others} if others else named
