"""Reads and runs the examples of documentation pages."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PROGRAM = ".venv/bin/elsinore"
OF_A_LAKE = frozenset({"replay", "sql"})


class Block(NamedTuple):
    """A fenced block of a page: its language and its text."""

    language: str
    text: str


def page_blocks(name: str) -> list[Block]:
    """Return the fenced blocks of a page, in their order; `name` is a path below the checkout."""
    page = (ROOT / name).read_text(encoding="utf-8")
    return [Block(*found) for found in re.findall(r"^```(\w+)\n(.*?)^```$", page, re.M | re.S)]


def without_trailing_blanks(text: str) -> list[str]:
    """Return the lines of a text as a page can show them."""
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def run_python_blocks(name: str) -> dict[str, object]:
    """Run the Python blocks of a page in one namespace, compare what they print, return it.

    A block that prints something is followed by a `text` block with the output.
    """
    names: dict[str, object] = {}
    blocks = page_blocks(name)
    for number, block in enumerate(blocks):
        if block.language != "python":
            continue
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(block.text, f"{name}, block {number}", "exec"), names)
        after = blocks[number + 1 : number + 2]
        shown = after[0].text if after and after[0].language == "text" else ""
        assert without_trailing_blanks(out.getvalue()) == without_trailing_blanks(shown), block.text
    return names


def shown_commands(name: str) -> list[tuple[list[str], str]]:
    """Return the arguments of each `elsinore` command of a page, and the output shown below it.

    Commands that need a lake are left to other tests.
    """
    blocks = page_blocks(name)
    shown = []
    for number, block in enumerate(blocks):
        if block.language == "sh" and block.text.startswith(PROGRAM):
            if block.text.split()[1] in OF_A_LAKE:
                continue
            after = blocks[number + 1]
            assert after.language in ("text", "json"), f"{name}: {block.text} shows no output"
            shown.append((shlex.split(block.text)[1:], after.text))
    return shown


def is_part_of_an_example(block: Block, suffix: str) -> bool:
    """Return whether a block is a part of a file in `docs/example`."""
    files = (ROOT / "docs" / "example").glob(f"*{suffix}")
    return any(block.text.strip() in path.read_text(encoding="utf-8") for path in files)


def printed_by(run: Callable[[list[str]], int], arguments: list[str]) -> tuple[int, list[str]]:
    """Return a command's exit code and the lines on its standard output."""
    written = io.BytesIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(written, encoding="utf-8")) as out:
        code = run(arguments)
        out.flush()
        return code, without_trailing_blanks(written.getvalue().decode())
