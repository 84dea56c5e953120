"""Workload text to syntax trees, with all syntax faults of the text at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import islice, pairwise

from lark import Lark, UnexpectedInput

from elsinore.errors import Diagnostic, Location, QueryError
from elsinore.query.build_syntax import BuildFault, SyntaxBuilder
from elsinore.query.check_size import (
    MAX_NESTING,
    MAX_QUERIES,
    MAX_TEXT,
    find_too_deep,
    find_too_large,
)
from elsinore.query.faults import closest
from elsinore.query.syntax import Query
from elsinore.query.syntax_fault import describe_fault

Locate = Callable[[int, int], Location]

#: Statements end with ";", which means nothing inside a comment or a string. A string with doubled
#: quotes is several pieces side by side.
_PIECE = re.compile(r"--[^\n]*|'[^']*'|;|[^;'-]+|.", re.DOTALL)

#: How a query begins; the word after its name should be RETURN.
_BEGIN = re.compile(r"\bQUERY\s+[a-z_][a-z0-9_]*\s+([a-z_]+)", re.ASCII | re.IGNORECASE)
_SURROGATE = re.compile("[\ud800-\udfff]")


@lru_cache(maxsize=1)
def _parser() -> Lark:
    grammar = files("elsinore.query").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        propagate_positions=True,
        maybe_placeholders=False,
        g_regex_flags=re.ASCII,  # else names and keywords would take the Kelvin sign for a K
    )


def parse_workload(text: str, file: str = "<text>") -> tuple[Query, ...]:
    """The queries of a workload text, in order.

    Raises:
        QueryError: with every syntax fault of the text, each with file, line and column.

    >>> parse_workload("QUERY q RETURN COUNT(*) PATTERN A+ WITHIN 10;")[0].name
    'q'
    """
    queries, faults = parse_statements(text, file)
    if faults:
        raise QueryError.of(faults)
    return queries


def parse_statements(text: str, file: str = "<text>") -> tuple[tuple[Query, ...], list[Diagnostic]]:
    """The queries of the statements that parse, and the faults of those that do not."""
    start = Location(file, 1, 1)
    if len(text) > MAX_TEXT:
        return (), [Diagnostic(f"the text is larger than {MAX_TEXT} characters", start)]
    surrogate = _SURROGATE.search(text)
    if surrogate is not None:
        _, line, column = _placed(text, surrogate.start(), surrogate.end())
        return (), [Diagnostic("half of a character (a surrogate)", Location(file, line, column))]
    statements = list(islice(_statements(text), MAX_QUERIES + 1))
    if len(statements) > MAX_QUERIES:
        first = _Statement(statements[-1][0], file, *statements[-1][1:])
        return (), [Diagnostic(f"more than {MAX_QUERIES} queries", first.begin)]
    queries: list[Query] = []
    faults: list[Diagnostic] = []
    for statement, line, column in statements:
        found, wrong = _Statement(statement, file, line, column).parsed()
        queries += found
        faults += wrong
    if not queries and not faults:
        faults.append(
            Diagnostic("there is no query", start, "as in QUERY name RETURN COUNT(*) ...")
        )
    return tuple(queries), faults


def _statements(text: str) -> Iterator[tuple[str, int, int]]:
    """Each statement without its ";" and the line and column where it starts."""
    start = counted = 0
    line = 1
    blank = True
    for piece in _PIECE.finditer(text):
        token = piece.group()
        if token == ";":
            if not blank:
                line += text.count("\n", counted, start)
                counted = start
                yield text[start : piece.start()], line, start - text.rfind("\n", 0, start)
            start, blank = piece.end(), True
        elif not token.startswith("--") and token.strip():
            blank = False
    if not blank:
        yield _placed(text, start, len(text))


def _placed(text: str, start: int, end: int) -> tuple[str, int, int]:
    line = text.count("\n", 0, start) + 1
    return text[start:end], line, start - (text.rfind("\n", 0, start) + 1) + 1


@dataclass(frozen=True, slots=True)
class _Statement:
    """The text of one statement, and where in a file it starts."""

    text: str
    file: str
    line: int
    column: int

    def parsed(self) -> tuple[list[Query], list[Diagnostic]]:
        """Its query, or its faults; both where it is several for want of a `;`."""
        too_large = find_too_large(self.text)
        if too_large is not None:
            return [], [Diagnostic(too_large.message, self._at(too_large.offset))]
        try:
            return [self._query()], []
        except UnexpectedInput as error:
            clear = _PIECE.sub(_blank, self.text)
            begins = list(_later_queries(clear))
            if begins:
                return self._several(begins)
            offset, message, hint = describe_fault(error, clear)
            return [], [Diagnostic(message, self._at(offset), hint)]
        except BuildFault as fault:
            return [], [fault.diagnostic]

    def _query(self) -> Query:
        tree = _parser().parse(self.text)
        too_deep = find_too_deep(tree)
        if too_deep is not None:
            place = self._locate(too_deep.meta.line, too_deep.meta.column)
            raise BuildFault(Diagnostic(f"nested deeper than {MAX_NESTING} levels", place))
        return SyntaxBuilder(self._locate).build(tree)

    def _several(self, begins: list[int]) -> tuple[list[Query], list[Diagnostic]]:
        """The statement taken apart where further queries begin."""
        queries: list[Query] = []
        faults: list[Diagnostic] = []
        for start, stop in pairwise([0, *begins, len(self.text)]):
            place = self._at(start)
            if start:
                message = "found QUERY; expected ';' before it"
                faults.append(Diagnostic(message, place, "queries end with ';'"))
            line, column = place.line or 1, place.column or 1
            found, wrong = _Statement(self.text[start:stop], self.file, line, column).parsed()
            queries += found
            faults += wrong
        return queries, faults

    @property
    def begin(self) -> Location:
        """Where it begins, space aside."""
        return self._at(len(self.text) - len(self.text.lstrip()))

    def _at(self, offset: int) -> Location:
        _, line, column = _placed(self.text, offset, offset)
        return self._locate(line, column)

    def _locate(self, at_line: int, at_column: int) -> Location:
        first = at_line == 1
        return Location(
            self.file, self.line + at_line - 1, at_column + (self.column - 1 if first else 0)
        )


def _blank(piece: re.Match[str]) -> str:
    """A comment or string as spaces of the same length, line ends kept."""
    text = piece[0]
    ended = text.startswith("--") or (text[0] == "'" and len(text) > 1)
    return re.sub(r"[^\n]", " ", text) if ended else text


def _later_queries(text: str) -> Iterator[int]:
    """Where further queries begin in what should be one statement."""
    first = len(text) - len(text.lstrip())
    for found in _BEGIN.finditer(text):
        if found.start() > first and closest(found[1], ["RETURN"]) is not None:
            yield found.start()
