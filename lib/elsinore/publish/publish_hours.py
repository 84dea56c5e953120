"""Publish staged results: bring `results` to the state of a version of `results_staged`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import uuid4

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.publish.tables import (
    DAY_COLUMN,
    HOUR_COLUMN,
    KEY,
    RESULTS,
    STAGED,
    ResultTables,
    of_result_hours,
)
from elsinore.store.hour_condition import MOST_RANGES
from elsinore.store.regions import Hours
from elsinore.store.spark_tables import Note
from elsinore.timeline import Interval, hour_label, hours_of, parse_hour, stretches

#: Hours whose results one task compares if their number is not known.
_FEW_HOURS = 48

#: Number of latest commits that are searched for the commits of the run.
_RECENT = 20


@dataclass(frozen=True)
class Published:
    """The result of a publication.

    Attributes:
        version: Version of `results` with these results: of the commit, or the latest one if no row
            had to be changed.
        rows: Number of results by hour, without hours that have none.
        hours: Labels of the hours whose rows this run changed, in order; also by an earlier attempt
            of the same run.
        changed_hours: Labels of the hours that this commit changed.
        inserted, updated, deleted: Number of changed rows.
    """

    version: int
    rows: Mapping[str, int]
    hours: tuple[str, ...] = ()
    changed_hours: tuple[str, ...] = ()
    inserted: int = 0
    updated: int = 0
    deleted: int = 0

    @property
    def changed(self) -> int:
        """Number of changed rows."""
        return self.inserted + self.updated + self.deleted


@dataclass(frozen=True)
class _Compared:
    """Rows by hour: staged ones, and for hours that differ the staged and the published ones.

    `equal` are the hours with rows that do not differ.
    """

    rows: Mapping[str, int]
    staged: Mapping[str, int]
    published: Mapping[str, int]
    equal: Collection[str]


def publish(
    tables: ResultTables, interval: Interval, *, staged_version: int, note: Note
) -> Published:
    """Publish the results of some hours from a version of `results_staged`.

    Hours are compared by hashes of their rows first, unless none has published rows. Without a
    difference nothing is committed. Otherwise one commit brings the hours that differ to the staged
    state: a MERGE that changes only rows that differ, or the rows themselves if nothing was
    published for these hours.

    Args:
        tables: The tables.
        interval: Whole hours.
        staged_version: The validated version.
        note: Note of the commit, with the id of the `run`; `hours`, the changed ones, are added.

    Raises:
        ConflictError: other writers won each time.
        DataError: a table uses a feature that Delta does not support.
    """
    store = tables.store
    compared = _compare(tables, interval, staged_version)
    if not compared.staged:
        return _committed(tables, None, note, compared, interval)
    labels = tuple(sorted(compared.staged))
    where = of_result_hours(_hours_to_replace(compared, interval))
    number = sum(compared.staged.values())
    store.plan_for(number + sum(compared.published.values()), tables.cores)
    rows = store.read(STAGED, staged_version).where(where).select(store.columns(STAGED))
    own = {**note, "hours": labels, "id": uuid4().hex}
    if any(compared.published.values()):
        store.synchronize(RESULTS, rows, key=KEY, where=where, note=own)
    else:
        store.replace(RESULTS, _by_day(rows, tables, number), where, own)
    return _committed(tables, own["id"], note, compared, interval)


def _hours_to_replace(compared: _Compared, interval: Interval) -> list[int]:
    """Return the hours that differ, and if they are many ranges, the hours without rows, too.

    The latter join ranges: files are then read by a few bounds instead of a long list of hours.
    Otherwise they stay out, because another run may be publishing their first results.
    """
    differing = sorted(map(parse_hour, compared.staged))
    if len(stretches(differing)) <= MOST_RANGES:
        return differing
    return [start for start in hours_of(interval) if hour_label(start) not in compared.equal]


def _compare(tables: ResultTables, interval: Interval, staged_version: int) -> _Compared:
    """Compare both tables hour by hour, by two hashes of all rows of an hour.

    If no row is published for these hours, which is usual, no rows are read: their numbers suffice.
    """
    store, where = tables.store, of_result_hours(hours_of(interval))
    staged_rows = store.count_by_hour(STAGED, Hours(interval), staged_version)
    published_rows = store.count_by_hour(RESULTS, Hours(interval))
    if staged_rows is not None and published_rows == {}:
        return _Compared(staged_rows, staged_rows, {}, ())
    columns = store.schema(RESULTS).columns
    # Hashes leave NULL out, so which columns are NULL is hashed too.
    values = [*columns, *(F.isnull(name) for name, column in columns.items() if column.nullable)]
    if staged_rows is None or published_rows is None:
        is_few = sum(1 for _ in hours_of(interval)) <= _FEW_HOURS
        number = 0 if is_few else _MANY
    else:
        number = sum(staged_rows.values()) + sum(published_rows.values())
    store.plan_for(number, tables.cores)

    def hashed(frame: DataFrame, sign: int) -> DataFrame:
        return frame.where(where).select(
            HOUR_COLUMN, F.xxhash64(*values).alias("long"),
            (F.hash(*values).cast("long") * sign).alias("short"), F.lit(sign).alias("sign"),
        )  # fmt: skip

    staged = hashed(store.read(STAGED, staged_version), 1)
    both = staged.unionAll(hashed(store.read(RESULTS), -1))
    # Equal sets of rows cancel out.
    found = both.groupBy(HOUR_COLUMN).agg(
        F.bit_xor("long").alias("long"), F.sum("short").alias("short"),
        F.count_if(F.col("sign") > 0).alias("staged"),
        F.count_if(F.col("sign") < 0).alias("published"),
    ).toArrow().to_pylist()  # fmt: skip
    differing = [
        hour for hour in found
        if hour["long"] or hour["short"] or hour["staged"] != hour["published"]
    ]  # fmt: skip
    return _Compared(
        {hour[HOUR_COLUMN]: hour["staged"] for hour in found if hour["staged"]},
        {hour[HOUR_COLUMN]: hour["staged"] for hour in differing},
        {hour[HOUR_COLUMN]: hour["published"] for hour in differing},
        {hour[HOUR_COLUMN] for hour in found} - {hour[HOUR_COLUMN] for hour in differing},
    )


#: Rows that more hours are taken to have.
_MANY = 500_000


def _by_day(rows: DataFrame, tables: ResultTables, number: int) -> DataFrame:
    """Return rows so that a day of many rows is written by one task."""
    if tables.store.is_small(number):
        return rows
    return rows.repartition(DAY_COLUMN).sortWithinPartitions(DAY_COLUMN, HOUR_COLUMN)


def _committed(
    tables: ResultTables, own: str | None, note: Note, compared: _Compared, interval: Interval
) -> Published:
    """Return what our commit changed, by its metrics, and what an earlier attempt of the run did.

    A run can be killed after its commit and before it reports the changed hours. Delta commits
    nothing if another run published the same rows since they were compared.
    """
    commits = tables.store.history(RESULTS, _RECENT)
    ours = next((commit for commit in commits if own and commit.note.get("id") == own), None)
    if ours is None and own is not None:
        ours = tables.store.committed(RESULTS, own)
    changed = {
        label
        for commit in (*commits, *([ours] if ours else []))
        if commit is ours or commit.note.get("run") == note.get("run")
        for label in commit.note.get("hours", ())
        if interval.contains(parse_hour(label))
    }
    if ours is None:
        return Published(commits[0].version, compared.rows, tuple(sorted(changed)))
    inserted, updated, deleted = (
        int(ours.metrics.get(f"numTargetRows{name}", 0))
        for name in ("Inserted", "Updated", "Deleted")
    )
    if ours.operation != "MERGE":
        inserted = sum(compared.staged.values())
    return Published(
        ours.version,
        compared.rows,
        tuple(sorted(changed)),
        tuple(ours.note["hours"]),
        inserted,
        updated,
        deleted,
    )
