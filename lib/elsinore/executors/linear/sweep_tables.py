"""Build the tables of the sweep kernels: the effect of each event class on the accumulators."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from graphlib import CycleError, TopologicalSorter

import numpy as np

from elsinore.executors.aggregates import WeightColumns
from elsinore.executors.linear.doubling_tables import counts_by_doublings, make_doublings
from elsinore.executors.linear.kernels.doublings import Doublings
from elsinore.executors.linear.kernels.sweep import LARGEST_SUM
from elsinore.executors.linear.kernels.sweep_panes import Products
from elsinore.executors.linear.kernels.sweep_program import (
    CHAIN,
    COUNT,
    DOUBLE,
    FLAT,
    FLAT_OF_MANY,
    HEAD,
    IN_A_CIRCLE,
    IS_WEIGHTED,
    LONG,
    LONGEST_CHAIN,
    LOOP,
    LOOP_OF_MANY,
    NOT_WEIGHTED,
    RANK,
    ROW,
    STEPWISE,
    WEIGHTED,
    Program,
    Size,
    chain_multiples,
)
from elsinore.executors.linear.sweep_sets import Member, Place, SweepSet, place_cells
from elsinore.windows import Window


def block_of(borders: Sequence[int], cell: int) -> int:
    """Return the block of a cell; `borders` are the first cells of the blocks."""
    return bisect_right(borders, cell) - 1


@dataclass
class RowWriter:
    """Collects the tables of programs (`executors.linear.kernels.sweep_program`)."""

    heads: list[list[int]] = field(default_factory=list)
    rows: list[tuple[int, ...]] = field(default_factory=list)
    _multiples: int | None = None

    def write(self, rows: Iterable[tuple[int, ...]]) -> int:
        """Append rows, and return the index after them."""
        self.rows += [(*row, 0, 0, 0, 0, 0)[:ROW] for row in rows]
        return len(self.rows)

    def multiples(self) -> int:
        """Write `chain_multiples` once, and return the index of their first row."""
        if self._multiples is None:
            self._multiples = len(self.rows)
            self.write(chain_multiples())
        return self._multiples


def alike(marks: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Return the start and the end of each run of equal marks.

    >>> alike("aab")
    [(0, 2), (2, 3)]
    """
    borders = [n for n in range(1, len(marks)) if marks[n] != marks[n - 1]]
    return list(zip([0, *borders], [*borders, len(marks)], strict=True)) if marks else []


def diagonals(
    rows: Sequence[tuple[int, ...]], borders: Sequence[int] = ()
) -> list[tuple[int, ...]]:
    """Return runs of rows in which all cells go up by one, as `(*cells, length, block)`.

    The block is the block of the last cell.

    >>> diagonals([(0, 5), (1, 6), (1, 9)])
    [(0, 5, 2, 0), (1, 9, 1, 0)]
    """
    ordered = sorted(rows, key=lambda row: (*(cell - row[0] for cell in row[1:]), row[0]))
    blocks = [block_of(borders, row[-1]) if borders else 0 for row in ordered]
    marks = [(blocks[n], *(cell - n for cell in row)) for n, row in enumerate(ordered)]
    return [(*ordered[first], last - first, blocks[first]) for first, last in alike(marks)]


#: Marks slots without predecessors, so that they form separate runs.
_NOWHERE = -1

#: Accumulator `c` of a kind in a state of a member: `(c, member, state)`.
Carried = tuple[int, int, int]


@dataclass(frozen=True)
class Tables:
    """A program, and the meaning of its numbers."""

    program: Program  #: see `executors.linear.kernels.sweep_program`
    columns: WeightColumns  #: the columns of weights; column 0 is 1 for each event
    cells: dict[Place, int]  #: the cell of each (member, state)


