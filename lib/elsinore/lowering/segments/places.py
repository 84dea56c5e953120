"""Where the counts of each position of each query stand: rows, and slots side by side in them.

A-Seq gives each position of a query a row of its own. A segment that queries share has one row for
each of its positions, and one more for what comes in; each query has a slot in them, as wide as its
columns, so that one vector addition advances all of them. Where the prefix before the segment is
the same for several queries (it is empty, or shared itself) they share the slot as well: that part
is worked out once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from elsinore.lowering.segments.chain import Chain
from elsinore.sharing.candidates import Segment

#: Lanes of counts, doubles and ranks.
Widths = tuple[int, int, int]


@dataclass(eq=False)
class Slot:
    """Lanes of one query (or of several that have the same ones) in each row of a block."""

    chain: Chain
    columns: Widths
    own_source: bool
    offsets: Widths = (0, 0, 0)

    @property
    def widths(self) -> Widths:
        """Lanes taken."""
        counts, doubles, ranks = (number * self.chain.open for number in self.columns)
        return counts, doubles, ranks


@dataclass(eq=False)
class Block:
    """Rows that are advanced as wholes: those of a shared segment, or the one of a position.

    Attributes:
        symbols: of its positions; empty for the row of a single position.
        slots: by what makes them the same; in rows those with a source of their own come first.
        rows: numbers of its rows; the first is what comes in.
    """

    symbols: tuple[int, ...]
    slots: dict[object, Slot] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)

    @property
    def ordered(self) -> list[Slot]:
        """Slots as they stand in the rows."""
        return sorted(self.slots.values(), key=lambda slot: not slot.own_source)


@dataclass(frozen=True)
class Place:
    """A slot in one row of a block; `step` counts the rows of the block."""

    block: Block
    step: int
    slot: Slot

    @property
    def row(self) -> int:
        """The row's number."""
        return self.block.rows[self.step]


@dataclass(frozen=True)
class Places:
    """All blocks, and where each position of each chain is, by query name."""

    blocks: list[Block]
    of: dict[str, list[Place]]


def find_places(chains: Sequence[Chain], shared: Sequence[Sequence[Segment]]) -> Places:
    """Give every position of every chain its place.

    Args:
        chains: the queries of one pass.
        shared: the segments of a plan with the queries that share each; those that lie in other
            passes, or whose symbols differ, are not shared here.
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
                found.append(_source_place(chain, position, at[position + 1]))
            else:
                block = Block(())
                slot = block.slots[chain.query.name] = Slot(chain, chain.columns(position), True)
                blocks.append(block)
                found.append(Place(block, 0, slot))
        places[chain.query.name] = found
    _number(blocks)
    return Places(blocks, places)


def _shared_starts(
    chains: Sequence[Chain], shared: Sequence[Sequence[Segment]], blocks: list[Block]
) -> dict[str, dict[int, Block]]:
    """The blocks of shared segments, by query and first position."""
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


def _source_place(chain: Chain, position: int, block: Block) -> Place:
    """The row before a shared segment is the block's own first row."""
    return Place(block, 0, _slot(chain, position + 1, block, chain.query.name, True))


def _shared_places(chain: Chain, start: int, block: Block, before: list[Place]) -> list[Place]:
    """The places of a shared segment's positions."""
    source = before[-1] if before else None
    if source is not None and source.block is block and source.step == 0:
        slot = source.slot
    else:
        stop = start + len(block.symbols)
        origin = (chain.window,) if source is None else (source.slot, source.block)
        slot = _slot(chain, start, block, (origin, chain.content(start, stop)), False)
    return [Place(block, step + 1, slot) for step in range(len(block.symbols))]


def _number(blocks: list[Block]) -> None:
    """Number the rows, and let the slots stand side by side."""
    row = 0
    for block in blocks:
        block.rows = list(range(row, row + 1 + len(block.symbols)))
        row = block.rows[-1] + 1
        at = [0, 0, 0]
        for slot in block.ordered:
            slot.offsets = at[0], at[1], at[2]
            at = [place + width for place, width in zip(at, slot.widths, strict=True)]
