"""Rules of a stream for the location, the times in the paths, and the format of raw files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import chain, takewhile
from pathlib import PurePosixPath
from typing import TypeAlias

from elsinore.choices import InputFormat
from elsinore.timeline import parse_instant
from elsinore.wording import listed

#: Endings of names, and the formats that they say.
SUFFIXES = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), InputFormat.JSONL),
    ".csv": InputFormat.CSV,
    ".parquet": InputFormat.PARQUET,
}
#: Endings behind these, of packed files.
PACKED = (".gz", ".zst")

#: Parts of a time in a path.
_TOLD = {
    "year": re.compile("[0-9]{4}"),
    "month": re.compile("[0-9]{2}"),
    "day": re.compile("[0-9]{2}"),
    "hour": re.compile("(?:[01][0-9]|2[0-3])"),
}
_ANY = {"*": "[^/]*", "?": "[^/]"}
_PIECE = re.compile(r"\{(\w*)\}|[*?]|[^*?{]+|\{")
#: Pairs of a part of a time and its number.
_Numbers: TypeAlias = tuple[tuple[str, str], ...]
_HINT = "as in {date}/{hour}/*.jsonl.gz, dump-*.parquet or /data/{year}/{month}/{day}.csv"


def format_of(name: str) -> InputFormat | None:
    """Return the format by the suffix of a file name, compressed or not; None if unknown.

    >>> format_of("Clicks.csv.zst")
    <InputFormat.CSV: 'csv'>
    """
    name = name.lower()
    plain = next((name.removesuffix(end) for end in PACKED if name.endswith(end)), name)
    return next((form for suffix, form in SUFFIXES.items() if plain.endswith(suffix)), None)


@dataclass(frozen=True)
class SourceRule:
    """The location of raw files outside of the layout of a landing zone."""

    #: a path below the landing zone, or an absolute path. `*` and `?` match within a name;
    #: `{year}`, `{month}`, `{day}` and `{hour}` match numbers.
    files: str
    form: InputFormat  #: how they are written

    @classmethod
    def parse(cls, files: str, form: InputFormat | None) -> SourceRule:
        """Parse the rule of a path; `{date}` is short for `{year}-{month}-{day}`.

        Raises:
            ValueError: the path is invalid, or neither it nor `form` names the format.
        """
        form = form or format_of(files)
        path = files.replace("{date}", "{year}-{month}-{day}")
        if fault := _fault_in(path):
            raise ValueError(f"{fault}; {_HINT}")
        if form is None:
            known = listed(InputFormat)
            raise ValueError(f"{files} does not name a format; add format: {known}")
        return cls(path, form)

    @property
    def is_dated(self) -> bool:
        """Return whether paths contain a date."""
        return "{year}" in self.files

    @property
    def is_raw(self) -> bool:
        """True if files are ingested in place: JSON Lines of one hour in the landing zone."""
        return "{hour}" in self.files and not self.base and self.form is InputFormat.JSONL

    @cached_property
    def base(self) -> str:
        """The directory that is searched for files; empty for the landing zone itself."""
        if not self.files.startswith("/"):
            return ""
        return str(PurePosixPath(*self._fixed))

    @cached_property
    def _fixed(self) -> tuple[str, ...]:
        """The fixed directories of the path, up to the first one with a variable part."""
        parts = PurePosixPath(self.files).parts[:-1]
        return tuple(takewhile(lambda part: not set(part) & set("*?{"), parts))

    def below(self, path: str) -> PurePosixPath:
        """Return a file's path below the fixed directories of the rule.

        >>> SourceRule.parse("k=1/day={date}/*.csv", None).below("k=1/day=2013-01-31/x.csv")
        PurePosixPath('day=2013-01-31/x.csv')
        """
        return PurePosixPath(*PurePosixPath(path).parts[len(self._fixed) :])

    def glob(self, day: str = "") -> str:
        """Return the glob below `base` for files of a day (`2013-01-31`), or of any day."""
        numbers = dict(zip(("year", "month", "day"), day.split("-"), strict=False)) if day else {}
        below = self.files[len(self.base) :].lstrip("/")
        digits = {name: "[0-9]" * (4 if name == "year" else 2) for name in _TOLD} | numbers
        return re.sub(r"\{(\w+)\}", lambda match: digits[match[1]], below)

    def told(self, path: str) -> str | None:
        """Return the time in the path of a file, which is absolute or below the landing zone.

        Returns:
            An hour's label, a date, or "" if the rule has no date; None if the path does not match.

        >>> SourceRule.parse("{date}/*-{hour}.csv", None).told("2013-01-31/x-07.csv")
        '2013-01-31T07'
        """
        if (told := _numbers_in(self.files, path)) is None:
            return None
        if not told:
            return ""
        day = f"{told['year']}-{told['month']}-{told['day']}"
        try:
            parse_instant(day)
        except ValueError:
            return None
        return f"{day}T{told['hour']}" if "hour" in told else day

    def told_above(self, path: str) -> str:
        """Return the hour in the path of a directory that may contain files; "" if none is in it.

        >>> SourceRule.parse("{date}/{hour}/*.jsonl", None).told_above("2013-01-31/07")
        '2013-01-31T07'
        """
        above = "/".join(self.files.split("/")[: len(path.split("/"))])
        return (replace(self, files=above).told(path) or "") if "{hour}" in above else ""

    def leads_to(self, path: str) -> bool:
        """Return whether a directory below the landing zone may contain files of the rule."""
        names, own = path.split("/"), self.files.split("/")
        return len(names) < len(own) and all(
            _numbers_in(wanted, name) is not None for wanted, name in zip(own, names, strict=False)
        )


def _numbers_in(wanted: str, path: str) -> dict[str, str] | None:
    """Return the numbers of a path that matches a rule's path; None if it does not match.

    A repeated part must have one value. Each `*` takes as much as it can.
    """
    if (pattern := _pattern_of(wanted)) is not None:
        match = pattern.fullmatch(path)
        return None if match is None else match.groupdict()
    # Ways through the pieces are merged if they have the same position and numbers.
    names, own = path.split("/"), wanted.split("/")
    if len(names) != len(own):
        return None
    numbers: dict[_Numbers, None] = {(): None}  # in the order of preference
    for pieces, name in zip(map(_PIECE.finditer, own), names, strict=True):
        at = dict.fromkeys((0, told) for told in numbers)
        for piece in pieces:
            at = dict.fromkeys(chain.from_iterable(_steps(piece, name, *one) for one in at))
        numbers = dict.fromkeys(told for end, told in at if end == len(name))
    return dict(next(iter(numbers))) if numbers else None


@cache
def _pattern_of(path: str) -> re.Pattern[str] | None:
    """Return the regular expression of a path; None if a name has several `*`.

    For a name of 250 dashes and `*-*-*-*-*-*-*.csv`, a regular expression would need hours.
    """
    if any(name.count("*") > 1 for name in path.split("/")):
        return None
    seen: set[str] = set()

    def piece(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return _ANY.get(match[0]) or re.escape(match[0])
        if name in seen:
            return f"(?P={name})"
        seen.add(name)
        return f"(?P<{name}>{_TOLD[name].pattern})"

    return re.compile(_PIECE.sub(piece, path))


def _steps(
    piece: re.Match[str], name: str, start: int, told: _Numbers
) -> Iterator[tuple[int, _Numbers]]:
    """Yield where a piece of a rule's path can end in a name, and the numbers up to there."""
    if piece[0] == "*":
        yield from ((end, told) for end in range(len(name), start - 1, -1))
    elif piece[0] == "?":
        if start < len(name):
            yield start + 1, told
    elif (part := piece[1]) is None or part in dict(told):
        text = piece[0] if part is None else dict(told)[part]
        if name.startswith(text, start):
            yield start + len(text), told
    elif number := _TOLD[part].match(name, start):
        yield number.end(), (*told, (part, number[0]))


def _fault_in(path: str) -> str | None:
    """Return the problem of a rule's path, or None."""
    told = {match[1] or "" for match in _PIECE.finditer(path) if match[0].startswith("{")}
    if strange := sorted(told - _TOLD.keys()):
        return f"{{{strange[0]}}} is not one of {{date}}, {{year}}, {{month}}, {{day}} and {{hour}}"
    if "**" in path or set(path) & set("[]\\") or not path.isprintable():
        return "only * and ? are wildcards in a path, not **, [ or \\"
    names = path.removeprefix("/").split("/")
    if not {"", ".", ".."}.isdisjoint(names) or ":" in names[0]:
        return f"{path} is neither a path below the landing zone nor an absolute path"
    if len(told - {"hour"}) not in (0, 3) or told == {"hour"}:
        return "a path needs {year}, {month} and {day} together, and {hour} only with them"
    return None
