"""Things that a person looks at: on a terminal, in Python's prompt, in a notebook, as a picture."""

from __future__ import annotations

from abc import ABC, abstractmethod
from html import escape
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console

from elsinore.console import SafeConsole

#: Columns of a text that is not on a terminal.
_WIDTH = 100


class Shown(ABC):
    """Base of printable values; `repr` returns the printed text."""

    @abstractmethod
    def print(self, console: Console) -> None:
        """Print it."""

    def __repr__(self) -> str:
        out = StringIO()
        self.print(SafeConsole(file=out, width=_WIDTH, highlight=False, soft_wrap=True))
        return out.getvalue().rstrip("\n")

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


class Drawn(Shown):
    """Base of printable values with a picture; a notebook shows the text, then the picture."""

    @abstractmethod
    def draw(self, path: Path) -> None:
        """Draw it into a .svg or .png file; ParameterError: the file cannot be written."""

    def _repr_svg_(self) -> str:
        with TemporaryDirectory() as folder:
            path = Path(folder, "picture.svg")
            self.draw(path)
            return path.read_text(encoding="utf-8")

    def _repr_html_(self) -> str:
        picture = self._repr_svg_()
        return super()._repr_html_() + picture[picture.index("<svg") :]
