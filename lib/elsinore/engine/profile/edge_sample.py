"""Samples pairs of events that could be adjacent, to see how many pass an edge predicate.

Of the earlier events those with the smallest hashes are kept, a bottom-k sample, and of each one's
later events one from each of equally long stretches. Hashes are of contents and the sample of a
whole follows from the samples of its parts, so that neither the order of events nor their
distribution over tasks matters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.engine.columns import Column, EventColumns
from elsinore.engine.evaluate import holds
from elsinore.engine.profile.groups import grouped, passing
from elsinore.engine.profile.hashes import mixed, row_hashes
from elsinore.engine.profile.subjects import EdgeSubject
from elsinore.engine.profile.tally import TALLY_SCHEMA, Part, rows_of_tally
from elsinore.query.expressions import TIME, BoundExpression, Field

#: Distinct earlier events that are kept of each predicate, and later events of each of them.
ANCHORS, PARTNERS = 1024, 32
_SEED = 20130101
#: What the columns of later events are called beside those of earlier ones.
_LATER = "later "


def edge_tally(columns: EventColumns, number: int, subject: EdgeSubject) -> list[pa.Table]:
    """Tallies of the pairs and of the sample of an edge predicate.

    The events must hold whole groups of the subject's keys and multiples of its span.
    """
    earlier = passing(columns, subject.earlier, [subject.admits[0]])
    later = passing(columns, subject.later, [subject.admits[1]])
    both = np.concatenate([earlier, later])
    groups = grouped(columns, subject.keys, subject.span, both)
    names = (TIME, *sorted(subject.attributes))
    hashes = row_hashes(columns, names, both, _SEED)
    usable, anchors = groups >= 0, np.arange(both.size) < earlier.size
    order = np.lexsort((hashes, columns.times[both], groups))
    later_places, earlier_places = (
        order[(usable & ~anchors)[order]],
        np.flatnonzero(usable & anchors),
    )
    first, partners = _spans(columns.times[both], groups, earlier_places, later_places)
    pairs = rows_of_tally(Part.PAIRS, number, {0: int(partners.sum())})
    begins = partners > 0
    if not begins.any():
        return []
    sample, times = _smallest(hashes[earlier_places[begins]])
    first, partners = first[begins][sample], partners[begins][sample]
    chosen = earlier_places[begins][sample]
    owners, drawn = _draw(hashes[chosen], partners)
    passed = holds(
        _side_by_side(subject.condition),
        _PairColumns(columns, both[chosen[owners]], both[later_places[first[owners] + drawn]]),
        np.arange(owners.size),
    )
    counts = np.bincount(owners[passed], minlength=chosen.size)
    size = chosen.size
    table = pa.table(
        [
            [str(Part.EDGE)] * size, np.full(size, number), counts, _as_int(hashes[chosen]),
            partners, times,
        ],
        schema=TALLY_SCHEMA,
    )  # fmt: skip
    return [pairs, table]


def selectivity(rows: Iterable[tuple[int, int, int, int]]) -> tuple[int, float | None]:
    """Pairs looked at, and the estimated share that passes.

    Args:
        rows: (passed, hash, partners, number) of the sampled earlier events, with some of larger
            hash than the whole's sample holds.
    """
    sample = sorted(rows, key=lambda row: row[1])[:ANCHORS]
    looked_at = weight = passing_weight = 0
    for passed, _, partners, number in sample:
        drawn = min(partners, PARTNERS)
        looked_at += number * drawn
        weight += number * partners * PARTNERS
        # Whole numbers, so that the order of the sum cannot matter.
        passing_weight += number * passed * (PARTNERS if drawn == partners else partners)
    return looked_at, passing_weight / weight if weight else None


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


def _smallest(hashes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The first event of each of the smallest hashes, and how many events have it."""
    _, first, times = np.unique(_as_int(hashes), return_index=True, return_counts=True)
    return first[:ANCHORS], times[:ANCHORS]


def _draw(hashes: np.ndarray, partners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (place of the earlier event, number of its later event), all or one of each stretch."""
    stretch = np.arange(PARTNERS)
    starts = partners[:, None] * stretch // PARTNERS
    widths = partners[:, None] * (stretch + 1) // PARTNERS - starts
    chance = mixed(hashes[:, None] + stretch.astype(np.uint64)[None, :])
    stretched = starts + (chance % np.maximum(widths, 1).astype(np.uint64)).astype(np.int64)
    few = (partners <= PARTNERS)[:, None]
    drawn = np.where(few, stretch[None, :], stretched)
    owners, columns = np.nonzero(~few | (stretch[None, :] < partners[:, None]))
    return owners, drawn[owners, columns]


def _as_int(hashes: np.ndarray) -> np.ndarray:
    """int64 from 0 on: tables of Spark have no uint64."""
    return (hashes >> np.uint64(1)).astype(np.int64)


def _side_by_side(expression: BoundExpression) -> BoundExpression:
    """An expression on pairs as one on rows that hold both events."""
    if isinstance(expression, Field):
        name = expression.attribute
        return replace(expression, attribute=_LATER + name) if expression.following else expression
    changes: dict[str, Any] = {}
    for part in fields(expression):
        value = getattr(expression, part.name)
        if isinstance(value, BoundExpression):
            changes[part.name] = _side_by_side(value)
        elif isinstance(value, tuple):
            changes[part.name] = tuple(_side_by_side(each) for each in value)
    return replace(expression, **changes)


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
