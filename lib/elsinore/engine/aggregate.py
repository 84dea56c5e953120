"""Runs one query over the events of a table: the greta executor."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import product
from math import comb

import pyarrow as pa

from elsinore.engine.columns import EventColumns
from elsinore.engine.entries import key_codes
from elsinore.engine.key_codes import KeyCodes
from elsinore.engine.partial_rows import Reading, exact, partial_tables
from elsinore.engine.row_bound import RowBound
from elsinore.engine.run_template import run_template
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Conjunction
from elsinore.results.partial import PARTIAL_SCHEMA, merge_partials
from elsinore.template.build import Templates, build_conjoined, build_templates
from elsinore.template.support import require
from elsinore.timeline import Interval


def aggregate_query(
    query: BoundQuery, events: EventTable | EventColumns, *, owned: Interval | None = None
) -> pa.Table:
    """Unfinished rows (`results.partial`) of a query over events in any order, of all partitions.

    Only of the windows that end in `owned`; None: of every window.

    Raises:
        UnsupportedQueryError: the query needs what greta lacks; see `greta_refusals`.
    """
    require([query])
    columns = EventColumns.of(events)
    codes = key_codes(query, columns)
    if isinstance(query.pattern, Conjunction):
        return conjoined_rows(query, codes, columns, owned)
    tables, bound = [PARTIAL_SCHEMA.empty_table()], RowBound([query])
    for template in build_templates(query):
        found = run_template(query, template, codes, columns, owned)
        groups = found.entries.group_texts(query, codes)
        reading = Reading(query, groups, found.extremes)
        for rows in bound.counted(found.rungs):
            tables += partial_tables(rows, [reading])
    return merge_partials(pa.concat_tables(tables))


# ---- AND: counts pairs of trends, one of each side (GRETA section 9)

#: The codes of the keys that a trend carries, by their names, sorted.
KeyValues = tuple[tuple[str, int], ...]

#: Numbers of trends by the keys that they carry.
Counts = dict[KeyValues, int]


def conjoined_rows(
    query: BoundQuery, codes: Mapping[str, KeyCodes], columns: EventColumns, owned: Interval | None
) -> pa.Table:
    """Partial rows (`results.partial`) with the number of pairs of different trends.

    A pair lies in one partition: its trends agree in every key that both of them carry. Where C1
    and C2 trends match only one side and C12 both, these are `C1*C2 + C1*C12 + C2*C12 + (C12
    choose 2)` pairs.
    """
    conjoined = build_conjoined(query)
    left, right, both = (
        _counts(query, templates, codes, columns, owned)
        for templates in (conjoined.left, conjoined.right, conjoined.both)
    )
    rows = []
    for window in sorted(left.keys() & right.keys()):
        pairs = pairs_of(left[window], right[window], both.get(window, {}))
        rows += [_row(query, codes, window, values, count) for values, count in pairs if count]
    return merge_partials(pa.Table.from_pylist(rows, schema=PARTIAL_SCHEMA))


def _counts(
    query: BoundQuery,
    templates: Templates,
    codes: Mapping[str, KeyCodes],
    columns: EventColumns,
    owned: Interval | None,
) -> Mapping[int, Counts]:
    """The trends of some templates: by window number, then by keys."""
    found: dict[int, Counts] = defaultdict(dict)
    bound = RowBound([query])
    for template in templates:
        propagated = run_template(query, template, codes, columns, owned)
        keys = {name: found.tolist() for name, found in sorted(propagated.entries.keys.items())}
        for rows in bound.counted(propagated.rungs):
            trends = exact(rows.counts)[:, 0].tolist()
            for (owner, window, _), count in zip(rows.keys.tolist(), trends, strict=True):
                found[window][tuple((name, keys[name][owner]) for name in keys)] = count
    return found


def pairs_of(left: Counts, right: Counts, both: Counts) -> Iterator[tuple[KeyValues, int]]:
    """Unordered pairs of different trends, by the keys that the two carry together.

    >>> dict(pairs_of({(): 3}, {(): 2}, {(): 1}))  # C1 = 2, C2 = 1, C12 = 1
    {(): 5}
    """
    for one, other in _agreeing(left, right):
        together = dict(one) | dict(other)
        pairs = left[one] * right[other]
        if one == other:  # not a trend with itself; two that match both sides once, not twice
            alike = both.get(one, 0)
            pairs -= alike + comb(alike, 2)
        elif one < other:
            pairs -= both.get(one, 0) * both.get(other, 0)
        yield tuple(sorted(together.items())), pairs


def _agreeing(left: Counts, right: Counts) -> Iterator[tuple[KeyValues, KeyValues]]:
    """Keys of both sides that agree in what both carry."""
    for ours, theirs in product(_by_carried(left).items(), _by_carried(right).items()):
        shared = frozenset(ours[0]) & frozenset(theirs[0])
        alike: dict[KeyValues, list[KeyValues]] = defaultdict(list)
        for other in theirs[1]:
            alike[_part(other, shared)].append(other)
        for one in ours[1]:
            for other in alike[_part(one, shared)]:
                yield one, other


def _by_carried(counts: Counts) -> dict[tuple[str, ...], list[KeyValues]]:
    found: dict[tuple[str, ...], list[KeyValues]] = defaultdict(list)
    for values in counts:
        found[tuple(name for name, _ in values)].append(values)
    return found


def _part(values: KeyValues, keys: frozenset[str]) -> KeyValues:
    return tuple((name, code) for name, code in values if name in keys)


def _row(
    query: BoundQuery, codes: Mapping[str, KeyCodes], window: int, values: KeyValues, count: int
) -> dict[str, object]:
    carried = dict(values)
    group = [
        codes[name].meaning[carried[name]] if name in carried else None
        for name, key in query.named_keys.items()
        if key.group_label is not None
    ]
    bounds = query.window.bounds(window)
    return {
        "query": query.name,
        "group": json.dumps(group, ensure_ascii=False),
        "window_start": bounds.start,
        "window_end": bounds.end,
        "counts": [str(count)],
        "sums": [],
        "minima": [],
        "maxima": [],
    }
