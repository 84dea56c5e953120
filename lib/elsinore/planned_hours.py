"""The hours that a run computes, or that a replay would compute, found without a JVM."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from elsinore.ingest.collect import uncollected
from elsinore.ingest.find_files import Found, Part, find_files, listing
from elsinore.ingest.ingest_run import STEP
from elsinore.lake.answered import Answered, answered_by
from elsinore.ledger.inputs import late, withdrawn
from elsinore.ledger.of_workloads import Asked, chosen_hours, hours_to_compute, requested_hours
from elsinore.ledger.rows import Longs, State, entries, labels, list_files
from elsinore.ledger.table import Ledger
from elsinore.ledger.to_compute import Planned, Question
from elsinore.publish.changed_results import unrecorded_changes
from elsinore.settings import Settings
from elsinore.timeline import DAY, Interval, hour_label, hours_of, instant_of

#: A version of `events` that is later than all recorded ones.
_LATER = 2**62


def hours_to_recompute(
    ledger: Ledger, settings: Settings, answered: Sequence[Answered], interval: Interval, *,
    most: int | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Return what a run computes in addition to its own hours; see `hours_to_compute`."""
    asked = _asked(ledger, settings, answered, interval)
    limit = settings.recompute_hours
    return hours_to_compute(asked, most=limit if most is None else most, next_most=limit)


def _asked(
    ledger: Ledger, settings: Settings, answered: Sequence[Answered], interval: Interval,
    expected: Sequence[pa.Table] = (),
) -> list[Asked]:  # fmt: skip
    """Return the state of the hours of each workload, and what a run asks about them."""
    asked = []
    for one in answered:
        state = ledger.state(one.title, expected=expected)
        question = Question(
            reach=one.reach, until=interval.end,
            since=interval.start - settings.late_arrival_days * DAY,
            fingerprint=one.fingerprint, own=interval, now=instant_of(datetime.now(UTC)),
            changed=unrecorded_changes(one.lake.root, state[State.PUBLISHED]),
        )  # fmt: skip
        asked.append(Asked(state, question))
    return asked


@dataclass(frozen=True)
class PlannedReplay:
    """The hours that a replay would compute.

    Attributes:
        own: The hours of the replay, ascending.
        others: Other hours that it would recompute, ascending.
        changed: Hours with new, changed or removed files, ascending.
        collected: Source files that it would collect first. The hours of their events are not known
            before, so these hours are not listed.
        refused: By label, why an earlier hour with such files cannot be ingested.
        left: How many hours are too many for the replay.
        lost: How many hours of the replay cannot be computed, because events were removed.
    """

    own: list[Planned]
    others: list[Planned]
    changed: Longs
    collected: Sequence[str]
    refused: Mapping[str, str]
    left: int
    lost: int


def planned_replay(
    settings: Settings, interval: Interval, *, made: Sequence[int] = ()
) -> PlannedReplay:
    """Return the hours that a replay would compute, each with the reason.

    It compares the landing zone with the ledger as the ingest does, and counts on events in the
    hours of their files: the hour of an event is known only after its file is read.

    Args:
        settings: The stream, and the limit of recomputed hours.
        interval: The hours of the replay.
        made: Hours whose files the replay would create.

    Raises:
        DataError: the landing zone is missing, or a file of these hours cannot be read.
        QueryError: no workload is valid.
        UnsupportedQueryError: the engine cannot run any workload.
    """
    answered, ledger = answered_by(settings), Ledger.open(settings)
    stream = answered[0].lake.stream
    before = ledger.state()
    if made and not settings.landing.is_dir():  # the replay would create it
        found = Found(Part(tuple(hours_of(interval)), (), ()), {})
    else:
        found = find_files(
            settings.landing, stream.sources, before, interval,
            late_arrival_days=settings.late_arrival_days,
        )  # fmt: skip
    files, own = listing(found.whole.files), np.array(found.whole.own, np.int64)
    gone = withdrawn(before, files, own)
    changed = np.unique([*late(before, files).hours, *gone, *made]).astype(np.int64)
    expected = _expected_rows(ledger, stream.name, found, changed, made)
    asked = _asked(ledger, settings, answered, interval, expected)
    limit = settings.recompute_hours
    planned, chosen = chosen_hours(asked, most=limit, next_most=limit)
    others = [one for one in planned if any(part.contains(one.hour) for part in chosen.taken)]
    wanted = requested_hours(asked)
    return PlannedReplay(
        own=wanted, others=sorted(others, key=lambda one: one.hour), changed=changed,
        collected=uncollected(
            settings.landing, stream, interval, settings.late_arrival_days
        ),
        refused=found.refused, left=chosen.left, lost=len(own) - len(wanted),
    )  # fmt: skip


def _expected_rows(
    ledger: Ledger, stream: str, found: Found, changed: Longs, made: Sequence[int]
) -> list[pa.Table]:
    """Return the rows that the ingest would append, if events are in the hours of their files."""
    hours = np.array(found.whole.hours, np.int64)
    counts = Counter(file.landing for file in found.whole.files)
    counts.update(map(hour_label, made))
    known: dict[str, Any] = {"stream": stream, "step": STEP, "run": "expected"}
    ingested = {
        "file_count": [counts[label] for label in labels(hours).to_pylist()],
        "files": list_files(hours, listing(found.whole.files)),
    }
    refreshed = {"events_version": _LATER}
    return [
        entries(ledger.schema, State.INGESTED, hours, **known, columns=ingested),
        entries(ledger.schema, State.REFRESHED, changed, **known, columns=refreshed),
    ]
