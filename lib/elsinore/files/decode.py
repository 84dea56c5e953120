"""Lines of JSON made into typed events as columns, every unusable line kept with its reason."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import accumulate, islice
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.json import ParseOptions, ReadOptions, read_json

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.events import ARROW_TYPES, TIME_COLUMN
from elsinore.files.advice import json_problem
from elsinore.files.plausible import usable_times
from elsinore.files.read_lines import LINES_SCHEMA, fault_in
from elsinore.files.records import ArrowRecords, Rows, first_name
from elsinore.files.rejection import Fault, Reason, rejected_rows, shown
from elsinore.files.type_records import Decoded, concat_decoded, type_records
from elsinore.files.typed import decimal_number, type_times, whole_number
from elsinore.timeline import HOUR, TimeUnit, format_instant, hour_label, parse_hour

#: Objects and arrays inside one another. Events are flat; a limit of our own keeps the outcome
#: from depending on how deep the interpreter's stack happens to be.
MAX_DEPTH = 64
#: Keys of one record, also in nested objects. Parsing takes some 500 bytes of memory for each.
MAX_KEYS = 10_000
#: A key with its colon takes at least these bytes, so shorter lines need no count.
_KEY_BYTES = 4
#: Problems of a list, and of an object on several lines.
ARRAY = "a list is not an object; write one event per line with `jq -c '.[]'`"
PARTED = "an object continues on other lines; write one event per line with `jq -c .`"
#: Brackets outside of strings; a string may be without its end. Nothing here backtracks.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)
#: Strings, and the colons between keys and values.
_COLON = re.compile(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?|:', re.DOTALL)
_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
#: Numbers that Arrow reads and Python does not; `Infinity` is among them, which both do.
_ODD_NUMBER = re.compile(rb"[:,\[]\s*(?:-NaN|-?Inf)")
#: Arrow's message for a number in a field that should be text; whole numbers are allowed there.
_NUMBER_FOR_TEXT = re.compile(r"Column\(/(.*)\) changed from string to number")
#: Lines decoded at a time: enough for fast columns, few enough for the processor's caches. A line
#: that is not JSON slows down only its batch. (Bisection was slower.)
_AT_ONCE = 8_192
#: Lines whose keys are checked before all others.
_LOOK = 256


def decode_lines(lines: pa.RecordBatch | pa.Table, schema: StreamSchema) -> Decoded:
    """Decode JSON records to typed events.

    An invalid record is rejected with its first error. Errors are checked in this order: encoding
    and JSON, time, type, id, attributes in the order of the schema. Strings are kept unchanged:
    they are neither trimmed nor converted to a Unicode normal form.

    Each call takes some milliseconds, so pass the records of many small files together.

    Args:
        lines: The columns `file`, `record_number` (int64) and `record` (string).
        schema: The schema of the stream.
    """
    table = pa.table(lines) if isinstance(lines, pa.RecordBatch) else lines
    # As one chunk: otherwise records of many small files would be decoded in many small blocks.
    batches = table.select(LINES_SCHEMA.names).combine_chunks().to_batches(max_chunksize=_AT_ONCE)
    # Arrow releases the GIL while it parses: 4.4 us per line on two cores, 6.8 us on one.
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return concat_decoded(pool.map(partial(_decode, schema=schema), batches), schema)


def _decode(batch: pa.RecordBatch, schema: StreamSchema) -> Decoded:
    """Decode a block with Arrow's parser if possible, and invalid lines with Python."""
    clean = parse_clean_block(batch["record"], schema)
    if clean is None:
        return _decode_each(pa.table(batch), schema)
    rows = pa.array(np.arange(batch.num_rows))
    decoded = type_records(
        ArrowRecords(clean), pa.table({"file": batch["file"], "record_number": rows}), {}, schema
    )
    events, rejected = decoded.events, decoded.rejected
    if number := rejected.num_rows:  # decoded again line by line, to get their errors
        wrong = batch.take(rejected["record_number"].combine_chunks())
        rejected = _decode_each(pa.table(wrong), schema).rejected
        if rejected.num_rows < number:
            return _decode_each(pa.table(batch), schema)
    positions = batch["record_number"].take(events["record_number"].combine_chunks())
    at = events.schema.get_field_index("record_number")
    events = events.set_column(at, events.schema.field(at), positions)
    return Decoded(events, rejected, decoded.ignored, decoded.nanoseconds)


