"""Wording of messages: the nearest name, lists, and errors of pydantic in plain words."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from elsinore.integers import repr_of, text_of

#: Pattern of the beginning of a string that a spreadsheet would run as a formula.
#: Some spreadsheets also take full-width characters. RE2 has no escapes for them.
FORMULA = r"(?:[ \t\r\n\f\v]*[=+\-@" + "\uff1d\uff0b\uff0d\uff20" + r"]|[\t\r\n])"


def closest(word: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """Return the known name closest to a word, or None; `alike` (0 to 1) is the least similarity.

    >>> closest("Departur", ["Arrival", "Departure"])
    'Departure'
    """
    lower = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), list(lower), n=1, cutoff=alike)
    return lower[close[0]] if close else None


def command(*words: object) -> str:
    """Return a shell command whose words, such as paths, are quoted where they need it.

    >>> command("rm", Path("a b"))
    "rm 'a b'"
    """
    texts = [
        f"./{word}" if isinstance(word, Path) and str(word).startswith("-") else str(word)
        for word in words
    ]
    return shlex.join(texts)


def suggest(word: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """Return a hint for a misspelled name, or None.

    >>> suggest("PATERN", ["PATTERN", "WHERE"])
    'did you mean PATTERN?'
    """
    name = closest(word, known, alike)
    return f"did you mean {name}?" if name is not None else None


def listed(names: Iterable[str]) -> str:
    """Return words as an enumeration.

    >>> listed(["WHERE", "WITHIN", "';'"])
    "WHERE, WITHIN or ';'"
    """
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last


def some_of(names: Iterable[str], most: int = 10) -> str:
    """Return the first names of a list, and the number of the others.

    >>> some_of(("a", "b", "c"), 2)
    'a, b and 1 more'
    """
    every = list(names)
    rest = len(every) - most
    return ", ".join(every[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def shown(value: object) -> str:
    """Return the representation of a value, cut if it is long.

    >>> shown("a" * 100)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa..."
    """
    text = repr_of(value)
    return text if len(text) <= 64 else f"{text[:60]}..."


def visible(text: str) -> str:
    r"""Return a string with its unprintable characters escaped.

    >>> visible("x = '\x07'")
    "x = '\\x07'"
    """
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def plural(noun: str, number: float) -> str:
    """Return a noun in the form that goes with a number.

    >>> plural("trend", 1), plural("query", 0), plural("mismatch", 2)
    ('trend', 'queries', 'mismatches')
    """
    if number == 1:
        return noun
    ending = "es" if noun.endswith("ch") else "s"
    return re.sub("(?<![aeiou])y$", "ie", noun) + ending


def program(*, anywhere: bool = False) -> str:
    """Return the command that starts Elsinore in this shell, for printed commands.

    It is `elsinore` if that is on PATH, or else the path of the running command.

    Args:
        anywhere: whether the command must also work in another directory.
    """
    called = Path(sys.argv[0])
    if called.name == "__main__.py" and called.parent.name == "elsinore":
        return f"{shlex.quote(sys.executable)} -m elsinore"
    found = shutil.which("elsinore")
    if called.name != "elsinore" or (found and called.resolve() == Path(found).resolve()):
        return "elsinore"
    return shlex.quote(os.path.abspath(sys.argv[0]) if anywhere else sys.argv[0])


#: Characters that control a terminal or reorder what it shows: C0 but for tabs and line ends, DEL,
#: C1, bidirectional marks, embeddings, overrides and isolates, and the separators of Unicode, which
#: end a line.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def escaped(text: str) -> str:
    r"""Return a string that cannot control a terminal; tabs and line ends stay.

    Escapes are written as in JSON, so that JSON keeps its meaning.

    >>> escaped('{"user": "\x9b31m\u202e"}')
    '{"user": "\\u009b31m\\u202e"}'
    """
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# ---- what pydantic finds

#: Names of types and units in other languages.
_MEANT = {
    **dict.fromkeys(("int", "integer", "bigint", "int64"), "long"),
    **dict.fromkeys(("float", "number", "numeric", "decimal", "real", "float64"), "double"),
    **dict.fromkeys(("str", "text", "varchar", "char", "enum", "uuid"), "string"),
    **dict.fromkeys(("datetime", "date", "time"), "timestamp"),
    **dict.fromkeys(("second", "seconds", "sec", "epoch", "unix"), "s"),
    **dict.fromkeys(("millisecond", "milliseconds", "millis", "epoch_ms"), "ms"),
    **dict.fromkeys(("microsecond", "microseconds", "micros", "epoch_us"), "us"),
}
#: How to write the parts of a schema.
_EXAMPLES = {
    "stream": "as in stream: shop",
    "time": "as in time: {field: ts, unit: iso}",
    "unit": "iso, s, ms, us, or integer for ticks without a unit",
    "field": "name the field of raw events, as in {field: ts}",
    "type": "as in type: {field: event}",
    "id": "as in id: {field: event_id}",
    "names": "as in names: {PageView: page view}",
    "allowed": "as in allowed: [EUR, USD]",
    "sources": 'as in sources: [{files: "*.csv"}]',
    "files": "as in {date}/{hour}/*.jsonl.gz",
    "types": "as in types: {View: {price: double}}",
    "per": "as in per: hour",
    "rates": "as in rates: {View: 5}",
    "rows": "as in rows: [[START, END, {COUNT(*): 1}]]",
}
#: Settings and types of other languages, with what to write instead.
_ELSEWHERE = {
    **dict.fromkeys(
        ("timezone", "tz", "zone"), "leave it out: timestamps without an offset are in UTC"
    ),
    **dict.fromkeys(
        ("format", "pattern"), "leave it out: unit: sets the format, ISO 8601 or numbers"
    ),
    **dict.fromkeys(
        ("ns", "nanosecond", "nanoseconds"), "divide nanoseconds by 1,000 and write us"
    ),
    **dict.fromkeys(("fields", "columns", "attributes", "events"), _EXAMPLES["types"]),
    **dict.fromkeys(("object", "struct", "record", "json"),
                    "list its fields, as in city: {type: string, field: address.city}"),
}  # fmt: skip
_NAME = "use only letters, digits and _, and begin with a letter"
#: How to rename what raw events call otherwise, by its depth in `types`.
_RENAMED = {
    3: ", with the name in events under type: {field: event, names: {PageView: page view}}",
    4: "; as in user_id: {type: string, field: user-id}",
}
#: The expected value, by the first word of a type of error.
_WANTED = {"string": "text", "bool": "true or false", "int": "a whole number", "float": "a number",
           "finite": "a number", "dict": "a mapping", "list": "a list", "tuple": "a list",
           "json": "JSON"}  # fmt: skip
_LIMITS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}


def in_plain_words(fault: Mapping[str, Any], names: Iterable[str]) -> tuple[str, str]:
    """Return the message of a pydantic error, and a hint; `names` lists all settings."""
    kind, context = str(fault["type"]), fault.get("ctx", {})
    name = str(fault["loc"][-1]) if fault["loc"] else "it"
    given = shown(fault["input"])
    match kind:
        case "missing":
            return "it is missing", _EXAMPLES.get(name, f"add {name}")
        case "extra_forbidden":
            others = [other for other in names if other != name]
            meant = _ELSEWHERE.get(name) or suggest(name, others) or f"use one of {some_of(others)}"
            return f"unknown setting {name}", meant
        case "value_error":
            message, _, hint = str(context["error"].args[0]).partition("; ")
            return message, hint or _EXAMPLES.get(name, f"change {name}")
        case "enum" | "literal_error":
            known, word = re.findall("'(.+?)'", context["expected"]), text_of(fault["input"])
            word = _MEANT.get(word.lower(), word)
            found = _ELSEWHERE.get(word) or suggest(word, known)
            if found is None:
                return f"{given} is not valid here", f"write {listed(known)}"
            return f"{given} is not one of {', '.join(known)}", found
        case "model_type" | "model_attributes_type":
            null = ", nullable: true" if isinstance(fault["input"], list) else ""
            hint = _EXAMPLES.get(name, f"as in price: {{type: double{null}}}")
            return f"{given} is not a mapping", hint
        case "string_pattern_mismatch":
            renamed = _RENAMED.get(len(fault["loc"]), "") if fault["loc"][0] == "types" else ""
            return f"{given} is not a valid name", f"{_NAME}{renamed}"
        case "too_short" | "string_too_short":
            return "must not be empty", _EXAMPLES.get(name, f"add a value to {name}")
        case "string_too_long":
            most = context["max_length"]
            return f"is longer than {most} characters", f"write at most {most} characters"
    for key, word in _LIMITS.items():
        if key in context:
            return f"{given} must be {word} {context[key]}", f"write a number {word} {context[key]}"
    wanted = _WANTED.get(kind.split("_", maxsplit=1)[0])
    hint = _hint(name, wanted, fault["input"])
    return f"{given} is {f'not {wanted}' if wanted else 'not valid here'}", hint


def _hint(name: str, wanted: str | None, given: object) -> str:
    match wanted, given:
        case "text", list():
            return "name one field; join several fields into one first"
        case "a mapping", str() if ":" in given:
            return "write a space after the colon, as in price: double"
        case "a mapping", str():
            return f"indent attributes by two spaces below their type, {_EXAMPLES['types']}"
        case "a mapping", _:
            return _EXAMPLES.get(name, _EXAMPLES["types"])
    return _EXAMPLES.get(name, f"write {wanted}" if wanted else f"change {name}")


def value_label(name: str, step: int | None) -> str:
    """Return the label of a value among all values of a group in a window.

    >>> value_label("keys", 2), value_label("COUNT(*)", None)
    ('keys of step 2', 'COUNT(*)')
    """
    return name if step is None else f"{name} of step {step}"
