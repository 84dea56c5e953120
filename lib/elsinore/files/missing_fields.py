"""Find missing fields of nullable attributes, which are NULL in each event."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.catalog.stream import Attribute, StreamSchema
from elsinore.events import TYPE_COLUMN
from elsinore.files.decode import parse_json
from elsinore.files.records import beginnings
from elsinore.files.type_records import Decoded
from elsinore.wording import closest, listed, some_of

#: Lines of JSON of one type in one file that are searched for a field, and lines in all.
_LINES_OF_TYPE = 20
_LINES = 10_000
#: Maximum number of files that a warning names.
_NAMED = 3

#: A file by its name, and the code of an event type.
_Place: TypeAlias = tuple[str, int]
#: A file with where its rows begin and end.
_Run: TypeAlias = tuple[str, tuple[int, int]]
_Counts: TypeAlias = npt.NDArray[np.int64]


class _Fields(NamedTuple):
    """The fields of a file, as paths with dots, and the fields that are NULL in JSON."""

    names: frozenset[str]
    nulls: frozenset[str] = frozenset()

    def lack(self, path: str) -> bool:
        """Return whether a field is missing; a field inside of NULL may exist."""
        return path not in self.names and self.nulls.isdisjoint(beginnings(path))


class _Lacking(NamedTuple):
    """A field that is missing: in some files, or in all that have events of its type."""

    field: str
    files: tuple[str, ...]  #: empty: in all
    meant: str | None  #: a field that was probably meant


class MissingFields:
    """Finds fields of nullable attributes that are missing, while files are decoded."""

    def __init__(self, schema: StreamSchema) -> None:
        self._schema = schema
        self._nullable = [
            (code, attribute)
            for code, event_type in enumerate(schema.types)
            for attribute in event_type.attributes
            if attribute.nullable
        ]
        self._names = list(dict.fromkeys(attribute.name for _, attribute in self._nullable))
        self._events: Counter[_Place] = Counter()
        self._values: Counter[tuple[str, int, str]] = Counter()
        self._fields: dict[str, _Fields] = {}
        self._lines: dict[_Place, list[str]] = {}
        self._room = _LINES

    def add(self, part: Decoded, lines: pa.Table | None = None) -> None:
        """Count the values of decoded events.

        Args:
            part: the events; with `fields` if all are of one file that has columns.
            lines: the lines of JSON that they were decoded from.
        """
        if not self._nullable or not part.events.num_rows:
            return
        events, size = part.events, len(self._schema.types)
        if part.fields is None:
            runs = _runs(events["file"])
        else:
            runs = [(events["file"][0].as_py(), (0, events.num_rows))]
            self._fields.setdefault(runs[0][0], _Fields(part.fields))
        codes = events[TYPE_COLUMN].to_numpy()
        lengths = [end - start for _, (start, end) in runs]
        first = np.repeat(np.arange(len(runs)) * size, lengths) if len(runs) > 1 else 0
        places = codes + first
        counts = self._counts(events, places, len(runs) * size)
        for place in np.flatnonzero(counts[0]).tolist():
            file, code = runs[place // size][0], place % size
            self._events[file, code] += int(counts[0][place])
            for name, values in zip(self._names, counts[1:], strict=True):
                self._values[file, code, name] += int(values[place])
        if lines is not None:
            self._keep_lines(runs, codes, events["record_number"].to_numpy(), lines)

    def _counts(self, events: pa.Table, places: npt.NDArray[np.int64], size: int) -> list[_Counts]:
        """Return by file and type the number of events, and of values of each attribute."""
        number = np.bincount(places, minlength=size)
        found = [number]
        for name in self._names:
            column = events[name]
            if column.null_count == len(column):
                found.append(np.zeros(size, np.int64))
            elif column.null_count:
                found.append(np.bincount(places[pc.is_valid(column).to_numpy()], minlength=size))
            else:
                found.append(number)
        return found

    def _keep_lines(self, runs: list[_Run], codes: _Counts, at: _Counts, lines: pa.Table) -> None:
        """Keep some lines of each type that lacks values, to check their keys later."""
        begins = dict(_runs(lines["file"]))
        line_at = lines["record_number"].to_numpy()
        for file, (start, end) in runs:
            first, last = begins[file]
            for code in np.unique(codes[start:end]).tolist():
                if (file, code) in self._lines or not self._room or not self._empty(file, code):
                    continue
                rows = start + np.flatnonzero(codes[start:end] == code)[:_LINES_OF_TYPE]
                rows = first + np.searchsorted(line_at[first:last], at[rows[: self._room]])
                self._room -= len(rows)
                self._lines[file, code] = lines["record"].take(pa.array(rows)).to_pylist()

    def _empty(self, file: str, code: int) -> list[Attribute]:
        """Return the attributes of a type that have no value in a file."""
        return [
            attribute
            for own, attribute in self._nullable
            if own == code and not self._values[file, code, attribute.name]
        ]

    def warnings(self) -> list[str]:
        """Return a sentence for each field that is missing."""
        found: dict[_Lacking, list[int]] = defaultdict(list)
        for code, attribute in self._nullable:
            if lacking := self._lacking(code, attribute):
                found[lacking].append(code)
        return [self._sentence(lacking, codes) for lacking, codes in found.items()]

    def _lacking(self, code: int, attribute: Attribute) -> _Lacking | None:
        files = [file for file, own in self._events if own == code]
        known = {file: fields for file in files if (fields := self._fields_of(file, code))}
        empty = [file for file in known if not self._values[file, code, attribute.name]]
        without = [file for file in empty if known[file].lack(attribute.raw)]
        has_none = not any(self._values[file, code, attribute.name] for file in files)
        if has_none and len(without) == len(known) and without:
            meant = self._meant(code, attribute.raw, [known[file] for file in without])
            return _Lacking(attribute.raw, (), meant)
        # A JSON object may omit a key, so a key that only some files lack is reported only if
        # they have a similar one.
        hints = {file: self._meant(code, attribute.raw, [known[file]]) for file in without}
        told = [file for file in without if file in self._fields or hints[file]]
        meant = next((hints[file] for file in told if hints[file]), None)
        return _Lacking(attribute.raw, tuple(told), meant) if told else None

    def _fields_of(self, file: str, code: int) -> _Fields | None:
        """Return the fields of a file; in JSON, the fields of the type's first kept lines."""
        if file in self._fields:
            return self._fields[file]
        if (file, code) not in self._lines:
            # Each attribute has a value there, or too many files came before.
            return None if self._empty(file, code) else _Fields(frozenset())
        return _json_fields(self._lines[file, code])

    def _meant(self, code: int, field: str, where: Iterable[_Fields]) -> str | None:
        """Return a hint at a field with a similar name that the type does not read."""
        names = frozenset[str]().union(*(fields.names for fields in where))
        own_fields = (attribute.raw for attribute in self._schema.types[code].attributes)
        read = {*self._schema.raw_needed, *own_fields}
        parent, _, own = field.rpartition(".")
        parts = {name: name.rpartition(".") for name in sorted(names - read)}
        beside = {last: name for name, (of, _, last) in parts.items() if of == parent}
        if (near := closest(own, beside)) is not None:
            return f"did you mean {beside[near]}?"
        alike = [name for name, (*_, last) in parts.items() if last.lower() == own.lower()]
        return f"did you mean {alike[0]}?" if len(alike) == 1 else None

    def _sentence(self, lacking: _Lacking, codes: list[int]) -> str:
        field, files, meant = lacking
        carriers = {
            code
            for _, code in self._events
            if any(attribute.raw == field for attribute in self._schema.types[code].attributes)
        }
        names = [self._schema.types[code].name for code in codes]
        of_type = f" of type {listed(names)}" if carriers.difference(codes) else ""
        inside = f" in {some_of(files, _NAMED)}" if files else ""
        others = ", which is missing there" if files else ""
        hint = f" ({meant})" if meant else ""
        return f"no event{of_type}{inside} has a value in the field {field}{others}{hint}"


def _runs(column: pa.ChunkedArray) -> list[_Run]:
    """Return the values of a column with where the rows of each begin and end."""
    if not len(column):
        return []
    encoded = pc.run_end_encode(pa.concat_arrays(column.chunks))
    ends = encoded.run_ends.to_pylist()
    spans = zip([0, *ends[:-1]], ends, strict=True)
    return list(zip(encoded.values.to_pylist(), spans, strict=True))


def _json_fields(lines: Iterable[str]) -> _Fields:
    parsed = map(parse_json, lines)
    pairs = {pair for record in parsed if isinstance(record, dict) for pair in _keys(record)}
    names = frozenset(path for path, _ in pairs)
    return _Fields(names, frozenset(path for path, is_null in pairs if is_null))


def _keys(record: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, bool]]:
    """Yield the keys of an object as paths with dots, each with whether its value is NULL."""
    for name, value in record.items():
        yield f"{before}{name}", value is None
        if isinstance(value, dict):
            yield from _keys(value, f"{before}{name}.")
