"""Markdown as Python-Markdown reads it, which builds the site: repository hosts read more."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_FENCE = re.compile(r"^(```.*?^```[^\n]*\n?)", re.MULTILINE | re.DOTALL)
#: A row of a table, and a code span in it.
_ROW, _CODE = re.compile(r"^\|.*\|$", re.MULTILINE), re.compile(r"`[^`\n]+`")
#: The first item of a list, which may interrupt a paragraph; any item.
_FIRST_ITEM, _ITEM = re.compile(r"[-*+] |1[.)] "), re.compile(r"[-*+] |\d+[.)] ")
#: Lines of a list's item, as repository hosts read them, but not Python-Markdown.
_INDENTED = re.compile(r" {2,3}(?=\S)")


def outside_fences(change: Callable[[str], str], markdown: str) -> str:
    """Return a page with its text changed, but not its blocks of code."""
    parts = _FENCE.split(markdown)
    parts[::2] = map(change, parts[::2])
    return "".join(parts)


def with_plain_bars(markdown: str) -> str:
    r"""Return a page without backslashes before the bars of code in tables.

    Repository hosts need them there; Python-Markdown, which builds the site, would print them.

    >>> with_plain_bars(r"| `a\|b` | c\|d |")
    '| `a|b` | c\\|d |'
    """
    return outside_fences(
        lambda part: _ROW.sub(lambda row: _CODE.sub(_without_backslash, row[0]), part), markdown
    )


def _without_backslash(code: re.Match[str]) -> str:
    return code[0].replace(r"\|", "|")


def with_lists(markdown: str) -> str:
    r"""Return a page whose lists are also lists to Python-Markdown.

    It needs an empty line before a list, and four spaces before whatever belongs to an item.

    >>> with_lists("Take:\n- one\n  - or two\n")
    'Take:\n\n- one\n    - or two\n'
    """
    return outside_fences(lambda part: "".join(_lines_with_lists(part)), markdown)


def _lines_with_lists(markdown: str) -> Iterator[str]:
    in_list, in_paragraph, after_text = False, False, False
    for line in markdown.splitlines(keepends=True):
        is_item = _ITEM.match(line) is not None
        if in_list:
            if is_item and in_paragraph and after_text:
                yield "\n"
            if _INDENTED.match(line):
                line = f"    {line.lstrip(' ')}"
            in_paragraph = not is_item and (in_paragraph if after_text else bool(line.strip()))
            in_list = is_item or after_text or line[0].isspace()
        elif is_item and (not after_text or _FIRST_ITEM.match(line)):
            in_list, in_paragraph = True, False
            if after_text:
                yield "\n"
        yield line
        after_text = bool(line.strip()) and not line.startswith(("#", "|"))
