"""Writes the stored results as a page and a picture: each result compared with its target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alone import cells, target_text
from benchmarks.claim import Benchmark, number
from benchmarks.pages import picture, table
from benchmarks.registry import BENCHMARKS
from benchmarks.results import Result, load

DOCS = Path(__file__).parents[1] / "docs" / "benchmarks"

_HEAD = """\
# Benchmark results

For readers who want to know how fast Elsinore is: the targets of its benchmarks, and the last
measurement of each. Every benchmark also checks that the query results are right.
[Method](method.md) describes how they are measured and how to run them. [Comparison with other
systems](papers.md) repeats the experiments of the papers.

In the picture, 1 is the target. A value above 1 is better than the target.

![Each benchmark compared with its target](results.svg)

## Summary
"""


def write_report(docs: Path = DOCS) -> None:
    """Write `results.md` and `results.svg` from `results.json` of a directory."""
    kept = stated(BENCHMARKS, load(docs / "results.json"))
    results = [kept[benchmark.name] for benchmark in BENCHMARKS if benchmark.name in kept]
    (docs / "results.md").write_text(as_page(BENCHMARKS, kept), encoding="utf-8")
    draw_results(results, docs / "results.svg")


def stated(benchmarks: Sequence[Benchmark], kept: Mapping[str, Result]) -> dict[str, Result]:
    """Return the stored results with the benchmarks' present wording of claim, setting and unit."""
    return {
        one.name: replace(kept[one.name], claim=one.claim, setting=one.setting, unit=one.unit)
        for one in benchmarks
        if one.name in kept
    }


def as_page(benchmarks: Sequence[Benchmark], kept: Mapping[str, Result]) -> str:
    """Return the page: a table of all benchmarks, then a section for each."""
    kept = stated(benchmarks, kept)
    return "\n".join([_HEAD, *_summary(benchmarks, kept), *_sections(benchmarks, kept)])


def _summary(benchmarks: Sequence[Benchmark], kept: Mapping[str, Result]) -> Iterator[str]:
    yield "| benchmark | claim | target | measured | verdict |"
    yield "|---|---|---|---|---|"
    for benchmark in benchmarks:
        result = kept.get(benchmark.name)
        if result is None:
            yield f"| {benchmark.name} | {benchmark.claim} | | | not run |"
            continue
        target = "" if result.target is None else f"{target_text(result)} {result.unit}"
        figure = "" if result.figure is None else f"{number(result.figure)} {result.unit}"
        yield (
            f"| [{result.name}](#{result.name}) | {result.claim} | {target} | {figure} |"
            f" {result.verdict} |"
        )
    yield ""


def _sections(benchmarks: Sequence[Benchmark], kept: Mapping[str, Result]) -> Iterator[str]:
    for benchmark in benchmarks:
        if benchmark.name in kept:
            yield from _section(kept[benchmark.name])


def _section(result: Result) -> Iterator[str]:
    yield f"## {result.name}\n"
    yield f"{result.claim}: {result.verdict}.\n"
    yield f"- Workload: {result.setting.rstrip('.')}."
    yield f"- Results checked: {result.checked}."
    if result.note:
        yield f"- Measurement: {result.note}"
    yield (
        f"- Run: {result.day}, {result.took:.0f} s in total, load average before the run"
        f" {result.load:.1f}, {result.machine}.\n"
    )
    if result.rows:
        yield from table(list(result.rows[0]), map(cells, result.rows))
        yield ""


# ---- the picture

_MET, _SHORT = "#0072b2", "#d55e00"
_ROW, _WIDTH = 0.3, 10.0
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def draw_results(results: Sequence[Result], path: Path) -> None:
    """Draw a bar from the target to the measured value, for each result with a target."""
    drawn = [result for result in results if result.headroom is not None]
    with picture(path, _WIDTH, 1.2 + _ROW * max(len(drawn), 1)) as figure:
        axes: Any = figure.add_subplot()
        axes.set_xscale("log")
        axes.set_ylim(len(drawn) - 0.4, -0.6)
        axes.set_yticks(range(len(drawn)), [result.name for result in drawn])
        axes.tick_params(axis="y", length=0)
        axes.axvline(1.0, color="#1a1a1a", linewidth=1.2, zorder=3)
        for place, result in enumerate(drawn):
            _draw(axes, place, result)
        heads = [result.headroom or 1.0 for result in drawn] or [1.0]
        axes.set_xlim(low := min(*heads, 0.5) / 1.5, high := max(*heads, 2.0) * 1.5)
        axes.set_xticks([tick for tick in _TICKS if low < tick < high])
        axes.xaxis.set_major_formatter(lambda value, _: np.format_float_positional(value, trim="-"))
        axes.xaxis.set_minor_formatter("")
        axes.set_xlabel("factor compared with the target (1); larger is better, logarithmic scale")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.grid(axis="x", color="#e4e8ea", linewidth=0.6)
        axes.set_axisbelow(True)
        met = sum((result.headroom or 0.0) >= 1 for result in drawn)
        axes.set_title(f"{met} of {len(drawn)} targets met", loc="left", fontweight="bold")


def _draw(axes: Any, place: int, result: Result) -> None:
    assert result.headroom is not None
    assert result.figure is not None
    met = result.headroom >= 1
    colour = _MET if met else _SHORT
    axes.barh(place, result.headroom - 1, left=1, height=0.6, color=colour)
    text = f"{number(result.figure)}, {target_text(result)} {result.unit}"
    # right of the picture, where no bar reaches
    axes.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center",
                  color=colour, fontweight="normal" if met else "bold")  # fmt: skip
