"""A query of fixed length as a chain of symbols with columns of lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from elsinore.lowering.carriers import Carrier, carriers_of
from elsinore.query.bound import BoundQuery, Key
from elsinore.sharing.candidates import Segment, signature


@dataclass(frozen=True)
class Column:
    """A carrier in lanes of its own; it is 0 (or no rank) before its first position.

    `number` is the carrier's place among those of its kind in partial rows.
    """

    carrier: Carrier
    number: int
    largest: bool = False

    @property
    def first(self) -> int:
        """The first position whose events it counts."""
        return min(self.carrier.positions)

    def within(self, start: int, stop: int) -> tuple[object, ...]:
        """What the column is to the positions `start` to `stop - 1`, counted from `start`."""
        inside = tuple(sorted(p - start for p in self.carrier.positions if start <= p < stop))
        return self.carrier.weight, self.carrier.attribute, self.largest, inside


@dataclass(frozen=True)
class Chain:
    """A query as its symbols, one a position.

    Attributes:
        query: the query.
        symbols: numbers of the symbols, by position.
        window: number of the window clause.
        open: windows that are open at once; each column has as many lanes.
        counts, doubles, ranks: columns beside the count of trends, by their first positions, so
            that what a position has is the beginning of what the next one has.
    """

    query: BoundQuery
    symbols: tuple[int, ...]
    window: int
    open: int
    counts: tuple[Column, ...]
    doubles: tuple[Column, ...]
    ranks: tuple[Column, ...]

    def columns(self, position: int) -> tuple[int, int, int]:
        """How many columns of counts (trends included), doubles and ranks a position has."""
        kinds = (self.counts, self.doubles, self.ranks)
        counts, doubles, ranks = (sum(c.first <= position for c in kind) for kind in kinds)
        return 1 + counts, doubles, ranks

    def content(self, start: int, stop: int) -> tuple[object, ...]:
        """What its columns are to some positions: equal contents of equal sources are equal."""
        live = self.columns(stop - 1)
        kinds = (self.counts[: live[0] - 1], self.doubles[: live[1]], self.ranks[: live[2]])
        return tuple(tuple(c.within(start, stop) for c in kind) for kind in kinds)

    @cached_property
    def last(self) -> int:
        """The last position."""
        return len(self.symbols) - 1


@dataclass(frozen=True)
class Symbol:
    """What an event must be to stand at some positions: one of them stands for all."""

    query: BoundQuery
    position: int

    @property
    def type(self) -> str:
        """The event type."""
        return self.query.positions[self.position].type


def named_keys(query: BoundQuery) -> dict[str, Key]:
    """The keys of a query by names that say the attribute, and which of its keys it is.

    What one pass calls by one name is one partition key, whatever its scope in each query.
    """
    uses: Counter[str] = Counter()
    found = {}
    for key in query.keys:
        uses[key.attribute] += 1
        found[f"key {uses[key.attribute]} {key.attribute}"] = key
    return found


def group_names(query: BoundQuery) -> list[str]:
    """The names of the keys that name result rows, in the order of GROUP-BY."""
    return [name for name, key in named_keys(query).items() if key.group_label is not None]


def carried(symbol: Symbol) -> dict[str, Key]:
    """The keys that a symbol's events carry, by name."""
    keys = named_keys(symbol.query)
    return {name: key for name, key in keys.items() if symbol.position in key.positions}


def passes(queries: Iterable[BoundQuery]) -> list[list[BoundQuery]]:
    """Queries by the names of their keys, in the order of first appearance: a pass over the events.

    Segments are shared within a pass alone.
    """
    found: dict[frozenset[str], list[BoundQuery]] = {}
    for query in queries:
        found.setdefault(frozenset(named_keys(query)), []).append(query)
    return list(found.values())


def make_chains(
    queries: Iterable[BoundQuery],
) -> tuple[list[Chain], list[Symbol], list[tuple[int, int]]]:
    """The chains of queries, the symbols and the window clauses `(WITHIN, SLIDE)` that they name.

    Positions have one symbol where type, local predicates and keys agree (section 7.2).
    """
    symbols: dict[tuple[str, ...], int] = {}
    named: list[Symbol] = []
    windows: dict[tuple[int, int], int] = {}
    chains = []
    for query in queries:
        numbers = []
        for position in query.positions:
            symbol = Symbol(query, position.index)
            text = signature(query, Segment(query.name, position.index, (position.type,)))
            kind = text, *carried(symbol)
            if kind not in symbols:
                named.append(symbol)
            numbers.append(symbols.setdefault(kind, len(symbols)))
        clause = query.window.within, query.window.slide
        number = windows.setdefault(clause, len(windows))
        chains.append(_chain(query, tuple(numbers), number, -(-clause[0] // clause[1])))
    return chains, named, list(windows)


def _chain(query: BoundQuery, symbols: tuple[int, ...], window: int, lanes: int) -> Chain:
    carriers = carriers_of(query)
    extremes = [*_columns(carriers.minima), *_columns(carriers.maxima, len(carriers.minima), True)]
    return Chain(
        query,
        symbols,
        window,
        lanes,
        _ordered(_columns(carriers.counts)),
        _ordered(_columns(carriers.sums)),
        _ordered(extremes),
    )


def _columns(carriers: Sequence[Carrier], base: int = 0, largest: bool = False) -> list[Column]:
    return [Column(carrier, base + n, largest) for n, carrier in enumerate(carriers)]


def _ordered(columns: Iterable[Column]) -> tuple[Column, ...]:
    return tuple(sorted(columns, key=lambda column: column.first))
