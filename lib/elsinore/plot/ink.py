"""Sizes and colours of pictures, areas to draw on that Matplotlib packs, and the file.

All lengths are in points; on an area x grows to the right and y downwards.
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

#: Around the page, between what is side by side, and how wide a line of blocks may get.
_MARGIN, BETWEEN, _PAGE = 24.0, 30.0, 1_000.0
_DPI = 144.0
#: Matplotlib draws no image of 2^16 pixels or more on a side.
_MOST_PIXELS = 65_000.0


@contextmanager
def default_style() -> Iterator[None]:
    """Draw with Matplotlib's defaults, without the `matplotlibrc` of the working directory.

    That file may choose to set text with LaTeX, which starts programs.
    """
    with rc_context():
        rcdefaults()
        yield


@lru_cache(maxsize=10_000)
def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Width of one line of text."""
    font = FontProperties(family=FONT, size=size, weight="bold" if bold else "normal")
    width, _, _ = TextToPath().get_text_width_height_descent(visible(text), font, ismath=False)
    return float(width)


def block_width(lines: Sequence[str], size: float) -> float:
    """Width of several lines of text."""
    return max((text_width(line, size) for line in lines), default=0.0)


def block_height(lines: int, size: float) -> float:
    """Height of several lines of text."""
    return lines * size * LEADING


class Area(DrawingArea):
    """A rectangle to draw on; what is put on it later lies above."""

    def put(self, artist: Artist) -> None:
        """Draw something that is given in the area's points."""
        down = Affine2D().scale(1, -1).translate(0, self.height)
        artist.set_transform(down + self.get_transform())
        self.add_artist(artist)

    def write(
        self, at: Point, text: str, size: float, *, colour: str = TEXT, bold: bool = False,
        align: str = "left", clear: bool = False, turned: float = 0.0,
    ) -> None:  # fmt: skip
        """Text with its left end, middle or right end at a point; `clear` hides what is below.

        It is `turned` by so many degrees, against the clock. XML has no place for most signs that
        have no look.
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
        """A rectangle with round corners."""
        corner = middle[0] - width / 2, middle[1] - height / 2
        style = f"round,pad=0,rounding_size={radius}"
        self.put(FancyBboxPatch(corner, width, height, boxstyle=style, **look))


def label(
    text: str, size: float = BODY, *, colour: str = TEXT, bold: bool = False,
    width: float | None = None, height: float | None = None,
) -> Area:  # fmt: skip
    """A line of text, as large as it is or larger."""
    wide = text_width(text, size, bold=bold) if width is None else width
    area = Area(wide, block_height(1, size) if height is None else height)
    area.write((0.0, area.height / 2), text, size, colour=colour, bold=bold)
    return area


def heading(title: str, lines: Iterable[str]) -> OffsetBox:
    """A title with lines of text below it."""
    return below(label(title, TITLE, bold=True), *(label(line, colour=FAINT) for line in lines))


def beside(*parts: OffsetBox, gap: float = 0.0, align: Any = "center") -> OffsetBox:
    """Parts from left to right."""
    return HPacker(children=[*parts], sep=gap, pad=0.0, align=align)


def below(*parts: OffsetBox, gap: float = 0.0) -> OffsetBox:
    """Parts from top to bottom."""
    return VPacker(children=[*parts], sep=gap, pad=0.0, align="left")


def flow(blocks: Iterable[OffsetBox], width: float = _PAGE) -> OffsetBox:
    """Blocks side by side, in as many lines as that takes."""
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
    """Write a white page with a margin; ParameterError: the file cannot be written."""
    width, height = _size(page)
    figure = Figure(((width + 2 * _MARGIN) / 72, (height + 2 * _MARGIN) / 72), facecolor="white")

    def corner(_w: float, _h: float, left: float, under: float, renderer: Any) -> Point:
        margin = renderer.points_to_pixels(_MARGIN)
        return left + margin, under + margin

    page.set_offset(corner)
    figure.add_artist(page)
    save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Write a picture; the same one gives the same file. ParameterError: it cannot be written."""
    dpi = min(_DPI, _MOST_PIXELS / max(figure.get_size_inches()))
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
    with rc_context({"svg.hashsalt": "elsinore"}):  # salted by chance otherwise
        try:
            if not path.parent.is_dir():
                raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
            with whole_file(path) as out:  # replaces a link, does not follow it
                figure.savefig(out, format=path.suffix[1:].lower(), dpi=dpi, metadata=metadata)
        except OSError as error:
            hint = "name a file in a writable directory"
            raise ParameterError(f"cannot write {path}: {error.strerror}", hint=hint) from error
