"""Pictures of experiments: time, throughput and memory, as the papers' figures have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.pages import picture
from benchmarks.papers.figures import Experiment, Point
from benchmarks.papers.measure import MEGABYTES, MEMORY, PLANS, TIME, Found
from benchmarks.papers.online import ONLINE, OPTIMIZERS

#: Colours, marks and lines that differ without colour too: two-step systems are dashed.
_STYLES = {
    "SASE": ("#b23a48", "v", "--"),
    "Flink": ("#8c564b", "X", "--"),
    "CET": ("#d6409f", "P", "--"),
    "SPASS": ("#c77d0a", "<", "--"),
    "MCEP": ("#e07b39", "s", "--"),
    "A-Seq": ("#7f7f7f", "h", "-"),
    "GRETA": ("#3a7d44", "^", "-"),
    "Sharon": ("#8b5fbf", "D", "-"),
    "Sharon, greedy": ("#c39bd3", "d", "-"),
    "Hamlet, static": ("#4fb3bf", "p", "-"),
    "Hamlet": ("#1b6ca8", "o", "-"),
    "exhaustive": ("#b23a48", "v", "--"),
    "Sharon's": ("#8b5fbf", "D", "-"),
    "greedy": ("#c39bd3", "d", "-"),
}
#: Marks of the budget that a system broke.
_MARKS = {TIME: "x", MEMORY: "s", PLANS: "*"}
#: What the overview's legend says of solid and of dashed lines.
OURS = "Elsinore's executors: no match is listed"
OTHERS = "systems that list matches, re-implemented by this project"
_SAID = {TIME: "stopped: time", MEMORY: "stopped: memory", PLANS: "stopped: plans"}
#: Megabytes below which memory is as good as none.
_LEAST = 0.1

Value = Callable[[Point, Found], float]
#: What a system that is given up would be shown as: the budget that it broke.
Broken = Callable[[Point, str], float | None]


def draw(experiment: Experiment, points: Sequence[Point], path: Path, limit: int) -> None:
    """Write the picture; the same results give the same bytes. `limit` is in CPU seconds."""
    reads = not set(experiment.systems) <= set(OPTIMIZERS)
    panels: tuple[tuple[str, Value, Broken], ...] = (
        ("ms per window" if reads else "ms", *_milliseconds(experiment, limit)),
        (
            "events per second",
            lambda point, found: point.events / found.time,
            lambda point, why: point.events / limit if why == TIME else None,
        ),
        (
            "additional MB at the peak",
            lambda _, found: max(found.memory, _LEAST),
            lambda _, why: MEGABYTES if why == MEMORY else None,
        ),
    )
    panels = panels if reads else (panels[0], panels[2])
    rows = 1 + (len(experiment.systems) - 1) // 6
    with picture(path, 9.0, 2.55 + 0.2 * rows, size=8, fonts="none") as figure:
        for panel, (title, value_of, broken) in zip(
            figure.subplots(1, len(panels)), panels, strict=True
        ):
            _plot(panel, experiment, points, value_of, broken)
            _furnish(panel, experiment, points, title)
        handles, labels = figure.axes[0].get_legend_handles_labels()
        for why in (each for each in _MARKS if any(each in p.lost.values() for p in points)):
            handles += [_mark(why)]
            labels += [_SAID[why]]
        columns = -(-len(labels) // rows)
        figure.legend(handles, labels, loc="outside upper center", ncols=columns, frameon=False)


def draw_overview(experiment: Experiment, points: Sequence[Point], path: Path, limit: int) -> None:
    """Draw one large panel of times, with the systems' names at the ends of their lines.

    The legend separates this engine's executors from the systems that the project re-implemented.
    """
    value_of, broken = _milliseconds(experiment, limit)
    with picture(path, 5.6, 5.6, size=11, fonts="none") as figure:
        panel = figure.subplots()
        ends = _plot(panel, experiment, points, value_of, broken)
        _furnish(panel, experiment, points, "")
        panel.set_title("Milliseconds per window", fontsize=11, loc="left")
        panel.set_xlim(-0.3, 1.3 * len(points))
        _name(panel, ends)
        lost = {why for point in points for why in point.lost.values()}
        handles = [_line("-"), _line("--"), *(_mark(why) for why in _MARKS if why in lost)]
        labels = [OURS, OTHERS, *(_SAID[why] for why in _MARKS if why in lost)]
        figure.legend(handles, labels, loc="outside upper left", frameon=False)


def _line(style: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color="#444444", lw=1.6, ls=style)


def _mark(why: str) -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color="#444444", marker=_MARKS[why], ls="", ms=7, mew=1.8, mfc="none")


def _plot(
    panel: Any, experiment: Experiment, points: Sequence[Point], value_of: Value, broken: Broken
) -> dict[str, tuple[float, float]]:
    """A line a system, on to a mark where it is given up; where each line ends."""
    ends: dict[str, tuple[float, float]] = {}
    for name in experiment.systems:
        colour, mark, line = _STYLES[name]
        there = [p for p in points if name in p.found]
        xs = [_place(experiment, point) for point in there]
        ys = [value_of(point, point.found[name]) for point in there]
        if not there:
            continue
        panel.plot(xs, ys, color=colour, marker=mark, ms=4, lw=1.2, ls=line, label=name)
        ends[name] = xs[-1], ys[-1]
        for point in points:
            height = broken(point, point.lost[name]) if name in point.lost else None
            if height is not None:
                x = _place(experiment, point)
                panel.plot([xs[-1], x], [ys[-1], height], color=colour, lw=0.8, ls=":")
                kind = _MARKS[point.lost[name]]
                panel.plot([x], [height], color=colour, marker=kind, ms=7, mew=1.8, mfc="none")
                ends[name] = x, height
    return ends


def _furnish(panel: Any, experiment: Experiment, points: Sequence[Point], title: str) -> None:
    from matplotlib.ticker import LogLocator, NullLocator

    panel.margins(y=0.12)
    panel.set_yscale("log")
    low, high = panel.get_ylim()
    steps = (1.0, 2.0, 5.0) if high < 30 * low else (1.0, 3.0) if high < 300 * low else (1.0,)
    panel.yaxis.set_major_locator(LogLocator(subs=steps))
    panel.yaxis.set_major_formatter(lambda value, _: _short(value))
    panel.yaxis.set_minor_locator(NullLocator())
    places = [_place(experiment, point) for point in points]
    panel.set_xticks(places, [_short(point.value) for point in points])
    panel.set_xlabel(experiment.variable)
    panel.set_title(title, fontsize=8)
    panel.grid(axis="y", color="#dddddd", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def _name(panel: Any, ends: dict[str, tuple[float, float]]) -> None:
    """Write names right of the ends of lines, apart from each other."""
    panel.figure.canvas.draw()
    taken: list[tuple[float, float]] = []
    for name, (x, y) in sorted(ends.items(), key=lambda each: each[1][1]):
        across, height = panel.transData.transform((x, y))
        place = height
        while any(abs(across - x0) < 80 and place < y0 + 15 for x0, y0 in taken):
            place += 1
        taken.append((across, place))
        panel.annotate(
            name, (x, y), xytext=(9, (place - height) * 0.72), textcoords="offset points",
            va="center", color=_STYLES[name][0], fontsize=10.5,
            fontweight="bold" if name in ONLINE else "normal",
        )  # fmt: skip


def _place(experiment: Experiment, point: Point) -> int:
    return experiment.values.index(point.value)


def _short(value: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "K")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _milliseconds(experiment: Experiment, limit: int) -> tuple[Value, Broken]:
    def of(_: Point, found: Found) -> float:
        return 1e3 * found.time / experiment.windows

    def broken(point: Point, why: str) -> float:
        """At the limit of time; who wants for memory is shown there, too."""
        return 1e3 * limit / experiment.windows

    return of, broken
