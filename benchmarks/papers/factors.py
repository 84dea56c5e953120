"""How many times faster one system is than another, from the results of an experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

from benchmarks.papers.figures import Point
from benchmarks.papers.online import TWO_STEP


@dataclass(frozen=True)
class Factor:
    """The slower system's time over the faster one's.

    Attributes:
        slow, fast: their names.
        least, most: over the values at which both ended, each with the value: (factor, value).
        lost: at which value the slower one was given up, and for want of what; None if never.
        beyond: (log10 of the factor, value): of the last value at which the faster one ended, if
            the slower one, given up before, took as long a trend as at its last value.
    """

    slow: str
    fast: str
    least: tuple[float, float]
    most: tuple[float, float]
    lost: tuple[float, str] | None
    beyond: tuple[float, float] | None

    def said(self) -> str:
        """In words."""
        (low, at_low), (high, at_high) = self.least, self.most
        text = f"**{self.slow} / {self.fast}: {amount(high)}** at {short(at_high)}"
        if at_low != at_high and amount(low) != amount(high):
            text += f" ({amount(low)} at {short(at_low)})"
        if self.lost is not None:
            text += f"; {self.slow} stops at {short(self.lost[0])} ({self.lost[1]} limit)"
        if self.beyond is not None:
            text += f"; extrapolated: {power(self.beyond[0])} at {short(self.beyond[1])}"
        return text


def factor(points: Sequence[Point], slow: str, fast: str) -> Factor | None:
    """None where there is no value at which both ended."""
    both = [p for p in points if slow in p.found and fast in p.found]
    if not both:
        return None
    ratios = sorted((p.found[slow].time / p.found[fast].time, p.value) for p in both)
    lost = next(((p.value, p.lost[slow]) for p in points if slow in p.lost), None)
    beyond = None
    last, end = both[-1], next(p for p in reversed(points) if fast in p.found)
    known, wanted = last.found[slow].trends, end.found[fast].trends
    further = lost is not None and slow in TWO_STEP and end is not last
    if further and known is not None and wanted is not None:
        taken = log10(last.found[slow].time) + wanted - known
        beyond = taken - log10(end.found[fast].time), end.value
    return Factor(slow, fast, ratios[0], ratios[-1], lost, beyond)


def amount(value: float) -> str:
    """A factor in few digits.

    >>> amount(0.951), amount(1234.5), amount(16.66)
    ('0.95', '1,230', '16.7')
    """
    if value < 10:
        return f"{value:.2f}"
    return f"{float(f'{value:.3g}'):,.10g}"


def power(exponent: float) -> str:
    """A power of ten, as such where it is large.

    >>> power(2.5), power(123.4)
    ('316', '10^123')
    """
    return amount(10**exponent) if exponent < 6 else f"10^{exponent:.0f}"


def short(value: float) -> str:
    """A value of a variable.

    >>> short(0.5), short(3000)
    ('0.5', '3,000')
    """
    return f"{value:g}" if value < 1 else f"{value:,.10g}"
