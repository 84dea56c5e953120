"""Small charts of one figure over days, as geometry for an inline SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from elsinore.quality.bars import Rectangle
from elsinore.quality.day_figures import DayFigures

#: Size of a chart in its own units; a page scales it to its width.
WIDTH, HEIGHT = 210, 44
_GAP = 3


@dataclass(frozen=True, slots=True)
class TrendChart:
    """One bar for each day, oldest first.

    `latest` is the last day's figure as text; `critical` says that any figure at all is bad news.
    """

    title: str
    latest: str
    bars: tuple[Rectangle, ...]
    critical: bool = False
    width: int = WIDTH
    height: int = HEIGHT


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _percent(value: float) -> str:
    return f"{value:.1%}"


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


def trend_charts(days: Sequence[DayFigures]) -> tuple[TrendChart, ...]:
    """The charts of some days; none where there is only one, which is no trend."""
    if len(days) < 2:
        return ()
    return tuple(
        TrendChart(
            title,
            text(figure(days[-1])),
            _bars([(day.day, figure(day)) for day in days], text),
            critical,
        )
        for title, figure, text, critical in _CHARTS
    )


def _bars(
    figures: Sequence[tuple[str, float]], text: Callable[[float], str]
) -> tuple[Rectangle, ...]:
    largest = max(value for _, value in figures) or 1.0
    slot = WIDTH / len(figures)
    bars = []
    for place, (day, value) in enumerate(figures):
        # What is not zero is seen, however small.
        height = max(value / largest * HEIGHT, 2.0) if value else 0.0
        last = int(place == len(figures) - 1)
        title = f"{day}: {text(value)}"
        bars.append(Rectangle(place * slot, HEIGHT - height, slot - _GAP, height, last, title))
    return tuple(bars)
