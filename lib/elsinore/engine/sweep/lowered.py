"""The queries of a set that have one window clause, lowered; kept from call to call."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from elsinore.lowering.carriers import carriers_of
from elsinore.lowering.sweep import Member, Place, SweepSet
from elsinore.lowering.sweep_panes import PaneTables, make_pane_tables
from elsinore.lowering.sweep_tables import Tables, make_tables
from elsinore.windows import Window


@dataclass(frozen=True)
class Lowered:
    """The queries of a set that have one window clause, and their tables."""

    members: tuple[Member, ...]
    symbols: tuple[frozenset[Place], ...]
    tables: Tables

    @cached_property
    def panes(self) -> PaneTables:
        """The tables for panes."""
        return make_pane_tables(self.members, self.symbols)


@lru_cache(maxsize=32)
def lower_window(found: SweepSet, window: Window, symbols: tuple[frozenset[Place], ...]) -> Lowered:
    """Lower a set's queries; kept, since the same sets meet the same symbols again and again."""
    numbers = [n for n, query in enumerate(found.queries) if query.window == window]
    members = [
        Member(found.queries[n], found.templates[n], carriers_of(found.queries[n])) for n in numbers
    ]
    place = {number: n for n, number in enumerate(numbers)}
    mine = tuple(frozenset((place[q], s) for q, s in symbol if q in place) for symbol in symbols)
    return Lowered(tuple(members), mine, make_tables(members, mine))
