"""What the docs' pages of measurements have in common: pictures, tables, marks around results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_BEGIN, _END = "<!-- results: begin -->", "<!-- results: end -->"


@contextmanager
def picture(
    path: Path, width: float, height: float, size: int = 9, fonts: str = "path"
) -> Iterator[Any]:
    """A figure that is written at the end; the same results give the same file."""
    from matplotlib import rc_context, rcdefaults, rcParams
    from matplotlib.figure import Figure

    # a fixed salt and no date
    style = {"svg.hashsalt": "elsinore", "font.size": size, "svg.fonttype": fonts}
    with rc_context():
        rcdefaults()  # not what a matplotlibrc in the working directory says
        rcParams.update(style)
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The lines of a table."""
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def replace_results(page: Path, lines: Iterable[str]) -> None:
    """Put lines between the marks of a page; the text around them stays."""
    text = page.read_text(encoding="utf-8")
    before, after = text.split(_BEGIN)[0], text.split(_END)[1]
    page.write_text(before + "\n".join([_BEGIN, *lines, _END]) + after, encoding="utf-8")
