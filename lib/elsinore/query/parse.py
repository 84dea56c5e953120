"""Workload text to syntax trees, by lark, with all syntax faults of the text at once."""

from __future__ import annotations

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from importlib.resources import files
from itertools import accumulate, islice, pairwise
from typing import NamedTuple, NoReturn

from lark import Lark, Token, Tree, UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from elsinore.errors import Diagnostic, Location, QueryError
from elsinore.query import syntax
from elsinore.query.elsewhere import from_elsewhere
from elsinore.query.syntax import Declaration, Query, Zone
from elsinore.wording import closest, listed, suggest

# ---- limits: what no person writes is refused before it costs anything

#: Characters of a workload, and bytes of its file are at most four times as many.
MAX_TEXT = 5_000_000
#: Statements of a workload: twice as many as static plans are measured for.
MAX_QUERIES = 20_000
#: Words, numbers, strings and signs of one statement.
MAX_TOKENS = 10_000
#: Levels of a pattern or condition inside one another.
MAX_NESTING = 100
#: Characters of a name, and of a string with its quotes.
MAX_NAME = 200
MAX_STRING = 10_000

#: A string with doubled quotes is several of these, side by side.
_TOKEN = re.compile(r"--[^\n]*|'[^']*'|[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[^\sA-Za-z0-9_]")


def _find_too_large(statement: str) -> tuple[int, str] | None:
    """The first place where a statement is too long, or has a name or string that is: its offset.

    Reads no further than `MAX_TOKENS`, whatever the length of the text.
    """
    tokens = 0
    start = stop = -1  # of the string that the last token ended
    for found in _TOKEN.finditer(statement):
        text = found[0]
        if text.startswith("--"):
            continue
        tokens += 1
        if tokens > MAX_TOKENS:
            return found.start(), f"the query has more than {MAX_TOKENS} words and symbols"
        if text[0] == "'" and len(text) > 1:
            start, stop = start if found.start() == stop else found.start(), found.end()
            if stop - start > MAX_STRING:
                return start, f"a string is longer than {MAX_STRING} characters"
        elif len(text) > MAX_NAME and not text[0].isdigit():
            return found.start(), f"a name is longer than {MAX_NAME} characters"
    return None


def find_too_deep(tree: Tree[Token]) -> Tree[Token] | None:
    """The first node below `MAX_NESTING` levels; asked before any recursion of ours meets it."""
    level = [tree]
    for _ in range(MAX_NESTING):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return None
    return level[0]


# ---- messages about syntax errors

