"""Reads the prose of the project: blocks of Markdown pages, docstrings, comments and messages."""

from __future__ import annotations

import ast
import io
import itertools
import re
import tokenize
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

#: A string constant with fewer words is a name or a value, not a sentence.
_MESSAGE_WORDS = 5
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9'_./-]*")
#: Stands for inline code, a link target or an interpolated value, which are read as one word.
_PLACEHOLDER = "X"


class Kind(StrEnum):
    """How a text is laid out; a limit on length applies to some kinds only."""

    PARAGRAPH = "paragraph"
    CELL = "table cell"
    HEADING = "heading"
    MESSAGE = "message"
    DOCSTRING = "docstring"
    COMMENT = "comment"


class Text(NamedTuple):
    """A piece of prose; `line` counts from 1."""

    kind: Kind
    line: int
    words: str


def count_words(text: str) -> int:
    """Return the number of words of a text.

    >>> count_words("Runs are idempotent: replay `any` hour.")
    6
    """
    return len(_WORD.findall(text))


def sentences(text: str) -> list[str]:
    """Split a text at the ends of its sentences.

    >>> sentences("One idea. Then another, e.g. this one.")
    ['One idea.', 'Then another, e.g. this one.']
    """
    return re.split(r"(?<=[.!?])\s+(?=[A-Z`\"'*(])", text.strip())


def page_texts(markdown: str) -> list[Text]:
    """Return the paragraphs, table cells and headings of a Markdown page, without its code."""
    tokens = MarkdownIt("commonmark").enable("table").parse(markdown)
    kinds = {"th_open": Kind.CELL, "td_open": Kind.CELL, "heading_open": Kind.HEADING}
    texts, line = [], 1
    for before, token in itertools.pairwise(tokens):
        line = token.map[0] + 1 if token.map else line
        if token.type == "inline":
            words = "".join(map(_plain, token.children or []))
            texts.append(Text(kinds.get(before.type, Kind.PARAGRAPH), line, words))
    return [text for text in texts if text.words.strip()]


def _plain(token: Token) -> str:
    if token.type == "code_inline":
        return _PLACEHOLDER
    if token.type in ("softbreak", "hardbreak"):
        return " "
    return token.content if token.type == "text" else ""


def module_texts(source: str) -> list[Text]:
    """Return the docstrings, comments and messages of a Python module."""
    tree = ast.parse(source)
    docstrings = list(_docstrings(tree))
    texts = [
        Text(Kind.DOCSTRING, node.lineno, _without_code(str(node.value))) for node in docstrings
    ]
    texts += _messages(tree, {id(node) for node in docstrings})
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            texts.append(Text(Kind.COMMENT, token.start[0], token.string.lstrip("#: ")))
    return texts


def _docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            statement = node.body[0]
            assert isinstance(statement, ast.Expr)
            assert isinstance(statement.value, ast.Constant)
            yield statement.value


def _messages(tree: ast.Module, docstrings: set[int]) -> Iterator[Text]:
    """Yield strings of several words; an f-string is one text, its values are placeholders."""
    parts = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node) if part is not node
    }  # fmt: skip
    for node in ast.walk(tree):
        if id(node) in docstrings or id(node) in parts:
            continue
        if isinstance(node, ast.JoinedStr):
            words = "".join(
                str(part.value) if isinstance(part, ast.Constant) else _PLACEHOLDER
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words = node.value
        else:
            continue
        if len(words.split()) >= _MESSAGE_WORDS:
            yield Text(Kind.MESSAGE, node.lineno, _without_code(words))


def _without_code(text: str) -> str:
    text = re.sub(r"^\s*(>>>|\.\.\.) .*$", "", text, flags=re.MULTILINE)
    return re.sub(r"`[^`\n]*`", _PLACEHOLDER, text)


def package_of(path: Path, library: Path) -> str:
    """Return the package of a module below `library`; modules of the top level share one name."""
    parts = path.relative_to(library).parts
    return parts[0] if len(parts) > 1 else "top"
