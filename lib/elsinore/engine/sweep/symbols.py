"""What each event of a table may stand for in the queries of a set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from elsinore.engine.columns import EventColumns, plain_values
from elsinore.engine.partitions import admitted
from elsinore.engine.sweep.keys import SweptKey
from elsinore.events import TYPE_COLUMN
from elsinore.lowering.merged import Admission, admission_of, key_attributes, type_of
from elsinore.lowering.sweep import Place, SweepSet

#: An event type, and the attributes of the keys that its events carry at some states.
Kind = tuple[str, frozenset[str]]

#: Nothing is asked of the events.
_OPEN: Admission = (frozenset(), frozenset())
#: Admissions that are told apart by the bits of one word.
_WORD = 62


@dataclass(frozen=True)
class Coded:
    """Events of one kind of states.

    Attributes:
        codes: int32[N], see `symbols`; a code beyond them means nothing.
        symbols: for each code the (query, state) at which its events may stand.
    """

    codes: np.ndarray
    symbols: tuple[frozenset[Place], ...]


def kinds_of(found: SweepSet) -> dict[Kind, list[Place]]:
    """The states of all queries, by type and by the keys that their events carry."""
    kinds: dict[Kind, list[Place]] = {}
    for q, (query, template) in enumerate(zip(found.queries, found.templates, strict=True)):
        for s in template.trend_states:
            state = template.states[s]
            carried = key_attributes(query, state.keys & template.keys)
            kinds.setdefault((type_of(query, state), carried), []).append((q, s))
    return kinds


def code_events(
    found: SweepSet,
    kinds: Mapping[Kind, list[Place]],
    keys: Mapping[str, SweptKey],
    columns: EventColumns,
) -> Coded:
    """The codes of all events, for kinds of which no two have one type.

    Where no query asks anything of single events these are the codes of their types.
    """
    types = plain_values(columns.events.table[TYPE_COLUMN], np.int32)
    numbers = columns.events.schema.type_codes
    symbols: list[frozenset[Place]] = [frozenset()] * len(numbers)
    codes = types
    for (kind, carried), places in kinds.items():
        asked = _by_admission(found, places)
        symbols[numbers[kind]] = frozenset(places)
        barred = [keys[a].usable for a in carried if keys[a].usable is not None]
        if barred or asked.keys() != {_OPEN}:
            codes = codes.copy() if codes is types else codes
            rows = np.flatnonzero(types == numbers[kind])
            _code_kind(rows, asked, barred, columns, codes, symbols)
    return Coded(codes, tuple(symbols))


def _code_kind(
    rows: np.ndarray,
    asked: Mapping[Admission, frozenset[Place]],
    barred: list[np.ndarray | None],
    columns: EventColumns,
    codes: np.ndarray,
    symbols: list[frozenset[Place]],
) -> None:
    """Give the events of one kind a code for each set of admissions that they meet."""
    words = [np.zeros(rows.size, np.int64) for _ in range(-(-len(asked) // _WORD))]
    usable = np.ones(rows.size, np.bool_)
    for found in barred:
        assert found is not None
        usable &= found[rows]
    for n, admission in enumerate(asked):
        met = usable & admitted(admission, columns, rows)
        words[n // _WORD] |= met.astype(np.int64) << (n % _WORD)
    numbers, masks = _numbered(words)
    codes[rows] = numbers + len(symbols)
    for mask in masks:
        places = [
            found for n, found in enumerate(asked.values()) if mask[n // _WORD] >> (n % _WORD) & 1
        ]
        symbols.append(frozenset().union(*places))


def _numbered(words: list[np.ndarray]) -> tuple[np.ndarray, list[list[int]]]:
    """A number for each event by its words, and the words of each number.

    By hashing: sorting them took more than half of the time from files to rows.
    """
    numbers = np.zeros(words[0].size, np.int64)
    for word in words:
        found, distinct = pd.factorize(word)
        numbers, _ = pd.factorize(numbers * distinct.size + found)
    first = pd.Series(numbers).drop_duplicates().index.to_numpy()
    return numbers, np.stack(words)[:, first].T.tolist()


def _by_admission(found: SweepSet, places: list[Place]) -> dict[Admission, frozenset[Place]]:
    asked: dict[Admission, list[Place]] = {}
    for q, s in places:
        admission = admission_of(found.queries[q], found.templates[q].states[s])
        asked.setdefault(admission, []).append((q, s))
    return {admission: frozenset(mine) for admission, mine in asked.items()}
