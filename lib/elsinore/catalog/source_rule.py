"""Rules of a stream that say where its raw files lie, what their paths tell, and their format."""

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

#: What a path can tell, and how.
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
    """Where raw files lie that are not laid out as a landing zone is."""

    #: a path below the landing zone, or an absolute one, in which `*` and `?` stand for any text of
    #: a name and any sign, and `{year}`, `{month}`, `{day}` and `{hour}` for numbers.
    files: str
    form: InputFormat  #: how they are written

    @classmethod
    def parse(cls, files: str, form: InputFormat | None) -> SourceRule:
        """The rule of a path, in which `{date}` stands for year, month and day with `-` between.

        Raises:
            ValueError: it is no such path, or neither it nor `form` says the format.
        """
        form = form or format_of(files)
        path = files.replace("{date}", "{year}-{month}-{day}")
        if fault := _fault_in(path):
            raise ValueError(f"{fault}; {_HINT}")
        if form is None:
            raise ValueError(f"{files} does not say a format; add format: jsonl, csv or parquet")
        return cls(path, form)

    @property
    def is_dated(self) -> bool:
        """Whether paths tell a date."""
        return "{year}" in self.files

    @property
    def is_raw(self) -> bool:
        """Whether its files land where they lie: lines of JSON of one hour, in the landing zone."""
        return "{hour}" in self.files and not self.base and self.form is InputFormat.JSONL

    @cached_property
    def base(self) -> str:
        """The folder from which files are looked for; empty for the landing zone itself."""
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
        """What to look for below `base`: files of a day (`2013-01-31`), or of any."""
        numbers = dict(zip(("year", "month", "day"), day.split("-"), strict=False)) if day else {}
        below = self.files[len(self.base) :].lstrip("/")
        digits = {name: "[0-9]" * (4 if name == "year" else 2) for name in _TOLD} | numbers
        return re.sub(r"\{(\w+)\}", lambda match: digits[match[1]], below)

    def told(self, path: str) -> str | None:
        """What a path, below the landing zone or absolute, tells of the time of its file.

        Returns:
            An hour's label, its first ten signs for a date, "" for nothing; None for a path that
            the rule is not about.

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
        """Whether a folder below the landing zone may hold what the rule is about."""
        names, own = path.split("/"), self.files.split("/")
        return len(names) < len(own) and all(
            re.fullmatch(_pattern_of(wanted), name)
            for wanted, name in zip(own, names, strict=False)
        )

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(_pattern_of(self.files))


def _pattern_of(path: str) -> str:
    """The regular expression of a path; what is told twice is the same."""
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
    """What is wrong with the path of a rule."""
    told = {match[1] or "" for match in _PIECE.finditer(path) if match[0].startswith("{")}
    if strange := sorted(told - _TOLD.keys()):
        return f"{{{strange[0]}}} is none of {{date}}, {{year}}, {{month}}, {{day}} and {{hour}}"
    if "**" in path or set(path) & set("[]\\") or not path.isprintable():
        return "what is unknown is * or ? within a name; **, [ and \\ mean nothing"
    names = path.removeprefix("/").split("/")
    if not {"", ".", ".."}.isdisjoint(names) or ":" in names[0]:
        return f"{path} is no path of files below the landing zone, and none from /"
    if len(told - {"hour"}) not in (0, 3) or told == {"hour"}:
        return "a path tells a whole date or nothing of it, and an hour only with it"
    return None
