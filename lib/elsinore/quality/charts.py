"""The charts of a report: bars by hour or day, with the labels of their axes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from elsinore.quality.stories import Bar, Story
from elsinore.timeline import HOUR, parse_hour
from elsinore.wording import plural

#: At most this many labels on the axis of values above zero, and on the axis of time.
_VALUES, _TIMES = 3, 6
#: Hours between two labels of the axis of time.
_STEPS = (1, 2, 3, 6, 12, 24)
#: Numbers of larger sizes are printed by their leading digits.
_FULL = 43.0
#: Larger sizes have no double.
_DOUBLE = 1000.0


class Tick(NamedTuple):
    """A label of an axis; `at` is from 0 (bottom, left) to 1 (top, right)."""

    at: float
    text: str


class Trend(NamedTuple):
    """A chart of a metric by hour or day.

    Attributes:
        title: what the bars show.
        bars: the values.
        text: prints a value.
        ticks: the labels of the vertical axis.
        total: the metric over the run's own bars.
        caption: the meaning of the total.
    """

    title: str
    bars: tuple[Bar, ...]
    text: Callable[[float], str]
    ticks: tuple[Tick, ...]
    total: float = 0.0
    caption: str = ""

    @classmethod
    def of(
        cls, title: str, values: pd.Series, text: Callable[[float], str] = "{:,.0f}".format,
        own: str = "", total: float = 0.0, caption: str = "", least: float = 1.0,
    ) -> Trend:  # fmt: skip
        """Return a chart of values by hour or day; bars from `own` on belong to the run.

        Labels of the vertical axis are at least `least` apart.
        """
        values = values.where(np.isfinite(values), 0.0)
        heights = [value / values.max() if value else None for value in values]
        bars = tuple(map(Bar, values.index, heights, values, values.index >= own))
        return cls(
            title, bars, text, value_ticks(values.max(), text, least), total, caption or title
        )


def trends(days: pd.DataFrame, own: str) -> tuple[Trend, ...]:
    """Return a chart for each metric of `ReportData.days`; none for one day.

    Bars from the day `own` on belong to the run.
    """
    if len(days) < 2:
        return ()
    totals = days[days.index >= own].sum()

    def count(name: str, noun: str, what: str = "") -> Trend:
        title, caption = (plural(noun, number) + what for number in (2, totals[name]))
        return Trend.of(title, days[name], own=own, total=totals[name], caption=caption)

    def share(title: str, part: str, whole: str) -> Trend:
        total = min(totals[part] / totals[whole], 1.0) if totals[whole] else 0.0
        values = (days[part] / days[whole]).clip(upper=1)
        return Trend.of(title, values, "{:.1%}".format, own, total, least=0.0)

    return (
        count("records", "record", " ingested"),
        share("quarantined", "bad_records", "records"),
        count("repeated", "repeated record"),
        count("rows", "value", " published"),
        share("of the published values recomputed", "checked", "rows"),
        count("mismatches", "mismatch"),
    )


# ---- axes


def value_ticks(top: float, text: Callable[[float], str], least: float = 1.0) -> tuple[Tick, ...]:
    """Return round numbers from zero up to a largest value, at least `least` apart.

    >>> value_ticks(955.0, "{:,.0f}".format)
    (Tick(at=0.0, text='0'), Tick(at=0.5235602094240838, text='500'))
    >>> value_ticks(0.234, "{:.0%}".format, least=0)[-1]
    Tick(at=0.8547008547008547, text='20%')
    """
    if not top > 0:
        return ()
    step = max(_round_step(top), least)
    return tuple(Tick(n * step / top, text(n * step)) for n in range(int(top / step + 1e-9) + 1))


def _round_step(top: float) -> float:
    """Return the smallest 1, 2 or 5 times a power of ten that divides a range into few steps."""
    power = 10.0 ** math.floor(math.log10(top / _VALUES))
    return next(power * n for n in (1, 2, 5, 10) if top / (power * n) <= _VALUES)


def story_ticks(story: Story) -> tuple[Tick, ...]:
    """Return the labels of the values of a query's chart, whose sizes are binary logarithms."""
    top = max((bar.value for bar in story.bars), default=-math.inf)
    if not story.is_linear:
        return _power_ticks(top)
    if top > _DOUBLE:
        return Tick(0.0, "0"), Tick(1.0, show_size(top))
    return value_ticks(2.0**top, lambda value: show_size(math.log2(value)) if value else "0")


def _power_ticks(top: float) -> tuple[Tick, ...]:
    """Return powers of ten from 1 up to a size, for a logarithmic axis."""
    digits = top * math.log10(2)
    step = max(1, round(_round_step(digits)))
    return tuple(
        Tick(n * step / digits, f"{10 ** (n * step):,}" if n * step < 7 else f"1e{n * step}")
        for n in range(int(digits / step) + 1)
    )


def time_ticks(labels: Sequence[str]) -> tuple[Tick, ...]:
    """Return labels for an axis of hours or days, `at` the left edge of their bars.

    >>> [tick.text for tick in time_ticks([f"2013-02-08T{hour:02}" for hour in range(24)])]
    ['8 Feb', '06:00', '12:00', '18:00']
    >>> [tick.text for tick in time_ticks(["2013-02-08", "2013-02-09"])]
    ['8 Feb', '9 Feb']
    """
    if "T" in labels[0]:
        hours = [parse_hour(label) // HOUR for label in labels]
        step = next((n for n in _STEPS if len(hours) / n <= _TIMES), _STEPS[-1])
        shown = [n for n, hour in enumerate(hours) if hour % step == 0]
    else:
        shown = list(range(0, len(labels), -(-len(labels) // _TIMES)))
    return tuple(Tick(n / len(labels), _time_text(labels[n])) for n in shown)


def _time_text(label: str) -> str:
    if label[10:] in ("", "T00"):
        day = pd.Timestamp(label[:10])
        return f"{day.day} {day:%b}"
    return f"{label[11:]}:00"


def show_size(size: float) -> str:
    """Return a number given its binary logarithm, to the precision that it has.

    >>> show_size(-math.inf), show_size(math.log2(1234)), show_size(1100.0)
    ('0', '1,234', '1.35e331')
    """
    if size < _FULL:
        return f"{round(2.0**size):,}"
    power, part = divmod(size * math.log10(2), 1)
    return f"{int(100 * 10**part) / 100:.2f}e{power:.0f}"
