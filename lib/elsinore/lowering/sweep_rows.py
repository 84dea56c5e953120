"""Writes the rows of sweep tables: what can be done to neighbours at once is one row."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from elsinore.kernels.sweep_program import ROW

Slot = TypeVar("Slot", bound=Hashable)


@dataclass(frozen=True)
class Blocks:
    """Blocks of counts by where they begin; the last number is the end."""

    borders: list[int]

    def of(self, cell: int) -> int:
        """The block of a cell."""
        return bisect_right(self.borders, cell) - 1


@dataclass
class RowWriter:
    """The tables of programs as they are written (`kernels.sweep_program`)."""

    heads: list[list[int]] = field(default_factory=list)
    rows: list[tuple[int, ...]] = field(default_factory=list)

    def write(self, rows: Iterable[tuple[int, ...]]) -> int:
        """Write rows; where they end."""
        self.rows += [(*row, 0, 0, 0, 0, 0)[:ROW] for row in rows]
        return len(self.rows)


def write_side(
    slots: Sequence[Slot],
    cells: Mapping[Slot, int],
    sources: Callable[[int, Slot], list[int]],
    loops: Callable[[Slot], bool],
    owns: Callable[[Slot], list[tuple[int, ...]]],
    writer: RowWriter,
) -> list[int]:
    """Write links, runs and own additions of slots of one kind; their part of the program's head.

    Args:
        slots: in the order of their cells.
        cells: the cell of each.
        sources: the cells that may precede events at a slot, given its number too.
        loops: whether events at a slot may follow each other.
        owns: `(cell, slot of counts, column, whether it loops)`, what events add themselves.
        writer: where to.
    """
    begin = len(writer.rows)
    pairs = [(slot, c) for slot, each in enumerate(slots) for c in sources(slot, each)]
    after_links = writer.write(diagonals(pairs))
    marks = [(cells[each] - slot, int(loops(each))) for slot, each in enumerate(slots)]
    after_runs = writer.write(
        (first, marks[first][0] + first, last - first, marks[first][1])
        for first, last in alike(marks)
    )
    added = [found for each in slots for found in owns(each)]
    shifts = [(row[0] - n, row[1] - n, *row[2:]) for n, row in enumerate(added)]
    after_owns = writer.write(
        (*added[first][:2], last - first, *added[first][2:]) for first, last in alike(shifts)
    )
    return [len(slots), begin, after_links, after_runs, after_owns]


def alike(marks: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Where the runs of equal marks begin and end.

    >>> alike("aab")
    [(0, 2), (2, 3)]
    """
    borders = [n for n in range(1, len(marks)) if marks[n] != marks[n - 1]]
    return list(zip([0, *borders], [*borders, len(marks)], strict=True)) if marks else []


def diagonals(
    pairs: Sequence[tuple[int, int]], blocks: Blocks | None = None
) -> list[tuple[int, ...]]:
    """`(slot, cell)` as `(slot, cell, length, block)` of runs in which both go up by one.

    >>> diagonals([(0, 5), (1, 6), (1, 9)])
    [(0, 5, 2, 0), (1, 9, 1, 0)]
    """
    ordered = sorted(pairs, key=lambda pair: (pair[1] - pair[0], pair[0]))
    block_of = [0 if blocks is None else blocks.of(cell) for _, cell in ordered]
    marks = [(cell - slot, slot - n, block_of[n]) for n, (slot, cell) in enumerate(ordered)]
    return [(*ordered[first], last - first, block_of[first]) for first, last in alike(marks)]
