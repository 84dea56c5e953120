"""Sort events by partition and time, and assign each an event class.

The class of an event is the set of states (or pattern positions) that admit it. Queries with the
same partition keys share the entries. A stream that is in order and has no keys is not copied. Keys
are counting-sorted by their codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Generic, NamedTuple

import numpy as np
import pyarrow as pa

from elsinore.events import TYPE_COLUMN
from elsinore.executors.input.admissions import EventsAt
from elsinore.executors.input.columns import EventColumns, plain_values
from elsinore.executors.input.kernels.entries import count_owners, group_events, is_sorted
from elsinore.executors.input.key_codes import Columns, KeyCodes, join_keys, joined_texts
from elsinore.executors.input.numbering import numbered
from elsinore.executors.input.sessions import order_of, positions_of
from elsinore.query.bound import BoundQuery, KeyName
from elsinore.sorting import ascending
from elsinore.template.placement import Admission, Kind, Place, Placements
from elsinore.windows import Window

#: No conditions on the events or on their keys.
_OPEN: tuple[Admission, frozenset[KeyName]] = (frozenset(), frozenset()), frozenset()
#: Number of admissions that the bits of one word distinguish.
_WORD = 62
#: Words below this are numbered by a table.
_FEW = 4096


@dataclass(frozen=True)
class Entries(Generic[Place]):
    """N entries, sorted by partition, then by time.

    Attributes:
        times: int64[N], the positions of the events' times (`windows`).
        codes: int32[N], the event class of each entry.
        classes: by code, the states or positions that admit the events; may be empty. Codes without
            an item here are not used by any query.
        rows: int64[N], the row of each event in the table; None if the entries are all rows in
            order.
        offsets: int64[P + 1], the first entry of each partition.
        keys: int64[P] by name of a partition key, the key's code in each partition.
    """

    times: np.ndarray
    codes: np.ndarray
    classes: tuple[frozenset[Place], ...]
    rows: np.ndarray | None
    offsets: np.ndarray
    keys: Mapping[KeyName, np.ndarray]

    def group_texts(self, query: BoundQuery, codes: Mapping[KeyName, KeyCodes]) -> pa.Array:
        """Return the group of each partition as a JSON array of a query's group values.

        A key that the trends do not carry is null, like a NULL value.

        Args:
            query: one of the queries of these entries.
            codes: the codes of its keys by name.
        """
        size = self.offsets.size - 1
        null = pa.array(["null"] * size, pa.string())
        texts = [
            codes[name].texts(key, self.keys[name]) if name in self.keys else null
            for name, key in query.named_keys.items()
            if key.group_label is not None
        ]
        return joined_texts(texts, size)


def key_codes(query: BoundQuery, columns: EventColumns) -> dict[KeyName, KeyCodes]:
    """Return the codes of a query's keys by name (`BoundQuery.named_keys`)."""
    return {name: KeyCodes.of(key, columns) for name, key in query.named_keys.items()}


def make_entries(
    placements: Placements[Place],
    codes_of: Mapping[KeyName, KeyCodes],
    columns: EventColumns,
    window: Window,
) -> Entries[Place]:
    """Return the entries of queries that have the same partition keys and positions of times.

    Args:
        placements: the states or positions of the queries, and the events that they admit.
        codes_of: the codes of all keys by name.
        columns: the events.
        window: the window of one of the queries.
    """
    by_kind, names = placements.by_kind, placements.keys
    complete = all(carried == names for _, carried in by_kind)
    if not complete or len({kind for kind, _ in by_kind}) < len(by_kind):
        return _joined(placements, codes_of, columns, window)
    codes, classes = _code_events(placements, by_kind, codes_of, columns)
    times = positions_of(columns, window)
    # The events of a partition have the same order by time, which mostly is the order of rows.
    clock = times if window.session is None else order_of(columns)
    order = np.empty(0, np.int64) if is_sorted(clock) else ascending(clock)
    keys = {name: codes_of[name] for name in sorted(names)}
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
    kept = np.flatnonzero(counts)
    held = {name: partitions[name][kept] for name in keys}
    offsets = np.append(offsets[kept], amount)
    return Entries(sorted_times, grouped, classes, rows, offsets, held)


def latest_entries(
    placements: Placements[Place],
    codes_of: Mapping[KeyName, KeyCodes],
    columns: EventColumns,
    window: Window,
) -> Entries[Place]:
    """Return `make_entries`; equal calls in succession return the same entries.

    The counts of some queries, and the events that participate in their trends, have equal entries.
    """
    # The codes of a key exist once per `EventColumns`.
    names = frozenset((name, id(codes)) for name, codes in codes_of.items())
    given = frozenset(placements.by_place.items()), names, window.axis
    return columns.latest(
        "entries", given, lambda: make_entries(placements, codes_of, columns, window)
    )


def _owners(keys: Mapping[KeyName, KeyCodes]) -> tuple[np.ndarray, Columns, int]:
    """Return the partition of each event, the key codes of each partition, and their number."""
    if len(keys) == 1:
        ((name, key),) = keys.items()
        return key.values, {name: np.arange(key.size)}, key.size
    columns = {name: key.values for name, key in keys.items()}
    owners, rows = numbered(columns.values(), next(iter(columns.values())).size)
    return owners, {name: codes[rows] for name, codes in columns.items()}, rows.size


