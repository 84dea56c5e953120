"""Maintenance of the lake: small files are put together, and files that nothing needs are removed.

So is what has been kept as long as the settings say. Published results stay, and what they stand
on: `publications`, `plans`, `landings`, `history`.

No Z-order: a partition is a day, by which all reads choose, and a file that holds a whole one
leaves little to skip.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import date
from itertools import takewhile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from deltalake import CommitProperties

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import ParameterError
from elsinore.lake.delta_log import HISTORY, commits, write_failures
from elsinore.lake.kept_hours import drop_kept_hours
from elsinore.lake.provenance import PUBLISHED, STAGED
from elsinore.lake.regions import day_of
from elsinore.lake.run_metrics import TABLE as METRICS
from elsinore.lake.stale_hours import touched_times
from elsinore.lake.tables import LOG_KEPT, Lake, with_column
from elsinore.lake.validate import VALIDATIONS
from elsinore.places import is_here
from elsinore.settings import Settings
from elsinore.timeline import DAY

#: Hours that removed files are kept at least, whoever asks for less: Delta's own default, and many
#: times the longest run, so that no reader loses the version that it has pinned.
LEAST_KEPT = 7 * 24

#: Milliseconds for which staged results may be waiting to be published: more than a run takes.
_WAITING = 24 * 3600 * 1000

#: Files of a partition below this size are worth putting together; they are joined up to it.
_TARGET_BYTES = 128 * 1024 * 1024

#: Tables whose commits say where rows come from, or which they touched.
_NOTED = ("events", STAGED, PUBLISHED)

_RETENTION = "delta.deletedFileRetentionDuration"

#: Of records, the column that begins with the day of the hours that they are of.
_BEGINS = {VALIDATIONS: "window_end_hour", METRICS: "run_key"}

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def maintain(lake: Lake, *, keep_hours: int, run: str) -> dict[str, int]:
    """OPTIMIZE each own table where that helps, VACUUM them, and keep what the logs say.

    The answer has for each table the files that its latest version named before
    (`<table>_live_before`) and names now (`_live`), and those that were removed from the disk
    (`_removed`).

    Rows stay what they are. A concurrent writer of the same files makes this lose, or loses itself;
    either is tried again. A file is kept for `keep_hours` after no latest version names it, and the
    kept panes of a set of queries for as long after the last of them was written.

    Raises:
        ParameterError: `keep_hours` is less than `LEAST_KEPT`.
        ConflictError: another writer got there first.
    """
    if keep_hours < LEAST_KEPT:
        raise ParameterError(
            f"files must be kept for at least {LEAST_KEPT} hours, not {keep_hours}",
            hint=f"set ELSINORE_KEEP_HOURS={LEAST_KEPT} or more",
        )
    done: dict[str, int] = {}
    for table in lake.own:
        done |= _maintain(lake, table, keep_hours, run)
    drop_kept_hours(lake.root, unused_since=time.time_ns() - keep_hours * 3600 * 10**9)
    keep_history(lake, run)
    return done


def _maintain(lake: Lake, table: str, keep_hours: int, run: str) -> dict[str, int]:
    before = len(lake.log(table).file_uris())
    note = CommitProperties(custom_metadata={"run": run})
    with write_failures(lake.path(table)):
        lake.log(table).optimize.compact(target_size=_TARGET_BYTES, commit_properties=note)
        if new := _new_retention(lake, table, keep_hours):
            lake.log(table).alter.set_table_properties(new, commit_properties=note)
        # Which files these are: a vacuum without any would write two commits about it.
        if stale := lake.log(table).vacuum(keep_hours, full=True):
            lake.log(table).vacuum(keep_hours, dry_run=False, full=True, commit_properties=note)
        removed = len(stale) + drop_unfinished(lake.path(table), time.time() - keep_hours * 3600)
    live = len(lake.log(table).file_uris())
    return {f"{table}_live_before": before, f"{table}_live": live, f"{table}_removed": removed}


def drop_unfinished(table: Path, before: float) -> int:
    """Remove files of a table that a killed writer had not finished, if changed before a time.

    On a disk delta-rs writes `<file>#<number>` and renames it; VACUUM does not see such names.
    """
    removed = 0
    for path in table.rglob("*#[0-9]*") if is_here(table) else ():
        with suppress(FileNotFoundError):  # it has just been finished
            if path.is_file() and path.stat().st_mtime < before:
                path.unlink()
                removed += 1
    return removed


def _new_retention(lake: Lake, table: str, keep_hours: int) -> dict[str, str]:
    """What to write into a table, which every vacuum of it follows, whoever starts it.

    Delta 4.4 ignores hours that are given to VACUUM itself, unless they are none.
    """
    wanted = {_RETENTION: f"interval {int(keep_hours)} hours", **LOG_KEPT}
    set_to = lake.log(table).metadata().configuration
    set_to = {_RETENTION: f"interval {LEAST_KEPT} hours", **set_to}
    return {name: to for name, to in wanted.items() if set_to.get(name) != to}


def keep_history(lake: Lake, run: str) -> None:
    """Copy what the logs say of results and where they come from, before these are cleaned."""
    kept = lake.rows(HISTORY, columns=["of_table", "version"]).sort_by("version")
    last = dict(zip(*(column.to_pylist() for column in kept.columns), strict=True))
    new = []
    for table in filter(lake.own.__contains__, _NOTED):
        for one in commits(lake.path(table), after=last.get(table, -1)):
            note = one.note
            if table == "events" and (touched := touched_times(lake.root, one)):
                note = {**note, "touched": touched}  # also of what was done by hand
            row = {"of_table": table, "version": one.version, "operation": one.operation}
            new.append(row | {"note": json.dumps(note)})
    if new:
        lake.add(HISTORY, new, key=("of_table", "version"), run=run)


def remove_old(
    lake: Lake, settings: Settings, longest: int, until: int, *, run: str
) -> dict[str, int]:
    """Remove whole days that lie further back from an instant than they are to be kept.

    The stream's schema says how long, or else the settings do. `longest` is the longest window of
    the stream's queries. It is no correction: what is removed from `events` makes no published hour
    stale. Staged results that somebody may be about to publish stay for another night.

    The answer is by `<table or folder>_expired` how many rows, or pages and folders, went.

    Raises:
        ParameterError: a period is shorter than what runs look back to; nothing is removed then.
        ConflictError: others kept writing meanwhile.
    """
    of_all: Mapping[Any, int] = settings.keep_days
    keep = {**of_all, **lake.stream.keep_days}
    _require_kept(keep, settings.late_days, lake.stream, longest)
    pages = {"reports": settings.reports, "data_docs": settings.quality}
    note, removed = json.dumps({"run": run, "touched": {}}), {}
    for name, days in keep.items():
        first = day_of(until - days * DAY)
        if name in lake.tables and name not in lake.own:
            continue
        if name == STAGED:
            first = min([first, *_staged_lately(lake)])
        if name in pages:
            count = _remove_pages(pages[name], first)
        else:
            if name == "events":
                _tell_landings(lake, first, run)
            column = _BEGINS.get(name) or lake.schema(name).partition_by[0]
            count = lake.remove_before(name, column, first, note=note)
        removed[f"{name}_expired"] = count
    return removed


def _tell_landings(lake: Lake, first: date, run: str) -> None:
    """Say of the landings with events before a day that these are removed; see `lost_hours`."""
    until = pa.scalar(first).cast(pa.timestamp("us")).cast(pa.timestamp("us", "UTC"))
    old = lake.rows(
        "landings", pc.field("first_event") < until, columns=["last_event", "kept_from"]
    )
    told_before = pc.fill_null(pc.greater(old["kept_from"], old["last_event"]), False)
    if pc.all(told_before, min_count=0).as_py():
        return

    def told(rows: pa.Table) -> pa.Table:
        old = pc.fill_null(pc.less(rows["first_event"], until), False)
        return with_column(rows, "kept_from", pc.if_else(old, until, rows["kept_from"]))

    lake.amend("landings", told, run=run)


def _staged_lately(lake: Lake) -> Iterator[date]:
    """First days of what was aggregated a short while ago."""
    since = time.time() * 1000 - _WAITING
    for commit in takewhile(lambda one: one.time > since, commits(lake.path(STAGED))):
        if "hours" in commit.note:
            yield date.fromisoformat(commit.note["hours"][0][:10])


def _require_kept(
    keep: Mapping[str, int], late_days: int, stream: StreamSchema, longest: int
) -> None:
    """Refuse what would have landing judge on events that it does not see any longer.

    A landing judges others again that brought lines of its ids, as a whole: their lines and
    unusable files must all be there, and no event that they bring may have gone already.
    """
    # A line may be late, and land in a file that is late; its id may stand in another landing,
    # which brought events that were late there.
    reach = late_days * DAY + 2 * stream.late + stream.early + longest
    least = reach // DAY + 2
    for name, after, more in (
        ("events", None, least), ("raw_events", "events", 2), ("quarantine", "raw_events", 0)
    ):  # fmt: skip
        wanted = more + (keep.get(after, 36_500) if after else 0)
        if name in keep and keep[name] < wanted:
            raise ParameterError(
                f"{name} is kept for {keep[name]} days, but runs need {least} days of events, and "
                "raw_events and quarantine two days longer",
                hint=f"set {name} to {wanted} or more in keep_days or ELSINORE_KEEP_DAYS, or lower "
                "time.late",
            )


def _remove_pages(folder: Path, first: date) -> int:
    """What is named by days that all lie before one."""
    old = [
        path
        for path in folder.glob("*")
        if (days := _DAY.findall(path.name)) and max(days) < str(first)
    ]
    for path in old:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return len(old)
