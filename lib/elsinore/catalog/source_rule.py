"""Rules of a stream for the location, the times in the paths, and the format of raw files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import PurePosixPath

from elsinore.choices import InputFormat
from elsinore.timeline import parse_instant

#: Endings of names, and the formats that they say.
SUFFIXES = {
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), InputFormat.JSONL),
    ".csv": InputFormat.CSV,
    ".parquet": InputFormat.PARQUET,
}
#: Endings behind these, of packed files.
PACKED = (".gz", ".zst")

#: Parts of a time in a path.
_TOLD = {"year": "[0-9]{4}", "month": "[0-9]{2}", "day": "[0-9]{2}", "hour": "(?:[01][0-9]|2[0-3])"}
_ANY = {"*": "[^/]*", "?": "[^/]"}
_PIECE = re.compile(r"\{(\w*)\}|[*?]|[^*?{]+|\{")
_HINT = "as in {date}/{hour}/*.jsonl.gz, dump-*.parquet or /data/{year}/{month}/{day}.csv"


def format_of(name: str) -> InputFormat | None:
    """The format that a file's name says, packed or not; None if it says none.

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
            raise ValueError(f"{files} does not name a format; add format: jsonl, csv or parquet")
        return cls(path, form)

    @property
    def is_dated(self) -> bool:
        """Return whether paths contain a date."""
        return "{year}" in self.files

    @property
    def is_raw(self) -> bool:
        """Whether its files are ingested in place: JSON Lines of one hour, in the landing zone."""
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
        if (match := self._pattern.fullmatch(path)) is None:
            return None
        told = match.groupdict()
        if not told:
            return ""
        day = f"{told['year']}-{told['month']}-{told['day']}"
        try:
            parse_instant(day)
        except ValueError:
            return None
        return f"{day}T{told['hour']}" if "hour" in told else day

    def leads_to(self, path: str) -> bool:
        """Return whether a directory below the landing zone may contain files of the rule."""
        names, own = path.split("/"), self.files.split("/")
        return len(names) < len(own) and all(
            re.fullmatch(_pattern_of(wanted), name)
            for wanted, name in zip(own, names, strict=False)
        )

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(_pattern_of(self.files))


def _pattern_of(path: str) -> str:
    """Return the regular expression of a path; a repeated part must have one value."""
    seen: set[str] = set()

    def piece(match: re.Match[str]) -> str:
        name = match[1]
        if name is None:
            return _ANY.get(match[0]) or re.escape(match[0])
        if name in seen:
            return f"(?P={name})"
        seen.add(name)
        return f"(?P<{name}>{_TOLD[name]})"

    return _PIECE.sub(piece, path)


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
