"""Writes the kept results as a page and a picture of the docs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.alone import bar_text, cells
from benchmarks.claim import Benchmark, number
from benchmarks.draw_results import draw_results
from benchmarks.registry import BENCHMARKS
from benchmarks.results import Result, load

DOCS = Path(__file__).parents[1] / "docs"

_HEAD = """\
# Benchmarks: what is claimed, and what was measured

Written by `elsinore bench --keep` (`make bench`) from `docs/benchmarks.json`: change neither by
hand. Each benchmark checks its answers, and is a module of `benchmarks/` that runs alone, too.
A figure above 1 in the picture is better than its bar.

![How each figure stands to its bar](benchmarks.svg)
"""


def write_report(docs: Path = DOCS) -> None:
    """Write `benchmarks.md` and `benchmarks.svg` from `benchmarks.json` of a folder."""
    kept = load(docs / "benchmarks.json")
    results = [kept[benchmark.name] for benchmark in BENCHMARKS if benchmark.name in kept]
    (docs / "benchmarks.md").write_text(as_page(BENCHMARKS, kept), encoding="utf-8")
    draw_results(results, docs / "benchmarks.svg")


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
        yield "| " + " | ".join(result.rows[0]) + " |"
        yield "|---" * len(result.rows[0]) + "|"
        for row in result.rows:
            yield "| " + " | ".join(cells(row)) + " |"
        yield ""
    yield (
        f"{result.day}, {result.took:.0f} s in all, {result.load:.1f} processes busy before;"
        f" {result.machine}.\n"
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
