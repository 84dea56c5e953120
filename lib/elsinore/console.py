"""The Rich console of the package, a separate module because many commands need no Rich."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import IO, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from elsinore.terminal import unguarded
from elsinore.wording import escaped


class SafeConsole(Console):
    """A console that escapes control and bidirectional characters in its output.

    Its own escape sequences go to the stream below `guarded_output`.
    """

    def __init__(self, *, file: IO[str] | None = None, stderr: bool = False, **others: Any) -> None:
        standard = sys.stderr if stderr else sys.stdout
        super().__init__(file=file or unguarded(standard), stderr=stderr, **others)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterator[Segment]:
        """Yield the segments of a renderable, their texts escaped."""
        for segment in super().render(renderable, options):
            text = segment.text if segment.control else escaped(segment.text)
            yield segment if text == segment.text else Segment(text, segment.style)