def make_tables(members: Sequence[Member], classes: Sequence[frozenset[Place]]) -> Tables:
    """Return the tables of several queries.

    `classes` are, for each event class, the (member, state) pairs in which its events can be.
    """
    order = place_cells(members)
    rank = {place: n for n, place in enumerate(order)}
    numbers, programs = _programs(members, classes, rank)
    ones = max(map(len, programs), default=0) + 1
    cells = {place: ones + n for n, place in enumerate(order)}
    depths = [members[n].depth[state] for n, state in order]
    borders = [0, *(ones + first for first, _ in alike(depths)), ones + len(cells)]
    end = ones + len(cells)
    bases = {COUNT: ones, LONG: end, DOUBLE: 0, RANK: 0}
    carried = [_carried_cells(members, order, kind, base) for kind, base in bases.items()]
    columns = WeightColumns.with_ones()
    writer = RowWriter()
    for places in programs:
        others = any(_amount(members[n], k) for n, _ in places for k in (LONG, DOUBLE, RANK))
        ordered = _fed_first(members, places)
        in_a_circle = IN_A_CIRCLE if ordered is None else NOT_WEIGHTED
        head = [
            IS_WEIGHTED if others else in_a_circle,
            *_operations(members, ordered or places, cells, borders, writer),
        ]
        for kind, mine in enumerate(carried):
            head += _side(members, places, kind, mine, columns, writer)
        writer.heads.append(head)
    for row in numbers:
        row.append(_chained(members, programs, row[STEPWISE], cells, borders, writer))
    totals, finals, most = _totals(members, carried)
    fan = max((len(found) + 1 for m in members for found in m.sources.values()), default=1)
    kept = end + len(carried[LONG]), *map(len, carried[DOUBLE:])
    sizes = [ones, end, *kept, most, max(most, fan)]
    program = Program(
        classes=_table(numbers, 3),
        heads=_table(writer.heads, HEAD),
        rows=_table(writer.rows, ROW),
        sizes=np.array(sizes, np.int64),
        blocks=np.array(borders, np.int64),
        totals=_table(totals, 4),
        ends=_table(finals, 3),
    )
    return Tables(program, columns, cells)


def _programs(
    members: Sequence[Member], classes: Sequence[frozenset[Place]], rank: dict[Place, int]
) -> tuple[list[list[int]], list[list[Place]]]:
    """Return the programs of each event class, and the places that each one updates, by cell."""
    numbers: list[list[int]] = []
    programs: list[list[Place]] = []
    for each in classes:
        places = sorted((place for place in each if place in rank), key=rank.__getitem__)
        here = frozenset(places)
        tangled = {
            n for n, state in places if any((n, s) in here for s in members[n].sources[state])
        }
        row = []
        for chosen in (
            [place for place in places if place[0] not in tangled],
            [place for place in places if place[0] in tangled],
        ):
            row.append(len(programs) if chosen else -1)
            programs += [chosen] if chosen else []
        numbers.append(row)
    return numbers, programs


def _fed_first(members: Sequence[Member], places: list[Place]) -> list[Place] | None:
    """Return places in an order in which none feeds a later one; None if some feed each other.

    So operations can update counts one after another, as if all read them before the event.
    """
    levels = _levels(members, places)
    return None if levels is None else [place for level in levels for place in level]


def _levels(members: Sequence[Member], places: list[Place]) -> list[list[Place]] | None:
    """Return the levels of `_fed_first`; places only feed places of earlier levels.

    Places that can be next to each other keep their order, for runs of cells.
    """
    here, rank = set(places), {place: number for number, place in enumerate(places)}
    sorter: TopologicalSorter[Place] = TopologicalSorter()
    for n, state in places:
        fed = ((n, later) for later in members[n].after[state] if later != state)
        sorter.add((n, state), *(place for place in fed if place in here))
    try:
        sorter.prepare()
    except CycleError:
        return None
    levels = []
    while sorter.is_active():
        ready = sorted(sorter.get_ready(), key=rank.__getitem__)
        levels.append(ready)
        sorter.done(*ready)
    return levels


def _chained(
    members: Sequence[Member],
    programs: Sequence[list[Place]],
    stepwise: int,
    cells: dict[Place, int],
    borders: Sequence[int],
    writer: RowWriter,
) -> int:
    """Write the closed form of the bursts of a stepwise program; return its number, -1 for none.

    There is one if the program only counts trends, and its places form chains.
    """
    if stepwise < 0 or writer.heads[stepwise][WEIGHTED] != NOT_WEIGHTED:
        return -1
    places = programs[stepwise]
    levels, before = _levels(members, places), _chains(members, places)
    if levels is None or before is None:
        return -1
    rows = []
    for level in levels:
        rows += _operation_rows(members, level, cells, borders, writer)
        rows += _chain_rows(members, level, before, cells, borders, writer)
    operations = len(writer.rows), writer.write(rows)
    writer.heads.append([NOT_WEIGHTED, *operations, *[0] * (HEAD - 3)])
    return len(writer.heads) - 1


