"""The results as tables and pictures: printed, or written into `docs/hamlet.md`."""

from __future__ import annotations

import os
import platform
import re
import statistics
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from benchmarks.hamlet_paper.draw import draw
from benchmarks.hamlet_paper.experiments import Experiment, Point
from benchmarks.hamlet_paper.measure import EXECUTORS, Found

_DOCS = Path(__file__).parents[2] / "docs"
_PAGE = _DOCS / "hamlet.md"
_PICTURES = "pictures"
_BEGIN, _END = "<!-- results: begin -->", "<!-- results: end -->"

Results = Sequence[tuple[Experiment, list[Point]]]


def print_tables(results: Results) -> None:
    """Show the tables on standard output."""
    for experiment, points in results:
        print(f"\n{experiment.title} ({experiment.figures})\n")
        print("\n".join(table_of(experiment, points)))


def write_page(results: Results, *, rounds: int, slow: float, limit: int) -> None:
    """Put tables and pictures between the marks of the page; the text around them stays."""
    parts = [
        f"{_machine()}; medians of {rounds} processes,"
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
    page = _PAGE.read_text(encoding="utf-8")
    before, after = page.split(_BEGIN)[0], page.split(_END)[1]
    text = "\n".join([_BEGIN, *parts, _END])
    _PAGE.write_text(before + text + after, encoding="utf-8")


def table_of(experiment: Experiment, points: list[Point]) -> list[str]:
    """Milliseconds a window and megabytes by executor, ratios to hamlet, and hamlet's counts."""
    names = [name for name in EXECUTORS if name in experiment.executors]
    others = [name for name in names if name != "hamlet"]
    head = [experiment.variable, *(f"{name}, ms" for name in names)]
    head += [f"{name} / hamlet" for name in others]
    head += [f"{name}, MB" for name in names]
    if experiment.counts:
        head += ["bursts", "of them shared", "snapshots", "snapshots, static"]
    lines = [head, ["---"] * len(head)]
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
    return ["| " + " | ".join(line) + " |" for line in lines]


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


def _machine() -> str:
    info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*:\s*(.+)", info)
    name = model.group(1) if model else platform.processor()
    return f"{name}, {os.cpu_count()} cores, one used; Python {platform.python_version()}"
