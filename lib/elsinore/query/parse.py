"""Workload text to syntax trees, with all syntax faults of the text at once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from importlib.resources import files

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from elsinore.errors import Diagnostic, Location, QueryError
from elsinore.query.build_syntax import MisplacedClause, SyntaxBuilder
from elsinore.query.syntax import Query

Locate = Callable[[int, int], Location]

MAX_TEXT = 2_000_000
MAX_NESTING = 100

#: What people call the tokens that the grammar may expect.
_TOKEN_NAMES = {
    "NAME": "a name",
    "TEXT": "a 'string'",
    "INTEGER": "a number",
    "DECIMAL": "a number",
    "COMPARE": "a comparison",
    "GROUP_BY": "GROUP-BY",
    "ANY_MATCH": "skip-till-any-match",
    "NEXT_MATCH": "skip-till-next-match",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "COMMA": "','",
    "DOT": "'.'",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "STAR": "'*'",
    "SLASH": "'/'",
    "PERCENT": "'%'",
    "QMARK": "'?'",
    "$END": "the end of the query (';')",
}

#: Statements end with ";", which means nothing inside a comment or a string.
_PIECE = re.compile(r"--[^\n]*|'(?:[^']|'')*'|;|[^;'-]+|.", re.DOTALL)


@lru_cache(maxsize=1)
def _parser() -> Lark:
    grammar = files("elsinore.query").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def parse_workload(text: str, file: str = "<text>") -> tuple[Query, ...]:
    """The queries of a workload text, in order.

    Raises:
        QueryError: with every syntax fault of the text, each with file, line and column.

    >>> parse_workload("QUERY q RETURN COUNT(*) PATTERN A+ WITHIN 10;")[0].name
    'q'
    """
    if len(text) > MAX_TEXT:
        raise QueryError(f"{file} is larger than {MAX_TEXT} characters")
    queries: list[Query] = []
    faults: list[Diagnostic] = []
    for statement, line, column in _statements(text):
        try:
            queries.append(_parse_statement(statement, file, line, column))
        except QueryError as error:
            faults += error.diagnostics
    if not queries and not faults:
        faults.append(Diagnostic("holds no query", Location(file)))
    if faults:
        raise QueryError.of(faults)
    return tuple(queries)


def _statements(text: str) -> Iterator[tuple[str, int, int]]:
    """Each statement without its ";" and the line and column where it starts."""
    start = 0
    blank = True
    for piece in _PIECE.finditer(text):
        token = piece.group()
        if token == ";":
            if not blank:
                yield _placed(text, start, piece.start())
            start, blank = piece.end(), True
        elif not token.startswith("--") and token.strip():
            blank = False
    if not blank:
        yield _placed(text, start, len(text))


def _placed(text: str, start: int, end: int) -> tuple[str, int, int]:
    line = text.count("\n", 0, start) + 1
    return text[start:end], line, start - (text.rfind("\n", 0, start) + 1) + 1


def _parse_statement(text: str, file: str, line: int, column: int) -> Query:
    def locate(at_line: int, at_column: int) -> Location:
        first = at_line == 1
        return Location(file, line + at_line - 1, at_column + (column - 1 if first else 0))

    try:
        tree = _parser().parse(text)
    except UnexpectedInput as error:
        raise QueryError.of([_diagnose(error, text, locate)]) from None
    _check_nesting(tree, locate)
    try:
        return SyntaxBuilder(locate).build(tree)
    except MisplacedClause as error:
        raise QueryError.of([error.diagnostic]) from None


def _check_nesting(tree: Tree[Token], locate: Locate) -> None:
    """Refuse what no person writes before any recursion of ours meets it."""
    level = [tree]
    for _ in range(MAX_NESTING):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return
    place = locate(level[0].meta.line, level[0].meta.column)
    raise QueryError.of([Diagnostic(f"nested deeper than {MAX_NESTING} levels", place)])


def _diagnose(error: UnexpectedInput, text: str, locate: Locate) -> Diagnostic:
    if isinstance(error, UnexpectedCharacters):
        found, line, column = repr(error.char), error.line, error.column
        expected = error.allowed or set()
    elif isinstance(error, UnexpectedToken) and error.token.type != "$END":
        found, line, column = repr(str(error.token)), error.line, error.column
        expected = error.accepts or error.expected
    else:
        ending = text.rstrip()
        _, line, column = _placed(text, len(ending), len(ending))
        found = "the end of the query"
        expected = set(getattr(error, "accepts", None) or getattr(error, "expected", None) or ())
    names = sorted({_TOKEN_NAMES.get(name, name) for name in expected})
    wanted = f"; expected {_listed(names)}" if names else ""
    return Diagnostic(f"found {found}{wanted}", locate(line, column))


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " or " + names[-1]
