"""Sizes and colours of pictures, how large a text is when drawn, and what is written to a file."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from elsinore.errors import ParameterError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Point = tuple[float, float]

#: Endings of the names of pictures.
ENDINGS = (".svg", ".png")
#: Font sizes in points.
TITLE, BODY, NAME, LABEL, NOTE = 13.0, 9.0, 10.0, 8.5, 7.5
#: Height of a line of text, in font sizes.
LEADING = 1.3
FONT = "DejaVu Sans"  # comes with Matplotlib

LINE = "#37474f"
TEXT = "#1a1a1a"
FAINT = "#607080"
CROSSED = "#c62828"
POSITIVE_FILL = "#eaf2fb"
NEGATIVE_FILL = "#fdecea"

_DPI = 144.0
#: Matplotlib draws no image of 2^16 pixels or more on a side.
_MOST_PIXELS = 65_000.0


@lru_cache(maxsize=10_000)
def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Width of one line of text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    font = FontProperties(family=FONT, size=size, weight="bold" if bold else "normal")
    width, _, _ = TextToPath().get_text_width_height_descent(text, font, ismath=False)
    return float(width)


def block_width(lines: list[str], size: float) -> float:
    """Width of several lines of text."""
    return max((text_width(line, size) for line in lines), default=0.0)


def block_height(lines: int, size: float) -> float:
    """Height of several lines of text."""
    return lines * size * LEADING


def write(
    axes: Axes,
    at: Point,
    text: str,
    size: float,
    *,
    colour: str = TEXT,
    bold: bool = False,
    align: str = "left",
    clear: bool = False,
) -> None:
    """A line of text whose left end (or its middle) is at a point; `clear` hides what is below."""
    axes.text(
        *at, text, size=size, color=colour, weight="bold" if bold else "normal", family=FONT,
        ha=align, va="center_baseline", parse_math=False,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6} if clear else None,
    )  # fmt: skip


def page(width: float, height: float) -> tuple[Figure, Axes]:
    """A white page in points, y growing downwards."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(height, 0))
    axes.set_axis_off()
    return figure, axes


def require_picture(path: Path) -> None:
    """Refuse a file name that does not end as pictures do.

    Raises:
        ParameterError: it does not.
    """
    if path.suffix.lower() not in ENDINGS:
        raise ParameterError(f"{path} is no picture", hint=f"let it end in {' or '.join(ENDINGS)}")


def save(figure: Figure, path: Path) -> None:
    """Write a picture; the same one gives the same file.

    Raises:
        ParameterError: the file cannot be written.
    """
    from matplotlib import rc_context

    dpi = min(_DPI, _MOST_PIXELS / max(figure.get_size_inches()))
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
    with rc_context({"svg.hashsalt": "elsinore"}):  # salted by chance otherwise
        try:
            figure.savefig(path, dpi=dpi, metadata=metadata)
        except OSError as error:
            raise ParameterError(f"cannot write {path}: {error.strerror}") from error
