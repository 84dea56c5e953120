"""One line of JSON as a record, or what is wrong with it."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

from elsinore.files.raw_lines import fault_in
from elsinore.files.rejection import Fault, Reason, shown

#: Objects and arrays inside one another. Events are flat; a limit of our own keeps the outcome
#: from depending on how deep the interpreter's stack happens to be.
MAX_DEPTH = 64
#: Longer numbers are beyond every double and long; and Python refuses to read very long ones.
_MAX_DIGITS = 400

_raw_decode = json.JSONDecoder().raw_decode
#: Brackets outside of strings; a string may be without its end. Nothing here backtracks.
_TOKEN = re.compile(r'"[^"\\]*+(?:\\.?[^"\\]*+)*+"?|[\[{]|[\]}]', re.DOTALL)


def parse_json(line: str) -> dict[str, Any] | Fault:
    """The object that a line holds.

    Refused are, beside what is no JSON: anything but an object, keys that occur twice (which value
    is meant is anyone's guess), and nesting beyond `MAX_DEPTH`. `NaN` and `Infinity` are read as
    numbers: a double may be NaN, and where they are wrong the attribute can be named.
    """
    # Nearly all lines are flat and have `":` once for each key and nowhere else; that is cheap to
    # see, and it rules out deep nesting and doubled keys. All others take the careful way.
    if "[" in line or line.count("{") != 1 or '" ' in line or '"\t' in line or '"\r' in line:
        return _parse_carefully(line)
    try:
        record, end = _raw_decode(line)
    except ValueError:
        return _parse_carefully(line)
    if type(record) is not dict or end != len(line) or line.count('":') != len(record):
        return _parse_carefully(line)
    return record


def whole_number(digits: str) -> int:
    """An integer of any length, as far as it matters: what no double can hold becomes 1e400."""
    if len(digits) <= _MAX_DIGITS:
        return int(digits)
    return -(10**_MAX_DIGITS) if digits.startswith("-") else 10**_MAX_DIGITS


class _RepeatedKey(ValueError):
    pass


def _parse_carefully(line: str) -> dict[str, Any] | Fault:
    if _is_deeper(line, MAX_DEPTH):
        return _refusal(line, Reason.TOO_DEEP, f"nested deeper than {MAX_DEPTH}")
    try:
        record = json.loads(line, object_pairs_hook=_unique, parse_int=whole_number)
    except json.JSONDecodeError as error:
        return _refusal(line, Reason.BAD_JSON, f"{error.msg} at column {error.colno}")
    except _RepeatedKey as error:
        return _refusal(line, Reason.BAD_JSON, str(error))
    if not isinstance(record, dict):
        return _refusal(line, Reason.NOT_AN_OBJECT, f"{shown(record)} is not an object")
    return record


def _refusal(line: str, code: Reason, text: str) -> Fault:
    match fault_in(line):
        case Reason.LINE_TOO_LONG:
            return Fault(Reason.LINE_TOO_LONG, "the line is too long")
        case Reason.BAD_ENCODING:
            return Fault(Reason.BAD_ENCODING, "the line is not UTF-8")
    return Fault(code, text)


def _is_deeper(line: str, limit: int) -> bool:
    if line.count("[") + line.count("{") <= limit:
        return False
    depth = 0
    for token in _TOKEN.finditer(line):
        match token[0][0]:
            case "[" | "{":
                depth += 1
                if depth > limit:
                    return True
            case "]" | "}":
                depth -= 1
    return False


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        keys = Counter(key for key, _ in pairs)
        twice = keys.most_common(1)[0][0]
        raise _RepeatedKey(f"key {shown(twice)} occurs twice")
    return record
