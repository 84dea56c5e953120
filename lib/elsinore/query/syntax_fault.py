"""What to tell the author of a statement that does not parse: found, expected, and a hint."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from elsinore.query.faults import closest, listed, suggest

#: What people call the tokens that the grammar may expect; keywords are called what they are.
_TOKEN_NAMES = {
    "NAME": "a name",
    "TEXT": "a 'string'",
    "INTEGER": "a number",
    "DECIMAL": "a number",
    "NEGATIVE": "a number",
    "COMPARE": "a comparison",
    "GROUP_BY": "GROUP-BY",
    "ANY_MATCH": "skip-till-any-match",
    "NEXT_MATCH": "skip-till-next-match",
    "CONTIGUOUS": "contiguous",
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
_SEMANTICS = ("skip-till-any-match", "skip-till-next-match", "contiguous")
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:-[A-Za-z_][A-Za-z0-9_-]*)?", re.ASCII)
_LAST_WORD = re.compile(r"(?<![A-Za-z0-9_.])([A-Za-z_][A-Za-z0-9_]*)\s*\Z", re.ASCII)
_LAST_CALL = re.compile(r"(?<![A-Za-z_])([A-Za-z_][A-Za-z0-9_]*)\s*\(\s*\w+\s*\)\s*\Z", re.ASCII)
_LONGEST_FOUND = 40
#: Names of one or two letters are no misspelt keywords; those this much alike are.
_SURELY_ALIKE = 0.8
#: Signs of other languages; a quote is left over (see `describe_fault`) where a string has no end.
_SIGNS = {
    "'": "this string has no end",
    '"': "strings stand in single quotes",
    "&": "write AND",
    "|": "write OR",
    "!": "write NOT",
}


def describe_fault(error: UnexpectedInput, text: str) -> tuple[int, str, str | None]:
    """Where in the text of a statement the fault is, what it is, and how to mend it.

    `text` is the statement with its comments and strings blanked out, at their places.
    """
    offset, found, expected = _facts(error, text)
    names = sorted({_TOKEN_NAMES.get(name, name) for name in expected})
    wanted = f"; expected {listed(names)}" if names else ""
    hint = _hint(text[offset:], names)
    earlier = _misspelt_before(text[:offset], found, names)
    if earlier is not None and hint is None:
        start, word, keyword = earlier
        message = f"found {word!r} before {found}; expected {keyword}"
        return start, message, f"did you mean {keyword}?"
    return offset, f"found {found}{wanted}", hint


def _facts(error: UnexpectedInput, text: str) -> tuple[int, str, Iterable[str]]:
    """Offset, what stands there, and the terminals that might."""
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
        return _SIGNS.get(rest[:1])
    keywords = [name for name in names if name[0].isalpha() and " " not in name]
    return suggest(word[0], keywords) or suggest(word[0].split("-")[0], keywords)


def _misspelt_before(before: str, found: str, names: list[str]) -> tuple[int, str, str] | None:
    """A keyword misspelt right before the fault, and taken for a name: place, word, keyword."""
    call = _LAST_CALL.search(before) if found == "'.'" else None
    last = call or _LAST_WORD.search(before)
    if last is None:
        return None
    keywords = [name for name in names if name.isupper() or name in ("GROUP-BY", *_SEMANTICS)]
    keywords += ["NEXT"] if call else ["SEQ", "NOT"] if found == "'('" else ["NOT"]
    if last[1].upper() in keywords:
        return None
    keyword = closest(last[1], keywords, _SURELY_ALIKE) or _anagram(last[1], keywords)
    return None if keyword is None else (last.start(1), last[1], keyword)


def _anagram(word: str, keywords: list[str]) -> str | None:
    """A keyword of the same letters in another order, as in SQE for SEQ."""
    letters = sorted(word.upper())
    return next((name for name in keywords if sorted(name) == letters), None)
