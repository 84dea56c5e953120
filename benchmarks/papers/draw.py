"""A picture of one experiment: time, throughput and memory, as the paper's figures have them."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.hamlet_paper.experiments import Experiment, Point
from benchmarks.hamlet_paper.measure import EXECUTORS, Found
from benchmarks.pages import picture

#: Colours and marks that differ without colour too.
_STYLES = {
    "hamlet": ("#1b6ca8", "o"),
    "hamlet-static": ("#e07b39", "s"),
    "greta": ("#3a7d44", "^"),
    "sharon": ("#8b5fbf", "D"),
    "twostep": ("#b23a48", "v"),
}


def draw(experiment: Experiment, points: list[Point], path: Path) -> None:
    """Write the picture; the same results give the same bytes."""
    with picture(path, 8.6, 2.6, size=8, fonts="none") as figure:
        panels = figure.subplots(1, 3)
        _panel(panels[0], experiment, points, "ms a window", _milliseconds(experiment))
        _panel(panels[1], experiment, points, "events a second", _throughput)
        _panel(panels[2], experiment, points, "MB more at the peak", _megabytes, log=False)
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)


def _panel(
    panel: Any,
    experiment: Experiment,
    points: list[Point],
    title: str,
    value_of: Callable[[Point, Found], float],
    *,
    log: bool = True,
) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    for name in EXECUTORS:
        there = [point for point in points if name in point.found]
        colour, mark = _STYLES[name]
        if there:
            panel.plot(
                [_place(experiment, point) for point in there],
                [value_of(point, point.found[name]) for point in there],
                color=colour,
                marker=mark,
                markersize=4,
                linewidth=1.2,
                label=name,
            )
        if there and there[-1] is not points[-1]:
            last = there[-1]
            panel.annotate(
                "given up",
                (_place(experiment, last), value_of(last, last.found[name])),
                xytext=(-6, 6),
                textcoords="offset points",
                color=colour,
                fontsize=7,
            )
    panel.margins(y=0.18)
    if log:
        panel.set_yscale("log")
        panel.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.yaxis.set_major_formatter(lambda value, _: _short(value))
        panel.yaxis.set_minor_locator(NullLocator())
    else:
        panel.set_ylim(bottom=0)
    panel.set_xticks(
        [_place(experiment, point) for point in points], [_short(point.value) for point in points]
    )
    panel.set_xlabel(experiment.variable)
    panel.set_title(title, fontsize=8)
    panel.grid(axis="y", color="#dddddd", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def _place(experiment: Experiment, point: Point) -> float:
    return experiment.values.index(point.value) if experiment.even else point.value


def _short(value: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "K")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _milliseconds(experiment: Experiment) -> Callable[[Point, Found], float]:
    return lambda _, found: 1e3 * statistics.median(found.seconds) / experiment.windows


def _throughput(point: Point, found: Found) -> float:
    return point.events / statistics.median(found.seconds)


def _megabytes(_: Point, found: Found) -> float:
    return statistics.median(found.megabytes)