# ---- event classes


def _code_events(
    placements: Placements[Place],
    by_kind: Mapping[Kind, list[Place]],
    codes_of: Mapping[KeyName, KeyCodes],
    columns: EventColumns,
) -> tuple[np.ndarray, tuple[frozenset[Place], ...]]:
    """Return a code per event, and the event class of each code.

    No two of the kinds may have the same event type. If no state has conditions on single events,
    the codes are the codes of the types.
    """
    types = plain_values(columns.events.table[TYPE_COLUMN], np.int32)
    numbers = columns.events.schema.type_codes
    classes: list[frozenset[Place]] = [frozenset()] * len(numbers)
    codes = types
    barring = frozenset(name for name, key in codes_of.items() if not key.usable.all())
    for (kind, _), mine in by_kind.items():
        asked: dict[tuple[Admission, frozenset[KeyName]], list[Place]] = {}
        for place in mine:
            placement = placements.by_place[place]
            what = placement.admission, placement.needed & barring
            asked.setdefault(what, []).append(place)
        classes[numbers[kind]] = frozenset(mine)
        if asked.keys() != {_OPEN}:
            codes = codes.copy() if codes is types else codes
            rows = np.flatnonzero(types == numbers[kind])
            at, met_of = EventsAt(columns, rows), []
            for admission, needed in asked:
                met = at.admitted(admission)
                for name in needed:
                    met &= codes_of[name].usable[rows]
                met_of.append(met)
            found, masks = _number_words(_words(met_of))
            codes[rows] = found + len(classes)
            for mask in masks:
                bits = enumerate(asked.values())
                met_by = [each for n, each in bits if mask[n // _WORD] >> (n % _WORD) & 1]
                classes.append(frozenset().union(*met_by))
    return codes, tuple(classes)


def _words(bits: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return int64[N] per `_WORD` of the given bool[N]: these as bits, the first one lowest.

    Eight bits are joined at a time, which moves less memory.
    """
    words = []
    for first in range(0, len(bits), _WORD):
        part = bits[first : first + _WORD]
        word = np.zeros(part[0].size, np.int64)
        for begin in range(0, len(part), 8):
            eight = np.zeros(word.size, np.uint8)
            for place, bit in enumerate(part[begin : begin + 8]):
                eight |= bit.view(np.uint8) << np.uint8(place)
            word |= eight.astype(np.int64) << begin
        words.append(word)
    return words


def _number_words(words: list[np.ndarray]) -> tuple[np.ndarray, list[list[int]]]:
    """Return a number per event, equal for equal words, and the words of each number.

    This hashes the words, because sorting them took more than half of the time from files to rows.
    `numbered` takes twice as long as hashing, because it also finds a row of each combination.
    """
    if len(words) == 1 and words[0].max(initial=0) < _FEW:
        there = np.bincount(words[0]) > 0
        return (np.cumsum(there) - 1)[words[0]], [[n] for n in np.flatnonzero(there).tolist()]
    numbers, distinct = _factored(words[0])
    masks = [[word] for word in distinct]
    for each in words[1:]:
        found, distinct = _factored(each)
        numbers, pairs = _factored(numbers * len(distinct) + found)
        places = (divmod(pair, len(distinct)) for pair in pairs)
        masks = [[*masks[before], distinct[own]] for before, own in places]
    return numbers, masks


def _factored(values: np.ndarray) -> tuple[np.ndarray, list[int]]:
    """Return int64[N], the number of each value among the distinct values, and these values."""
    encoded = pa.array(values).dictionary_encode()
    return np.asarray(encoded.indices).astype(np.int64), encoded.dictionary.to_pylist()


# ---- events that lack some keys: such an event is in every partition that it fits

#: Names of columns that are joined with the key columns; no key has such a name.
_ROW, _PARTITION = "row", "partition"


def _joined(
    placements: Placements[Place],
    codes_of: Mapping[KeyName, KeyCodes],
    columns: EventColumns,
    window: Window,
) -> Entries[Place]:
    """Return the entries if the events carry different sets of keys.

    Such an event is in every partition that it fits. If states with different keys admit it, it has
    an entry for each set of keys. These entries have the same time, so none precedes another.
    """
    classes: list[frozenset[Place]] = []
    carried: list[Columns] = []
    codes, rows_of = [], []
    for kind, mine in placements.by_kind.items():
        coded, own = _code_events(placements, {kind: mine}, codes_of, columns)
        rows = np.flatnonzero(np.array([*map(bool, own)], np.bool_)[coded])
        codes.append(coded[rows].astype(np.int64) + len(classes))
        classes += own
        carried.append({name: codes_of[name].values[rows] for name in sorted(kind[1])})
        rows_of.append(rows)
    partitions = _find_partitions(placements, carried)
    size = next(iter(partitions.values())).size
    placed = [
        join_keys(
            {_ROW: np.arange(rows.size), **keys},
            {_PARTITION: np.arange(size), **{name: partitions[name] for name in keys}},
        )
        for rows, keys in zip(rows_of, carried, strict=True)
    ]
    owners = np.concatenate([each[_PARTITION] for each in placed])
    rows, numbers = (
        np.concatenate([of[each[_ROW]] for of, each in zip(columns_of, placed, strict=True)])
        for columns_of in (rows_of, codes)
    )
    times = positions_of(columns, window)[rows]
    order = ascending(owners, times)
    offsets = np.searchsorted(owners[order], np.arange(size + 1)).astype(np.int64)
    held = {name: partitions[name] for name in placements.keys}
    ordered = numbers[order].astype(np.int32)
    return Entries(times[order], ordered, tuple(classes), rows[order], offsets, held)


def _find_partitions(placements: Placements[Place], carried: Sequence[Columns]) -> Columns:
    """Return the combinations of key codes that trends may carry, each once.

    A combination need not have a trend. Some sets of keys occur in every trend. Their combinations
    are joined, starting with the largest sets. The values of the other keys come from all events
    that carry them.

    Args:
        placements: the states or positions of the queries.
        carried: for each kind of `placements.by_kind`, the key codes of its events.
    """
    carriers: dict[frozenset[KeyName], list[Columns]] = {}
    for ((_, keys), places), codes in zip(placements.by_kind.items(), carried, strict=True):
        if not placements.useful.isdisjoint(places):
            carriers.setdefault(keys, []).append(codes)
    needed = []
    for keys, found in carriers.items():
        others = {place for place, each in placements.by_place.items() if each.keys != keys}
        if keys and not placements.leads_through(others):
            needed.append(_distinct(found, keys))
    covered = {name for keys in needed for name in keys}
    for key in sorted(placements.keys - covered):
        carrying = [codes for keys, found in carriers.items() if key in keys for codes in found]
        needed.append(_distinct(carrying, [key]))
    return reduce(join_keys, sorted(needed, key=len, reverse=True))


def _distinct(carried: list[Columns], keys: Iterable[KeyName]) -> Columns:
    """Return the distinct combinations of some keys among the events of several kinds."""
    together = {n: np.concatenate([codes[n] for codes in carried]) for n in sorted(keys)}
    _, rows = numbered(together.values(), next(iter(together.values())).size)
    return {name: codes[rows] for name, codes in together.items()}


# ---- entries at single states


class StateEntries(NamedTuple):
    """N entries, one per event and state, sorted by partition, time and state.

    Attributes:
        times: int64[N], the positions of the events' times (`windows`).
        rows: int64[N], the row of each event in the table.
        states: int32[N].
        accepts: int64[N], a bit for each class of queries that admits the event at the state.
        offsets: int64[P + 1], the first entry of each partition.
    """

    times: np.ndarray
    rows: np.ndarray
    states: np.ndarray
    accepts: np.ndarray
    offsets: np.ndarray


def at_states(
    entries: Entries[Place],
    placements: Placements[Place],
    state_of: Mapping[Place, tuple[int, int]],
) -> StateEntries:
    """Return an entry for each state that admits an event.

    The result is empty if the types of the events that are present cannot form a trend.

    Args:
        entries: the events by partition and time.
        placements: the states or positions of the queries.
        state_of: the state and the query class of some of these; the others get no entries.
    """
    filled = (entries.classes[code] for code in np.flatnonzero(np.bincount(entries.codes)))
    if not placements.leads_through(frozenset[Place]().union(*filled)):
        none, offsets = np.empty(0, np.int64), np.zeros_like(entries.offsets)
        return StateEntries(none, none, none.astype(np.int32), none, offsets)
    stands: list[list[tuple[int, int]]] = []
    for places in entries.classes:
        taken: dict[int, int] = {}
        for state, bit in (state_of[place] for place in places if place in state_of):
            taken[state] = taken.get(state, 0) | 1 << bit
        stands.append(sorted(taken.items()))
    pairs = np.array([pair for each in stands for pair in each], np.int64).reshape(-1, 2)
    amounts = np.array([len(each) for each in stands], np.int64)
    times, offsets, size = entries.times, entries.offsets, entries.codes.size
    rows = np.arange(size) if entries.rows is None else entries.rows
    each, stand = amounts[entries.codes], (np.cumsum(amounts) - amounts)[entries.codes]
    if not (each == 1).all():
        several = each.max() > 1
        events = np.repeat(np.arange(size), each) if several else np.flatnonzero(each)
        stand = stand[events]
        if several:
            stand += np.arange(events.size) - (np.cumsum(each) - each)[events]
        times, rows = times[events], rows[events]
        offsets = np.searchsorted(events, offsets).astype(np.int64)
    states, accepts = pairs[:, 0].astype(np.int32)[stand], pairs[stand, 1]
    made = StateEntries(times, rows, states, accepts, offsets)
    if ((made.states[1:] < made.states[:-1]) & (times[1:] == times[:-1])).any():
        owners = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
        order = ascending(owners, times, made.states)
        times, rows, states, accepts = (column[order] for column in made[:4])
        made = StateEntries(times, rows, states, accepts, offsets)
    return made