def _chains(members: Sequence[Member], places: list[Place]) -> dict[Place, Place] | None:
    """Return the place that feeds each place of a chain; None if the places form no chains."""
    here, before = set(places), dict[Place, Place]()
    for n, state in places:
        feeding = [(n, s) for s in members[n].sources[state] if (n, s) in here]
        if len(feeding) > 1:
            return None
        if feeding:
            before[n, state] = feeding[0]
    fed = [*before.values()]
    if len(set(fed)) < len(fed) or any(members[n].loops(state) for n, state in fed):
        return None
    if any(len(_line(before, place)) > LONGEST_CHAIN for place in places):
        return None
    return before


def _line(before: dict[Place, Place], place: Place) -> list[Place]:
    """Return a place and the earlier ones of its chain, up to one more than the longest chain."""
    line = [place]
    while line[-1] in before and len(line) <= LONGEST_CHAIN:
        line.append(before[line[-1]])
    return line


def _chain_rows(
    members: Sequence[Member],
    level: Sequence[Place],
    before: dict[Place, Place],
    cells: dict[Place, int],
    borders: Sequence[int],
    writer: RowWriter,
) -> list[tuple[int, ...]]:
    """Return operations that add what reaches earlier places of chains to the places of a level."""
    pairs: dict[tuple[int, int], list[tuple[int, int]]] = {}
    for slot, (n, state) in enumerate(level):
        cell = cells[n, state]
        first = LONGEST_CHAIN - 1 if members[n].loops(state) else 0
        for column, earlier in enumerate(_line(before, (n, state))[1:], start=first):
            own = pairs.setdefault((column, block_of(borders, cell)), [])
            own += [(cell, source) for source in _sources(members, cells, earlier, slot)]
    multiples = writer.multiples() if pairs else 0
    rows: list[tuple[int, ...]] = []
    for (column, block), own in pairs.items():
        for cell, source, length, source_block in diagonals(own, borders):
            shape = CHAIN, cell, length, source
            rows.append((*shape, multiples, column, block, source_block))
    return rows


def _sources(
    members: Sequence[Member], cells: dict[Place, int], place: Place, slot: int
) -> list[int]:
    """Return the cells that can precede events at a place; the source of a start is a 1."""
    n, state = place
    found = [cells[n, s] for s in members[n].sources[state]]
    return [slot, *found] if members[n].starts(state) else found


def _operations(
    members: Sequence[Member],
    places: list[Place],
    cells: dict[Place, int],
    borders: Sequence[int],
    writer: RowWriter,
) -> tuple[int, int]:
    """Write the operations of a program on counts; return the range of their rows.

    An operation is a run of cells with one source each, or with several.
    """
    rows = _operation_rows(members, places, cells, borders, writer)
    return len(writer.rows), writer.write(rows)


def _operation_rows(
    members: Sequence[Member],
    places: list[Place],
    cells: dict[Place, int],
    borders: Sequence[int],
    writer: RowWriter,
) -> list[tuple[int, ...]]:
    """Return the operations of `_operations`, and write their links."""
    sources = [_sources(members, cells, place, slot) for slot, place in enumerate(places)]
    marks: list[tuple[int, ...]] = []
    for slot, (n, state) in enumerate(places):
        alone = len(sources[slot]) == 1
        few, many = (LOOP, LOOP_OF_MANY) if members[n].loops(state) else (FLAT, FLAT_OF_MANY)
        shift, block = (
            (sources[slot][0] - slot, block_of(borders, sources[slot][0])) if alone else (0, 0)
        )
        cell = cells[n, state]
        kind = few if alone else many
        shift = shift if sources[slot] else _NOWHERE
        marks.append((kind, cell - slot, shift, block_of(borders, cell), block))
    rows: list[tuple[int, ...]] = []
    for first, last in alike(marks):
        kind, cell, source, block, source_block = marks[first]
        if kind == FLAT_OF_MANY and not sources[first]:  # no trend reaches them
            continue
        begin = end = 0
        if kind in (LOOP_OF_MANY, FLAT_OF_MANY):
            pairs = [(s - first, c) for s in range(first, last) for c in sources[s]]
            begin, end = len(writer.rows), writer.write(diagonals(pairs, borders))
        shape = kind, cell + first, last - first, source + first
        rows.append((*shape, begin, end, block, source_block))
    return rows


