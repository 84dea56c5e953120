"""Charts of a report as geometry for an inline SVG; colours are the page's affair."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from elsinore.quality.day_figures import DayFigures

#: Size of the drawing in its own units; a page scales it to its width.
WIDTH, HEIGHT = 720, 190
_LEFT, _BOTTOM, _TOP = 56, 22, 8
_MAX_LABELS = 8
_MAX_BAR = 48
#: Size of a trend chart in its own units; a page scales it to its width.
TREND_WIDTH, TREND_HEIGHT = 210, 44
_GAP = 3
_whole, _percent = "{:,.0f}".format, "{:.1%}".format
_CHARTS: tuple[tuple[str, Callable[[DayFigures], float], Callable[[float], str], bool], ...] = (
    ("lines landed", lambda day: day.lines, _whole, False),
    ("quarantined", lambda day: day.quarantined / day.lines if day.lines else 0.0, _percent, False),
    ("duplicates", lambda day: day.duplicates, _whole, False),
    ("superseded by a correction", lambda day: day.superseded, _whole, False),
    ("values published", lambda day: day.rows, _whole, False),
    ("of these checked", lambda day: day.coverage, _percent, False),
    ("mismatches", lambda day: day.mismatches, _whole, True),
    ("events/s in aggregation", lambda day: day.throughput, _whole, False),
)


@dataclass(frozen=True, slots=True)
class Rectangle:
    """One part of one bar; `series` counts from 0, `title` is what a pointer over it reads."""

    x: float
    y: float
    width: float
    height: float
    series: int
    title: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text at a point."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class StackedBars:
    """A drawing of `WIDTH` by `HEIGHT`; `series` names the colours in order."""

    series: tuple[str, ...]
    rectangles: tuple[Rectangle, ...]
    categories: tuple[Label, ...]
    grid: tuple[Label, ...]
    base: float = HEIGHT - _BOTTOM
    left: float = _LEFT
    width: int = WIDTH
    height: int = HEIGHT


def stacked_bars(
    categories: Sequence[str], series: Mapping[str, Sequence[int]]
) -> StackedBars | None:
    """One bar for each category, its parts from the bottom in the order of `series`.

    None where there is nothing to draw.
    """
    totals = [sum(values) for values in zip(*series.values(), strict=True)]
    largest = max(totals, default=0)
    if largest == 0:
        return None
    top = _round_up(largest)
    slot = (WIDTH - _LEFT) / len(categories)
    bar = min(_MAX_BAR, slot * 0.8)
    scale = (HEIGHT - _BOTTOM - _TOP) / top
    rectangles = []
    for place, category in enumerate(categories):
        y = float(HEIGHT - _BOTTOM)
        for number, (name, values) in enumerate(series.items()):
            height = values[place] * scale
            y -= height
            if height:
                title = f"{category}: {values[place]:,} {name}"
                x = _LEFT + place * slot + (slot - bar) / 2
                rectangles.append(Rectangle(x, y, bar, height, number, title))
    step = -(-len(categories) // _MAX_LABELS)
    return StackedBars(
        series=tuple(series),
        rectangles=tuple(rectangles),
        categories=tuple(
            Label(_LEFT + (place + 0.5) * slot, HEIGHT - 6, categories[place])
            for place in range(0, len(categories), step)
        ),
        grid=tuple(
            Label(_LEFT, HEIGHT - _BOTTOM - value * scale, f"{value:,}")
            for value in sorted({0, top // 2, top})
        ),
    )


def _round_up(number: int) -> int:
    """The next 1, 2 or 5 times a power of ten.

    >>> [_round_up(n) for n in (1, 3, 71, 100, 101)]
    [1, 5, 100, 100, 200]
    """
    power: int = 10 ** (len(str(number)) - 1)
    return next(size * power for size in (1, 2, 5, 10) if size * power >= number)


@dataclass(frozen=True, slots=True)
class TrendChart:
    """One bar for each day, oldest first.

    `latest` is the last day's figure as text; `critical` says that any figure at all is bad news.
    """

    title: str
    latest: str
    bars: tuple[Rectangle, ...]
    critical: bool = False
    width: int = TREND_WIDTH
    height: int = TREND_HEIGHT


def trend_charts(days: Sequence[DayFigures]) -> tuple[TrendChart, ...]:
    """The charts of some days; none where there is only one, which is no trend."""
    if len(days) < 2:
        return ()
    return tuple(
        TrendChart(
            title,
            text(figure(days[-1])),
            _day_bars([(day.day, figure(day)) for day in days], text),
            critical,
        )
        for title, figure, text, critical in _CHARTS
    )


def _day_bars(
    figures: Sequence[tuple[str, float]], text: Callable[[float], str]
) -> tuple[Rectangle, ...]:
    largest = max(value for _, value in figures) or 1.0
    slot = TREND_WIDTH / len(figures)
    bars = []
    for place, (day, value) in enumerate(figures):
        # What is not zero is seen, however small.
        height = max(value / largest * TREND_HEIGHT, 2.0) if value else 0.0
        last = int(place == len(figures) - 1)
        title = f"{day}: {text(value)}"
        bars.append(
            Rectangle(place * slot, TREND_HEIGHT - height, slot - _GAP, height, last, title)
        )
    return tuple(bars)
