"""Sizes and colours of pictures, and how large a text is when drawn."""

from __future__ import annotations

from functools import lru_cache

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
