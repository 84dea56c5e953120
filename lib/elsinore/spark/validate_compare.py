"""Compares a result with the reference's, aggregate by aggregate, as rows of `validations`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from elsinore.query.bound import BoundQuery
from elsinore.results.published import group_key, numbers_of
from elsinore.results.row import Bounds, ResultRow, within
from elsinore.spark.sample import EVERY_GROUP, Check
from elsinore.timeline import Interval, format_instant, hour_label

#: `(exact, value)` of one aggregate, as in the tables.
Number = tuple[str | None, float | None]
NOTHING: Number = (None, None)

#: What the reference says of one aggregate, and between which doubles it may lie (None: exact).
_Answer = tuple[Number, Bounds | None]

#: The aggregate of a row that says of a whole window whether it was searched.
EVERY_AGGREGATE = "*"

#: How the reference came by its values: by building every trend, or by counting them.
ENUMERATED, COUNTED = "enumerated", "counted"


@dataclass(frozen=True, slots=True)
class Compared:
    """One aggregate of one result beside the reference's; bounds in microseconds.

    Of a whole window that was to be searched for missing results there is one, without values;
    what is missing stands beside it.

    `method` is `ENUMERATED` or `COUNTED`, None for a skipped one. `reason` says why a skipped one
    was not checked, or how two values differ; otherwise None.
    """

    query: str
    group_key: str
    window: Interval
    aggregate: str
    published: Number
    reference: Number
    mismatch: bool
    method: str | None
    reason: str | None

    @property
    def checked(self) -> bool:
        """Whether the reference has answered."""
        return self.method is not None

    @property
    def whole(self) -> bool:
        """Whether it is of a whole window."""
        return self.group_key == EVERY_GROUP

    def __str__(self) -> str:
        window = f"[{format_instant(self.window.start)}, {format_instant(self.window.end)})"
        return (
            f"query {self.query}, group {self.group_key}, window {window}, {self.aggregate}: "
            f"{_spell(self.published)} instead of {_spell(self.reference)}"
        )


def skipped(query: BoundQuery, check: Check, reason: str) -> list[Compared]:
    """A check that was not made, for every aggregate of its query."""
    place = check.place
    labels = [EVERY_AGGREGATE] if place.whole else [item.label for item in query.aggregates]
    return [
        Compared(
            query.name, place.group_key, query.window.bounds(place.window), label,
            check.published.get(label, NOTHING), NOTHING, False, None, reason,
        )
        for label in labels
    ]  # fmt: skip


def compare(
    query: BoundQuery, check: Check, reference: Iterable[ResultRow], method: str
) -> list[Compared]:
    """A check beside the reference's rows of its window, other groups left aside.

    In a whole window, each group that the reference alone finds is a mismatch; the groups of both
    are compared by checks of their own.
    """
    found = {group_key(row): _answers(row) for row in reference}
    place = check.place
    if not place.whole:
        return _compare(query, check, place.group_key, found.get(place.group_key, {}), method)
    assert check.groups is not None, "groups that are not known cannot be told from missing ones"
    searched = Compared(
        query.name, EVERY_GROUP, query.window.bounds(place.window), EVERY_AGGREGATE,
        NOTHING, NOTHING, False, method, None,
    )  # fmt: skip
    compared = [searched]
    for group in sorted(found.keys() - check.groups):
        compared += _compare(query, check, group, found[group], method)
    return compared


def differ(published: Number, reference: Number, bounds: Bounds | None = None) -> bool:
    """Whether two values differ: integers in any digit, doubles beyond what rounding explains.

    `bounds` are those of the reference's value; None where there is nothing to round.
    """
    if published[0] is not None or reference[0] is not None:
        return published[0] != reference[0]
    left, right = published[1], reference[1]
    if left is None or right is None:
        return left is not right
    return not within(left, bounds or (right, right))


def validation_row(item: Compared) -> dict[str, object]:
    """As a row of `validations`."""
    return {
        "owned_hour": hour_label(item.window.end - 1),
        "query": item.query,
        "group_key": item.group_key,
        "window_start": item.window.start,
        "window_end": item.window.end,
        "aggregate": item.aggregate,
        "published_exact": item.published[0],
        "published_value": item.published[1],
        "reference_exact": item.reference[0],
        "reference_value": item.reference[1],
        "mismatch": item.mismatch,
        "status": "checked" if item.checked else "skipped",
        "method": item.method,
        "reason": item.reason,
    }


def _answers(row: ResultRow) -> dict[str, _Answer]:
    answers = {}
    for (label, found), bounds in zip(row.values, row.bounds, strict=True):
        value, exact, _ = numbers_of(found)
        answers[label] = (exact, value), bounds
    return answers


def _compare(
    query: BoundQuery, check: Check, group: str, reference: Mapping[str, _Answer], method: str
) -> list[Compared]:
    published = check.published
    labels = dict.fromkeys([*(item.label for item in query.aggregates), *published])
    reason = _missing(published, reference)
    compared = []
    for label in labels:
        ours = published.get(label, NOTHING)
        theirs, bounds = reference.get(label, (NOTHING, None))
        mismatch = reason is not None or differ(ours, theirs, bounds)
        why = (reason or "the values differ") if mismatch else None
        window = query.window.bounds(check.place.window)
        compared.append(
            Compared(query.name, group, window, label, ours, theirs, mismatch, method, why)
        )
    return compared


def _missing(published: Mapping[str, Number], reference: Mapping[str, _Answer]) -> str | None:
    """Why two results cannot be the same whatever their values, if so."""
    if published and not reference:
        return "the reference finds no trend"
    if reference and not published:
        return "the result is missing"
    if published.keys() != reference.keys():
        return "the aggregates are not those of the query"
    return None


def _spell(number: Number) -> str:
    exact, value = number
    if exact is not None:
        return exact if len(exact) <= 60 else f"{exact[:30]}...{exact[-20:]} ({len(exact)} digits)"
    return "nothing" if value is None else repr(value)
