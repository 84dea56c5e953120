"""Values as CSV has them, all text, made into typed columns."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType
from elsinore.files.instants import iso_instants, numeric_times
from elsinore.files.json_values import json_values
from elsinore.files.parse_json import whole_number
from elsinore.files.rejection import Reason
from elsinore.files.typed import Typed, one_chunk
from elsinore.timeline import TimeUnit

#: Spellings that Arrow parses as Python does; it takes hexadecimal integers too.
_PLAIN_LONG = r"^-?[0-9]{1,18}$"
_PLAIN_DOUBLE = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(_PLAIN_DOUBLE[1:-1])
_SPECIAL = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_BOOLEANS = {"true": True, "false": False}


def text_values(texts: list[str | None], kind: AttributeType) -> Typed:
    """A column of texts as an attribute's type.

    Numbers are plain decimals without blanks around them; a double may also be `nan` or, for
    `check_limits` to refuse, `inf`; booleans are `true` and `false`; all of these in any case. A
    long may be written with a fraction of zero, as for JSON.

    Args:
        texts: None where a field is empty.
        kind: the type to give them.
    """
    match kind:
        case AttributeType.STRING:
            return Typed(one_chunk(pa.array(texts, pa.string())), [])
        case AttributeType.TIMESTAMP:
            return iso_instants(one_chunk(pa.array(texts, pa.string())), Reason.WRONG_TYPE)
        case AttributeType.BOOLEAN:
            return json_values([_boolean(text) for text in texts], kind)
    column = one_chunk(pa.array(texts, pa.string()))
    plain = _PLAIN_LONG if kind is AttributeType.LONG else _PLAIN_DOUBLE
    if pc.all(pc.match_substring_regex(column, plain)).as_py() is not False:
        return Typed(column.cast(pa.int64() if kind is AttributeType.LONG else pa.float64()), [])
    return json_values([_number(text) for text in texts], kind)


def text_times(texts: list[str | None], unit: TimeUnit) -> Typed:
    """A column of event times, in microseconds (or ticks)."""
    if unit is TimeUnit.ISO:
        return iso_instants(one_chunk(pa.array(texts, pa.string())), Reason.BAD_TIME)
    return numeric_times([_number(text) for text in texts], unit)


def text_ids(texts: list[str | None]) -> Typed:
    """A column of event ids."""
    return text_values(texts, AttributeType.STRING)


def _boolean(text: str | None) -> bool | str | None:
    return None if text is None else _BOOLEANS.get(text.lower(), text)


def _number(text: str | None) -> int | float | str | None:
    """The number that a text spells, or the text itself, for the rules of JSON to refuse."""
    if text is None:
        return None
    if _WHOLE.fullmatch(text):
        return whole_number(text)
    if _NUMBER.fullmatch(text) or _SPECIAL.fullmatch(text):
        return float(text)
    return text
