"""Draws SVG: shapes and text that stay legible when a picture is shrunk to a phone's width."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

#: Pictures are this wide. At 390 pixels, text of 22 units has 13 pixels.
WIDTH = 640
#: Size of most text.
SIZE = 22

INK = "#1f2933"
QUIET = "#5f6c7b"
FAINT = "#e4e9ef"
BLUE = "#1b6ca8"
GREEN = "#2f7d3b"
RED = "#b23a48"

Point = tuple[float, float]


@dataclass
class Drawing:
    """The elements of one picture, from back to front."""

    title: str
    height: int
    elements: list[str] = field(default_factory=list)

    def text(
        self,
        at: Point,
        words: str,
        color: str = INK,
        *,
        size: int = SIZE,
        anchor: str = "start",
        bold: bool = False,
    ) -> None:
        """Write one line of text; `at` is on its baseline."""
        weight = ' font-weight="700"' if bold else ""
        self.elements.append(
            f'<text x="{at[0]:g}" y="{at[1]:g}" font-size="{size}" fill="{color}" '
            f'text-anchor="{anchor}"{weight}>{escape(words)}</text>'
        )

    def box(self, corner: Point, extent: Point, fill: str, stroke: str = "none") -> None:
        """Draw a rectangle with round corners, `extent` is its width and height."""
        self.elements.append(
            f'<rect x="{corner[0]:g}" y="{corner[1]:g}" width="{extent[0]:g}" '
            f'height="{extent[1]:g}" rx="8" fill="{fill}" stroke="{stroke}" stroke-width="2"/>'
        )

    def line(self, start: Point, end: Point, color: str, *, dashed: bool = False) -> None:
        """Draw a straight line."""
        dashes = ' stroke-dasharray="7 6"' if dashed else ""
        self.elements.append(
            f'<path d="M{start[0]:g} {start[1]:g}L{end[0]:g} {end[1]:g}" fill="none" '
            f'stroke="{color}" stroke-width="2.5"{dashes}/>'
        )

    def arrow(self, start: Point, end: Point, color: str = QUIET) -> None:
        """Draw a horizontal or vertical line with a head at its end."""
        self.line(start, end, color)
        (x, y), across = end, start[1] == end[1]
        back = 10 if (end > start if across else end[1] > start[1]) else -10
        sides = (
            ((x - back, y - 7), (x - back, y + 7))
            if across
            else ((x - 7, y - back), (x + 7, y - back))
        )
        points = " ".join(f"{a:g},{b:g}" for a, b in (end, *sides))
        self.elements.append(f'<polygon points="{points}" fill="{color}"/>')

    def dot(self, center: Point, color: str, radius: float = 9) -> None:
        """Draw an event."""
        self.elements.append(
            f'<circle cx="{center[0]:g}" cy="{center[1]:g}" r="{radius:g}" fill="{color}"/>'
        )

    def chip(self, corner: Point, width: float, words: str, color: str) -> None:
        """Draw a small box with centered text."""
        self.box(corner, (width, 38), "#ffffff", color)
        self.text((corner[0] + width / 2, corner[1] + 27), words, color, anchor="middle", bold=True)

    def written(self) -> str:
        """Return the SVG file."""
        head: Sequence[str] = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{self.height}" '
            f'viewBox="0 0 {WIDTH} {self.height}" role="img" '
            'font-family="system-ui, Helvetica, Arial, sans-serif">',
            f"<title>{escape(self.title)}</title>",
            f'<rect width="{WIDTH}" height="{self.height}" rx="12" fill="#ffffff"/>',
        )
        return "\n".join([*head, *self.elements, "</svg>", ""])
