"""Convert integers of any length to and from text and JSON.

Counts of trends grow exponentially: a hundred thousand events give counts of 30,000 digits. Python
refuses to convert more than 4,300 digits, because its own conversion takes quadratic time, so that
long input could block a process. That limit belongs to the whole process, so it stays as it is. GMP
converts in nearly linear time and has no such limit.
"""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import uuid4

#: Python converts integers of fewer bits without checking its limit (at least 640 digits). From
#: here on GMP is faster.
_WIDE = 1_000
_INTEGER = re.compile(r"-?[0-9]+")


def digits_of(number: int) -> str:
    """Return an integer in decimal digits.

    >>> digits_of(-12), len(digits_of(2**100_000))
    ('-12', 30103)
    """
    if number.bit_length() < _WIDE:
        return str(int(number))
    from gmpy2 import mpz  # not needed to import the library

    return str(mpz(number))


def integer_of(digits: str) -> int:
    """Return the integer that decimal digits represent.

    Raises:
        ValueError: the text is not an integer.

    >>> integer_of("-12"), integer_of("9" * 100_000) == 10**100_000 - 1
    (-12, True)
    """
    if 3 * len(digits) < _WIDE:
        return int(digits)
    if not _INTEGER.fullmatch(digits):
        raise ValueError(f"not an integer: {digits[:40]!r}...")
    from gmpy2 import mpz

    return int(mpz(digits))


def text_of(value: object) -> str:
    """Return `str(value)`, also if the value is a long integer.

    >>> text_of(True), text_of(0.5), len(text_of(2**100_000))
    ('True', '0.5', 30103)
    """
    return digits_of(value) if type(value) is int else str(value)


def repr_of(value: object) -> str:
    """Return `repr(value)`, also if the value is or contains a long integer.

    >>> repr_of("a"), repr_of(10**5_000)[:5], repr_of([10**5_000])
    ("'a'", '10000', 'a list with an integer of thousands of digits')
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return digits_of(value)
    try:
        return repr(value)
    except ValueError:
        return f"a {type(value).__name__} with an integer of thousands of digits"


def to_json(value: Any, **options: Any) -> str:
    """Return `json.dumps(value, **options)`, with integers of any length in full.

    >>> to_json([True, {"n": 12}]), to_json({"n": 10**5_000}) == '{"n": 1' + "0" * 5_000 + "}"
    ('[true, {"n": 12}]', True)
    """
    try:
        return json.dumps(value, **options)
    except ValueError:  # from a long integer; any other cause is raised again below
        wide: dict[str, str] = {}
        # The marker is random, so that no string in the value can contain it.
        text = json.dumps(_with_marks(value, uuid4().hex, wide), **options)
        return re.sub("|".join(wide), lambda mark: wide[mark[0]], text) if wide else text


def _with_marks(value: Any, mark: str, wide: dict[str, str]) -> Any:
    """Replace each long integer with a marked text, and collect the digits by JSON text."""
    match value:
        case int() if value.bit_length() >= _WIDE:
            text = f"{mark}:{len(wide)}:"
            wide[f'"{text}"'] = digits_of(value)
            return text
        case dict():
            return {name: _with_marks(each, mark, wide) for name, each in value.items()}
        case list() | tuple():
            return [_with_marks(each, mark, wide) for each in value]
    return value


def from_json(text: str) -> Any:
    """Return `json.loads(text)`, with integers of any length.

    Raises:
        ValueError: the text is not JSON.

    >>> from_json('{"n": 1' + "0" * 5_000 + "}") == {"n": 10**5_000}
    True
    """
    return json.loads(text, parse_int=integer_of)
