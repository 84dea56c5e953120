"""Events by partition and time, each with the class of places at which it may stand.

Queries that are partitioned alike have their entries in common. A stream in order without keys
stays as it is: nothing is copied. Keys are counting-sorted by their codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic

import numpy as np
import pandas as pd
import pyarrow as pa

from elsinore.engine.columns import EventColumns, plain_values
from elsinore.engine.key_codes import KeyCodes, joined_texts
from elsinore.engine.partitions import admitted, column_of, find_partitions, place_events
from elsinore.engine.sorting import ascending
from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.kernels.entries import count_owners, group_events, is_sorted
from elsinore.query.bound import Key
from elsinore.sharing.merged import Admission, Kind, Place, Standings
from elsinore.template.template import Template, Transition

#: Nothing is asked of the events, nor of their keys.
_OPEN: tuple[Admission, frozenset[str]] = (frozenset(), frozenset()), frozenset()
#: Admissions that are told apart by the bits of one word.
_WORD = 62


@dataclass(frozen=True)
class Entries(Generic[Place]):
    """N events, sorted by partition, then time.

    Attributes:
        times: int64[N].
        codes: int32[N]; classes: for each code the places at which its events may stand. A code
            beyond them means nothing, nor does one without places.
        rows: int64[N], the event's row in the table; None if they are all rows in their order.
        offsets: int64[P + 1], where each partition begins.
        keys: int64[P], the code of each key in each partition, by name.
    """

    times: np.ndarray
    codes: np.ndarray
    classes: tuple[frozenset[Place], ...]
    rows: np.ndarray | None
    offsets: np.ndarray
    keys: Mapping[str, np.ndarray]

    def group_texts(self, keys: Mapping[str, Key], codes: Mapping[str, KeyCodes]) -> pa.Array:
        """The JSON array of group values of each partition; NULL for a key that no event carries.

        Args:
            keys: the grouping keys by name, in their order.
            codes: the codes of the keys by name.
        """
        size = self.offsets.size - 1
        null = pa.array(["null"] * size, pa.string())
        texts = [
            codes[name].texts(key, self.keys[name]) if name in self.keys else null
            for name, key in keys.items()
        ]
        return joined_texts(texts, size)


def make_entries(
    standings: Standings[Place], keys: Mapping[str, KeyCodes], columns: EventColumns
) -> Entries[Place]:
    """The entries of queries that are partitioned by the same keys, given their codes by name."""
    by_kind = standings.by_kind
    complete = all(carried == keys.keys() for _, carried in by_kind)
    if not complete or len({kind for kind, _ in by_kind}) < len(by_kind):
        return _joined(standings, keys, columns)
    codes, classes = _code_events(standings, by_kind, keys, columns)
    times = _times(columns)
    order = np.empty(0, np.int64) if is_sorted(times) else ascending(times)
    if not keys:
        whole_table = np.array([0, times.size])
        if not order.size:
            return Entries(times, codes, classes, None, whole_table, {})
        return Entries(times[order], codes[order], classes, order, whole_table, {})
    meant = np.array([*map(bool, classes)], np.int64)
    owners, partitions, size = _owners(keys)
    counts = np.zeros(size, np.int64)
    count_owners(owners, codes, meant, counts)
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    amount = int(offsets[-1])
    rows, grouped = np.empty(amount, np.int64), np.empty(amount, np.int32)
    sorted_times = np.empty(amount, np.int64)
    heads = offsets[:-1].copy()
    group_events(owners, codes, times, meant, order, heads, rows, grouped, sorted_times)
    return Entries(sorted_times, grouped, classes, rows, offsets, partitions)


def _times(columns: EventColumns) -> np.ndarray:
    return plain_values(columns.events.table[TIME_COLUMN], np.int64)


def _owners(keys: Mapping[str, KeyCodes]) -> tuple[np.ndarray, dict[str, np.ndarray], int]:
    """The partition of each event, the partitions' codes, and how many partitions there are."""
    if len(keys) == 1:
        ((name, key),) = keys.items()
        return key.values, {name: np.arange(key.size)}, key.size
    first_key, *others = keys.values()
    owners, size = first_key.values.astype(np.int64), first_key.size
    for key in others:  # dense again after each key, so that no product outgrows int64
        owners, size = _dense(owners * key.size + key.values, size * key.size)
    first = np.zeros(size, np.int64)
    first[owners] = np.arange(owners.size)
    return owners, {name: key.values[first] for name, key in keys.items()}, size


