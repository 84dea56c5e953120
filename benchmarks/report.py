"""Writes the kept results as a page and a picture of the docs: how each stands to its bar."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.alone import bar_text, cells
from benchmarks.claim import Benchmark, number
from benchmarks.pages import picture, table
from benchmarks.registry import BENCHMARKS
from benchmarks.results import Result, load

DOCS = Path(__file__).parents[1] / "docs" / "benchmarks"

_HEAD = """\
# Benchmarks: what is claimed, and what was measured

`elsinore bench --keep` (`make bench`) writes this page from `docs/benchmarks/results.json`. Edit
neither of them. Each benchmark checks its results; `elsinore bench NAME` runs only one.
A figure above 1 in the picture is better than its bar.

![How each figure stands to its bar](results.svg)
"""


def write_report(docs: Path = DOCS) -> None:
    """Write `results.md` and `results.svg` from `results.json` of a directory."""
    kept = load(docs / "results.json")
    results = [kept[benchmark.name] for benchmark in BENCHMARKS if benchmark.name in kept]
    (docs / "results.md").write_text(as_page(BENCHMARKS, kept), encoding="utf-8")
    draw_results(results, docs / "results.svg")


def as_page(benchmarks: Sequence[Benchmark], kept: Mapping[str, Result]) -> str:
    """The page: a table of all, then what was measured, one by one."""
    return "\n".join([_HEAD, *_summary(benchmarks, kept), *_sections(benchmarks, kept)])


def _summary(benchmarks: Sequence[Benchmark], kept: Mapping[str, Result]) -> Iterator[str]:
    yield "| benchmark | claim | bar | measured | verdict |"
    yield "|---|---|---|---|---|"
    for benchmark in benchmarks:
        result = kept.get(benchmark.name)
        if result is None:
            yield f"| {benchmark.name} | {benchmark.claim} | | | not run |"
            continue
        bar = "" if result.bar is None else f"{bar_text(result)} {result.unit}"
        figure = "" if result.figure is None else f"{number(result.figure)} {result.unit}"
        yield (
            f"| [{result.name}](#{result.name}) | {result.claim} | {bar} | {figure} |"
            f" {result.verdict} |"
        )
    yield ""


def _sections(benchmarks: Sequence[Benchmark], kept: Mapping[str, Result]) -> Iterator[str]:
    for benchmark in benchmarks:
        if benchmark.name in kept:
            yield from _section(kept[benchmark.name])


def _section(result: Result) -> Iterator[str]:
    yield f"## {result.name}\n"
    yield f"{_sentence(result.setting)} Checked: {result.checked}. {result.note}".rstrip() + "\n"
    if result.rows:
        yield from table(list(result.rows[0]), map(cells, result.rows))
        yield ""
    yield (
        f"{result.day}, {result.took:.0f} s in all, {result.load:.1f} processes busy before;"
        f" {result.machine}.\n"
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."


# ---- the picture

_MET, _SHORT = "#0072b2", "#d55e00"
_ROW, _WIDTH = 0.34, 12.5
_TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def draw_results(results: Sequence[Result], path: Path) -> None:
    """Draw a bar for each result that has one, from where it is claimed to where it is."""
    drawn = [result for result in results if result.headroom is not None]
    with picture(path, _WIDTH, 1.2 + _ROW * max(len(drawn), 1)) as figure:
        axes: Any = figure.add_subplot()
        axes.set_xscale("log")
        axes.set_ylim(len(drawn) - 0.4, -0.6)
        axes.set_yticks(range(len(drawn)), [result.claim for result in drawn])
        axes.tick_params(axis="y", length=0)
        axes.axvline(1.0, color="#1a1a1a", linewidth=1.2, zorder=3)
        for place, result in enumerate(drawn):
            _draw(axes, place, result)
        heads = [result.headroom or 1.0 for result in drawn] or [1.0]
        axes.set_xlim(low := min(*heads, 0.5) / 1.5, high := max(*heads, 2.0) * 1.5)
        axes.set_xticks([tick for tick in _TICKS if low < tick < high])
        axes.xaxis.set_major_formatter(lambda value, _: np.format_float_positional(value, trim="-"))
        axes.xaxis.set_minor_formatter("")
        axes.set_xlabel("times better than the bar, which is 1 (logarithmic)")
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.grid(axis="x", color="#e4e8ea", linewidth=0.6)
        axes.set_axisbelow(True)
        met = sum((result.headroom or 0.0) >= 1 for result in drawn)
        axes.set_title(f"{met} of {len(drawn)} bars are met", loc="left", fontweight="bold")


def _draw(axes: Any, place: int, result: Result) -> None:
    assert result.headroom is not None
    assert result.figure is not None
    met = result.headroom >= 1
    colour = _MET if met else _SHORT
    axes.barh(place, result.headroom - 1, left=1, height=0.6, color=colour)
    text = f"{number(result.figure)}, {bar_text(result)} {result.unit}"
    # beside the picture, where no bar reaches
    axes.annotate(text, (1.01, place), xycoords=("axes fraction", "data"), va="center",
                  color=colour, fontweight="normal" if met else "bold")  # fmt: skip
