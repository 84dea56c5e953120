"""The results as tables and a picture: printed, or written into `docs/internals/scale.md`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.claim import number
from benchmarks.pages import picture, replace_results, table
from benchmarks.scale.cell import Cell
from benchmarks.scale.cluster import Slice

_DOCS = Path(__file__).parents[2] / "docs"
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
    draw(found.cells, docs / _PICTURE)
    shown = f"![Events a second and memory against queries and events](../{_PICTURE})"
    lines = [f"{found.machine}.", "", shown, "", *_tables(found)]
    replace_results(docs / "internals" / "scale.md", lines)


def _tables(found: Found) -> Iterator[str]:
    heads = ("queries", "events", "cores", "seconds", "million/s", "processor s",
             "million/s of it", "peak MB", "rows")  # fmt: skip
    cells = sorted(found.cells, key=lambda cell: (cell.queries, cell.events, cell.cores))
    yield from table(heads, map(_row, cells))
    if found.slices:
        yield ""
        yield from slices_table(found.slices)
    yield ""
    yield from _day(found)


def slices_table(slices: Sequence[Slice]) -> Iterator[str]:
    """One day of events under each master."""
    heads = "one day, 20 queries, by", "events", "rows", "seconds", "peak MB of a task", "results"
    yield from table(
        heads,
        ((part.master, f"{part.events:,}", f"{part.rows:,}", number(part.seconds),
          f"{part.peak:,.0f}", part.digest[:12]) for part in slices),
    )  # fmt: skip


def _row(cell: Cell) -> list[str]:
    rate, own = (cell.events / took / 1e6 for took in (cell.seconds, cell.processor))
    whole = [f"{value:,}" for value in (cell.queries, cell.events, cell.cores)]
    speed = map(number, (cell.seconds, rate, cell.processor, own))
    return [*whole, *speed, f"{cell.peak:,.0f}", f"{cell.rows:,}"]


def _day(found: Found) -> Iterator[str]:
    """What 10^12 events a day would take, by the longest streams that one core ran."""
    longest: dict[int, Cell] = {}
    for cell in sorted(found.cells, key=lambda cell: (cell.queries, cell.events)):
        if cell.cores == 1:
            longest[cell.queries] = cell
    rows = []
    for queries, cell in longest.items():
        rate = cell.events / cell.processor
        cores = DAY_EVENTS / _SECONDS / rate
        rows.append([f"{queries:,}", *map(number, (rate, cores, cores * BUSY))])
    heads = ("queries", "events/s of a core", "cores for 10^12 a day", "for its peak")
    yield from table(heads, rows)
    for part in found.slices[:1]:
        each = part.bytes / part.events
        yield ""
        yield (
            f"An event takes {number(each)} bytes in `events`:"
            f" {number(each * DAY_EVENTS / 1e12)} TB a day."
        )


def draw(cells: list[Cell], path: Path) -> None:
    """Events a second against queries, and memory against events."""
    with picture(path, 11, 4) as figure:
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


def _line(axes: Any, points: list[tuple[int, float]], line: str, colour: str, label: str) -> None:
    if points:
        axes.plot(*zip(*sorted(points), strict=True), line, marker="o", markersize=3,
                  color=colour, label=label)  # fmt: skip