#: Names of the tokens that are neither keywords nor symbols.
_TOKEN_NAMES = {
    **dict.fromkeys(("INTEGER", "DECIMAL", "NEGATIVE"), "a number"),
    **dict.fromkeys(("NAME", "DISTINCT", "EACH"), "a name"),
    "TEXT": "a 'string'",
    "COMPARE": "a comparison",
    "GROUP_BY": "GROUP-BY",
    "ANY_MATCH": "skip-till-any-match",
    "NEXT_MATCH": "skip-till-next-match",
    "CONTIGUOUS": "contiguous",
    **{word: word for word in ("AS", "CASE", "FALSE", "HAVING", "NEXT", "NULL", "OFFSET")},
    **{word: word for word in ("BY", "PER", "SESSION", "SPAN", "STEPS", "TRUE")},
    "BY_FIRST": "BY FIRST",
    "BY_LAST": "BY LAST",
    "UP_TO": "UP TO",
    "$END": "';'",
}
_CLAUSES = "GROUP-BY", "HAVING", "SEMANTICS", "SESSION", "SPAN", "WHERE", "WITHIN"
#: Names of groups of tokens, used if their first token is expected; wider groups first.
_GROUPS = (
    ("a 'string'", "a value", ("a 'string'", "a name", "a number", "CASE", "FALSE", "NEXT", "NULL",
                               "TRUE", "'$'", "'('", "'['", "'-'")),
    ("'%'", "an operator", ("'%'", "'*'", "'+'", "'-'", "'/'", "a comparison", "AT", "BETWEEN",
                            "IN", "IS", "LIKE", "NOT", "']'", "'.'", "'('", "','")),
    ("'?'", "'+', '*', '?', '{'", ("'?'", "'+'", "'*'", "'{'")),
    ("SEQ", "an event type", ("SEQ", "NOT", "'('", "a name")),
    ("WITHIN", "another clause", _CLAUSES),
)  # fmt: skip
#: A keyword that the grammar took for a name, since something is missing before it.
_KEYWORD = re.compile(
    r"\b(?:RETURN|PATTERN|WHERE|WITHIN|SEMANTICS|HAVING|GROUP[- ]BY)\s*\Z", re.IGNORECASE
)
_SEMANTICS = ("skip-till-any-match", "skip-till-next-match", "contiguous")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z_][A-Za-z0-9_-]*)?", re.ASCII)
_LAST_WORD = re.compile(r"(?<![A-Za-z0-9_.])([A-Za-z_][A-Za-z0-9_]*)\s*\Z", re.ASCII)
#: Words before a list of types that is not complete.
_LAST_LIST = re.compile(r"(?<![A-Za-z_])([A-Za-z_]\w*)\s*\(\s*(?:\w+\s*,\s*)*\w+\s*\Z", re.ASCII)
_LAST_CALL = re.compile(r"(?<![A-Za-z_])([A-Za-z_][A-Za-z0-9_]*)\s*\(\s*\w+\s*\)\s*\Z", re.ASCII)
_LONGEST_FOUND = 40
#: Similarity from which a name is a misspelled keyword; short names are never.
_SURELY_ALIKE = 0.8
#: Signs of other languages; a quote is left over (see `describe_fault`) where a string has no end.
_SIGNS = {
    "'": "end the string with a single quote",
    **dict.fromkeys('"‘’“”', "write strings in single quotes, as in 'DE'"),
    "&": "write AND",
    "|": "write OR",
    "!": "write NOT",
}


def describe_fault(error: UnexpectedInput, text: str) -> tuple[int, str, str | None]:
    """Return the offset, message and fix of a syntax error.

    `text` is the statement with its comments and strings replaced by spaces.
    """
    offset, found, expected = _facts(error, text)
    names = sorted({_TOKEN_NAMES.get(name) or _as_written(name) for name in expected})
    if text[offset : offset + 1] in _SIGNS:
        return offset, f"found {found}", _SIGNS[text[offset]]
    if not (sign := text[offset : offset + 1]).isprintable():
        called = unicodedata.name(sign, "control character").lower()
        return offset, f"found a {called}", "write a plain space"
    if elsewhere := from_elsewhere(text, offset, found):
        return elsewhere
    if unclosed := _unclosed(text, offset, found, names):
        return unclosed
    taken = _KEYWORD.search(text[:offset])
    if taken is not None and ("'.'" in names or taken[0].strip().upper() in names):
        keyword = taken[0].strip()
        return taken.start(), f"found {keyword}; something is missing before it", _before(keyword)
    groups = _in_groups(names)
    wanted = f"; expected {listed(groups)}" if names else ""
    hint = _hint(text[offset:], names)
    earlier = _misspelt_before(text[:offset], found, names)
    if earlier is not None and hint is None:
        start, word, keyword = earlier
        message = f"found {word!r} before {found}; expected {keyword}"
        return start, message, f"did you mean {keyword}?"
    hint = hint or _missing(text[:offset], found, names) or _example(groups)
    return offset, f"found {found}{wanted}", hint


#: Closing brackets and what else can follow inside of them.
_CLOSING = {"(": ("')'", "add the missing ')' or ','"), "[": ("']'", "add the missing ']'")}
_AFTER_CLAUSE = re.compile(r"(?:WHERE|WITHIN|SEMANTICS|PATTERN|RETURN|GROUP[- ]BY)\b|\Z", re.I)


