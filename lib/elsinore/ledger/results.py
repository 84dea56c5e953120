"""Questions about results: which hours are stale, provisional, waiting, lost or unpublished."""

from __future__ import annotations

import numpy as np
import pyarrow.compute as pc

from elsinore.ledger.fold import Fold, LastRows, is_any, is_in, lookup, range_max, reached
from elsinore.ledger.inputs import arrived
from elsinore.ledger.rows import Flags, Longs, State, hours_from, one_of
from elsinore.timeline import HOUR


def published(state: Fold, fingerprint: str | None = None) -> LastRows:
    """Return the last publication of each hour; of one workload fingerprint if it is given."""
    rows = state[State.PUBLISHED]
    if fingerprint is None:
        return rows
    return rows.where(one_of(rows.rows["workload_fingerprint"], [fingerprint]))


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


def unpublished(state: Fold, reach: int, until: int, *, since: int) -> Longs:
    """Return the hours that have inputs and that the workload should have published, but has not.

    From the first hour that the workload published on, these are the hours from `since` to `until`
    and all hours that were ingested after the workload began. Hours that a step of the workload has
    worked on belong to them at any time. So a new workload does not recompute the whole history.

    Args:
        state: the state of the hours.
        reach: how many hours before their own the windows of the workload reach.
        until: end of the hours that could have been published, a whole hour.
        since: start of the hours that a run looks for, for example 7 days before `until`.
    """
    done = state[State.PUBLISHED].hours
    begun = [state[one].hours for one in (State.AGGREGATED, State.VALIDATED)]
    found = [*begun, state[State.FAILED].hours]
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