def _carried_cells(
    members: Sequence[Member], order: list[Place], kind: int, base: int
) -> dict[Carried, int]:
    """Return the cells of the accumulators of a kind in each state, numbered from `base`."""
    most = max((_amount(member, kind) for member in members), default=0)
    carried = [(c, *place) for c in range(most) for place in order]
    kept = [each for each in carried if each[0] < _amount(members[each[1]], kind)]
    return {each: base + number for number, each in enumerate(kept)}


def _amount(member: Member, kind: int) -> int:
    """Return how many numbers of a kind a member has in each state."""
    return 1 if kind == COUNT else len(member.accumulators.weighed[kind - LONG])


def _side(
    members: Sequence[Member],
    places: list[Place],
    kind: int,
    cells: dict[Carried, int],
    columns: WeightColumns,
    writer: RowWriter,
) -> list[int]:
    """Write links, runs and own additions of cells of one kind; return their part of a head.

    The slots are the cells at the places of the program, in order.
    """
    counted = {place: slot for slot, place in enumerate(places)}
    carried = [(c, n, state) for n, state in places for c in range(_amount(members[n], kind))]
    links: list[tuple[int, int]] = []
    marks: list[tuple[int, int]] = []
    added: list[tuple[int, int, int, int]] = []
    for slot, (c, n, state) in enumerate(sorted(carried, key=cells.__getitem__)):
        member, cell = members[n], cells[c, n, state]
        if kind == COUNT and member.starts(state):
            links.append((slot, slot))
        links += [(slot, cells[c, n, before]) for before in member.sources[state]]
        marks.append((cell - slot, int(member.loops(state))))
        column = _column(member, c, state, kind, columns)
        if column is not None:
            shift = len(added)
            added.append((counted[n, state] - shift, cell - shift, marks[-1][1], column))
    begin = len(writer.rows)
    after_links = writer.write(diagonals(links))
    after_runs = writer.write(
        (first, marks[first][0] + first, last - first, marks[first][1])
        for first, last in alike(marks)
    )
    after_owns = writer.write(
        (added[first][0] + first, added[first][1] + first, last - first, *added[first][2:])
        for first, last in alike(added)
    )
    return [len(carried), begin, after_links, after_runs, after_owns]


def _column(member: Member, c: int, state: int, kind: int, columns: WeightColumns) -> int | None:
    """Return the column of weights of an accumulator in a state; None if no event adds to it."""
    if kind == COUNT:
        return None
    accumulator = member.accumulators.weighed[kind - LONG][c]
    counts = accumulator.counts_at(member.template.states[state].positions)
    return columns.number(accumulator) if counts else None


def _totals(
    members: Sequence[Member], carried: Sequence[dict[Carried, int]]
) -> tuple[list[list[int]], list[tuple[int, ...]], int]:
    """Return the parts of each member's row, and the most END states of a member."""
    totals: list[list[int]] = []
    ends: list[tuple[int, ...]] = []
    most = 0
    for n, member in enumerate(members):
        states = [s for s in sorted(member.template.ends) if s in member.states]
        most = max(most, len(states))
        begin = len(ends)
        ends += [  # the column of COUNT(*) is the first one
            (mine[c, n, s], kind, c + (kind == LONG))
            for kind, mine in enumerate(carried)
            for c in range(_amount(member, kind))
            for s in states
        ]
        middle = begin + len(states)
        totals.append([begin, middle, middle, len(ends)])
    return totals, ends, most


def _table(rows: Iterable[Iterable[int]], width: int) -> np.ndarray:
    return np.array([tuple(row) for row in rows], np.int64).reshape(-1, width)


# ---- panes: a copy of each query per row of its matrix, and their products


@dataclass(frozen=True)
class PaneTables:
    """The tables for sweeping panes and for multiplying them."""

    tables: Tables  #: of all rows of all matrices; each row is a member
    products: Products  #: how matrices multiply


