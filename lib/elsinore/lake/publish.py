"""Publish the staged results of a run, if they are the validated ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv
from pyarrow.parquet import filters_to_expression

from elsinore.errors import ValidationError
from elsinore.lake.delta_log import commits
from elsinore.lake.provenance import (
    PUBLICATIONS,
    PUBLISHED,
    STAGED,
    Origin,
    RestagedError,
    require_origins,
    require_unchanged,
)
from elsinore.lake.regions import Hours, of_workload, step_command
from elsinore.lake.run_metrics import STAGED_VERSION, VALIDATE_STEP, find_text
from elsinore.lake.stale_hours import awaited_landings
from elsinore.lake.tables import Lake
from elsinore.lake.validate import VALIDATIONS
from elsinore.query.bound import Workload
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.timeline import Interval, hour_label, instant_of, parse_hour


def publish(
    lake: Lake, workload: Workload, interval: Interval, *, run: str, name: str = ""
) -> dict[str, Any]:
    """Publish the staged results of some hours in one commit.

    A second commit records their origin in `publications`. The note of the first commit contains
    the same, so that an interruption between the two can be detected
    (`provenance.read_publications`); publishing again repairs it. `run` is named in the table's
    history, and `name` is the name of the workload.

    Returns:
        The number of published `rows`, the `digest` of their content, the number of `provisional`
        hours, the `changed_hours`, and the `version` of the table.

    Raises:
        ValidationError: they were not validated, the validation found a mismatch, or another writer
            changed them since. Nothing is published then.
        DataError: the origin of an hour's results is unknown.
        RestagedError: results were recomputed after their validation, for this workload or another.
        ConflictError: another writer changed a table; retry.
        SetupError: the disk is full or read-only.
    """
    hours, own, version = Hours(interval), workload_fingerprint(workload), lake.version(STAGED)
    checks = filters_to_expression(of_workload(hours, own))
    origins = _require_publishable(lake, workload, interval, checks, version)
    found = hour_contents(lake, STAGED, hours, version)
    contents = {label: found.get(label, NOTHING) for label in sorted(origins)}
    note = {
        "run": run,
        "changed": _changed_hours(lake, hours, contents, run),
        "workload": own,
        "plans": sorted({origin.plan for origin in origins.values()}),
        "digests": {label: content.digest for label, content in contents.items()},
    }
    rows = lake.log(STAGED, version).by_day(hours)
    lake.stream_rows(PUBLISHED, rows, where=hours, note=json.dumps(note))
    made = next(commit.version for commit in commits(lake.path(PUBLISHED)) if commit.note == note)
    common = {
        "workload": name,
        "workload_fingerprint": own,
        "run": run,
        "published_version": made,
        "published_at": instant_of(datetime.now(UTC)),
        "published_together": len(origins),
    }
    awaited = awaited_landings(lake.root, workload, map(parse_hour, origins))
    records = [common | one for one in _records(lake, checks, origins, contents, awaited)]
    lake.record(PUBLICATIONS, records, where=hours.conditions(), run=run)
    return {
        "rows": sum(content.rows for content in found.values()),
        "digest": combine(found),
        "provisional": sum(map(bool, awaited.values())),
        "changed_hours": note["changed"],
        "version": made,
    }


def _changed_hours(
    lake: Lake, hours: Hours, contents: Mapping[str, HourContent], run: str
) -> list[str]:
    """Return the hours whose rows differ from the rows that the previous run published.

    A try of this run may have been killed after it published, before Airflow emitted its asset
    events. So hours that the run changed before are included.
    """
    columns = ["window_end_hour", "digest", "run", "published_version"]
    rows = lake.rows(PUBLICATIONS, hours.expression(by_day=False), columns=columns).to_pylist()
    before = {row["window_end_hour"]: row["digest"] for row in rows}
    changed = {
        label
        for label, content in contents.items()
        if content.digest != before.get(label, NOTHING.digest)
    }
    tried = {row["window_end_hour"]: row["published_version"] for row in rows if row["run"] == run}
    if tried:
        log = commits(lake.path(PUBLISHED), after=min(tried.values()) - 1)
        notes = {commit.version: commit.note for commit in log}
        for label, version in tried.items():
            # A later commit may have replaced the version: then the hour counts as changed.
            if label in notes.get(version, {}).get("changed", [label]):
                changed.add(label)
    return sorted(changed & contents.keys())


def _records(
    lake: Lake,
    checks: pc.Expression,
    origins: Mapping[str, Origin],
    contents: Mapping[str, HourContent],
    awaited: Mapping[int, Sequence[Interval]],
) -> Iterator[dict[str, Any]]:
    """Return the columns of `publications` that differ by hour."""
    compared = (pc.field("status") == "checked") & pc.field("has_result")
    agreed = lake.rows(VALIDATIONS, checks & compared, columns=["window_end_hour"])
    checked = Counter(agreed["window_end_hour"].to_pylist())
    for label, content in contents.items():
        waits = [[hour_label(p.start), hour_label(p.end)] for p in awaited[parse_hour(label)]]
        yield {
            "window_end_hour": label,
            "plan_fingerprint": origins[label].plan,
            "events_version": origins[label].events_version,
            "digest": content.digest,
            "rows": content.rows,
            "validated": checked[label],
            "awaited": json.dumps(waits),
        }


def _require_publishable(
    lake: Lake, workload: Workload, interval: Interval, checks: pc.Expression, version: int
) -> dict[str, Origin]:
    """By hour where its staged results come from, if they may be published: see `publish`."""
    wrong = lake.rows(VALIDATIONS, checks & pc.field("mismatch"), columns=["query"])
    if wrong.num_rows:
        raise ValidationError(
            f"{wrong.num_rows} aggregates of {interval} differ from the reference",
            hint='list them: `elsinore sql "SELECT * FROM validations WHERE mismatch"`',
        )
    validated = find_text(lake, workload, interval, VALIDATE_STEP, STAGED_VERSION)
    if validated is None:
        raise ValidationError(
            f"the results of {interval} were not validated",
            hint=f"run {step_command('validate', interval)}",
        )
    require_unchanged(lake.root, interval, since=int(validated), until=version)
    origins = require_origins(lake.root, interval, version=version)
    if any(origin.workload != workload_fingerprint(workload) for origin in origins.values()):
        raise RestagedError(
            f"the staged results of {interval} belong to another workload",
            hint=f"run {step_command('aggregate', interval)}",
        )
    return origins


@dataclass(frozen=True, slots=True)
class HourContent:
    """The content of an hour in a table of results."""

    digest: str  #: sha256 of its rows in ascending order of all columns, as lines of CSV
    rows: int  #: how many they are


#: The content of an hour without results.
NOTHING = HourContent(sha256(b"").hexdigest(), 0)


def hour_contents(
    lake: Lake, table: str, hours: Hours, version: int | None = None
) -> dict[str, HourContent]:
    """By hour, what a table of results holds at a version; hours without results are left out."""
    found: dict[str, HourContent] = {}
    for rows in lake.log(table, version).by_day(hours):
        found |= _contents(rows, hours.column)
    return found


def _contents(rows: pa.Table, column: str) -> dict[str, HourContent]:
    """Each hour's part of the rows, which are put in order once for all hours."""
    names = sorted(rows.column_names)
    keys = [column, *(name for name in names if name != column)]
    ordered = rows.select(names).sort_by([(name, "ascending") for name in keys]).combine_chunks()
    found, start = {}, 0
    for count in pc.value_counts(ordered[column]).to_pylist():  # in the order of their first rows
        rows_of_hour = ordered.slice(start, count["counts"])
        found[count["values"]] = HourContent(_digest(rows_of_hour), count["counts"])
        start += count["counts"]
    return found


def combine(hours: Mapping[str, HourContent]) -> str:
    """One digest of the results of several hours."""
    lines = sorted(f"{hour} {content.digest}\n" for hour, content in hours.items())
    return sha256("".join(lines).encode()).hexdigest()


def _digest(ordered: pa.Table) -> str:
    text = pa.BufferOutputStream()
    csv.write_csv(ordered, text, csv.WriteOptions(include_header=False))
    return sha256(text.getvalue()).hexdigest()
