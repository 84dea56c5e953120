"""Queries of measures: LENGTH, DURATION, FIRST, LAST and TOTAL as ordinary aggregates of events.

A query of measures has the trends of another query, but more positions (`template.refine`). At
these positions, sums over events are sums of measures over trends:

- FIRST(X.a) and LAST(X.a) are `a` at the positions that only the first or the last X takes.
- TOTAL(X.a) is `a` at all positions of X. Separate positions show whether there is a value.
- DURATION is the time of the last event minus the time of the first event.

If a part of a sum of measures must not be NULL, trends without it have no end in the template.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from elsinore.query.bound import (
    BoundAggregate,
    BoundQuery,
    Key,
    LocalPredicate,
    Marks,
    MeasureKind,
    MeasureTerm,
    Position,
    Refinement,
    Tracker,
    of_query,
)
from elsinore.query.expressions import HAS_VALUE, Applied, BoundExpression, Field
from elsinore.query.query_keys import Part, PartKind
from elsinore.template.build import build_templates
from elsinore.template.refine import Label, Move, Refined, Status, refine


@of_query
def measure_queries(query: BoundQuery) -> tuple[BoundQuery, ...]:
    """Return the queries of measures of a query: for sums, and for minima and maxima.

    Their aggregates are the aggregates of measures that the query itself does not compute. Those
    with the same trackers are in one query.

    Raises:
        NotUnambiguous: they have too many states, or the query is ambiguous.
    """
    groups: dict[tuple[bool, tuple[Tracker, ...]], list[BoundAggregate]] = {}
    for item in query.measured:
        trackers = tuple(dict.fromkeys(_trackers_of(item)))
        groups.setdefault((item.is_extreme, trackers), []).append(item)
    found = []
    for number, ((extreme, trackers), items) in enumerate(groups.items(), 1):
        part = Part(PartKind.EXTREMES if extreme else PartKind.SUMS, (number,))
        refined = refine(query, build_templates(query), trackers)
        found.append(_query_of(query, part, trackers, items, refined))
    return tuple(found)


def _trackers_of(item: BoundAggregate) -> Iterator[Tracker]:
    """Yield the trackers of the terms of a measure, in their order.

    Minima and maxima need none for DURATION, because the best trend to each event is known.
    """
    assert item.measure is not None
    for term in item.measure.terms:
        if term.kind is MeasureKind.DURATION and not item.is_extreme:
            yield Tracker(MeasureKind.FIRST, term.positions, None, True)
            yield Tracker(MeasureKind.LAST, term.positions, None, True)
        elif term.kind.reads_events:
            yield _tracker_of(item, term)


def _tracker_of(item: BoundAggregate, term: MeasureTerm) -> Tracker:
    """Return the tracker of FIRST, LAST or TOTAL.

    A sum of one measure is over the trends with a value, so the others need not be excluded.
    """
    assert item.measure is not None
    required = term.nullable and (len(item.measure.terms) > 1 or item.is_extreme)
    value: BoundExpression | None
    if isinstance(term.value, str):
        value = Field(min(term.positions), term.value, term.type)
    else:
        value = term.value
    return Tracker(term.kind, term.positions, value, required)


def _query_of(
    query: BoundQuery,
    part: Part,
    trackers: tuple[Tracker, ...],
    items: Sequence[BoundAggregate],
    refined: Refined,
) -> BoundQuery:
    """Return a query of measures; each copy of a position has the keys of the position."""
    copies = refined.copies
    positions = [
        Position(copy, f"{query.positions[old].alias} {copy}", query.positions[old].type, False)
        for (old, _), copy in copies.items()
    ]
    conditions = [
        LocalPredicate(copy, _is_known(tracker.value, known=move.known))
        for (_, label), copy in copies.items()
        if label is not None
        for tracker, move in zip(trackers, label, strict=True)
        if move.known is not None and tracker.value is not None
    ]
    return replace(
        query,
        part=part,
        positions=(*query.positions, *positions),
        local_predicates=(*query.local_predicates, *conditions),
        keys=tuple(_with_copies(key, copies) for key in query.keys),
        aggregates=tuple(_marked(query, item, trackers, refined) for item in items),
        outputs=(),
        having=None,
        refinement=Refinement(query, trackers, items[0].is_extreme),
    )


def _is_known(value: BoundExpression, *, known: bool) -> BoundExpression:
    has_value = Applied(HAS_VALUE, (value,))
    return has_value if known else Applied("NOT", (has_value,))


def _with_copies(key: Key, copies: Mapping[tuple[int, Label], int]) -> Key:
    more = (copy for (position, _), copy in copies.items() if position in key.positions)
    return replace(key, positions=key.positions | frozenset(more))


def _marked(
    query: BoundQuery, item: BoundAggregate, trackers: tuple[Tracker, ...], refined: Refined
) -> BoundAggregate:
    """Return an aggregate of measures with the positions at which its terms change."""
    assert item.measure is not None
    terms = tuple(
        replace(term, marks=_marks_of(query, item, term, trackers, refined))
        for term in item.measure.terms
    )
    positions = refined.where(item.positions, _any)
    return replace(item, positions=positions, measure=replace(item.measure, terms=terms))


def _marks_of(
    query: BoundQuery,
    item: BoundAggregate,
    term: MeasureTerm,
    trackers: tuple[Tracker, ...],
    refined: Refined,
) -> Marks:
    every = refined.where(term.positions, _any)
    if term.kind is MeasureKind.LENGTH or (term.kind is MeasureKind.DURATION and item.is_extreme):
        return Marks(every)
    if term.kind is MeasureKind.DURATION:
        ends = (Tracker(kind, term.positions, None, True)
                for kind in (MeasureKind.LAST, MeasureKind.FIRST))  # fmt: skip
        last, first = map(trackers.index, ends)
        return Marks(
            refined.where(term.positions, lambda moves: moves[last].is_it),
            refined.where(term.positions, lambda moves: moves[first].is_it),
        )
    tracker = trackers.index(_tracker_of(item, term))
    has = refined.where(term.positions, lambda moves: moves[tracker].is_it)
    adds = every if term.kind is MeasureKind.TOTAL else has
    in_trends = frozenset(p.index for p in query.positions if not p.negated)
    lacks = refined.where(in_trends, lambda moves: moves[tracker].status is Status.NONE)
    return Marks(adds, has=has, lacks=lacks)


def _any(moves: tuple[Move, ...]) -> bool:
    return True
