"""A key to erase, and which records, groups and pages contain it."""

from __future__ import annotations

import html
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import AttributeType, StreamSchema
from elsinore.errors import ParameterError
from elsinore.files.read_lines import visible
from elsinore.ingest.landing_zone import scanned_schema
from elsinore.results.published import group_of
from elsinore.timeline import format_instant, parse_instant
from elsinore.wording import suggest

#: What JSON writes in place of other characters; those beyond 16 bits take two.
_ESCAPES = re.compile(r'(?:\\u[0-9a-fA-F]{4})+|\\["\\/bfnrt]')


@dataclass(frozen=True)
class Key:
    """Attribute values of the events to erase; an event must have all of them.

    Attributes:
        values: by attribute, as stored in columns.
        texts: by attribute, as written in groups of results.
        written: by attribute, a pattern (also valid for RE2) of the spellings of the given and the
            canonical value in raw records and pages.
        paths: by attribute, its names in raw records: its own, and its field.
    """

    values: Mapping[str, pa.Scalar]
    texts: Mapping[str, str]
    written: Mapping[str, str]
    paths: Mapping[str, Collection[str]]

    @classmethod
    def parse(cls, given: Sequence[str], stream: StreamSchema) -> Self:
        """Return the key of some `attribute=value`.

        Raises:
            ParameterError: one does not have this form, names an unknown attribute, or its value
                is not of the attribute's type.
        """
        pairs = dict(named := [_pair(text, stream) for text in given])
        if len(pairs) < len(named):
            raise ParameterError(
                "an attribute has two values", hint="run `elsinore forget` once per key"
            )
        columns = scanned_schema(stream)
        values, texts, written = {}, {}, {}
        for name, text in pairs.items():
            kind = stream.attributes[name]
            try:
                typed = parse_instant(text) if kind is AttributeType.TIMESTAMP else text
                value = values[name] = pa.scalar(typed).cast(columns.field(name).type)
            except ValueError as error:
                problem = f"{text!r} is not a {kind}, the type of {name}"
                raise ParameterError(
                    problem, hint=f"write it as {name}={_EXAMPLES[kind]}"
                ) from error
            texts[name] = _in_group(value, kind)
            spelled = "|".join(map(_spelled, sorted({text, texts[name]}, reverse=True)))
            # Some producers write longs as doubles: 7.0.
            written[name] = rf"(?:{spelled})(?:\.0+)?" if kind is AttributeType.LONG else spelled
            _require_short(name, written[name])
        paths = {
            name: {name, *(of.by_name[name].raw for of in stream.types if name in of.by_name)}
            for name in pairs
        }
        return cls(values, texts, written, paths)

    def among(self, lines: pa.Table) -> pa.ChunkedArray:
        """Return which rows of `scanned_schema` to erase.

        An event whose type lacks an attribute matches if its raw record has the value; a rejected
        record matches if it contains the values as words. A whole file never matches.
        """
        is_event = pc.is_null(lines["_reason_code"])
        is_typed = is_said = pa.scalar(True)
        for name, value in self.values.items():
            said = pc.match_substring_regex(lines["_record"], self.written[name])
            field = rf':\s*"?(?:{self.written[name]})"?\s*[,}}]'
            lacks = pc.and_(is_event, pc.match_substring_regex(lines["_record"], field))
            lacks = pc.and_(lacks, pc.is_null(lines[name]))
            has = _where(lacks, lines["_record"], partial(self._has, name))
            same = pc.fill_null(_equal(lines[name], value), False)
            is_typed, is_said = pc.and_(is_typed, pc.or_(same, has)), pc.and_(is_said, said)
        # Arrow's patterns take letters beyond ASCII for the end of a word.
        is_said = _where(pc.and_(pc.invert(is_event), is_said), lines["_record"], self._is_said)
        return pc.and_(
            pc.if_else(is_event, is_typed, is_said), pc.greater(lines["record_number"], 0)
        )

    def _has(self, name: str, line: str) -> bool:
        """Return whether a JSON record has the value at a path of the attribute in some type."""
        record = json.loads(line, parse_int=str, parse_float=str)
        values = chain.from_iterable(_at(record, path) for path in self.paths[name])
        texts = (json.dumps(value) if isinstance(value, bool) else value for value in values)
        pattern = re.compile(self.written[name])
        return any(isinstance(text, str) and pattern.fullmatch(text) for text in texts)

    def is_in(self, group: str) -> bool:
        """Return whether all events of a group, or all of one of its aliases, have the values."""
        if not group.startswith("{"):  # of a check of all groups
            return False
        held = defaultdict[str, set[tuple[str, str]]](set)
        for label, value in group_of(group).items():
            alias, _, name = label.rpartition(".")
            if value is not None:
                held[alias].add((name, value if isinstance(value, str) else json.dumps(value)))
        return any(self.texts.items() <= own | held[""] for own in [*held.values()])

    def is_shown(self, page: bytes) -> bool:
        """Return whether a text contains all values as words, also as HTML or JSON."""
        text = page.decode("utf-8", "replace")
        return self._is_said(text, html.unescape(text))

    def _is_said(self, *texts: str) -> bool:
        """Return whether texts contain all values as words, also as JSON."""
        plain = [_ESCAPES.sub(lambda found: json.loads(f'"{found[0]}"'), text) for text in texts]
        # An accent, an escaped character, a byte that is not UTF-8.
        ends = r"(?![\w\u0300-\u036f]|\\u[0-9a-fA-F]{4}|\ufffd\\x)"
        words = [rf"(?<!\w)(?:{written}){ends}" for written in self.written.values()]
        return all(any(re.search(word, each) for each in (*texts, *plain)) for word in words)


