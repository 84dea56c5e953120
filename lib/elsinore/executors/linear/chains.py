"""Queries of fixed length as chains of symbols, and the lanes of their counts."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from elsinore.executors.aggregates import Accumulator, accumulators_of
from elsinore.executors.linear.kernels.segments import START
from elsinore.query.bound import BoundQuery, Key, KeyName
from elsinore.query.segments import Segment, signature

#: Numbers of counts, doubles and ranks.
Widths = tuple[int, int, int]


@dataclass(frozen=True)
class Column:
    """An accumulator with separate lanes; it is 0 (or no rank) before its first position.

    `number` is the index of the column among the columns of its kind in rows.
    """

    accumulator: Accumulator
    number: int

    @property
    def first(self) -> int:
        """Return the first position at which the column exists."""
        return min(self.accumulator.positions, default=0)

    def within(self, start: int, stop: int) -> tuple[object, ...]:
        """Return a key for the column at positions `start` to `stop - 1`, counted from `start`."""
        own = self.accumulator
        inside = tuple(sorted(p - start for p in own.positions if start <= p < stop))
        return own.event_weight, inside


@dataclass(frozen=True)
class Chain:
    """A query as a sequence of symbols, one per position."""

    query: BoundQuery  #: the query
    symbols: tuple[int, ...]  #: numbers of the symbols, by position
    window: int  #: number of the window clause
    open: int  #: windows open at once, and lanes of each column
    #: columns of counts (trends first), doubles and ranks, ordered by their first positions. So the
    #: columns of a position are a prefix of the columns of the next position.
    kinds: tuple[tuple[Column, ...], ...]

    def columns(self, position: int) -> Widths:
        """Return the number of columns of each kind at a position."""
        counts, doubles, ranks = (sum(c.first <= position for c in kind) for kind in self.kinds)
        return counts, doubles, ranks

    def content(self, start: int, stop: int) -> tuple[object, ...]:
        """Return a key for the columns at some positions.

        Equal keys and equal sources mean equal values.
        """
        live = zip(self.kinds, self.columns(stop - 1), strict=True)
        return tuple(tuple(c.within(start, stop) for c in kind[:number]) for kind, number in live)


@dataclass(frozen=True)
class Symbol:
    """The conditions on an event at some positions; one of these positions represents them."""

    query: BoundQuery
    position: int

    @property
    def type(self) -> str:
        """Return the event type."""
        return self.query.positions[self.position].type


def carried(symbol: Symbol) -> dict[KeyName, Key]:
    """Return the keys of a symbol's events, by name."""
    keys = symbol.query.named_keys
    return {name: key for name, key in keys.items() if symbol.position in key.positions}


def passes(queries: Iterable[BoundQuery]) -> list[list[BoundQuery]]:
    """Group queries by the names of their keys and the positions of times.

    Groups are in the order of first appearance. Each group is one pass over the events. Segments
    are shared only within a pass.
    """
    found: dict[tuple[frozenset[KeyName], Hashable], list[BoundQuery]] = {}
    for query in queries:
        same = frozenset(query.named_keys), query.window.axis
        found.setdefault(same, []).append(query)
    return list(found.values())