def _decode_each(lines: pa.Table, schema: StreamSchema) -> Decoded:
    """Decode line by line, with the error of each line."""
    texts: list[str] = lines["record"].to_pylist()
    parsed = list(map(parse_json, texts))
    faults = {row: fault for row, fault in enumerate(parsed) if isinstance(fault, Fault)}
    records = _JsonRecords(parsed, texts, quoted=schema.quoted_numbers)
    return type_records(records, lines.select(["file", "record_number"]), faults, schema)


def line_times(lines: Sequence[str], schema: StreamSchema) -> pa.Array:
    """Return the event time of each raw line, usable or not; NULL for lines without a time."""
    found = map(parse_json, lines)
    parsed = [{} if isinstance(record, Fault) else record for record in found]
    records = _JsonRecords(parsed, list(lines), quoted=schema.quoted_numbers)
    column = records.column(schema.time_field)
    times = type_times(column, schema.time_unit, quoted=schema.quoted_numbers).array
    return pc.if_else(usable_times(times, schema), times, None)


def field_values(lines: Iterable[str], field: str) -> Iterator[Any]:
    """Yield the value of a raw field in each line; None for lines without it or without JSON."""
    for record in map(parse_json, lines):
        yield None if isinstance(record, Fault) else _inside(record, field)


def reject_far(decoded: Decoded, lines: pa.Table, schema: StreamSchema) -> Decoded:
    """Reject decoded events whose time is too far from the hour of their file.

    A clock of 2099, or seconds that were read as milliseconds, would put an event into a window
    that no run computes. Rejected records are not sorted.

    Args:
        decoded: Events and rejected records; their positions are row numbers of `lines`.
        lines: The columns `file_hour` and `record`.
        schema: The schema of the stream.
    """
    events = decoded.events
    rows, times = events["record_number"].to_numpy(), events[TIME_COLUMN].to_numpy()
    landings = lines["file_hour"].combine_chunks().take(rows).dictionary_encode()
    starts = [parse_hour(label) for label in landings.dictionary.to_pylist()]
    start = np.array(starts, np.int64)[landings.indices]
    far = (times < start - schema.allowed_lateness) | (
        times >= start + HOUR + schema.max_clock_skew
    )
    if not far.any():
        return decoded
    reasons = [
        f"{format_instant(time)} is too far from {hour_label(hour)}, the hour of its file"
        for time, hour in zip(times[far].tolist(), start[far].tolist(), strict=True)
    ]
    faults = [Fault(Reason.TIME_FAR_FROM_LANDING, reason) for reason in reasons]
    gone = rejected_rows(events.filter(far), lines["record"].take(rows[far]), faults)
    rejected = pa.concat_tables([decoded.rejected, gone])
    return Decoded(events.filter(~far), rejected, decoded.ignored)


class _JsonRecords:
    """Parsed lines; fields of rejected lines are not read."""

    def __init__(self, records: list[Any], lines: list[str], *, quoted: bool) -> None:
        self.quoted = quoted
        self._records = records
        self._lines = lines

    def select(self, rows: Rows) -> _JsonRecords:
        chosen = rows.tolist()
        records, lines = self._records, self._lines
        return _JsonRecords(
            [records[row] for row in chosen], [lines[row] for row in chosen], quoted=self.quoted
        )

    def texts(self) -> list[str]:
        return self._lines

    def column(self, field: str) -> list[Any]:
        if "." not in field:
            return [record.get(field) for record in self._records]
        return [_inside(record, field) for record in self._records]


