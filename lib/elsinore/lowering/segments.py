"""Writes the operations of a segment program: what each symbol's events do to which lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from elsinore.kernels.segments import Kind, Program
from elsinore.lowering.carriers import Weight, WeightColumns
from elsinore.lowering.chains import (
    Block,
    Chain,
    Column,
    Place,
    Places,
    Symbol,
    carried,
    find_places,
    make_chains,
)
from elsinore.query.bound import BoundQuery
from elsinore.sharing.candidates import Segment
from elsinore.sharing.merged import Admission, Standing, Standings

#: Number of the weight that is 1 for each event.
_EVENT = -1
_COUNTS, _DOUBLES, _RANKS = range(3)
#: What an operation reads lanes of, by its kind; it writes the same but for weighing.
_READ = {Kind.ADD_DOUBLES: _DOUBLES, Kind.LOWER: _RANKS}


@dataclass(frozen=True)
class Lowered:
    """A program with the meaning of its numbers.

    Attributes:
        program: what the kernel reads.
        chains: the queries in the order of `program.finals`.
        symbols: the symbols by number.
        weights: the weights by number.
        runs: bool[Y]: symbols whose events at several instants may be one step.
        starts: int64 beginnings of each row, and of each operation's scratch, in the lanes of
            counts, doubles and ranks.
    """

    program: Program
    chains: list[Chain]
    symbols: list[Symbol]
    weights: WeightColumns
    runs: np.ndarray
    starts: tuple[np.ndarray, np.ndarray, np.ndarray]

    @cached_property
    def standings(self) -> Standings[int]:
        """The symbols at which events may stand."""
        by_place = {}
        for number, symbol in enumerate(self.symbols):
            keys = carried(symbol)
            needed = frozenset(name for name, key in keys.items() if key.equivalence)
            conditions = symbol.query.local_conditions(symbol.position)
            admission: Admission = conditions, frozenset()
            by_place[number] = Standing(symbol.type, frozenset(keys), needed, admission)
        chains = [chain.symbols for chain in self.chains]
        return Standings(
            by_place,
            frozenset(symbols[0] for symbols in chains),
            frozenset(symbols[-1] for symbols in chains),
            frozenset(pair for symbols in chains for pair in pairwise(symbols)),
        )


@dataclass(frozen=True)
class _Op:
    """An operation before lanes have numbers; `order` is the position, later ones come first."""

    symbol: int
    order: int
    kind: Kind
    target_row: int
    target: int
    source_row: int = -1
    source: int = -1
    width: int = 1
    weight: int = _EVENT
    window: int = -1


def lower_segments(queries: Sequence[BoundQuery], shared: Sequence[Sequence[Segment]]) -> Lowered:
    """The program of queries with the same keys, under the segments that they share.

    Without shared segments this is A-Seq.
    """
    chains, symbols, windows = make_chains(queries)
    chains.sort(key=lambda chain: chain.window)
    places = find_places(chains, shared)
    starts = _row_starts(places.blocks)
    weights = WeightColumns()
    writer = _Writer(starts, weights)
    for chain in chains:
        writer.write(chain, places)
    ops = sorted(writer.ops, key=lambda op: (op.symbol, -op.order))
    scratch, ends = _scratch(ops, starts)
    return Lowered(
        Program(
            rows=len(starts[0]) - 1,
            ops=np.array([_line(op, at) for op, at in zip(ops, scratch, strict=True)], np.int64)
            .reshape(-1, 9),
            op_starts=_counted([op.symbol for op in ops], len(symbols)),
            staged=_staged(ops, len(symbols)),
            windows=np.array([(w, s, -(-w // s), 0, 0) for w, s in windows], np.int64),
            **_columns(places, starts, len(windows)),
            finals=_finals(chains, places, starts),
            final_starts=_counted([chain.window for chain in chains], len(windows)),
        ),
        chains,
        symbols,
        weights,
        _runs(ops, len(symbols)),
        ends,
    )  # fmt: skip


_Starts = tuple[np.ndarray, np.ndarray, np.ndarray]


def _row_starts(blocks: Sequence[Block]) -> _Starts:
    """Where each row begins, and after them the end, for counts, doubles and ranks."""
    widths = [
        [sum(slot.widths[kind] for slot in block.slots.values()) for kind in range(3)]
        for block in blocks
        for _ in block.rows
    ]
    totals = np.zeros((len(widths) + 1, 3), np.int64)
    np.cumsum(np.array(widths, np.int64), axis=0, out=totals[1:])
    return totals[:, 0].copy(), totals[:, 1].copy(), totals[:, 2].copy()


@dataclass
class _Writer:
    starts: _Starts
    weights: WeightColumns
    ops: dict[_Op, None] = field(default_factory=dict)
    advanced: set[int] = field(default_factory=set)

    def write(self, chain: Chain, places: Places) -> None:
        """The operations of all positions of a chain."""
        found = places.of[chain.query.name]
        for position, (symbol, place) in enumerate(zip(chain.symbols, found, strict=True)):
            source = found[position - 1] if position else None
            if source is None:
                target = self._lane(place, _COUNTS)
                self._put(_Op(symbol, 0, Kind.START, place.row, target, window=chain.window))
            elif place.block.symbols and source.block is place.block and source.step < place.step:
                self._advance(symbol, position, source, place)
            else:
                self._add(chain, symbol, position, source, place)
            self._weigh(chain, symbol, position, source, place)

    def _lane(self, place: Place, kind: int, column: int = 0) -> int:
        first = int(self.starts[kind][place.row])
        return first + place.slot.offsets[kind] + column * place.slot.chain.open

    def _put(self, op: _Op) -> None:
        self.ops[op] = None

    def _advance(self, symbol: int, position: int, source: Place, place: Place) -> None:
        """One addition for all slots of a block, or for those whose source is in its first row.

        The queries of a block have it at different positions; the first one's will do.
        """
        if place.row in self.advanced:
            return
        self.advanced.add(place.row)
        slots = place.block.ordered
        if source.step == 0:
            slots = [slot for slot in slots if slot.own_source]
        for kind, what in enumerate((Kind.ADD, Kind.ADD_DOUBLES, Kind.LOWER)):
            width = sum(slot.widths[kind] for slot in slots)
            target, origin = int(self.starts[kind][place.row]), int(self.starts[kind][source.row])
            if width:
                op = _Op(symbol, position, what, place.row, target, source.row, origin, width)
                self._put(op)

    def _weight(self, column: Column, kind: int) -> int:
        """The number of what events add to a column."""
        if column.carrier.weight is Weight.EVENT:
            return _EVENT
        return self.weights.number(kind, column.carrier, column.largest)

    def _add(self, chain: Chain, symbol: int, position: int, source: Place, place: Place) -> None:
        for kind, what in enumerate((Kind.ADD, Kind.ADD_DOUBLES, Kind.LOWER)):
            width = chain.columns(position - 1)[kind] * chain.open
            if width:
                target, origin = self._lane(place, kind), self._lane(source, kind)
                self._put(_Op(symbol, position, what, place.row, target, source.row, origin, width))

    def _weigh(
        self, chain: Chain, symbol: int, position: int, source: Place | None, place: Place
    ) -> None:
        """What the events of a position themselves bring to the carriers."""
        kinds = (
            (chain.counts, 1, Kind.START_WEIGHED, Kind.WEIGH),
            (chain.doubles, 0, Kind.START_DOUBLES, Kind.WEIGH_DOUBLES),
            (chain.ranks, 0, Kind.START_OWN, Kind.LOWER_OWN),
        )
        for kind, (columns, before, starting, following) in enumerate(kinds):
            for number, column in enumerate(columns):
                if position not in column.carrier.positions:
                    continue
                target = self._lane(place, kind, before + number)
                weight = self._weight(column, kind)
                if source is None:
                    op = _Op(symbol, 0, starting, place.row, target, weight=weight,
                             window=chain.window)  # fmt: skip
                else:
                    trends = self._lane(source, _COUNTS)
                    op = _Op(symbol, position, following, place.row, target, source.row, trends,
                             chain.open, weight)  # fmt: skip
                self._put(op)


def _line(op: _Op, scratch: int) -> tuple[int, ...]:
    return (
        op.kind, op.target, op.source, op.width, op.target_row, op.source_row, op.weight, op.window,
        scratch,
    )  # fmt: skip


def _scratch(ops: Sequence[_Op], starts: _Starts) -> tuple[list[int], _Starts]:
    """Where each operation's copy of its source begins, and the beginnings of all rows with it."""
    ends = [[int(start) for start in kind] for kind in starts]
    places = []
    for op in ops:
        read = _READ.get(op.kind, _COUNTS)
        places.append(ends[read][-1])
        for kind in range(3):
            width = op.width if kind == read and op.source_row >= 0 else 0
            ends[kind].append(ends[kind][-1] + width)
    counts, doubles, ranks = (np.array(kind, np.int64) for kind in ends)
    return places, (counts, doubles, ranks)