def _unclosed(
    text: str, offset: int, found: str, names: list[str]
) -> tuple[int, str, str | None] | None:
    """Return the error of a bracket that is open where the next clause or the query's end is."""
    if not _AFTER_CLAUSE.match(text, offset):
        return None
    opened: list[int] = []
    for sign in re.finditer(r"[()\[\]]", text[:offset]):
        if sign[0] in _CLOSING:
            opened.append(sign.start())
        elif opened:
            opened.pop()
    if not opened:
        return None
    closing, hint = _CLOSING[text[opened[-1]]]
    if closing not in names:
        return None
    return opened[-1], f"found {text[opened[-1]]!r} without its {closing} before {found}", hint


#: The clauses of a query, for a syntax error without a better hint.
_ORDER = "write QUERY name RETURN ... PATTERN ... WHERE ... GROUP-BY ... WITHIN ...;"


def _example(groups: list[str]) -> str:
    """Return an example of what is expected, or else the order of the clauses."""
    examples = {
        "an event type": "as in SEQ(A, B)",
        "a value": "as in V.price > 5",
        "an operator": "as in V.price > 5",
    }
    return next((examples[group] for group in groups if group in examples), _ORDER)


def _before(keyword: str) -> str:
    """Return what to write before a keyword that follows an incomplete clause."""
    match keyword.upper():
        case "RETURN":
            return "write a name, as in QUERY q RETURN"
        case "PATTERN":
            return "write an aggregate, as in RETURN COUNT(*) PATTERN"
    return f"complete the clause before {keyword}"


def _as_written(terminal: str) -> str:
    """A keyword, or a sign in quotes."""
    text = str(_parser().get_terminal(terminal).pattern.value)
    return terminal if text.isalpha() else f"'{text}'"


def _in_groups(names: list[str]) -> list[str]:
    """Return expected tokens in groups, for a message."""
    left = dict.fromkeys(names)
    found = []
    for sign, title, members in _GROUPS:
        if sign in left and len(inside := [name for name in members if name in left]) > 1:
            found.append(title)
            left = {name: None for name in left if name not in inside}
    return [*left, *found]


def _missing(before: str, found: str, names: list[str]) -> str | None:
    """Return a fix for a syntax error that is not a typo."""
    if found.startswith(('"', "'")) and found[1:2] == "'" and {"a name", "a number"} & {*names}:
        return "write it without quotes"
    if names in (["a number"], ["'$'", "a number"]):
        return "as in 10 minutes"
    if names == ["PARAM", "QUERY", "SET"]:
        return "begin the query with QUERY name RETURN ..."
    if names == ["RETURN"]:
        return "write RETURN after the name, then PATTERN"
    if names == ["','", "PATTERN"]:
        return "list only aggregates and attributes of GROUP-BY in RETURN"
    is_open = before.count("(") > before.count(")")
    if found == "','" and "PATTERN" in (above := before.upper()):
        sequence = "write SEQ(A, B)" + (", or remove the '('" if is_open else "")
        return "join conditions with AND" if "WHERE" in above else sequence
    if is_open and "')'" in names:
        return "add the missing ')' or ','"
    if found == "')'" and not is_open:
        return "remove it: no '(' matches it"
    return "use letters, digits and _, and begin with a letter" if names == ["a name"] else None


def _facts(error: UnexpectedInput, text: str) -> tuple[int, str, Iterable[str]]:
    """Return the offset of an error, the text there, and the expected terminals."""
    if isinstance(error, UnexpectedCharacters):
        return error.pos_in_stream or 0, repr(error.char), error.allowed or ()
    expected = getattr(error, "accepts", None) or getattr(error, "expected", None) or ()
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        token = str(error.token)
        shown = token if len(token) <= _LONGEST_FOUND else token[:_LONGEST_FOUND] + "..."
        return error.token.start_pos or 0, repr(shown), expected
    return len(text.rstrip()), "the end of the query", expected


def _hint(rest: str, names: list[str]) -> str | None:
    """A keyword that is expected and looks like what was found, or what a sign is here."""
    word = _WORD.match(rest)
    if word is None:
        return None
    keywords = [name for name in names if name[0].isalpha() and " " not in name and name != "AT"]
    return suggest(word[0], keywords) or suggest(word[0].split("-")[0], keywords)


