"""Run one query over the events of a table: the executor greta."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import product
from math import comb

import numpy as np
import pyarrow as pa

from elsinore.events import EventTable
from elsinore.executors.graph.run_template import run_template
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.digits import in_digits
from elsinore.executors.input.entries import key_codes
from elsinore.executors.input.key_codes import KeyCodes
from elsinore.executors.output.digits import restored
from elsinore.executors.output.partial_rows import PartialRows, merge, merge_all
from elsinore.executors.output.window_rows import Groups, Reading, partial_rows
from elsinore.executors.row_bound import RowBound
from elsinore.numbers.exact_columns import from_limbs, from_python, to_python
from elsinore.query.bound import BoundQuery, KeyName
from elsinore.query.syntax import Conjunction
from elsinore.template.build import Templates, build_conjoined, build_templates
from elsinore.template.support import require
from elsinore.timeline import Interval


def aggregate_query(
    query: BoundQuery, events: EventTable | EventColumns, *, owned: Interval | None = None
) -> list[PartialRows]:
    """Return partial rows of one query for the events of a table.

    Args:
        query: the query.
        events: events in any order, of all partitions.
        owned: compute only windows that end in this interval; None for every window.

    Raises:
        UnsupportedQueryError: greta does not support the query; see `greta_refusals`.
    """
    require([query])
    columns = EventColumns.of(events)
    codes = key_codes(query, columns)
    if isinstance(query.pattern, Conjunction):
        return conjoined_rows(query, codes, columns, owned)
    run, templates = in_digits(query, columns), build_templates(query)
    bound, parts = RowBound([run]), list[PartialRows]()
    for template in templates:
        found = run_template(run, template, codes, columns, owned)
        groups = Groups.of(found.entries.group_texts(query, codes))
        readings = [Reading(run, groups, found.extremes)]
        if query.window.span is None:
            for rungs in found.parts:
                parts += partial_rows(bound.counted(rungs), readings)
            continue
        merged = merge_all(partial_rows(rungs, readings) for rungs in found.parts)
        for rows in merged:
            bound.add(rows.query)
        parts += merged
    restored_rows = restored(parts, [query])
    return merge(restored_rows) if len(templates) > 1 else restored_rows


# ---- AND: the number of pairs of trends, one from each side (GRETA section 9)

#: The name and the code of each key that a trend carries, sorted by name.
KeyValues = tuple[tuple[KeyName, int], ...]

#: The number of trends by the keys that they carry.
Counts = dict[KeyValues, int]


def conjoined_rows(
    query: BoundQuery,
    codes: Mapping[KeyName, KeyCodes],
    columns: EventColumns,
    owned: Interval | None,
) -> list[PartialRows]:
    """Return partial rows with the number of pairs of different trends.

    The trends of a pair are in one partition: they agree in every key that both carry. If C1 trends
    match only the left side, C2 only the right side, and C12 both, the number of pairs is
    `C1*C2 + C1*C12 + C2*C12 + (C12 choose 2)`.

    Args:
        query: a query whose pattern is a conjunction.
        codes: the codes of its keys, by name.
        columns: the events.
        owned: compute only windows that end in this interval; None for every window.
    """
    conjoined = build_conjoined(query)
    left, right, both = (
        _counts(query, templates, codes, columns, owned)
        for templates in (conjoined.left, conjoined.right, conjoined.both)
    )
    rows = [
        (_group(query, codes, values), window, count)
        for window in sorted(left.keys() & right.keys())
        for values, count in pairs_of(left[window], right[window], both.get(window, {}))
        if count
    ]
    if not rows:
        return []
    texts, windows, counts = zip(*rows, strict=True)
    groups = Groups.of(pa.array(texts, pa.string()))
    query_of, count = np.zeros(len(rows), np.int32), from_python(counts)
    found = PartialRows(
        (query,), groups.texts, query_of, groups.numbers, np.array(windows), (count,)
    )
    return merge([found])


def _counts(
    query: BoundQuery,
    templates: Templates,
    codes: Mapping[KeyName, KeyCodes],
    columns: EventColumns,
    owned: Interval | None,
) -> Mapping[int, Counts]:
    """Return the number of trends of some templates, by window number, then by keys."""
    found: dict[int, Counts] = defaultdict(dict)
    bound = RowBound([query])
    for template in templates:
        propagated = run_template(query, template, codes, columns, owned)
        keys = {name: found.tolist() for name, found in sorted(propagated.entries.keys.items())}
        rungs = (rung for part in propagated.parts for rung in part)
        for rows in bound.counted(rungs):
            trends = to_python(from_limbs(rows.counts)[0]).tolist()
            for (owner, window, _), count in zip(rows.keys.tolist(), trends, strict=True):
                found[window][tuple((name, keys[name][owner]) for name in keys)] = count
    return found


def pairs_of(left: Counts, right: Counts, both: Counts) -> Iterator[tuple[KeyValues, int]]:
    """Yield numbers of unordered pairs of different trends, with the keys that a pair carries.

    The same keys can occur several times; then the numbers must be added.

    Args:
        left: the number of trends that match the left side, by their keys.
        right: the same for the right side.
        both: the same for trends that match both sides.

    >>> dict(pairs_of({(): 3}, {(): 2}, {(): 1}))  # C1 = 2, C2 = 1, C12 = 1
    {(): 5}
    """
    for one, other in _agreeing(left, right):
        together = dict(one) | dict(other)
        pairs = left[one] * right[other]
        if one == other:
            # Exclude pairs of a trend with itself. Count two trends that match both sides once.
            alike = both.get(one, 0)
            pairs -= alike + comb(alike, 2)
        elif one < other:
            pairs -= both.get(one, 0) * both.get(other, 0)
        yield tuple(sorted(together.items())), pairs


def _agreeing(left: Counts, right: Counts) -> Iterator[tuple[KeyValues, KeyValues]]:
    """Yield the keys of a left and a right trend that agree in every key that both carry."""
    for ours, theirs in product(_by_carried(left).items(), _by_carried(right).items()):
        shared = frozenset(ours[0]) & frozenset(theirs[0])
        alike: dict[KeyValues, list[KeyValues]] = defaultdict(list)
        for other in theirs[1]:
            alike[_part(other, shared)].append(other)
        for one in ours[1]:
            for other in alike[_part(one, shared)]:
                yield one, other


def _by_carried(counts: Counts) -> dict[tuple[KeyName, ...], list[KeyValues]]:
    found: dict[tuple[KeyName, ...], list[KeyValues]] = defaultdict(list)
    for values in counts:
        found[tuple(name for name, _ in values)].append(values)
    return found


def _part(values: KeyValues, keys: frozenset[KeyName]) -> KeyValues:
    return tuple((name, code) for name, code in values if name in keys)


def _group(query: BoundQuery, codes: Mapping[KeyName, KeyCodes], values: KeyValues) -> str:
    """Return the group of a pair as a JSON array."""
    carried = dict(values)
    group = [
        codes[name].meaning[carried[name]] if name in carried else None
        for name, key in query.named_keys.items()
        if key.group_label is not None
    ]
    return json.dumps(group, ensure_ascii=False)
