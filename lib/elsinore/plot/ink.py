"""Sizes and colors of pictures, areas to draw on that Matplotlib packs, and the file.

All lengths are in points. On an area, x grows to the right and y downwards.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from errno import ENOENT
from functools import lru_cache
from pathlib import Path
from typing import Any

from matplotlib import rc_context, rcdefaults
from matplotlib.artist import Artist
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.offsetbox import DrawingArea, HPacker, OffsetBox, VPacker
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text
from matplotlib.textpath import TextToPath
from matplotlib.transforms import Affine2D

from elsinore.errors import ParameterError
from elsinore.places import whole_file
from elsinore.wording import visible

Point = tuple[float, float]

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

#: Margin of the page, gap between parts, and maximum width of a line of blocks.
_MARGIN, BETWEEN, _PAGE = 24.0, 30.0, 1_000.0
_DPI = 144.0
#: Matplotlib supports images of less than 2^16 pixels per side.
_MOST_PIXELS = 65_000.0


@contextmanager
def default_style() -> Iterator[None]:
    """Draw with Matplotlib's defaults, without the `matplotlibrc` of the working directory.

    That file may select LaTeX for text, which starts other programs.
    """
    with rc_context():
        rcdefaults()
        yield


@lru_cache(maxsize=10_000)
def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Return the width of one line of text."""
    font = FontProperties(family=FONT, size=size, weight="bold" if bold else "normal")
    width, _, _ = TextToPath().get_text_width_height_descent(visible(text), font, ismath=False)
    return float(width)


def block_width(lines: Sequence[str], size: float) -> float:
    """Return the width of several lines of text."""
    return max((text_width(line, size) for line in lines), default=0.0)


def block_height(lines: int, size: float) -> float:
    """Return the height of several lines of text."""
    return lines * size * LEADING


class Area(DrawingArea):
    """A rectangle to draw on; later artists cover earlier ones."""

    def put(self, artist: Artist) -> None:
        """Add an artist whose coordinates are points of the area."""
        down = Affine2D().scale(1, -1).translate(0, self.height)
        artist.set_transform(down + self.get_transform())
        self.add_artist(artist)

    def write(
        self, at: Point, text: str, size: float, *, colour: str = TEXT, bold: bool = False,
        align: str = "left", clear: bool = False, turned: float = 0.0,
    ) -> None:  # fmt: skip
        """Write text at a point.

        Unprintable characters are escaped, because XML does not allow most of them.

        Args:
            at: the point of the text's left end, center or right end.
            text: one line of text.
            size: font size.
            colour: color of the text.
            bold: whether the font is bold.
            align: which part of the text is at the point: `left`, `center` or `right`.
            clear: whether a white background hides what is below the text.
            turned: rotation in degrees, counterclockwise.
        """
        white = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        self.put(
            Text(*at, visible(text), size=size, color=colour, weight="bold" if bold else "normal",
                 family=FONT, ha=align, va="center_baseline", parse_math=False, rotation=turned,
                 rotation_mode="anchor", bbox=white if clear else None)
        )  # fmt: skip

    def capsule(
        self, middle: Point, width: float, height: float, radius: float, **look: Any
    ) -> None:
        """Draw a rectangle with round corners."""
        corner = middle[0] - width / 2, middle[1] - height / 2
        style = f"round,pad=0,rounding_size={radius}"
        self.put(FancyBboxPatch(corner, width, height, boxstyle=style, **look))


def label(
    text: str, size: float = BODY, *, colour: str = TEXT, bold: bool = False,
    width: float | None = None, height: float | None = None,
) -> Area:  # fmt: skip
    """Return a line of text in an area of its size, or of the given width and height."""
    wide = text_width(text, size, bold=bold) if width is None else width
    area = Area(wide, block_height(1, size) if height is None else height)
    area.write((0.0, area.height / 2), text, size, colour=colour, bold=bold)
    return area


def heading(title: str, lines: Iterable[str]) -> OffsetBox:
    """Return a title with lines of text below it."""
    return below(label(title, TITLE, bold=True), *(label(line, colour=FAINT) for line in lines))


def beside(*parts: OffsetBox, gap: float = 0.0, align: Any = "center") -> OffsetBox:
    """Return parts arranged from left to right."""
    return HPacker(children=[*parts], sep=gap, pad=0.0, align=align)


def below(*parts: OffsetBox, gap: float = 0.0) -> OffsetBox:
    """Return parts arranged from top to bottom."""
    return VPacker(children=[*parts], sep=gap, pad=0.0, align="left")


def flow(blocks: Iterable[OffsetBox], width: float = _PAGE) -> OffsetBox:
    """Return blocks arranged in lines of at most `width`."""
    lines: list[list[OffsetBox]] = []
    room = 0.0
    for block in blocks:
        room -= _size(block)[0]
        if room < 0.0:
            lines.append([])
            room = width - _size(block)[0]
        lines[-1].append(block)
        room -= 2 * BETWEEN
    return below(*(beside(*line, gap=2 * BETWEEN, align="top") for line in lines), gap=BETWEEN)


def _size(part: OffsetBox) -> tuple[float, float]:
    width, height = part.get_bbox(RendererAgg(1, 1, 72)).size
    return float(width), float(height)


def save_page(page: OffsetBox, path: Path) -> None:
    """Write a white page with a margin.

    Raises:
        ParameterError: the file cannot be written.
    """
    width, height = _size(page)
    figure = Figure(((width + 2 * _MARGIN) / 72, (height + 2 * _MARGIN) / 72), facecolor="white")

    def corner(_w: float, _h: float, left: float, under: float, renderer: Any) -> Point:
        margin = renderer.points_to_pixels(_MARGIN)
        return left + margin, under + margin

    page.set_offset(corner)
    figure.add_artist(page)
    save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a picture; the same picture gives the same file.

    Raises:
        ParameterError: the file cannot be written.
    """
    dpi = min(_DPI, _MOST_PIXELS / max(figure.get_size_inches()))
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
    with rc_context({"svg.hashsalt": "elsinore"}):  # the default salt is random
        try:
            if not path.parent.is_dir():
                raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
            with whole_file(path) as out:  # replaces a link, does not follow it
                figure.savefig(out, format=path.suffix[1:].lower(), dpi=dpi, metadata=metadata)
        except OSError as error:
            hint = "name a file in a writable directory"
            raise ParameterError(f"cannot write {path}: {error.strerror}", hint=hint) from error