def _misspelt_before(before: str, found: str, names: list[str]) -> tuple[int, str, str] | None:
    """A keyword misspelt right before the fault, and taken for a name: place, word, keyword."""
    call = _LAST_CALL.search(before) if found == "'.'" else None
    types = _LAST_LIST.search(before) if names == ["')'", "','"] else None
    last = call or types or _LAST_WORD.search(before)
    if last is None or (types and types[1].upper() in _WITH_TYPES):
        return None
    keywords = [name for name in names if name.isupper() or name in ("GROUP-BY", *_SEMANTICS)]
    keywords += ["NEXT"] if call else ["SEQ", "NOT"] if types or found == "'('" else ["NOT"]
    if last[1].upper() in keywords:
        return None
    keyword = closest(last[1], keywords, _SURELY_ALIKE) or _anagram(last[1], keywords)
    return None if keyword is None else (last.start(1), last[1], keyword)


def _anagram(word: str, keywords: list[str]) -> str | None:
    """A keyword of the same letters in another order, as in SQE for SEQ."""
    letters = sorted(word.upper())
    return next((name for name in keywords if sorted(name) == letters), None)


_ONE_CLAUSE = "join conditions with AND, and attributes with ','"

# ---- statements

_SPLIT = "split the workload into several files"

#: Returns the location of an offset in the whole text.
Locate = Callable[[int], Location]

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


class Statements(NamedTuple):
    """The statements of a workload text.

    Attributes:
        queries: the queries of valid statements, in order.
        faults: the errors of the other statements.
        declarations: the parameters.
        zones: the default zones; only the first one counts.
    """

    queries: tuple[Query, ...]
    faults: list[Diagnostic]
    declarations: tuple[Declaration, ...] = ()
    zones: tuple[Zone, ...] = ()


def parse_workload(text: str, file: str = "<text>") -> tuple[Query, ...]:
    """The queries of a workload text, in order; QueryError: every syntax fault, with its place.

    >>> parse_workload("QUERY q RETURN COUNT(*) PATTERN A+ WITHIN 10;")[0].name
    'q'
    """
    parsed = parse_statements(text, file)
    if parsed.faults:
        raise QueryError.of(parsed.faults)
    return parsed.queries


def parse_statements(text: str, file: str = "<text>") -> Statements:
    """Return the queries and parameters of valid statements, and the errors of the others."""
    if len(text) > MAX_TEXT:
        message = f"the workload is longer than {MAX_TEXT} characters"
        return Statements((), [Diagnostic(message, Location(file, 1, 1), _SPLIT)])
    locate = _locator(text, file)
    if surrogate := _SURROGATE.search(text):
        place = locate(surrogate.start())
        message = "half of a character (a surrogate)"
        return Statements((), [Diagnostic(message, place, "save the file as UTF-8")])
    statements = list(islice(_statements(text), MAX_QUERIES + 1))
    if len(statements) > MAX_QUERIES:
        start, last = statements[-1]
        place = locate(start + len(last) - len(last.lstrip()))
        return Statements((), [Diagnostic(f"more than {MAX_QUERIES} queries", place, _SPLIT)])
    parsed: list[_Statement] = []
    faults: list[Diagnostic] = []
    for start, statement in statements:
        found, wrong = _parsed(statement, start, locate)
        parsed += found
        faults += wrong
    queries = tuple(one for one in parsed if isinstance(one, Query))
    if not queries and not faults:
        hint = "as in QUERY name RETURN COUNT(*) ..."
        faults.append(Diagnostic("the workload has no query", locate(0), hint))
    zones = tuple(one for one in parsed if isinstance(one, Zone))
    if len(zones) > 1:
        faults.append(Diagnostic("a second SET ZONE", zones[1].at, "remove one of them"))
    declarations = tuple(one for one in parsed if isinstance(one, Declaration))
    return Statements(queries, faults, declarations, zones)


