"""Groups of events that a measure never leaves, and pairs among them that pass an edge predicate.

Of the pairs a sample is looked at: a bounded number of earlier events is drawn, and of each one's
later events one from each of equally long spans.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from elsinore.engine.columns import Column, EventColumns
from elsinore.engine.evaluate import admitted, holds
from elsinore.engine.key_codes import KeyCodes
from elsinore.engine.profile.subjects import EdgeSubject
from elsinore.query.bound import Key
from elsinore.query.expressions import BoundExpression, Field, rebuild
from elsinore.sharing.profile import EdgeSelectivity

#: Earlier events that are drawn for each predicate, and later events of each of them.
ANCHORS, PARTNERS = 1024, 32
_SEED = 20130101
#: What the columns of later events are called beside those of earlier ones.
_LATER = "later "


def passing(
    columns: EventColumns, event_type: str, choices: Sequence[Iterable[BoundExpression]]
) -> np.ndarray:
    """int64: rows of the events of a type that meet all conditions of one of the choices."""
    rows = columns.rows_of(event_type)
    found = np.zeros(rows.size, np.bool_)
    for conditions in choices:
        found |= admitted((frozenset(conditions), frozenset()), columns, rows)
    return rows[found]


def grouped(columns: EventColumns, keys: Sequence[Key], span: int, rows: np.ndarray) -> np.ndarray:
    """int64[len(rows)]: the group of each event, by its keys and its multiple of `span`; in order.

    -1 where a missing value of an equivalence key keeps the event out of all trends.
    """
    usable = np.ones(rows.size, np.bool_)
    frame = {"span": columns.times[rows] // span}
    for number, key in enumerate(keys):
        codes = KeyCodes.of(key, columns)
        if key.equivalence:
            usable &= codes.usable[rows]
        frame[f"key {number}"] = codes.values[rows]
    groups = pd.DataFrame(frame).groupby(list(frame)).ngroup().to_numpy(np.int64)
    return np.where(usable, groups, -1)


def edge_selectivity(columns: EventColumns, subject: EdgeSubject) -> EdgeSelectivity:
    """How many pairs an edge predicate is asked of, and an estimate of the share that passes."""
    earlier = passing(columns, subject.earlier, [subject.admits[0]])
    later = passing(columns, subject.later, [subject.admits[1]])
    both = np.concatenate([earlier, later])
    groups = grouped(columns, subject.keys, subject.within, both)
    order = np.lexsort((columns.times[both], groups))
    order = order[groups[order] >= 0]
    anchors, partners = order[order < earlier.size], order[order >= earlier.size]
    first, numbers = _spans(columns.times[both], groups, anchors, partners)
    pairs = int(numbers.sum())
    dice = np.random.default_rng(_SEED)
    drawn = np.flatnonzero(numbers)
    if drawn.size > ANCHORS:
        drawn = np.sort(dice.choice(drawn, ANCHORS, replace=False))
    anchors, first, numbers = anchors[drawn], first[drawn], numbers[drawn]
    owners, places = _draw(dice, numbers)
    passed = holds(
        _side_by_side(subject.condition),
        _PairColumns(columns, both[anchors[owners]], both[partners[first[owners] + places]]),
        np.arange(owners.size),
    )
    of_anchor = np.bincount(owners[passed], minlength=drawn.size)
    weights = numbers / np.minimum(numbers, PARTNERS)
    return EdgeSelectivity(
        earlier=subject.earlier,
        later=subject.later,
        condition=subject.text,
        queries=subject.queries,
        keys=tuple(key.attribute for key in subject.keys),
        within=subject.within,
        pairs=pairs,
        sampled=owners.size,
        share=float((of_anchor * weights).sum() / numbers.sum()) if pairs else None,
    )


def _spans(
    times: np.ndarray, groups: np.ndarray, earlier: np.ndarray, later: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where in `later`, sorted by (group, time), each event's later events begin; their number."""
    distinct, ranks = np.unique(times, return_inverse=True)
    size = distinct.size + 1
    places = groups * size + ranks
    first = np.searchsorted(places[later], places[earlier], "right")
    end = np.searchsorted(places[later], (groups[earlier] + 1) * size, "left")
    return first, end - first


def _draw(dice: np.random.Generator, partners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (place of the earlier event, number of its later event), all or one of each stretch."""
    stretch = np.arange(PARTNERS)
    starts = partners[:, None] * stretch // PARTNERS
    widths = partners[:, None] * (stretch + 1) // PARTNERS - starts
    stretched = starts + dice.integers(0, np.maximum(widths, 1))
    few = (partners <= PARTNERS)[:, None]
    drawn = np.where(few, stretch[None, :], stretched)
    owners, columns = np.nonzero(~few | (stretch[None, :] < partners[:, None]))
    return owners, drawn[owners, columns]


def _side_by_side(expression: BoundExpression) -> BoundExpression:
    """An expression on pairs as one on rows that hold both events."""

    def named(field: Field) -> Field:
        return replace(field, attribute=_LATER + field.attribute) if field.following else field

    return rebuild(expression, named)


class _PairColumns(EventColumns):
    """Columns of pairs of events."""

    def __init__(self, columns: EventColumns, earlier: np.ndarray, later: np.ndarray) -> None:
        super().__init__(columns.events)
        self.columns, self.earlier, self.later = columns, earlier, later

    def column(self, name: str) -> Column:
        """A column of the earlier events, or, under its name for pairs, of the later ones."""
        if name.startswith(_LATER):
            return self.columns.column(name.removeprefix(_LATER)).take(self.later)
        return self.columns.column(name).take(self.earlier)
