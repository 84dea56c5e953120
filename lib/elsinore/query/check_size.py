"""Limits on the text of a workload: what no person writes is refused before it costs anything."""

from __future__ import annotations

import re
from typing import NamedTuple

from lark import Token, Tree

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


class TooLarge(NamedTuple):
    """Where a statement goes beyond a limit, as an offset into it, and which one."""

    offset: int
    message: str


def find_too_large(statement: str) -> TooLarge | None:
    """The first place where a statement is too long, or has a name or string that is.

    Reads no further than `MAX_TOKENS`, whatever the length of the text.

    >>> find_too_large("QUERY " + "q" * 201)
    TooLarge(offset=6, message='a name of more than 200 characters')
    """
    tokens = 0
    start = stop = -1  # of the string that the last token ended
    for found in _TOKEN.finditer(statement):
        text = found[0]
        if text.startswith("--"):
            continue
        tokens += 1
        if tokens > MAX_TOKENS:
            return TooLarge(found.start(), f"the query has more than {MAX_TOKENS} words and signs")
        if text[0] == "'" and len(text) > 1:
            start, stop = start if found.start() == stop else found.start(), found.end()
            if stop - start > MAX_STRING:
                return TooLarge(start, f"a string of more than {MAX_STRING} characters")
        elif len(text) > MAX_NAME and not text[0].isdigit():
            return TooLarge(found.start(), f"a name of more than {MAX_NAME} characters")
    return None


def find_too_deep(tree: Tree[Token]) -> Tree[Token] | None:
    """The first node below `MAX_NESTING` levels; asked before any recursion of ours meets it."""
    level = [tree]
    for _ in range(MAX_NESTING):
        level = [child for node in level for child in node.children if isinstance(child, Tree)]
        if not level:
            return None
    return level[0]