def _where(mask: pa.ChunkedArray, lines: pa.ChunkedArray, test: Callable[[str], bool]) -> pa.Array:
    """Return the rows at which a mask and a test of the line are true."""
    passed = map(test, lines.filter(mask).to_pylist())
    whole = mask.combine_chunks()
    return pc.replace_with_mask(whole, whole, pa.array(passed, pa.bool_()))


def _at(record: Any, path: str) -> Iterator[Any]:
    """Yield the values of a record at a path; names may contain dots, or be nested."""
    for name, value in record.items() if isinstance(record, dict) else ():
        if name == path:
            yield value
        elif path.startswith(f"{name}."):
            yield from _at(value, path[len(name) + 1 :])


def _spelled(text: str) -> str:
    """Return a pattern of a string, each character of which may be a JSON escape.

    For data that is not UTF-8 or not CSV, also a Windows byte or a doubled quote.
    """
    return "".join(map(_character, text))


def _character(sign: str) -> str:
    code = sign.encode("utf-16-be").hex()
    escaped = "".join(rf"\\u(?i:{code[at : at + 4]})" for at in range(0, len(code), 4))
    other = {"/": "\\/", '"': '""'}.get(sign) or visible(sign.encode("cp1252", "ignore")) or sign
    short = {sign, json.dumps(sign, ensure_ascii=False)[1:-1], other}
    return f"(?:{'|'.join([*map(re.escape, sorted(short)), escaped])})"


def _equal(column: pa.ChunkedArray, value: pa.Scalar) -> pa.ChunkedArray:
    """Return whether the values are this one; NaN is NaN here."""
    number = value.as_py()
    return pc.is_nan(column) if number != number else pc.equal(column, value)


def _pair(given: str, stream: StreamSchema) -> tuple[str, str]:
    name, equals, text = given.partition("=")
    known = stream.attributes
    if not equals or not text:
        raise ParameterError(f"not a key: {given[:60]!r}", hint="write it as user=ann")
    if name not in known:
        hint = suggest(name, known) or f"use one of {', '.join(known)}"
        raise ParameterError(f"{stream.name} has no attribute {name[:60]!r}", hint=hint)
    return name, text


def _require_short(name: str, pattern: str) -> None:
    """Raise ParameterError for a pattern that is too long to search for."""
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        hint = "name the events by another attribute"
        raise ParameterError(f"the value of {name} is too long to find", hint=hint) from error


def _in_group(value: pa.Scalar, kind: AttributeType) -> str:
    if kind is AttributeType.TIMESTAMP:
        return format_instant(value.cast(pa.int64()).as_py())
    return value.as_py() if kind is AttributeType.STRING else json.dumps(value.as_py())


#: Values of keys, by type.
_EXAMPLES = {
    AttributeType.STRING: "ann",
    AttributeType.LONG: "7",
    AttributeType.DOUBLE: "7.5",
    AttributeType.BOOLEAN: "true",
    AttributeType.TIMESTAMP: "2025-03-03T08:30:00Z",
}
