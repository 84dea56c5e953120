"""The tables of panes: a copy of each query for each row of its matrix, and their products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from elsinore.kernels.sweep_panes import LARGEST, Products
from elsinore.kernels.sweep_program import Size
from elsinore.lowering.sweep import Member, Place
from elsinore.lowering.sweep_tables import Tables, alike, make_tables


@dataclass(frozen=True)
class PaneTables:
    """What it takes to sweep panes and to multiply them.

    Attributes:
        tables: of all rows of all matrices, each a member of its own.
        products: how matrices multiply.
    """

    tables: Tables
    products: Products


def make_pane_tables(members: Sequence[Member], symbols: Sequence[frozenset[Place]]) -> PaneTables:
    """The tables of panes of queries that count trends alone (COUNT(*))."""
    rows_of = [[None, *sorted(member.states)] for member in members]
    longest = max(map(len, rows_of), default=0)
    copies = [  # rows of alike queries side by side, so that their products are runs
        (n, found[row]) for row in range(longest) for n, found in enumerate(rows_of)
        if row < len(found)
    ]  # fmt: skip
    number = {copy: index for index, copy in enumerate(copies)}
    rows = [
        Member(members[n].query, members[n].template, members[n].carriers, basis)
        for n, basis in copies
    ]
    held = [
        frozenset(
            (index, state)
            for n, state in symbol
            for basis in [None, *members[n].states]
            for index in [number[n, basis]]
            if state in rows[index].states
        )
        for symbol in symbols
    ]
    tables = make_tables(rows, held)
    unit = np.zeros(tables.program.sizes[Size.COUNTS_END], np.int64)
    unit[: tables.program.sizes[Size.ONES]] = 1
    for (_, basis), index in number.items():
        if basis is not None:
            unit[tables.cells[index, basis]] = 1
    terms, kept = _terms(rows, copies, number, tables.cells)
    totals, last, own = _totals(members, number, tables.cells, rows)
    added = 1 + max((len(row.states) for row in rows), default=0)  # and the right one's own
    largest = np.array([LARGEST / added])
    return PaneTables(tables, Products(unit, terms, kept, largest, totals, last, own))


def _terms(
    rows: Sequence[Member],
    copies: Sequence[tuple[int, int | None]],
    number: dict[tuple[int, int | None], int],
    cells: dict[Place, int],
) -> tuple[np.ndarray, np.ndarray]:
    """The sums of products that make up each cell of a product, in runs of cells."""
    terms: list[tuple[int, int, int]] = []
    kept: list[tuple[int, int]] = []
    for index, (n, basis) in enumerate(copies):
        for state in rows[index].states:
            cell = cells[index, state]
            for middle in rows[index].states:
                other = number[n, middle]
                if state in rows[other].states:
                    terms.append((cell, cells[index, middle], cells[other, state]))
            if basis is None:
                kept.append((cell, cell))
    return _runs(terms, 3), _runs(kept, 2)


def _runs(rows: Sequence[tuple[int, ...]], width: int) -> np.ndarray:
    """Rows of cells as runs in which all of them go up by one; the last column is the length."""
    ordered = sorted(rows, key=lambda row: (*(c - row[0] for c in row[1:]), row[0]))
    marks = [tuple(cell - n for cell in row) for n, row in enumerate(ordered)]
    found = [(*ordered[first], last - first) for first, last in alike(marks)]
    return np.array(found, np.int64).reshape(-1, width + 1)


def _totals(
    members: Sequence[Member],
    number: dict[tuple[int, int | None], int],
    cells: dict[Place, int],
    rows: Sequence[Member],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What makes up each query's count, out of START's row of the left and all of the right."""
    totals: list[tuple[int, ...]] = []
    last: list[tuple[int, int]] = []
    own: list[int] = []
    for n, member in enumerate(members):
        begin = len(last), len(own)
        start = number[n, None]
        for end in sorted(member.template.ends):
            own.append(cells[start, end])
            last += [
                (cells[start, middle], cells[number[n, middle], end])
                for middle in sorted(member.states)
                if end in rows[number[n, middle]].states
            ]
        totals.append((begin[0], len(last), begin[1], len(own)))
    return (
        np.array(totals, np.int64).reshape(-1, 4),
        np.array(last, np.int64).reshape(-1, 2),
        np.array(own, np.int64),
    )
