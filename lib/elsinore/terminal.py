"""Output for people: what events, files and queries contain cannot control the terminal.

`run_command` puts `guarded_output` around every command, so that whatever is printed or echoed is
escaped. Rich needs escape sequences of its own; its text is escaped by `console.SafeConsole`, the
only console that the package makes.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from elsinore.wording import escaped


class SafeStream:
    """A text stream that escapes what would control a terminal; all else is the stream's own.

    Attributes:
        rich_proxied_file: the stream below, to which consoles of Rich write.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text with its control and bidirectional characters escaped."""
        self.rich_proxied_file.write(escaped(text))
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write several texts as `write` does."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream below."""
        self.rich_proxied_file.flush()

    def __getattr__(self, name: str) -> Any:
        if name == "buffer":  # Click would write texts to it
            raise AttributeError("the bytes below are written with `unguarded`")
        return getattr(self.rich_proxied_file, name)


def unguarded(stream: TextIO) -> TextIO:
    """Return the stream below a `SafeStream`, or the stream itself."""
    return stream.rich_proxied_file if isinstance(stream, SafeStream) else stream


@contextmanager
def guarded_output() -> Iterator[None]:
    """Escape what is written to standard output and standard error meanwhile."""
    with ExitStack() as stack:
        if sys.stdout is not None:  # None if the caller has closed it
            stack.enter_context(redirect_stdout(SafeStream(sys.stdout)))
        if sys.stderr is not None:
            stack.enter_context(redirect_stderr(SafeStream(sys.stderr)))
        yield
