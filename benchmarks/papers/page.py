"""The results as tables and pictures: printed, or written into `docs/hamlet.md`."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.hamlet_paper.draw import draw
from benchmarks.hamlet_paper.experiments import Experiment, Point
from benchmarks.hamlet_paper.measure import EXECUTORS, Found
from benchmarks.pages import replace_results, table
from benchmarks.results import machine

_DOCS = Path(__file__).parents[2] / "docs"
_PAGE = _DOCS / "hamlet.md"
_PICTURES = "pictures"

Results = Sequence[tuple[Experiment, list[Point]]]


def print_tables(results: Results) -> None:
    """Show the tables on standard output."""
    for experiment, points in results:
        print(f"\n{experiment.title} ({experiment.figures})\n")
        print("\n".join(table_of(experiment, points)))


def write_page(results: Results, *, rounds: int, slow: float, limit: int) -> None:
    """Put tables and pictures between the marks of the page; the text around them stays."""
    parts = [
        f"{machine()}, one core used; medians of {rounds} processes,"
        f" or of one that takes more than {slow:g} s. An executor that takes more than {limit} s"
        " is given up, at this point and at all later ones.",
        "",
    ]
    for experiment, points in results:
        name = f"hamlet-{experiment.name}.svg"
        draw(experiment, points, _DOCS / _PICTURES / name)
        parts += [
            f"### {experiment.title}",
            "",
            f"*{experiment.figures}.* {experiment.setting}",
            "",
            f"![{experiment.title}]({_PICTURES}/{name})",
            "",
            *table_of(experiment, points),
            "",
        ]
    replace_results(_PAGE, parts)


def table_of(experiment: Experiment, points: list[Point]) -> list[str]:
    """Milliseconds a window and megabytes by executor, ratios to hamlet, and hamlet's counts."""
    names = [name for name in EXECUTORS if name in experiment.executors]
    others = [name for name in names if name != "hamlet"]
    head = [experiment.variable, *(f"{name}, ms" for name in names)]
    head += [f"{name} / hamlet" for name in others]
    head += [f"{name}, MB" for name in names]
    if experiment.counts:
        head += ["bursts", "of them shared", "snapshots", "snapshots, static"]
    lines = []
    for point in points:
        found = [point.found.get(name) for name in names]
        line = [f"{point.value:g}" if point.value < 1 else f"{point.value:,.0f}"]
        line += [_cell(each, lambda f: 1e3 * seconds(f) / experiment.windows) for each in found]
        line += [_cell(each, partial(_ratio, base=point.found["hamlet"])) for each in found[1:]]
        line += [_cell(each, lambda f: statistics.median(f.megabytes)) for each in found]
        if experiment.counts:
            counts = point.found["hamlet"].counts
            line += [f"{counts['bursts']:,}", f"{counts['shared'] / counts['bursts']:.0%}"]
            line += [f"{snapshots(point.found[n].counts):,}" for n in ("hamlet", "hamlet-static")]
        lines.append(line)
    return list(table(head, lines))


def _ratio(found: Found, base: Found) -> float:
    return seconds(found) / seconds(base)


def seconds(found: Found) -> float:
    """The median time of a run over the whole stream."""
    return statistics.median(found.seconds)


def snapshots(counts: dict[str, int]) -> int:
    """Snapshots at graphlet level, one a shared burst, and at event level."""
    return counts["shared"] + counts["event snapshots"]


def _cell(found: Found | None, value_of: Callable[[Found], float]) -> str:
    if found is None:
        return "–"
    value = value_of(found)
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}" if value >= 1 else f"{value:.2f}"