def _dense(values: np.ndarray, bound: int) -> tuple[np.ndarray, int]:
    """The same values below `bound` numbered without gaps, and how many there are."""
    if bound <= 4 * values.size + 1024:
        present = np.zeros(bound, np.bool_)
        present[values] = True
        if present.all():
            return values, bound
        return (np.cumsum(present) - 1)[values], int(present.sum())
    distinct, numbers = np.unique(values, return_inverse=True)
    return numbers, distinct.size


# ---- event classes


def _code_events(
    standings: Standings[Place],
    by_kind: Mapping[Kind, list[Place]],
    keys: Mapping[str, KeyCodes],
    columns: EventColumns,
) -> tuple[np.ndarray, tuple[frozenset[Place], ...]]:
    """The codes of all events, for kinds of which no two have one type, and the codes' classes.

    Where nothing is asked of single events these are the codes of their types.
    """
    types = plain_values(columns.events.table[TYPE_COLUMN], np.int32)
    numbers = columns.events.schema.type_codes
    classes: list[frozenset[Place]] = [frozenset()] * len(numbers)
    codes = types
    barring = frozenset(name for name, key in keys.items() if not key.usable.all())
    for (kind, _), mine in by_kind.items():
        asked: dict[tuple[Admission, frozenset[str]], list[Place]] = {}
        for place in mine:
            standing = standings.by_place[place]
            what = standing.admission, standing.needed & barring
            asked.setdefault(what, []).append(place)
        classes[numbers[kind]] = frozenset(mine)
        if asked.keys() != {_OPEN}:
            codes = codes.copy() if codes is types else codes
            rows = np.flatnonzero(types == numbers[kind])
            words = [np.zeros(rows.size, np.int64) for _ in range(-(-len(asked) // _WORD))]
            for n, (admission, needed) in enumerate(asked):
                met = admitted(admission, columns, rows)
                for name in needed:
                    met &= keys[name].usable[rows]
                words[n // _WORD] |= met.astype(np.int64) << (n % _WORD)
            found, masks = _numbered(words)
            codes[rows] = found + len(classes)
            for mask in masks:
                bits = enumerate(asked.values())
                met_by = [each for n, each in bits if mask[n // _WORD] >> (n % _WORD) & 1]
                classes.append(frozenset().union(*met_by))
    return codes, tuple(classes)


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


# ---- where some events lack some keys: such an event is in every partition that it fits


def _joined(
    standings: Standings[Place], keys: Mapping[str, KeyCodes], columns: EventColumns
) -> Entries[Place]:
    """Entries of events that carry different keys.

    An event that stands at places with different keys makes an entry for each of these; they are of
    one time, so that neither comes before the other.
    """
    names, by_kind = sorted(keys), standings.by_kind
    classes: list[frozenset[Place]] = []
    frames, codes, rows_of = [], [], []
    for (kind, carried), mine in by_kind.items():
        coded, own = _code_events(standings, {(kind, carried): mine}, keys, columns)
        rows = np.flatnonzero(np.array([*map(bool, own)], np.bool_)[coded])
        codes.append(coded[rows].astype(np.int64) + len(classes))
        classes += own
        held = {column_of(names.index(a)): keys[a].values[rows] for a in sorted(carried)}
        frames.append(pd.DataFrame({"row": np.arange(rows.size)} | held))
        rows_of.append(rows)
    partitions = find_partitions(_as_template(standings, by_kind, names), frames)
    partitions["partition"] = np.arange(len(partitions), dtype=np.int64)
    placed = [place_events(frame, partitions) for frame in frames]
    places_of = [frame["row"].to_numpy() for frame in placed]
    owners = np.concatenate([frame["partition"].to_numpy() for frame in placed])
    rows = np.concatenate([r[p] for r, p in zip(rows_of, places_of, strict=True)])
    numbers = np.concatenate([c[p] for c, p in zip(codes, places_of, strict=True)])
    times = _times(columns)[rows]
    order = ascending(owners, times)
    offsets = np.searchsorted(owners[order], np.arange(len(partitions) + 1)).astype(np.int64)
    held = {name: partitions[column_of(n)].to_numpy() for n, name in enumerate(names)}
    ordered = numbers[order].astype(np.int32)
    return Entries(times[order], ordered, tuple(classes), rows[order], offsets, held)


def _as_template(
    standings: Standings[Place], by_kind: Mapping[Kind, list[Place]], names: list[str]
) -> Template:
    """A state for each kind."""
    number = {place: n for n, mine in enumerate(by_kind.values()) for place in mine}
    arrows = {(number[earlier], number[later]) for earlier, later in standings.arrows}
    return Template.plain(
        [frozenset(map(names.index, carried)) for _, carried in by_kind],
        [Transition(earlier, later) for earlier, later in sorted(arrows)],
        [number[place] for place in standings.starts],
        [number[place] for place in standings.ends],
    )
