"""Write the operations of a segment program: the effect of each symbol's events on lanes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np

from elsinore.executors.aggregates import WeightColumns
from elsinore.executors.kinds import Kind
from elsinore.executors.linear.chains import (
    Block,
    Chain,
    Place,
    Symbol,
    carried,
    find_places,
    make_chains,
)
from elsinore.executors.linear.kernels.segments import (
    ADD,
    ADD_DOUBLES,
    LOWER,
    LOWER_OWN,
    START,
    WEIGH,
    WEIGH_DOUBLES,
    Op,
    Program,
)
from elsinore.executors.linear.kernels.sweep_program import LONG
from elsinore.query.bound import BoundQuery
from elsinore.query.segments import Segment
from elsinore.template.placement import Admission, Placement, Placements

#: By `Kind` of lanes, the operations that add a row to another, and the operations that weigh.
_ADDING = ADD, ADD_DOUBLES, LOWER
_WEIGHING = WEIGH, WEIGH_DOUBLES, LOWER_OWN


@dataclass(frozen=True, eq=False)
class Lowered:
    """Operations, with the meaning of their numbers; compared by identity."""

    program: Program  #: without event classes; each operation occurs once
    symbol_of: np.ndarray  #: int64[O], the symbol of each operation
    chains: list[Chain]  #: the queries in the order of `program.totals`
    symbols: list[Symbol]  #: the symbols by number
    weights: WeightColumns  #: the weights by number; column 0 is 1 for each event
    #: int64[3, R + O + 1], the first lane of each row, and of each operation's scratch, for counts,
    #: doubles and ranks.
    starts: np.ndarray

    @cached_property
    def placements(self) -> Placements[int]:
        """Return the symbols at which events can be."""
        by_place = {}
        for number, symbol in enumerate(self.symbols):
            keys = carried(symbol)
            needed = frozenset(name for name, key in keys.items() if key.equivalence)
            conditions = symbol.query.local_conditions(symbol.position)
            admission: Admission = conditions, frozenset()
            by_place[number] = Placement(symbol.type, frozenset(keys), needed, admission)
        chains = [chain.symbols for chain in self.chains]
        return Placements(
            by_place,
            frozenset(symbols[0] for symbols in chains),
            frozenset(symbols[-1] for symbols in chains),
            frozenset(pair for symbols in chains for pair in pairwise(symbols)),
        )


def lower_segments(queries: Sequence[BoundQuery], shared: Sequence[Sequence[Segment]]) -> Lowered:
    """Lower queries with the same keys to operations, with the segments that they share.

    Without shared segments this is A-Seq.
    """
    chains, symbols, windows = make_chains(queries)
    chains.sort(key=lambda chain: chain.window)
    blocks, places = find_places(chains, shared)
    starts = _row_starts(blocks)
    writer = _Writer(starts, len(windows))
    for chain in chains:
        writer.write(chain, places[chain.query.name])
    # Later positions come first, so most operations read rows that are not written yet.
    ops = sorted(writer.ops, key=lambda op: -op.position)
    columns = _columns(blocks, starts)
    totals, ends = _totals(chains, places, writer)
    queries_of, columns_of = (
        np.searchsorted(owners, np.arange(len(windows) + 1)).tolist()
        for owners in ([chain.window for chain in chains], [window for window, *_ in columns])
    )
    clauses = [
        (within, slide, -(-within // slide), 0, 0, *queries_of[w : w + 2], *columns_of[w : w + 2])
        for w, (within, slide) in enumerate(windows)
    ]
    lines, starts = _with_scratch(ops, starts, len(writer.weights.columns[Kind.INTEGER]))
    program = Program(
        rows=starts.shape[1] - 1 - len(ops),
        classes=np.empty((0, 0), np.int64),
        ops=lines,
        windows=np.array(clauses, np.int64),
        columns=np.array([column[1:] for column in columns], np.int64),
        totals=np.array(totals, np.int64),
        ends=np.array(ends, np.int64),
    )
    symbol_of = np.array([op.symbol for op in ops], np.int64)
    return Lowered(program, symbol_of, chains, symbols, writer.weights, starts)


@lru_cache(maxsize=32)
def lower_classes(lowered: Lowered, classes: tuple[frozenset[int], ...]) -> Program:
    """Return the program for event classes; a class is the set of symbols of its events.

    The result is cached, because the same operations meet the same classes repeatedly.
    """
    lines, table = [], []
    end = 0
    for symbols in classes:
        ops = lowered.program.ops[np.isin(lowered.symbol_of, list(symbols))]
        read, written = ops[:, Op.SOURCE_ROW].tolist(), ops[:, Op.TARGET_ROW].tolist()
        apart = set(read).isdisjoint(written)
        staged = not apart and any(row in written[:n] for n, row in enumerate(read))
        weighted = bool(np.isin(ops[:, Op.KIND], _WEIGHING).any())
        begin, end = end, end + len(read)
        lines.append(ops)
        table.append((begin, end, staged, apart, weighted))
    return lowered.program._replace(ops=np.concatenate(lines), classes=np.array(table, np.int64))


# ---- operations


@dataclass(frozen=True)
class _Op:
    """An operation without scratch, see `kernels.segments.Op`; `weight` is a column of its kind."""

    symbol: int
    position: int
    kind: int
    target_row: int
    target: int
    source_row: int
    source: int
    width: int
    window: int
    weight: int = 0

    @property
    def read(self) -> int:
        """Return the kind of lanes that the operation reads."""
        return _ADDING.index(self.kind) if self.kind in _ADDING else Kind.INTEGER


@dataclass
class _Writer:
    """Collects operations, each once."""

    starts: np.ndarray  #: the first lane of each row
    no_window: int  #: the number after the last window clause
    weights: WeightColumns = field(default_factory=WeightColumns.with_ones)
    ops: dict[_Op, None] = field(default_factory=dict)
    #: the rows of shared segments whose operations are written.
    advanced: set[int] = field(default_factory=set)

    def write(self, chain: Chain, places: Sequence[Place]) -> None:
        """Write the operations of all positions of a chain."""
        for position, (symbol, place) in enumerate(zip(chain.symbols, places, strict=True)):
            source = places[position - 1] if position else None
            if source is None:
                target = self.lane(place, Kind.INTEGER)
                self._put(symbol, 0, ADD, place, target, *self._trends(chain, source))
            elif place.block.symbols and source.block is place.block and source.step < place.step:
                self._advance(symbol, position, source, place)
            else:
                self._add(chain, symbol, position, source, place)
            self._weigh(chain, symbol, position, source, place)

    def lane(self, place: Place, kind: int, column: int = 0) -> int:
        """Return the first lane of a column at a place."""
        first = int(self.starts[kind, place.row])
        return first + place.slot.offsets[kind] + column * place.slot.chain.open

    def _put(
        self, symbol: int, position: int, kind: int, place: Place, target: int, *source: int
    ) -> None:
        self.ops[_Op(symbol, position, kind, place.row, target, *source)] = None

    def _trends(self, chain: Chain, source: Place | None) -> tuple[int, int, int, int]:
        """Return row, lane, width and window clause of the counts that a position reads."""
        if source is None:
            return START, 0, 1, chain.window
        return source.row, self.lane(source, Kind.INTEGER), chain.open, self.no_window

    def _advance(self, symbol: int, position: int, source: Place, place: Place) -> None:
        """Write one addition for all slots of a block.

        From the first row of the block, only slots with their own source are read. A block can have
        different positions in its queries; the position in the first query is used.
        """
        if place.row in self.advanced:
            return
        self.advanced.add(place.row)
        slots = [slot for slot in place.block.ordered if source.step or slot.own_source]
        for kind, what in enumerate(_ADDING):
            width = sum(slot.widths[kind] for slot in slots)
            target, origin = (int(self.starts[kind, each.row]) for each in (place, source))
            if width:
                reading = source.row, origin, width, self.no_window
                self._put(symbol, position, what, place, target, *reading)

    def _add(self, chain: Chain, symbol: int, position: int, source: Place, place: Place) -> None:
        for kind, what in enumerate(_ADDING):
            width = chain.columns(position - 1)[kind] * chain.open
            if width:
                reading = source.row, self.lane(source, kind), width, self.no_window
                self._put(symbol, position, what, place, self.lane(place, kind), *reading)

    def _weigh(
        self, chain: Chain, symbol: int, position: int, source: Place | None, place: Place
    ) -> None:
        """Write the additions of a position's own events to the accumulators."""
        trends = self._trends(chain, source)
        for kind, what in enumerate(_WEIGHING):
            for number, column in enumerate(chain.kinds[kind]):
                if column.accumulator.counts_at(frozenset((position,))):
                    weight = self.weights.number(column.accumulator)
                    target = self.lane(place, kind, number)
                    self._put(symbol, position, what, place, target, *trends, weight)


