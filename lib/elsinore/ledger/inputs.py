"""Questions about files: which hours are missing, late, or without a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from elsinore.ledger.fold import Fold, LastRows, reached
from elsinore.ledger.rows import Longs, State, hours_from, labels, list_hours, one_of
from elsinore.timeline import HOUR

#: The reason in rows of ingested hours while a key is erased.
ERASING = "an erasure was interrupted: run `elsinore forget` again"

_NO_HOURS: Longs = np.array([], np.int64)


def missing(state: Fold, until: int, *, since: int | None = None) -> Longs:
    """Return the hours that no run has ingested, although runs ingested earlier ones.

    Args:
        state: the state of the hours.
        until: end of the hours that could have been ingested, a whole hour.
        since: only hours from here on, for example of the last 31 days.
    """
    ingested = state[State.INGESTED].hours
    return _absent(ingested, until, since)


def arrived(state: Fold) -> Longs:
    """Return the hours of which at least one file was ingested."""
    ingested = state[State.INGESTED]
    return ingested.hours[ingested.longs("file_count") > 0]


def without_files(state: Fold, until: int, *, since: int | None = None) -> Longs:
    """Return the hours without a file since the first hour that had one.

    An hour is missing (`missing`), or a run has looked for its files and found none.
    """
    return _absent(arrived(state), until, since)


def silent_hours(state: Fold, until: int) -> int:
    """Return the number of hours without a file before `until`; 0 if no file ever arrived."""
    there = arrived(state)
    there = there[there < until]
    return int((until - HOUR - there[-1]) // HOUR) if len(there) else 0


def interrupted(state: Fold) -> Longs:
    """Return the hours whose files an interrupted erasure may have rewritten.

    Their recorded files are not known, so no new or changed file makes them late. The erasure must
    be repeated first.
    """
    ingested = state[State.INGESTED]
    is_marked = one_of(ingested.rows["reason"], [ERASING])
    return ingested.hours[is_marked]


def _absent(there: Longs, until: int, since: int | None) -> Longs:
    if not len(there):
        return _NO_HOURS
    first = int(there[0]) if since is None else max(int(there[0]), since)
    return np.setdiff1d(np.arange(first, until, HOUR, dtype=np.int64), there, assume_unique=True)


def missing_inputs(state: Fold, hours: Longs, reach: int) -> pa.ListArray:
    """Return for each hour the hours without a file that its windows reach, as stored.

    Results are provisional if there are any. Hours before the first file do not count.

    Args:
        state: the state of the hours.
        hours: hours in which windows end.
        reach: how many hours before their own these windows reach.
    """
    if not len(hours):
        return list_hours(_NO_HOURS, _NO_HOURS, _NO_HOURS)
    since = int(hours.min()) - reach * HOUR
    absent = without_files(state, int(hours.max()) + HOUR, since=since)
    starts, ends = reached(absent, hours, reach)
    return list_hours(starts, ends, absent)


@dataclass(frozen=True)
class LateFiles:
    """Files that arrived, or changed, after their hour was ingested.

    Attributes:
        hours: the hours to ingest again, ascending.
        files: a row per late file, ordered by hour and name, with `hour` as stored, `name`, and
            `is_new`: whether the hour was ingested without this file.
    """

    hours: Longs
    files: pa.Table


def late(state: Fold, listing: pa.Table) -> LateFiles:
    """Return the files that are new or changed, compared with the files that were ingested.

    A file that was removed makes no hour late, because landing zones are cleaned. A file of an hour
    that was never ingested is late, too: its hour is also in `missing`. An hour is not late if its
    files were not recorded when it was ingested.

    Args:
        state: the state of the hours.
        listing: a row per file of the landing zone with `hour` (as stored), `name`, `size` in bytes
            and `modified` in nanoseconds since 1970.
    """
    ingested = state[State.INGESTED]
    known = _files_of(ingested)
    unlisted = labels(ingested.hours).filter(pc.is_null(ingested.rows["files"].combine_chunks()))
    listing = listing.filter(pc.invert(pc.is_in(listing["hour"], unlisted)))
    joined = listing.select(["hour", "name", "size", "modified"]).join(
        known, ["hour", "name"], right_suffix="_known", use_threads=False
    )
    is_new = pc.is_null(joined["size_known"])
    is_same = pc.and_(
        pc.equal(joined["size"], joined["size_known"]),
        pc.equal(joined["modified"], joined["modified_known"]),
    )
    found = joined.select(["hour", "name"]).append_column("is_new", is_new)
    found = found.filter(pc.invert(pc.fill_null(is_same, False)))
    found = found.sort_by([("hour", "ascending"), ("name", "ascending")])
    return LateFiles(np.unique(hours_from(found["hour"])), found)


def withdrawn(state: Fold, listing: pa.Table, hours: Longs) -> Longs:
    """Return the hours of which a file that was ingested is gone; see `late` for the listing.

    Only a run of these hours withdraws the events of the file.

    Args:
        state: the state of the hours.
        listing: the files of the hours.
        hours: the hours of a run.
    """
    known = _files_of(state[State.INGESTED])
    gone = known.join(
        listing.select(["hour", "name"]), ["hour", "name"], join_type="left anti",
        use_threads=False,
    )  # fmt: skip
    return np.intersect1d(hours_from(gone["hour"]), hours)


def _files_of(ingested: LastRows) -> pa.Table:
    """Return a row per file of the ingested hours."""
    lists = ingested.rows["files"].combine_chunks()
    files = pc.list_flatten(lists)
    parents = pc.list_parent_indices(lists)
    columns = {name: pc.struct_field(files, name) for name in ("name", "size", "modified")}
    return pa.table({"hour": labels(ingested.hours).take(parents), **columns})


def event_ranges(state: Fold, until: int) -> tuple[Longs, Longs]:
    """Return the first and the last event time of each ingested hour before `until`.

    Hours without events are left out.
    """
    ingested = state[State.INGESTED]
    first, last = ingested.longs("first_event"), ingested.longs("last_event")
    chosen = (ingested.hours < until) & np.asarray(ingested.rows["first_event"].is_valid())
    return first[chosen], last[chosen]