def _counted(numbers: Sequence[int], size: int) -> np.ndarray:
    """Beginnings of each number's run in a sorted sequence."""
    counts = np.bincount(np.array(numbers, np.int64), minlength=size)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _staged(ops: Sequence[_Op], symbols: int) -> np.ndarray:
    """Symbols with an operation that reads a row which one before it has written."""
    staged = np.zeros(symbols, np.bool_)
    written: dict[int, set[int]] = {}
    for op in ops:
        rows = written.setdefault(op.symbol, set())
        staged[op.symbol] |= op.source_row in rows
        rows.add(op.target_row)
    return staged


def _runs(ops: Sequence[_Op], symbols: int) -> np.ndarray:
    """Symbols with no operation that reads a row which another of theirs writes."""
    written: dict[int, set[int]] = {}
    for op in ops:
        written.setdefault(op.symbol, set()).add(op.target_row)
    runs = np.ones(symbols, np.bool_)
    for op in ops:
        runs[op.symbol] &= op.source_row not in written[op.symbol]
    return runs


def _columns(places: Places, starts: _Starts, windows: int) -> dict[str, np.ndarray]:
    """Where every column of lanes begins, by window clause."""
    found: dict[str, np.ndarray] = {}
    for kind, name in enumerate(("count", "double", "rank")):
        columns = sorted(
            (slot.chain.window, int(starts[kind][row]) + slot.offsets[kind] + n * slot.chain.open)
            for block in places.blocks
            for row in block.rows
            for slot in block.slots.values()
            for n in range(slot.columns[kind])
        )
        found[f"{name}_columns"] = np.array([at for _, at in columns], np.int64)
        found[f"{name}_column_starts"] = _counted([window for window, _ in columns], windows)
    return found


def _finals(chains: Sequence[Chain], places: Places, starts: _Starts) -> np.ndarray:
    lines = []
    for chain in chains:
        place = places.of[chain.query.name][-1]
        lanes = [int(starts[kind][place.row]) + place.slot.offsets[kind] for kind in range(3)]
        numbers = chain.columns(chain.last)
        pairs = [number for pair in zip(lanes, numbers, strict=True) for number in pair]
        lines.append([chain.window, place.row, *pairs])
    return np.array(lines, np.int64)