def _inside(value: Any, path: str) -> Any:
    """Return the value at a path in nested objects; None if there is none."""
    while isinstance(value, dict) and (name := first_name(path, value)) is not None:
        value = value[name]
        if name == path:
            return value
        path = path[len(name) + 1 :]
    return None


def parse_json(line: str) -> dict[str, Any] | Fault:
    """Return the object of a line, or its error.

    Errors are invalid JSON, a value that is not an object, repeated keys, more than `MAX_KEYS`
    keys, and nesting beyond `MAX_DEPTH`. `NaN` and `Infinity` are numbers: a double may be NaN, and
    for other attributes the error can then name the attribute.
    """
    if is_too_deep(line):
        return _refusal(line, Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH}")
    if len(line) > MAX_KEYS * _KEY_BYTES and _has_too_many_keys(line):
        return _refusal(line, Reason.TOO_MANY_KEYS, f"more than {MAX_KEYS:,} keys")
    try:
        record = _DECODER.decode(line)
    except json.JSONDecodeError as error:
        if line.lstrip().startswith("["):
            return _refusal(line, Reason.NOT_AN_OBJECT, ARRAY)
        return _refusal(line, Reason.BAD_JSON, json_problem(line, error))
    except _RepeatedKey as error:
        return _refusal(line, Reason.BAD_JSON, str(error))
    if not isinstance(record, dict):
        text = ARRAY if isinstance(record, list) else f"{shown(record)} is not an object"
        return _refusal(line, Reason.NOT_AN_OBJECT, text)
    return record


def _refusal(line: str, code: Reason, text: str) -> Fault:
    return fault_in(line) or Fault(code, text)


def is_too_deep(line: str) -> bool:
    """Return whether a line is nested deeper than `MAX_DEPTH`; its rest is not looked at then."""
    if line.count("[") + line.count("{") <= MAX_DEPTH:
        return False
    steps = (_STEPS.get(token[0], 0) for token in _TOKEN.finditer(line))
    return any(depth > MAX_DEPTH for depth in accumulate(steps))


def _has_too_many_keys(line: str) -> bool:
    if line.count(":") <= MAX_KEYS:
        return False
    colons = (token for token in _COLON.finditer(line) if token[0] == ":")
    return next(islice(colons, MAX_KEYS, None), None) is not None


