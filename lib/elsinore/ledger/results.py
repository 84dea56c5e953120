"""Questions about results: which hours are stale, provisional, waiting, lost or unpublished."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from elsinore.errors import DataError
from elsinore.ledger.event_changes import EventChanges
from elsinore.ledger.fold import Fold, LastRows, is_any, is_in, lookup, range_max, reached
from elsinore.ledger.inputs import arrived
from elsinore.ledger.rows import Flags, Longs, State, hours_from, labels, one_of
from elsinore.timeline import DAY, HOUR
from elsinore.wording import some_of

#: A run ends within this time; Airflow stops longer ones.
LONGEST_RUN = DAY


def published(state: Fold, fingerprint: str | None = None) -> LastRows:
    """Return the last publication of each hour; of one workload fingerprint if it is given."""
    rows = state[State.PUBLISHED]
    if fingerprint is None:
        return rows
    return rows.where(one_of(rows.rows["workload_fingerprint"], [fingerprint]))


class Publication(NamedTuple):
    """The origin of the published results of an hour: its last published row.

    Attributes:
        hour: label of the hour in which the windows end.
        workload: name of the workload.
        workload_fingerprint: fingerprint of its queries.
        plan_fingerprint: fingerprint of the static plan.
        events_version: version of `events` that was read; None: an older one, of release 0.2.
        results_version: version of `results` with these results.
        run: id of the run that published them.
        rows: number of results.
        checked_rows: number of results that equal the reference.
        published_at: time of the publication, UTC.
        missing_inputs: hours without a file that the windows reach; results are provisional if
            there are any.
    """

    hour: str
    workload: str
    workload_fingerprint: str
    plan_fingerprint: str
    events_version: int | None
    results_version: int
    run: str
    rows: int
    checked_rows: int
    published_at: datetime
    missing_inputs: tuple[str, ...]


def publications(state: Fold, hours: Longs | None = None) -> dict[str, Publication]:
    """Return the last publication of each of some hours, or of all, by label."""
    rows = state[State.PUBLISHED]
    if hours is not None:
        rows = rows.where(np.isin(rows.hours, hours))
    names = ["time" if name == "published_at" else name for name in Publication._fields]
    columns = (rows.rows[name].to_pylist() for name in names)
    return {
        label: Publication._make((label, *rest, tuple(missing or ())))
        for label, *rest, missing in zip(*columns, strict=True)
    }


def publication_of(state: Fold, hour: int) -> Publication | None:
    """Return the last publication of an hour; None if it is not published."""
    found = publications(state, np.array([hour], np.int64))
    return next(iter(found.values()), None)


def recomputed(state: Fold) -> Longs:
    """Return the hours that were published more than once."""
    return state[State.PUBLISHED].hours[state.publications > 1]


def complete(state: Fold, reach: int) -> Longs:
    """Return the published hours that are neither provisional nor stale.

    Args:
        state: the state of the hours.
        reach: how many hours before their own the windows of the workload reach.
    """
    others = np.union1d(provisional(state), stale(state, reach))
    return np.setdiff1d(state[State.PUBLISHED].hours, others)


def stale(
    state: Fold, reach: int, *, of: State = State.PUBLISHED, fingerprint: str | None = None
) -> Longs:
    """Return the hours whose windows reach events that changed after they were computed.

    An hour is stale if an hour of events that its windows reach was refreshed at a later version of
    `events` than the version that the hour was computed from.

    Args:
        state: the state of the hours.
        reach: how many hours before their own the windows of the workload reach.
        of: `PUBLISHED`; `AGGREGATED` for staged results that are about to be published.
        fingerprint: only hours computed for these queries; None: for any.
    """
    done = state[of]
    if fingerprint is not None:
        done = done.where(one_of(done.rows["workload_fingerprint"], [fingerprint]))
    changed = state[State.REFRESHED]
    starts, ends = reached(changed.hours, done.hours, reach)
    newest = range_max(changed.longs("events_version"), starts, ends)
    return done.hours[newest > done.longs("events_version")]


def lost(state: Fold, hours: Longs, reach: int) -> Longs:
    """Return the hours that cannot be computed again, because events of their windows were removed.

    If the files of a removed hour were ingested again later, its events are back.
    """
    removed = state[State.REMOVED]
    gone = removed.hours[removed.order > state[State.INGESTED].order_of(removed.hours)]
    return hours[is_any(gone, hours, reach)]


def require_kept(state: Fold, hours: Longs, reach: int) -> None:
    """Raise DataError if events of the windows of some hours were removed; see `lost`."""
    if len(gone := lost(state, hours, reach)):
        raise DataError(
            f"events in windows of {some_of(labels(gone).to_pylist())} were removed after their "
            "retention period",
            hint="published results stay; to recompute them, raise retention_days and ingest the "
            "raw files of these windows again: `elsinore ingest`",
        )


def provisional(state: Fold) -> Longs:
    """Return the published hours whose windows reached hours without a file."""
    return provisional_rows(state).hours


def provisional_rows(state: Fold) -> LastRows:
    """Return the last publications of the `provisional` hours, with their missing inputs."""
    rows = state[State.PUBLISHED]
    counts = pc.fill_null(pc.list_value_length(rows.rows["missing_inputs"]), 0)
    return rows.where(np.asarray(counts) > 0)


def waiting(state: Fold) -> Longs:
    """Return the provisional hours of which a missing input has arrived since."""
    rows = provisional_rows(state)
    lists = rows.rows["missing_inputs"].combine_chunks()
    inputs = hours_from(pc.list_flatten(lists))
    parents = np.asarray(pc.list_parent_indices(lists))
    return rows.hours[np.unique(parents[is_in(arrived(state), inputs)])]


def standing(state: Fold) -> dict[str, int]:
    """Return figures of the published hours for alerts: the end of the newest one, if there is one
    (`published_until`), and the number of `provisional_hours`.
    """
    hours = state[State.PUBLISHED].hours
    until = {"published_until": int(hours[-1]) + HOUR} if len(hours) else {}
    return {"provisional_hours": len(provisional(state)), **until}


def unsettled(state: Fold, hours: Longs, versions: Longs) -> Longs:
    """Return the published hours whose results changed after their publication was recorded.

    A run that is killed between its commit of `results` and its row in the ledger leaves such
    hours, and so does a change by hand. Publishing the hours again settles them.

    Args:
        state: the state of the hours.
        hours: hours whose results were changed, ascending and distinct.
        versions: for each, the last version of `results` that changed it.
    """
    rows = state[State.PUBLISHED]
    changed = lookup(hours, versions, rows.hours)
    return rows.hours[changed > rows.longs("results_version")]


def not_validated(state: Fold) -> Longs:
    """Return the hours whose staged results were computed after their last validation."""
    staged = state[State.AGGREGATED]
    return staged.hours[staged.order > state[State.VALIDATED].order_of(staged.hours)]


def unpublished(
    state: Fold, reach: int, until: int, *, since: int, now: int | None = None
) -> Longs:
    """Return the hours that have inputs and that the workload should have published, but has not.

    From the first hour that the workload published on, these are the hours from `since` to `until`
    and all hours that were ingested after the workload began. Hours that a step of the workload has
    worked on belong to them at any time, and hours that a run was asked for, once it is over. So a
    new workload does not recompute the whole history.

    Args:
        state: the state of the hours.
        reach: how many hours before their own the windows of the workload reach.
        until: end of the hours that could have been published, a whole hour.
        since: start of the hours that a run looks for, for example 7 days before `until`.
        now: current time in microseconds since 1970. Hours that a run was asked for within a day
            before it are left to this run; None: no run is under way.
    """
    done = state[State.PUBLISHED].hours
    begun = [state[one].hours for one in (State.AGGREGATED, State.VALIDATED)]
    asked = state[State.PLANNED]
    is_over = np.ones(len(asked.hours), np.bool_)
    if now is not None:
        is_over = asked.longs("time") < now - LONGEST_RUN
    found = [*begun, asked.hours[is_over], state[State.FAILED].hours]
    if len(done) and state.began is not None:
        first, ingested = int(done[0]), state[State.INGESTED]
        found.append(np.arange(max(first, since), until, HOUR, dtype=np.int64))
        found.append(ingested.hours[(ingested.order > state.began) & (ingested.hours >= first)])
    hours = np.setdiff1d(np.concatenate(found), done)
    hours = hours[hours < until]
    has_inputs = is_any(arrived(state), hours, reach)
    has_inputs |= is_any(state[State.REFRESHED].hours, hours, reach)
    return hours[has_inputs]


def failed_unchanged(state: Fold, reach: int) -> Flags:
    """Return for each hour of `state.failed` whether its inputs are the same as when it failed."""
    last = state.failed.last
    changed = state[State.REFRESHED]
    starts, ends = reached(changed.hours, last.hours, reach)
    newest = range_max(changed.longs("events_version"), starts, ends)
    return newest <= last.longs("events_version")


def recorded_events_version(state: Fold) -> int:
    """Return the last version of `events` whose changed hours are in the ledger; -1 if none is.

    A refresh records the changed hours of all versions since, also of versions that other runs or
    other Spark jobs committed. So a run that is killed between its commit of `events` and its rows
    in the ledger loses nothing.
    """
    versions = [state[one].longs("events_version") for one in (State.REFRESHED, State.REMOVED)]
    return int(np.concatenate(versions).max(initial=-1))


def event_changes(state: Fold) -> EventChanges:
    """Return the last version of `events` that changed each hour, for caches of hours."""
    changed = [state[one] for one in (State.REFRESHED, State.REMOVED)]
    hours = np.concatenate([one.hours for one in changed])
    versions = np.concatenate([one.longs("events_version") for one in changed])
    order = np.lexsort((versions, hours))
    hours, versions = hours[order], versions[order]
    is_last = np.append(hours[1:] != hours[:-1], np.ones(min(len(hours), 1), np.bool_))
    return EventChanges(hours[is_last], versions[is_last], recorded_events_version(state))
