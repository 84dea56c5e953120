"""Writes Markdown: paragraphs, tables and code spans that every reader of Markdown accepts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_CODE = re.compile(r"(`+[^`]+`+)")


def one_line(text: str) -> str:
    """Return a text on one line.

    >>> one_line(" Read  events. ")
    'Read events.'
    """
    return " ".join(text.split())


def plain(text: str) -> str:
    r"""Escape the signs of HTML and of emphasis in a text, outside its code spans.

    >>> plain("a <b> of `x < y`, not *all*")
    'a &lt;b&gt; of `x < y`, not \\*all\\*'
    """
    parts = _CODE.split(one_line(text))
    parts[::2] = [
        part.replace("<", "&lt;").replace(">", "&gt;").replace("*", "\\*") for part in parts[::2]
    ]
    return "".join(parts)


def code(text: str) -> str:
    """Return a code span; its text may hold backticks, but not nothing.

    >>> code("a|b"), code("`x`")
    ('`a|b`', '`` `x` ``')
    """
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""Return a table; cells are Markdown.

    >>> print(table(["name", "values"], [["x", "`a|b`"]]))
    | name | values |
    |---|---|
    | x | `a\|b` |
    """
    lines = [head, ["---"] * len(head), *rows]
    texts = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in lines]
    texts[1] = "|".join(lines[1])
    return "\n".join([f"| {texts[0]} |", f"|{texts[1]}|", *(f"| {text} |" for text in texts[2:])])


def blocks(parts: Iterable[str]) -> str:
    """Return the parts of a page, each after an empty line."""
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"