# ---- tables


def _row_starts(blocks: Sequence[Block]) -> np.ndarray:
    """Return the first lane of each row, and the end, int64[3, R + 1]; the first row is `START`."""
    widths = [[1, 0, 0]]
    for block in blocks:
        slots = block.slots.values()
        row = [sum(slot.widths[kind] for slot in slots) for kind in range(3)]
        widths += [row] * len(block.rows)
    return np.cumsum([[0, 0, 0], *widths], axis=0, dtype=np.int64).T.copy()


def _with_scratch(
    ops: Sequence[_Op], starts: np.ndarray, longs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of `Program.ops`, and the first lanes of all rows and of their scratch.

    Each operation has one row of scratch. Columns of ranks come after `longs` columns of integers.
    """
    rows, ends = starts.shape[1] - 1, starts[:, -1].copy()
    lines, scratch = np.empty((len(ops), len(Op)), np.int64), []
    for n, op in enumerate(ops):
        weight = op.weight + (longs if op.kind == LOWER_OWN else 0)
        lines[n] = (
            op.kind, op.target, op.source, op.width, op.target_row, op.source_row,
            weight, op.window, ends[op.read], rows + n,
        )  # fmt: skip
        ends[op.read] += op.width
        scratch.append(ends.copy())
    return lines, np.column_stack([starts, *scratch])


def _columns(blocks: Sequence[Block], starts: np.ndarray) -> list[tuple[int, int, int]]:
    """Return the window clause, the kind and the first lane of every column of lanes."""
    return sorted(
        (
            slot.chain.window,
            LONG + kind,
            int(starts[kind, row]) + slot.offsets[kind] + n * slot.chain.open,
        )
        for block in blocks
        for row in block.rows
        for slot in block.slots.values()
        for kind in range(3)
        for n in range(slot.columns[kind])
    )


def _totals(
    chains: Sequence[Chain], places: Mapping[str, Sequence[Place]], writer: _Writer
) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return the parts of each query's row: the lanes of its last position, trends first."""
    totals: list[tuple[int, ...]] = []
    ends: list[tuple[int, ...]] = []
    for chain in chains:
        place, begin = places[chain.query.name][-1], len(ends)
        ends += [
            (writer.lane(place, kind, n), LONG + kind, column.number, place.row)
            for kind, columns in enumerate(chain.kinds)
            for n, column in enumerate(columns)
        ]
        totals.append((begin, begin + 1, begin + 1, len(ends)))
    return totals, ends