def _locator(text: str, file: str) -> Locate:
    """Return a function from an offset to a location."""
    lines = [*accumulate((len(line) + 1 for line in text.split("\n")), initial=0)]

    def locate(offset: int) -> Location:
        line = bisect_right(lines, offset)
        return Location(file, line, offset - lines[line - 1] + 1)

    return locate


def _statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the start of each statement, and its text without its ";"."""
    start, blank = 0, True
    for piece in _PIECE.finditer(text):
        token = piece.group()
        if token == ";":
            if not blank:
                yield start, text[start : piece.start()]
            start, blank = piece.end(), True
        elif not token.startswith("--") and token.strip():
            blank = False
    if not blank:
        yield start, text[start:]


_Statement = Query | Declaration | Zone
#: Statements that are valid, and the errors of the others.
_Parsed = tuple[list[_Statement], list[Diagnostic]]


def _parsed(text: str, start: int, locate: Locate) -> _Parsed:
    """Return what a statement is, or its errors; both if a `;` is missing."""
    if too_large := _find_too_large(text):
        offset, message = too_large
        return [], [Diagnostic(message, locate(start + offset), "split or shorten it")]
    try:
        tree = _parser().parse(text)
        return [SyntaxBuilder(start, locate).build(tree)], []
    except UnexpectedInput as error:
        clear = _PIECE.sub(_blank, text)
        if begins := list(_later_queries(clear)):
            return _several(text, begins, start, locate)
        offset, message, hint = describe_fault(error, clear)
        return [], [Diagnostic(message, locate(start + offset), hint)]
    except QueryError as error:
        return [], [*error.diagnostics]


def _several(text: str, begins: list[int], start: int, locate: Locate) -> _Parsed:
    """A statement taken apart where further queries begin."""
    queries: list[_Statement] = []
    faults: list[Diagnostic] = []
    for first, stop in pairwise([0, *begins, len(text)]):
        place = start + first
        if re.search(r"\b(query|param|set\s+zone)\b", text[:first], re.IGNORECASE):
            message = "found QUERY; expected ';' before it"
            faults.append(Diagnostic(message, locate(place), "end the query before it with ';'"))
        found, wrong = _parsed(text[first:stop], place, locate)
        queries += found
        faults += wrong
    return queries, faults


def _blank(piece: re.Match[str]) -> str:
    """A comment or string as spaces of the same length, line ends kept."""
    text = piece[0]
    ended = text.startswith("--") or (text[0] == "'" and len(text) > 1)
    return re.sub(r"[^\n]", " ", text) if ended else text


def _later_queries(text: str) -> Iterator[int]:
    """Yield the starts of further queries in a statement."""
    first = len(text) - len(text.lstrip())
    for found in _BEGIN.finditer(text):
        if found.start() > first and closest(found[1], ["RETURN"]) is not None:
            yield found.start()


# ---- parse trees to syntax trees


_COMPARISONS = {"<>": "!=", "==": "="}
_OF_PARTS: dict[str, Callable[..., syntax.Pattern]] = {
    "sequence": syntax.Sequence,
    "either": syntax.Disjunction,
    "both": syntax.Conjunction,
}
#: Words before a list of types in parentheses.
_WITH_TYPES = ["SEQ", syntax.ANY]
_OF_ONE: dict[str, Callable[..., syntax.Pattern]] = {
    "negation": syntax.Negation,
    "plus": syntax.KleenePlus,
    "star": syntax.KleeneStar,
    "maybe": syntax.Maybe,
}
#: Operations by the grammar's name, where that says which.
_OPERATIONS = {
    "minus": "neg",
    "inversion": "NOT",
    "conjunction": "AND",
    "disjunction": "OR",
    "is_null": "IS NULL",
    "is_in": "IN",
    "between": "BETWEEN",
    "is_like": "LIKE",
}


def _modifier(tokens: Sequence[Tree[Token] | Token]) -> str | None:
    """Return EACH or DISTINCT, if it is the first of the tokens after the name of a function."""
    first = next(iter(tokens), None)
    is_one = isinstance(first, Token) and first.type in ("EACH", "DISTINCT")
    return str(first).upper() if is_one else None


class SyntaxBuilder:
    """Builds the syntax nodes of a statement that starts somewhere in a text."""

    def __init__(self, start: int, locate: Locate) -> None:
        self._start = start
        self._locate = locate

    def build(self, tree: Tree[Token]) -> syntax.Query | syntax.Declaration | syntax.Zone:
        """Return the query, the parameter or the default zone of a statement.

        Raises:
            QueryError: it is nested too deeply, has a clause twice, or too large a number.
        """
        too_deep = find_too_deep(tree)
        if too_deep is not None:
            self._refuse(f"nested deeper than {MAX_NESTING} levels", too_deep, "nest less deeply")
        if tree.data == "default_zone":
            return self._zone(tree)
        return self._declaration(tree) if tree.data == "declaration" else self._query(tree)

    def _zone(self, node: Tree[Token]) -> syntax.Zone:
        [text] = (child for child in node.children if isinstance(child, Tree))
        return syntax.Zone(str(self._literal("text", text).value), self._at(text))

    def _declaration(self, tree: Tree[Token]) -> syntax.Declaration:
        name, kind, *default = (child for child in tree.children if isinstance(child, Tree))
        value = self._default(default[0]) if default else None
        written = str(kind.children[0]).lower()
        of = str(name.children[0])
        return syntax.Declaration(of, written, value, self._at(name), self._at(kind))

    def _default(self, node: Tree[Token]) -> syntax.Literal:
        if str(node.data) in ("true", "false"):
            return self._literal(str(node.data), node)
        [value] = (child for child in node.children if isinstance(child, Tree))
        return self._literal("text" if value.data == "text" else "number", value)

    def _query(self, tree: Tree[Token]) -> syntax.Query:
        name, returned, pattern, *rest = tree.children
        clauses: dict[str, Tree[Token]] = {}
        for clause in rest:
            kind = str(clause.data)
            if kind in clauses:
                title = kind.split("_", maxsplit=1)[0].upper()
                self._refuse(f"a second {title} clause", clause, _ONE_CLAUSE)
            clauses[kind] = clause
        where, group_by = clauses.get("where_clause"), clauses.get("group_clause")
        having = clauses.get("having_clause")
        within, semantics = clauses.get("within_clause"), clauses.get("semantics_clause")
        keys = [child for child in group_by.children if isinstance(child, Tree)] if group_by else []
        span, session = clauses.get("span_clause"), clauses.get("session_clause")
        lengths = self._lengths(within) if within else []
        further = within or span
        zone = self._part(further, "zone")
        items = [child for child in returned.children if isinstance(child, Tree)]
        return syntax.Query(
            name=str(name.children[0]),
            returns=tuple(map(self._item, items)),
            pattern=self._pattern(pattern.children[0]),
            where=self._expression(where.children[0]) if where else None,
            group_by=tuple(map(self._item, keys)),
            within=lengths[0] if lengths else None,
            slide=lengths[1] if len(lengths) > 1 else None,
            semantics=syntax.Semantics(
                str(semantics.children[0]).lower() if semantics else "skip-till-any-match"
            ),
            having=self._expression(having.children[-1]) if having else None,
            at=self._at(name),
            steps=not items,
            span=self._span(span) if span else None,
            offset=self._offset(further),
            zone=self._zone(zone) if zone else None,
            session=self._session(session) if session else None,
        )

    # ---- clauses

    def _span(self, node: Tree[Token]) -> syntax.Span:
        length, *period = self._lengths(node)
        by_first = any(isinstance(c, Token) and c.type == "BY_FIRST" for c in node.children)
        return syntax.Span(length, period[0] if period else None, by_first, self._at(node))

    def _session(self, node: Tree[Token]) -> syntax.Session:
        inside = [child for child in node.children if isinstance(child, Tree)]
        gap, *up_to = (self._length(child) for child in inside if child.data != "session_keys")
        named = (key for child in inside if child.data == "session_keys" for key in child.children)
        keys = (syntax.Reference(None, str(key.children[0]), at=self._at(key)) for key in named)
        return syntax.Session(gap, up_to[0] if up_to else None, tuple(keys), self._at(node))

    def _lengths(self, node: Tree[Token]) -> list[syntax.Duration | syntax.Parameter]:
        """Return the lengths of a clause, without its zone and its OFFSET."""
        inside = (child for child in node.children if isinstance(child, Tree))
        return [self._length(child) for child in inside if child.data not in ("offset", "zone")]

    def _offset(self, node: Tree[Token] | None) -> syntax.Duration | syntax.Parameter | None:
        """Return the OFFSET of a clause WITHIN or SPAN, if it has one."""
        found = self._part(node, "offset")
        return self._length(found.children[-1]) if found else None

    def _part(self, node: Tree[Token] | None, name: str) -> Tree[Token] | None:
        """Return the part of a clause with a name, if it has one."""
        inside = (child for child in (node.children if node else []) if isinstance(child, Tree))
        return next((child for child in inside if child.data == name), None)

    def _length(self, node: Tree[Token]) -> syntax.Duration | syntax.Parameter:
        if node.data == "parameter":
            return syntax.Parameter(str(node.children[0]), self._at(node))
        return syntax.Duration(*self._amount(node), self._at(node))

    def _item(self, node: Tree[Token]) -> syntax.Item:
        written, *named = (child for child in node.children if isinstance(child, Tree))
        name = str(named[0].children[0]) if named else None
        # Without a name it can only be a grouping attribute.
        expression = (None if name else self._named(written)) or self._expression(written)
        return syntax.Item(expression, name, self._at(named[0] if named else node))

    def _named(self, node: Tree[Token]) -> syntax.Reference | None:
        """Return what `null`, `true` and `false` mean if they may be names; None for other nodes.

        A grouping attribute or an alias may have such a name.
        """
        if str(node.data) not in ("null", "true", "false"):
            return None
        return syntax.Reference(None, str(node.children[0]), at=self._at(node))

    # ---- patterns

    def _pattern(self, node: Tree[Token]) -> syntax.Pattern:
        at = self._at(node)
        if node.data == "event_pattern":
            kind, *alias = (str(token) for token in node.children)
            return syntax.EventPattern(kind, alias[0] if alias else kind, at)
        if node.data == "any_of":
            return self._any_of(node)
        if node.data == "quantified":
            body, bounds = (child for child in node.children if isinstance(child, Tree))
            return syntax.Quantified(self._pattern(body), *self._bounds(bounds), at)
        parts = tuple(self._pattern(child) for child in node.children if isinstance(child, Tree))
        kind = str(node.data)
        return _OF_PARTS[kind](parts, at) if kind in _OF_PARTS else _OF_ONE[kind](parts[0], at)

    def _bounds(self, node: Tree[Token]) -> syntax.Bounds:
        """Return how often a part is repeated at least and at most."""
        first, *last = map(int, node.children)
        match str(node.data):
            case "exactly":
                return first, first
            case "at_least":
                return first, None
            case "at_most":
                return 0, first
        return first, last[0]

    def _any_of(self, node: Tree[Token]) -> syntax.AnyOf:
        """Return `ANY(A, B) x`; QueryError: another word than ANY."""
        word, types, *alias = node.children
        if str(word).upper() != syntax.ANY:
            known = closest(str(word), _WITH_TYPES) or _anagram(str(word), _WITH_TYPES) or "SEQ"
            listed_types = ", ".join(map(str, types.children))
            message = f"{word}({listed_types}) is not a pattern"
            self._refuse(message, node, f"write {known}({listed_types})")
        name = str(alias[0]) if alias else syntax.ANY
        leaves = [
            syntax.EventPattern(str(kind), name, self._locate(self._start + (kind.start_pos or 0)))
            for kind in types.children
        ]
        return syntax.AnyOf(tuple(leaves), self._at(node))

    # ---- expressions

    def _expression(self, node: Tree[Token]) -> syntax.Expression:
        kind = str(node.data)
        if kind.endswith("reference"):
            return self._reference(node)
        if kind in ("number", "text", "null", "true", "false"):
            return self._literal(kind, node)
        at = self._at(node)
        if kind == "equivalence":
            return syntax.Equivalence(tuple(self._reference(c) for c in node.children), at)
        if kind == "call_star":
            function, *tokens = node.children
            modifier = _modifier(tokens)
            return syntax.Call(str(function).lower(), (), star=True, modifier=modifier, at=at)
        if kind == "call":
            return self._call(node)
        if kind == "parameter":
            return syntax.Parameter(str(node.children[0]), at)
        if kind == "case":
            return self._case(node)
        if kind == "zoned":
            operand, zone = (child for child in node.children if isinstance(child, Tree))
            name = str(self._literal("text", zone).value)
            return syntax.Zoned(self._expression(operand), name, self._at(zone))
        parts = tuple(self._expression(c) for c in node.children if isinstance(c, Tree))
        sign = next((str(c).upper() for c in node.children if isinstance(c, Token)), "")
        name = _OPERATIONS.get(kind) or _COMPARISONS.get(sign, sign)
        operation = syntax.Operation(name, parts, at)
        return syntax.Operation("NOT", (operation,), at) if sign == "NOT" else operation

    def _case(self, node: Tree[Token]) -> syntax.Case:
        inside = [child for child in node.children if isinstance(child, Tree)]
        branches = [child for child in inside if child.data == "branch"]
        otherwise = [child for child in inside if child.data != "branch"]
        pairs = tuple(
            (self._expression(branch.children[0]), self._expression(branch.children[1]))
            for branch in branches
        )
        last = self._expression(otherwise[0]) if otherwise else None
        return syntax.Case(pairs, last, self._at(node))

    def _call(self, node: Tree[Token]) -> syntax.Call:
        function, *others = (child for child in node.children if isinstance(child, Token))
        function, modifier = str(function).lower(), _modifier(others)
        part = [] if modifier else [str(other).lower() for other in others]
        inside = [child for child in node.children if isinstance(child, Tree)]
        names = [self._named(c) if function in syntax.AGGREGATES else None for c in inside]
        given = (n or self._expression(c) for n, c in zip(names, inside, strict=True))
        of = part[0] if part else None
        return syntax.Call(function, tuple(given), of, modifier=modifier, at=self._at(node))

    def _literal(self, kind: str, node: Tree[Token]) -> syntax.Literal:
        at = self._at(node)
        if kind == "number":
            return syntax.Literal(*self._amount(node), at, str(node.children[0]))
        if kind == "text":
            return syntax.Literal(str(node.children[0])[1:-1].replace("''", "'"), None, at)
        return syntax.Literal({"null": None, "true": True, "false": False}[kind], None, at)

    def _amount(self, node: Tree[Token]) -> tuple[int | float, str | None]:
        """A number and its unit, if it has one."""
        digits, *unit = map(str, node.children)
        text = "".join(digits.split())
        whole = not any(sign in text for sign in ".eE")
        value = int(text) if whole else float(text)
        if math.isinf(value):
            self._refuse(f"{text[:25]} is too large", node, "write at most 1.79e308")
        return value, unit[0].lower() if unit else None

    def _reference(self, node: Tree[Token]) -> syntax.Reference:
        *qualifier, attribute = (str(token) for token in node.children if token.type == "NAME")
        return syntax.Reference(
            qualifier[0] if qualifier else None,
            attribute,
            node.data == "next_reference",
            self._at(node),
        )

    def _at(self, node: Tree[Token]) -> Location:
        return self._locate(self._start + (0 if node.meta.empty else node.meta.start_pos))

    def _refuse(self, message: str, node: Tree[Token], hint: str) -> NoReturn:
        raise QueryError.of([Diagnostic(message, self._at(node), hint)])
