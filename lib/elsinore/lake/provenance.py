"""Origin of results (lineage): notes of staged ones, the table `publications` of published ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import ConflictError, DataError, ValidationError
from elsinore.lake.delta_log import changed_partitions, commits, read_rows
from elsinore.lake.regions import Hours, step_command
from elsinore.query.bound import Workload
from elsinore.settings import LakePath
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import EPOCH, HOUR, Interval, hour_label, hours_of, parse_hour

#: The table that aggregation writes.
STAGED = "results_staged"

PUBLISHED, PUBLICATIONS = "results", "publications"


class RestagedError(ConflictError):
    """Results were recomputed after their validation, and must be validated again."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of staged results.

    `workload` and `plan` are fingerprints; `run` is informative.
    """

    run: str
    workload: str
    plan: str
    events_version: int
    time: int  #: when they were staged, in milliseconds since 1970


def origin(run: str, workload: Workload, plan: str, events_version: int, owned: Interval) -> str:
    """Return the note of a commit of staged results, as JSON for `userMetadata`."""
    return json.dumps(
        {
            "run": run,
            "workload": workload_fingerprint(workload),
            "plan": plan,
            "events_version": events_version,
            "hours": [hour_label(owned.start), hour_label(owned.end)],
        }
    )


def staged_origins(
    lake: LakePath, interval: Interval, *, version: int | None = None
) -> dict[str, Origin]:
    """By hour, where the staged results of an interval come from at a version, or the latest.

    Hours that were never aggregated are left out.

    Raises:
        DataError: the table's log is damaged.
    """
    wanted = {hour_label(hour) for hour in hours_of(interval)}
    found: dict[str, Origin] = {}
    for commit in commits(lake / STAGED):
        if len(found) == len(wanted):
            break
        note = commit.note
        if "hours" not in note or (version is not None and commit.version > version):
            continue
        version_of = int(note["events_version"])
        staged = Origin(note["run"], note["workload"], note["plan"], version_of, commit.time)
        for hour in hours_of(_borders(note["hours"])):
            if hour_label(hour) in wanted:
                found.setdefault(hour_label(hour), staged)
    return found


def require_origins(
    lake: LakePath, interval: Interval, *, version: int | None = None
) -> dict[str, Origin]:
    """`staged_origins` of every hour of an interval; DataError: one was never aggregated."""
    found = staged_origins(lake, interval, version=version)
    for hour in hours_of(interval):
        if hour_label(hour) not in found:
            raise DataError(
                f"the results of {hour_label(hour)} were not computed: no origin is recorded",
                hint=f"run {step_command('aggregate', Interval(hour, hour + HOUR))}",
            )
    return found


def checks_of_staged(lake: LakePath, hours: Hours, *, version: int | None = None) -> pa.Table:
    """Rows of `validations` of the workload that an hour's results are staged for at a version.

    Of hours that were never aggregated there may be rows of several workloads.

    Raises:
        DataError: a table is missing or damaged.
    """
    rows = read_rows(lake, "validations", where=hours.expression(by_day=False))
    staged: dict[str, Origin] = {}
    for part in hours.intervals:
        staged |= staged_origins(lake, part, version=version)
    keys = zip(
        *(rows[n].to_pylist() for n in ("window_end_hour", "workload_fingerprint")), strict=True
    )
    keep = [hour not in staged or staged[hour].workload == workload for hour, workload in keys]
    return rows.filter(pa.array(keep, pa.bool_()))


def require_unchanged(lake: LakePath, interval: Interval, *, since: int, until: int) -> None:
    """Require equal staged results of an interval at two versions of the table.

    Raises:
        RestagedError: they were recomputed in between.
        ValidationError: another change may have touched them.
    """
    anew, days = False, {hour_label(hour)[:10] for hour in hours_of(interval)}
    for commit in commits(lake / STAGED, after=since):
        if commit.version > until or not commit.changes_rows:
            continue
        if "hours" not in commit.note:
            changed = changed_partitions(lake / STAGED, commit.version, "window_end_day")
            if changed is not None and changed.isdisjoint(days):
                continue
            raise ValidationError(
                f"{commit.operation} (version {commit.version}) changed the staged results of "
                f"{interval} after their validation",
                hint=f"compute them again: {step_command('aggregate', interval)}",
            )
        staged = _borders(commit.note["hours"])
        anew = anew or (staged.start < interval.end and interval.start < staged.end)
    if anew:
        raise RestagedError(
            f"the results of {interval} were recomputed after their validation",
            hint=f"run {step_command('validate', interval)}",
        )


def _borders(labels: list[str]) -> Interval:
    start, end = (parse_hour(label) for label in labels)
    return Interval(start, end)


class Publication(NamedTuple):
    """The origin of the published results of an hour; a row of `publications`."""

    window_end_hour: str
    workload: str  #: its name
    workload_fingerprint: str
    plan_fingerprint: str
    events_version: int
    run: str  #: the run that published
    digest: str  #: sha256 of the hour's rows
    rows: int  #: how many they are
    validated: int  #: values of them that agree with the reference
    published_at: datetime
    #: hours that its windows reach and that had no file yet: until they have, the results are
    #: provisional.
    awaited: tuple[Interval, ...]
    #: whether the hour's rows are still these. A run that was killed between its two commits leaves
    #: newer rows, and anybody may change some by hand; publishing again settles the hour.
    settled: bool


def read_publications(
    lake: LakePath, hours: Collection[str] | None = None
) -> dict[str, Publication]:
    """By hour, of some labels or all, where its published results come from, if it has any.

    Raises:
        DataError: a table is missing or damaged.
    """
    rows = wanted = read_rows(lake, PUBLICATIONS)
    if hours is not None:
        wanted = rows.filter(pc.is_in(rows["window_end_hour"], pa.array(list(hours), pa.string())))
    digests = _unrecorded_digests(lake, rows, wanted)
    # Whole columns, and timestamps separately: for 1,200 hours this takes 3 instead of 15 ms.
    instants = wanted["published_at"].cast(pa.int64()).to_pylist()
    is_told = "awaited" in wanted.column_names  # not by an earlier release
    texts = wanted["awaited"].to_pylist() if is_told else [None] * len(instants)
    plain = [wanted[name].to_pylist() for name in (*Publication._fields[:-3], "published_version")]
    found = {}
    for *own, version, at, text in zip(*plain, instants, texts, strict=True):
        awaited = () if text in {None, "[]"} else tuple(map(_borders, json.loads(text)))
        label, newer = own[0], digests.get(own[0])
        one = Publication._make((*own, EPOCH + timedelta(microseconds=at), awaited, True))
        settled = newer is None or newer[0] < version or newer[1] == one.digest
        found[label] = one if settled else one._replace(settled=False)
    return found


def standing(lake: LakePath) -> dict[str, int]:
    """For JSON, how the publications stand: `published_until`, the end of the latest hour, where
    there is any, and how many are `provisional_hours`.

    Raises:
        DataError: a table is missing or damaged.
    """
    rows = read_rows(lake, PUBLICATIONS, columns=["window_end_hour", "awaited"])
    counts = Counter(rows["awaited"].to_pylist()).items()
    waiting = {"provisional_hours": sum(n for text, n in counts if json.loads(text or "[]"))}
    latest = pc.max(rows["window_end_hour"]).as_py()
    return waiting | ({"published_until": parse_hour(latest) + HOUR} if latest else {})


def _unrecorded_digests(
    lake: LakePath, rows: pa.Table, wanted: pa.Table
) -> dict[str, tuple[int, str]]:
    """Return by hour the version and digest of its last commit that is not fully recorded.

    The digest is empty if rows of the hour's day were changed manually. Versions whose hours are
    all recorded are skipped, as are versions before the wanted rows.
    """
    if not wanted.num_rows:
        return {}
    columns = (rows[name].to_pylist() for name in ("published_version", "published_together"))
    recorded = Counter(zip(*columns, strict=True))
    whole = {version for (version, hours), count in recorded.items() if count == hours}
    first = pc.min(wanted["published_version"]).as_py()
    found: dict[str, tuple[int, str]] = {}
    for commit in commits(lake / PUBLISHED, after=first - 1, without=whole):
        digests = commit.note.get("digests", {})
        if commit.changes_rows and not commit.note:
            days = changed_partitions(lake / PUBLISHED, commit.version, "window_end_day") or ()
            labels = wanted["window_end_hour"].to_pylist()
            digests = {label: "" for label in labels if label[:10] in days}
        for label, digest in digests.items():
            found.setdefault(label, (commit.version, digest))
    return found
