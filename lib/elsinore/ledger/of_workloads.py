"""The hours that a run of several workloads computes in addition to its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from elsinore.ledger.fold import Fold
from elsinore.ledger.results import lost
from elsinore.ledger.rows import Longs
from elsinore.ledger.to_compute import (
    Chosen,
    Planned,
    Question,
    Why,
    choose,
    in_words,
    lost_hours,
    merge,
    requested,
    to_compute,
)
from elsinore.timeline import HOUR, Interval, format_instant


@dataclass(frozen=True)
class Asked:
    """A workload of a run.

    Attributes:
        state: The state of its hours.
        question: The question about them.
    """

    state: Fold
    question: Question


def hours_to_compute(asked: Sequence[Asked], *, most: int, next_most: int) -> dict[str, Any]:
    """Return what a run computes in addition to its own hours, as plain data.

    Args:
        asked: The workloads of the run.
        most: How many hours the run takes.
        next_most: How many hours `catch_up` takes next.

    Returns:
        `recomputed`, the ranges of hours; `recomputed_hours`, their number; `hours_left`, how many
            are too many for the run; `catch_up`, the first range of these; `hours_lost`, how many
            cannot be computed because their events were removed; and `reasons`, a line per range of
            hours with equal reasons.
    """
    planned, chosen = chosen_hours(asked, most=most, next_most=next_most)
    gone = {hour for one in asked for hour in lost_hours(one.state, one.question).tolist()}
    return {
        "recomputed": list(map(_plain, chosen.taken)),
        "recomputed_hours": chosen.hours,
        "hours_left": chosen.left,
        "hours_lost": len(gone),
        "catch_up": list(map(_plain, chosen.catch_up)),
        "reasons": in_words(planned),
    }


def chosen_hours(
    asked: Sequence[Asked], *, most: int, next_most: int
) -> tuple[list[Planned], Chosen]:
    """Return all hours to compute in addition to a run's own, and which ones the run takes.

    Args:
        asked: The workloads of the run.
        most: How many hours the run takes.
        next_most: How many hours `catch_up` takes next.
    """
    planned = merge([to_compute(one.state, one.question) for one in asked])
    return planned, choose(planned, most=most, next_most=next_most, apart=_borders(asked, planned))


def requested_hours(asked: Sequence[Asked]) -> list[Planned]:
    """Return the own hours of a run, ascending, each with the best reason of any workload."""
    every = [one for each in asked for one in requested(each.state, each.question)]
    found: dict[int, Planned] = {}
    for one in sorted(every, key=lambda one: one.why is Why.REQUESTED):
        found.setdefault(one.hour, one)
    return [found[hour] for hour in sorted(found)]


def _borders(asked: Sequence[Asked], planned: Sequence[Planned]) -> list[int]:
    """Return hours for which other workloads lack events than for the hour before.

    A range is computed for all workloads that have the events of all of its hours.
    """
    hours: Longs = np.array(sorted(one.hour for one in planned), np.int64)
    lacking: Counter[int] = Counter()
    for number, one in enumerate(asked):
        lacking.update(
            dict.fromkeys(lost(one.state, hours, one.question.reach).tolist(), 1 << number)
        )
    return [hour for hour in hours.tolist() if lacking[hour] != lacking[hour - HOUR]]


def _plain(part: Interval) -> dict[str, str]:
    return {"start": format_instant(part.start), "end": format_instant(part.end)}