class _RepeatedKey(ValueError):
    pass


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict; ValueError: a key occurs twice."""
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = Counter(key for key, _ in pairs)
        raise _RepeatedKey(f"key {shown(keys.most_common(1)[0][0])} occurs twice")
    return record


#: Made once: `json.loads` would make one for each line, which takes as long as to parse it.
_DECODER = json.JSONDecoder(
    object_pairs_hook=unique_keys, parse_int=whole_number, parse_float=decimal_number
)


def parse_clean_block(lines: pa.Array, schema: StreamSchema) -> pa.Table | None:
    """Parse a block of lines with Arrow, one record per line and one column per field.

    Arrow's parser is at least as strict as Elsinore's: it rejects numbers in string fields, strings
    in number fields, and repeated keys. A string field may have whole numbers in all lines. Arrow
    and Elsinore read all accepted values equally, except `-NaN` and `Inf`, which Python does not
    write; a property test checks this. Arrow ignores fields that the stream does not have, so they
    are checked separately for repeated keys and deep nesting.

    Args:
        lines: Strings without NULLs.
        schema: The schema of the stream.

    Returns:
        The records. None if Arrow rejects the block, or if records may not match lines. They match
            if there is one record per line, and each line begins with `{` and has no other `{`, or
            ends with `}`.
    """
    fields = _fields(schema)
    if fields is None or not pc.all(pc.starts_with(lines, "{")).as_py():
        return None
    if _may_have_too_many_keys(lines):
        return None
    every = pa.ListArray.from_arrays(pa.array([0, len(lines)], pa.int32()), lines)
    block = pc.binary_join(every, "\n")[0].as_buffer().to_pybytes()
    odd = (b"-NaN" in block or b"Inf" in block) and _ODD_NUMBER.search(block)
    if odd or not (block.count(b"{") == len(lines) or _end_in_each(lines, schema)):
        return None
    unexpected = "error"
    while True:
        try:
            table = _parsed(block, fields, unexpected)
            return table if table.num_rows == len(lines) else None
        except pa.ArrowInvalid as error:
            numbers = _NUMBER_FOR_TEXT.search(problem := str(error))
        at = fields.get_field_index(numbers[1]) if numbers else -1
        if at >= 0 and fields.field(at).type == pa.string():
            fields = fields.set(at, pa.field(fields.names[at], pa.int64()))
        elif unexpected == "error" and "unexpected field" in problem and _others_are_sound(lines):
            unexpected = "ignore"
        else:
            return None


def _may_have_too_many_keys(lines: pa.Array) -> bool:
    if not len(lines) or pc.max(pc.binary_length(lines)).as_py() <= MAX_KEYS * _KEY_BYTES:
        return False
    return bool(pc.max(pc.count_substring(lines, ":")).as_py() > MAX_KEYS)


def _end_in_each(lines: pa.Array, schema: StreamSchema) -> bool:
    """Return whether no record goes on in the next line, which begins with `{`.

    After a `}` that leaves an object open there is never a `{`. Nested fields are not checked, so
    the stream must not read any.
    """
    nested = any("." in name for name in (*schema.raw_needed, *dict(schema.raw_attributes)))
    return not nested and pc.all(pc.ends_with(lines, "}")).as_py()


def _parsed(block: bytes, fields: pa.Schema, unexpected: str) -> pa.Table:
    return read_json(
        pa.BufferReader(block),
        read_options=ReadOptions(use_threads=False, block_size=len(block) + 1),
        parse_options=ParseOptions(explicit_schema=fields, unexpected_field_behavior=unexpected),
    )


def _others_are_sound(lines: pa.Array) -> bool:
    """Return whether no line has a repeated key or is nested too deep, also in unread fields.

    Uncertain lines are parsed, which is slow if there are many.
    """
    opened = (pc.count_substring(lines, bracket) for bracket in "{[")
    if pc.max(pc.add(*opened)).as_py() > MAX_DEPTH:
        return False
    for part in (lines[:_LOOK], lines):
        doubtful = _lines_with_doubtful_keys(part)
        if len(doubtful) > len(part) // 8:
            return False
    texts = lines.take(pa.array(doubtful)).to_pylist()
    return not any(isinstance(parse_json(text), Fault) for text in texts)


def _lines_with_doubtful_keys(lines: pa.Array) -> Rows:
    """Return the rows of lines that may have a repeated key, or a key that is not plain `"x":`.

    A line is split at quotes. A part is a key if a colon follows it.
    """
    parts = pc.split_pattern(lines, '"')
    text, line = parts.flatten(), pc.list_parent_indices(parts).to_numpy()
    at = np.flatnonzero(pc.starts_with(text, ":").to_numpy(zero_copy_only=False)) - 1
    codes = text.take(pa.array(at)).dictionary_encode().indices.to_numpy()
    places = np.sort(line[at] * len(text) + codes)
    twice = places[1:][places[1:] == places[:-1]] // len(text)
    odd = pc.match_substring_regex(lines, r'\\|"[ \t\r]').to_numpy(zero_copy_only=False)
    return np.union1d(twice, np.flatnonzero(odd))


def _fields(schema: StreamSchema) -> pa.Schema | None:
    """Return the types for Arrow's parser by raw field; None if a field has two types."""
    number_or_text = pa.string() if schema.time_unit is TimeUnit.ISO else pa.int64()
    wanted = [(name, pa.string()) for name in schema.raw_needed]
    wanted[0] = (schema.time_field, number_or_text)
    for name, kind in schema.raw_attributes:
        as_text = kind is AttributeType.TIMESTAMP
        wanted.append((name, pa.string() if as_text else ARROW_TYPES[kind]))
    distinct = dict(wanted)
    if any(distinct[name] != of for name, of in wanted):
        return None
    return pa.schema(list(distinct.items()))
