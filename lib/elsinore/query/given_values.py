"""Values that callers give to parameters: options of commands, dicts of Python, and settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from numbers import Integral, Real
from typing import Any

from elsinore.errors import ParameterError
from elsinore.hints import Either, Hint
from elsinore.wording import shown

#: A value: a number, a truth value, or a string. A duration is a string with a number and a unit.
Value = int | float | bool | str

_SURROGATE = re.compile("[\ud800-\udfff]")
#: A value in quotes, or any other text up to the next comma.
_ITEM = re.compile(r"\s*(?:'((?:[^']|'')*)'|([^',][^,]*)?)\s*(,|\Z)")


@dataclass(frozen=True)
class Given:
    """The values that a caller gives to a parameter.

    Attributes:
        name: The parameter.
        values: One value, or the values of a list.
        kinds: Types of the values. Given values are keys of a cache, and 1 equals true and 1.0.
        is_list: True if the queries are answered once per value.
        is_text: True if the values are texts of a command, to be read by the type of the parameter.
        origin: The text that the caller wrote, for errors.
    """

    name: str
    values: tuple[Value, ...]
    kinds: tuple[type, ...]
    is_list: bool
    is_text: bool
    origin: str


def given_in_options(options: Iterable[str]) -> tuple[Given, ...]:
    """Return the values of options `--set name=value`; commas separate the values of a list.

    Raises:
        ParameterError: an option has no name or value, or a name is set twice.

    >>> [one] = given_in_options(["country=DE,'AT, CH'"])
    >>> one.name, one.values, one.is_list
    ('country', ('DE', 'AT, CH'), True)
    """
    found: dict[str, Given] = {}
    for option in options:
        name, equals, text = option.partition("=")
        origin = f"--set {shown(option)}"
        if not (equals and name.strip()):
            raise ParameterError(f"{origin} has no value", hint="as in --set name=10")
        name = name.strip()
        if name in found:
            hint = f"write all values in one option, as in --set {name}=1,2"
            raise ParameterError(f"{name} is set twice", hint=hint)
        values = tuple(_values(text, origin))
        kinds = (str,) * len(values)
        found[name] = Given(name, values, kinds, len(values) > 1, is_text=True, origin=origin)
    return tuple(found.values())


def _values(text: str, origin: str) -> Iterable[str]:
    """Yield the values of an option."""
    _require_characters(text, origin)
    start, sign = 0, ","
    while sign == ",":
        item = _ITEM.match(text, start)
        if item is None:
            hint = "put a value with a comma or quote in single quotes, and double its quotes"
            raise ParameterError(f"{origin} has an invalid quote", hint=hint)
        quoted, plain, sign = item.groups()
        if quoted is None and not plain:
            hint = "add a value, or write '' for an empty string"
            raise ParameterError(f"{origin} has an empty value", hint=hint)
        yield plain.strip() if quoted is None else quoted.replace("''", "'")
        start = item.end()


def given_in_mapping(
    params: Mapping[Any, object], origin: Callable[[str], str]
) -> tuple[Given, ...]:
    """Return the values of a dict from Python or JSON.

    Args:
        params: values by name; a list or tuple has several.
        origin: returns where a parameter is set, for errors.

    Raises:
        ParameterError: a value is of a type that no parameter has, or a list is empty.
    """
    found = []
    for name, value in params.items():
        if not isinstance(name, str):
            hint = "pass a dict with the names of parameters"
            raise ParameterError(f"{shown(name)} is not the name of a parameter", hint=hint)
        is_list = isinstance(value, Sequence) and not isinstance(value, str | bytes)
        items = tuple(value) if is_list and isinstance(value, Sequence) else (value,)
        if not items:
            raise ParameterError(f"{origin(name)} is an empty list", hint="pass at least one value")
        values = tuple(_plain(item, origin(name)) for item in items)
        kinds = tuple(map(type, values))
        found.append(Given(name, values, kinds, is_list, is_text=False, origin=origin(name)))
    return tuple(found)


def given_in_python(params: object) -> tuple[Given, ...]:
    """Return the values of the parameter `params` of functions; see `given_in_mapping`."""
    if params is not None and not isinstance(params, Mapping):
        hint = "as in params={'min_delay': 10}"
        raise ParameterError(f"params is {shown(params)}, not a dict", hint=hint)
    return given_in_mapping({} if params is None else params, lambda name: f"params[{shown(name)}]")


def _plain(value: object, origin: str) -> Value:
    """Return a value as a type of `Value`."""
    match value:
        case bool():
            return value
        case str():
            _require_characters(value, origin)
            return str(value)
        case Integral():
            return int(value)
        case Real():
            return float(value)
        case timedelta():
            return f"{value // timedelta(microseconds=1)} microseconds"
        case date():
            return value.isoformat()
    hint = Hint("use a number, a string or a truth value", Either("", ", or a list of them"))
    raise ParameterError(f"{origin} is {shown(value)}", hint=hint)


def _require_characters(text: str, origin: str) -> None:
    if _SURROGATE.search(text):
        message = f"{origin} has half of a character (a surrogate)"
        raise ParameterError(message, hint="write it in UTF-8")