def make_pane_tables(members: Sequence[Member], classes: Sequence[frozenset[Place]]) -> PaneTables:
    """Return the tables of panes of queries that only count trends (COUNT(*))."""
    rows_of = [[None, *sorted(member.states)] for member in members]
    longest = max(map(len, rows_of), default=0)
    copies = [  # rows of alike queries are adjacent, so that their products are runs
        (n, found[row]) for row in range(longest) for n, found in enumerate(rows_of)
        if row < len(found)
    ]  # fmt: skip
    number = {copy: index for index, copy in enumerate(copies)}
    rows = [Member(members[n].query, members[n].template, basis) for n, basis in copies]
    held = [
        frozenset(
            (index, state)
            for n, state in places
            for basis in [None, *members[n].states]
            for index in [number[n, basis]]
            if state in rows[index].states
        )
        for places in classes
    ]
    tables = make_tables(rows, held)
    unit = np.zeros(tables.program.sizes[Size.COUNTS_END], np.int64)
    unit[: tables.program.sizes[Size.ONES]] = 1
    for (_, basis), index in number.items():
        if basis is not None:
            unit[tables.cells[index, basis]] = 1
    terms, kept = _terms(rows, copies, number, tables.cells)
    totals, last, own = _pane_totals(members, number, tables.cells, rows)
    added = 1 + max((len(row.states) for row in rows), default=0)  # and the right matrix's own cell
    largest = np.array([LARGEST_SUM / added])
    return PaneTables(tables, Products(unit, terms, kept, largest, totals, last, own))


def _terms(
    rows: Sequence[Member],
    copies: Sequence[tuple[int, int | None]],
    number: dict[tuple[int, int | None], int],
    cells: dict[Place, int],
) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of products for each cell of a product, as runs of cells."""
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
    return _table((run[:4] for run in diagonals(terms)), 4), _table(
        (run[:3] for run in diagonals(kept)), 3
    )


def _pane_totals(
    members: Sequence[Member],
    number: dict[tuple[int, int | None], int],
    cells: dict[Place, int],
    rows: Sequence[Member],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the terms of each query's count in a product of two matrices.

    They combine START's row on the left with the whole right matrix.
    """
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
    return _table(totals, 4), _table(last, 2), np.array(own, np.int64)


# ---- the queries of a set with one window clause


@dataclass(frozen=True)
class Wide:
    """How windows that outgrow 64 bits are counted."""

    doubling: tuple[int, ...]  #: the numbers of the members that count by doublings
    doublings: Doublings | None  #: their tables; None if there are none
    others: tuple[int, ...]  #: the numbers of the other members
    rest: Lowered | None  #: the tables of only these; None if there are none


@dataclass(frozen=True)
class Lowered:
    """The queries of a set with one window clause, and their tables."""

    members: tuple[Member, ...]
    classes: tuple[frozenset[Place], ...]
    tables: Tables

    @classmethod
    def of(cls, members: Sequence[Member], classes: Sequence[frozenset[Place]]) -> Lowered:
        """Return members and classes with their tables."""
        return cls(tuple(members), tuple(classes), make_tables(members, classes))

    def only(self, numbers: Sequence[int]) -> tuple[list[Member], list[frozenset[Place]]]:
        """Return some members, and the classes with their new numbers."""
        place = {number: n for n, number in enumerate(numbers)}
        members = [self.members[number] for number in numbers]
        return members, [
            frozenset((place[n], s) for n, s in each if n in place) for each in self.classes
        ]

    @cached_property
    def wide(self) -> Wide:
        """Return how windows that outgrow 64 bits are counted."""
        yes = [counts_by_doublings(m, n, self.classes) for n, m in enumerate(self.members)]
        doubling = tuple(n for n, by_doublings in enumerate(yes) if by_doublings)
        others = tuple(n for n, by_doublings in enumerate(yes) if not by_doublings)
        return Wide(
            doubling,
            make_doublings(*self.only(doubling)) if doubling else None,
            others,
            (Lowered.of(*self.only(others)) if doubling else self) if others else None,
        )

    @cached_property
    def panes(self) -> PaneTables:
        """Return the tables for panes."""
        return make_pane_tables(self.members, self.classes)


@lru_cache(maxsize=32)
def lower_window(found: SweepSet, window: Window, classes: tuple[frozenset[Place], ...]) -> Lowered:
    """Lower the queries of a set that have a window.

    The result is cached, because the same sets meet the same classes repeatedly.
    """
    numbers = [n for n, query in enumerate(found.queries) if query.window == window]
    members = [Member(found.queries[n], found.templates[n]) for n in numbers]
    place = {number: n for n, number in enumerate(numbers)}
    mine = tuple(frozenset((place[q], s) for q, s in each if q in place) for each in classes)
    return Lowered.of(members, mine)
