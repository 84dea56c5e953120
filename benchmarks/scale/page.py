"""The results as tables and a picture: printed, or written into `docs/scale.md`."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.claim import number
from benchmarks.scale.cell import Cell
from benchmarks.scale.cluster import Slice

_DOCS = Path(__file__).parents[2] / "docs"
_BEGIN, _END = "<!-- results: begin -->", "<!-- results: end -->"
_PICTURE = "pictures/scale.svg"
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")

#: The day that the page works out on paper, and how much busier its busiest hour is.
DAY_EVENTS, BUSY = 10**12, 3.0
_SECONDS = 86_400


@dataclass(frozen=True)
class Found:
    """Everything that was measured.

    Attributes:
        cells: points of the grid.
        slices: one day of events under each master; none where there was no cluster.
        machine: what it was measured on.
    """

    cells: list[Cell]
    slices: list[Slice]
    machine: str


def print_tables(found: Found) -> None:
    """Show the tables on standard output."""
    print("\n".join(_tables(found)))


def write_page(found: Found, docs: Path = _DOCS) -> None:
    """Put tables and picture between the marks of the page; the text around them stays."""
    (docs / _PICTURE).parent.mkdir(exist_ok=True)
    draw(found.cells, docs / _PICTURE)
    page = (docs / "scale.md").read_text(encoding="utf-8")
    before, after = page.split(_BEGIN)[0], page.split(_END)[1]
    picture = f"![Events a second and memory against queries and events]({_PICTURE})"
    text = "\n".join([_BEGIN, f"{found.machine}.", "", picture, "", *_tables(found), _END])
    (docs / "scale.md").write_text(before + text + after, encoding="utf-8")


def _tables(found: Found) -> Iterator[str]:
    heads = ("queries", "events", "cores", "seconds", "million/s", "processor s",
             "million/s of it", "peak MB", "rows")  # fmt: skip
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for cell in sorted(found.cells, key=lambda cell: (cell.queries, cell.events, cell.cores)):
        rate, own = (cell.events / took / 1e6 for took in (cell.seconds, cell.processor))
        yield (
            f"| {cell.queries:,} | {cell.events:,} | {cell.cores} | {number(cell.seconds)} |"
            f" {number(rate)} | {number(cell.processor)} | {number(own)} | {cell.peak:,.0f} |"
            f" {cell.rows:,} |"
        )
    if found.slices:
        yield ""
        yield "| one day, 20 queries, by | events | rows | seconds | results |"
        yield "|---|---|---|---|---|"
        for part in found.slices:
            yield (
                f"| {part.master} | {part.events:,} | {part.rows:,} | {number(part.seconds)} |"
                f" {part.digest[:12]} |"
            )
    yield ""
    yield from _day(found)


def _day(found: Found) -> Iterator[str]:
    """What 10^12 events a day would take, by the longest streams that one core ran."""
    yield "| queries | events/s of a core | cores for 10^12 a day | for its peak |"
    yield "|---|---|---|---|"
    alone = [cell for cell in found.cells if cell.cores == 1]
    for queries in sorted({cell.queries for cell in alone}):
        cell = max((c for c in alone if c.queries == queries), key=lambda c: c.events)
        rate = cell.events / cell.processor
        cores = DAY_EVENTS / _SECONDS / rate
        yield f"| {queries:,} | {number(rate)} | {number(cores)} | {number(cores * BUSY)} |"
    for part in found.slices[:1]:
        each = part.bytes / part.events
        yield ""
        yield (
            f"An event takes {number(each)} bytes in `events`:"
            f" {number(each * DAY_EVENTS / 1e12)} TB a day."
        )


def draw(cells: list[Cell], path: Path) -> None:
    """Events a second against queries, and memory against events."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # a fixed salt and no date: the same results give the same file
    with rc_context({"svg.hashsalt": "elsinore", "font.size": 9}):
        figure = Figure(figsize=(11, 4), layout="constrained")
        speed, memory = figure.subplots(1, 2)
        for colour, events in zip(_COLOURS, sorted({c.events for c in cells}), strict=False):
            for cores, line in ((1, "-"), (2, "--")):
                of = [c for c in cells if (c.events, c.cores) == (events, cores)]
                label = f"{events / 1e6:g} million, {cores} core{'s' if cores > 1 else ''}"
                points = [(c.queries, c.events / c.seconds / 1e6) for c in of]
                _line(speed, points, line, colour, label)
        for colour, queries in zip(_COLOURS, sorted({c.queries for c in cells}), strict=False):
            points = [(c.events, c.peak) for c in cells if (c.queries, c.cores) == (queries, 1)]
            _line(memory, points, "-", colour, f"{queries:,} quer{'ies' if queries > 1 else 'y'}")
        speed.set(xscale="log", yscale="log", xlabel="queries", ylabel="million events a second")
        memory.set(xscale="log", xlabel="events", ylabel="peak memory of a process, MB")
        memory.set_ylim(bottom=0)
        for axes in (speed, memory):
            axes.legend(frameon=False, fontsize=8)
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(color="#e4e8ea", linewidth=0.6)
        figure.savefig(path, metadata={"Date": None})


def _line(axes: Any, points: list[tuple[int, float]], line: str, colour: str, label: str) -> None:
    if points:
        axes.plot(*zip(*sorted(points), strict=True), line, marker="o", markersize=3,
                  color=colour, label=label)  # fmt: skip


def machine() -> str:
    """The machine, and how busy it is, in words."""
    cores, busy = len(os.sched_getaffinity(0)), os.getloadavg()[1]
    python = platform.python_version()
    return f"{platform.machine()}, {cores} cores, Python {python}, {busy:.1f} processes busy before"
