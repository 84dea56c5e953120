"""Defines a benchmark: a claim with a target, and a function that measures and checks results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Measured:
    """What came out.

    Attributes:
        figure: the value that is compared with the target.
        checked: which answers were compared with what; a figure of unchecked answers is none.
        rows: all that was measured, a mapping of names to figures or texts each, in one shape.
        note: what a reader must know to read the figure rightly.
    """

    figure: float
    checked: str
    rows: tuple[Mapping[str, float | str], ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Benchmark:
    """A claim, mostly a row of the specification's section on speed.

    Attributes:
        name: for the command line.
        claim: what is claimed, in one line.
        setting: queries, stream, and what is timed.
        unit: of the figure.
        target: the value to reach; None for a benchmark that only records.
        at_least: whether more is better.
        measure: takes some seconds to minutes; raises AssertionError where an answer is wrong.
    """

    name: str
    claim: str
    setting: str
    unit: str
    target: float | None
    at_least: bool
    measure: Callable[[], Measured]

    def told(self) -> dict[str, Any]:
        """What results and lists tell of it: all but how it is measured."""
        return {name: value for name, value in vars(self).items() if name != "measure"}

    def headroom(self, figure: float) -> float | None:
        """Return the factor by which a value is better than the target; below 1 it is worse.

        >>> Benchmark("speed", "", "", "x", 8.0, True, lambda: Measured(0, "")).headroom(4.0)
        0.5
        >>> Benchmark("seconds", "", "", "s", 8.0, False, lambda: Measured(0, "")).headroom(4.0)
        2.0
        """
        if self.target is None:
            return None
        return figure / self.target if self.at_least else self.target / figure


def benchmark(
    name: str,
    claim: str,
    setting: str,
    unit: str,
    *,
    at_least: float | None = None,
    at_most: float | None = None,
) -> Callable[[Callable[[], Measured]], Benchmark]:
    """Make a function that measures a claim a benchmark, with at most one of two targets.

    >>> benchmark("speed", "", "", "x", at_least=8.0)(lambda: Measured(0, "")).target
    8.0
    """
    target = at_most if at_least is None else at_least

    def claimed(measure: Callable[[], Measured]) -> Benchmark:
        return Benchmark(name, claim, setting, unit, target, at_least is not None, measure)

    return claimed


def number(value: float) -> str:
    """Three significant digits.

    >>> number(1234.5), number(0.01234), number(98.76), number(2.0)
    ('1,234', '0.0123', '98.8', '2')
    """
    return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.3g}"
