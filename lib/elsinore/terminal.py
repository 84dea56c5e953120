"""Escape terminal output, so that events, files and queries cannot control the terminal.

`run_command` puts `guarded_output` around every command, so that all printed text is escaped. Rich
needs its own escape sequences; `console.SafeConsole`, the only console of the package, escapes its
text.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from elsinore.wording import escaped


class SafeStream:
    """A text stream that escapes characters that control a terminal.

    Attributes:
        rich_proxied_file: the underlying stream, to which consoles of Rich write.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a string with its control and bidirectional characters escaped."""
        self.rich_proxied_file.write(escaped(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several strings as `write` does."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the underlying stream."""
        self.rich_proxied_file.flush()

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # otherwise Click would write strings to it
            raise AttributeError("the bytes below are written with `unguarded`")
        return getattr(self.rich_proxied_file, name)


def unguarded(stream: TextIO) -> TextIO:
    """Return the stream under a `SafeStream`, or the stream itself."""
    return stream.rich_proxied_file if isinstance(stream, SafeStream) else stream


@contextmanager
def guarded_output() -> Iterator[None]:
    """Escape the text that is written to standard output and standard error meanwhile."""
    with ExitStack() as stack:
        if sys.stdout is not None:  # None if the caller has closed it
            stack.enter_context(redirect_stdout(SafeStream(sys.stdout)))
        if sys.stderr is not None:
            stack.enter_context(redirect_stderr(SafeStream(sys.stderr)))
        yield