def make_chains(
    queries: Iterable[BoundQuery],
) -> tuple[list[Chain], list[Symbol], list[tuple[int, int]]]:
    """Return the chains of queries, their symbols, and their window clauses `(WITHIN, SLIDE)`.

    Positions share a symbol if type, local predicates and keys agree (Sharon, section 7.2).
    """
    symbols: dict[tuple[str | KeyName, ...], int] = {}
    named: list[Symbol] = []
    windows: dict[tuple[int, int], int] = {}
    chains = []
    for query in queries:
        numbers = []
        for position in query.positions:
            symbol = Symbol(query, position.index)
            text = signature(query, Segment(query.name, position.index, (position.type,)))
            kind: tuple[str | KeyName, ...] = (text, *carried(symbol))
            if kind not in symbols:
                named.append(symbol)
            numbers.append(symbols.setdefault(kind, len(symbols)))
        clause = query.window.within, query.window.slide
        number = windows.setdefault(clause, len(windows))
        chains.append(_chain(query, tuple(numbers), number, -(-clause[0] // clause[1])))
    return chains, named, list(windows)


def _chain(query: BoundQuery, symbols: tuple[int, ...], window: int, lanes: int) -> Chain:
    kinds = tuple(map(_ordered, accumulators_of(query).columns))
    return Chain(query, symbols, window, lanes, kinds)


def _ordered(accumulators: Iterable[Accumulator]) -> tuple[Column, ...]:
    columns = (Column(accumulator, n) for n, accumulator in enumerate(accumulators))
    return tuple(sorted(columns, key=lambda column: column.first))


# ---- rows and lanes of the counts of each position of each query
#
# In A-Seq, each position of a query has a separate row. A segment that queries share has one row
# per position, and one more for its input. Each query has a slot in these rows, as wide as its
# columns, so one vector addition advances all queries. If several queries have the same prefix
# before the segment (it is empty, or shared itself), they share the slot as well, and this part is
# computed once.


@dataclass(eq=False)
class Slot:
    """Lanes of one query, or of several queries with the same lanes, in each row of a block."""

    chain: Chain
    columns: Widths
    own_source: bool
    offsets: Widths = (0, 0, 0)

    @property
    def widths(self) -> Widths:
        """Return the number of lanes of each kind."""
        counts, doubles, ranks = (number * self.chain.open for number in self.columns)
        return counts, doubles, ranks


@dataclass(eq=False)
class Block:
    """Rows that are advanced together: the rows of a shared segment, or the row of one position."""

    symbols: tuple[int, ...]  #: of its positions; empty for the row of a single position
    #: by a key that is equal for equal slots; in rows, slots with their own source come first.
    slots: dict[object, Slot] = field(default_factory=dict)
    #: numbers of its rows; the first row is the input.
    rows: list[int] = field(default_factory=list)

    @property
    def ordered(self) -> list[Slot]:
        """Return the slots in the order of their lanes."""
        return sorted(self.slots.values(), key=lambda slot: not slot.own_source)


@dataclass(frozen=True)
class Place:
    """A slot in one row of a block; `step` is the index of the row in the block."""

    block: Block
    step: int
    slot: Slot

    @property
    def row(self) -> int:
        """Return the row's number."""
        return self.block.rows[self.step]


def find_places(
    chains: Sequence[Chain], shared: Sequence[Sequence[Segment]]
) -> tuple[list[Block], dict[str, list[Place]]]:
    """Return all blocks of one pass, and the place of each position of each chain, by query name.

    `shared` are the shared segments of a plan, each as its occurrences in queries. Occurrences in
    other passes, or with different symbols, are not shared here.
    """
    blocks: list[Block] = []
    starts = _shared_starts(chains, shared, blocks)
    places: dict[str, list[Place]] = {}
    for chain in chains:
        found: list[Place] = []
        at = starts.get(chain.query.name, {})
        while len(found) < len(chain.symbols):
            position = len(found)
            if position in at:
                found += _shared_places(chain, position, at[position], found)
            elif position + 1 in at:
                block = at[position + 1]  # the input of a shared segment is its block's first row
                slot = _slot(chain, position + 1, block, chain.query.name, True)
                found.append(Place(block, 0, slot))
            else:
                block = Block(())
                slot = block.slots[chain.query.name] = Slot(chain, chain.columns(position), True)
                blocks.append(block)
                found.append(Place(block, 0, slot))
        places[chain.query.name] = found
    _number(blocks)
    return blocks, places


def _shared_starts(
    chains: Sequence[Chain], shared: Sequence[Sequence[Segment]], blocks: list[Block]
) -> dict[str, dict[int, Block]]:
    """Return the blocks of shared segments by query and first position; append them to `blocks`."""
    named = {chain.query.name: chain for chain in chains}
    starts: dict[str, dict[int, Block]] = {}
    for occurrences in shared:
        alike: dict[tuple[int, ...], list[Segment]] = {}
        for segment in occurrences:
            if segment.query in named:
                symbols = named[segment.query].symbols[segment.start : segment.stop]
                alike.setdefault(symbols, []).append(segment)
        for symbols, segments in alike.items():
            if len(segments) > 1:
                blocks.append(Block(symbols))
                for segment in segments:
                    starts.setdefault(segment.query, {})[segment.start] = blocks[-1]
    return starts


def _slot(chain: Chain, start: int, block: Block, key: object, own_source: bool) -> Slot:
    stop = start + len(block.symbols)
    return block.slots.setdefault(key, Slot(chain, chain.columns(stop - 1), own_source))


def _shared_places(chain: Chain, start: int, block: Block, before: list[Place]) -> list[Place]:
    """Return the places of a shared segment's positions."""
    source = before[-1] if before else None
    if source is not None and source.block is block and source.step == 0:
        slot = source.slot
    else:
        stop = start + len(block.symbols)
        origin = (chain.window,) if source is None else (source.slot, source.block)
        slot = _slot(chain, start, block, (origin, chain.content(start, stop)), False)
    return [Place(block, step + 1, slot) for step in range(len(block.symbols))]


def _number(blocks: list[Block]) -> None:
    """Number the rows after row `START`, and assign adjacent lanes to the slots of each block."""
    row = START
    for block in blocks:
        block.rows = list(range(row + 1, row + 2 + len(block.symbols)))
        row = block.rows[-1]
        at = [0, 0, 0]
        for slot in block.ordered:
            slot.offsets = at[0], at[1], at[2]
            at = [place + width for place, width in zip(at, slot.widths, strict=True)]
