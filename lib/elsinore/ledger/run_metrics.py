"""Metrics of the steps of runs, in the table `run_metrics`.

Each step stores its metrics in a file. The report of a run records the metrics of all its steps in
one commit, because a commit per step would make the log of this table the longest of all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.errors import DataError
from elsinore.places import whole_file
from elsinore.settings import LakePath
from elsinore.step_clock import step_times
from elsinore.store.delta_log import read_rows
from elsinore.store.regions import of_step, run_key
from elsinore.store.tables import Lake
from elsinore.timeline import Interval
from elsinore.wording import command

#: The table, and its directory of metrics that are not recorded yet; Delta ignores such names.
TABLE, _NOTED = "run_metrics", "_noted"

#: A number, or a string.
Metric = float | int | str

#: Names of steps. The name of the planning step is `plans.PLAN`.
INGEST_STEP, AGGREGATE_STEP, VALIDATE_STEP = "ingest", "aggregate", "validate"
PUBLISH_STEP, MAINTAIN_STEP = "publish", "maintain"

#: The metric of the ingest that names unrecognized files of the landing zone.
UNREAD = "unread_files"

#: Metrics of the ingest, as JSON: by hour the fields without values, sentences about corrections
#: that lost, and pairs of files of which one may be a compressed copy.
EMPTIED, LOST, COPIES = "emptied_fields", "lost_corrections", "packed_copies"
#: The metric with the reason why the tables could not be searched for these problems.
UNCHECKED = "unchecked_doubts"

#: The metric of planning that names the profile of a run's stream.
PROFILE_FINGERPRINT = "profile_fingerprint"


def note_metrics(
    lake: Lake, workload_fingerprint: str, interval: Interval, step: str,
    metrics: Mapping[str, Metric],
) -> None:  # fmt: skip
    """Store the metrics of a step of a run, in place of earlier ones of the same step and hours.

    They are stored in a file until `record_metrics` writes the metrics of all steps to the table.

    Args:
        lake: the tables.
        workload_fingerprint: the fingerprint of the queries; "" for steps without queries, such as
            maintenance.
        interval: the hours of the run.
        step: name of the step.
        metrics: numbers and strings by name.
    """
    key = {
        "run_key": run_key(interval), "workload_fingerprint": workload_fingerprint, "step": step,
    }  # fmt: skip
    rows = [
        {**key, "metric": metric, "value": None, "detail": None}
        | ({"detail": value} if isinstance(value, str) else {"value": float(value)})
        for metric, value in {**metrics, **step_times()}.items()
    ]
    with whole_file(lake.path(TABLE) / _NOTED / f"{'.'.join(key.values())}.json") as out:
        out.write(json.dumps([interval.start, interval.end, rows]).encode())


def record_metrics(lake: Lake, run: str, within: Interval | None = None) -> None:
    """Write the stored metrics of steps to the table, in one commit.

    Args:
        lake: the tables.
        run: name of the run, for the history of the table.
        within: only the metrics of runs within this interval; None for all runs.

    Raises:
        ConflictError: others kept writing meanwhile.
        SetupError: the disk is full or read-only.
    """
    noted = [
        (file, text, interval, rows)
        for file, text, interval, rows in _noted(lake.root)
        if within is None or (within.start <= interval.start and interval.end <= within.end)
    ]
    if not noted:
        return
    steps = [
        part
        for _, _, interval, rows in noted
        for part in of_step(interval, rows[0]["step"], rows[0]["workload_fingerprint"])
    ]
    lake.record(TABLE, [row for *_, rows in noted for row in rows], where=steps, run=run)
    for file, text, *_ in noted:
        with suppress(FileNotFoundError):  # another report recorded it too
            if file.read_text(encoding="utf-8") == text:  # else the step was run again meanwhile
                file.unlink()


def _noted(lake: LakePath) -> Iterator[tuple[Path, str, Interval, list[dict[str, Any]]]]:
    """Yield stored metrics that are not recorded yet: file, text, interval of the run, rows."""
    for file in sorted((lake / TABLE / _NOTED).glob("*.json")):
        with suppress(FileNotFoundError):  # another process has just recorded it
            text = file.read_text(encoding="utf-8")
            try:
                start, end, rows = json.loads(text)
            except ValueError as error:
                hint = f"run `{command('rm', file)}`; the step then has no metrics"
                raise DataError(f"{file} is damaged: {error}", hint=hint) from error
            yield file, text, Interval(start, end), rows


def read_metrics(lake: LakePath, where: pc.Expression | None = None) -> pa.Table:
    """Return rows of `run_metrics`, with stored metrics in place of recorded ones of the same step.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    # In this order: metrics that are recorded meanwhile are read twice, and not missing.
    noted = [row for *_, rows in _noted(lake) for row in rows]
    recorded = read_rows(lake, TABLE, where=where)
    if not noted:
        return recorded
    new = pa.Table.from_pylist(noted, schema=recorded.schema)
    again = pc.is_in(_step_of(recorded), _step_of(new))
    recorded = recorded.filter(pc.invert(again))
    return pa.concat_tables([recorded, new if where is None else new.filter(where)])


def run_keys(lake: LakePath) -> list[str]:
    """Return the names of all runs, in order; raises as `read_metrics`."""
    return sorted(read_metrics(lake)["run_key"].unique().to_pylist())


def _step_of(metrics: pa.Table) -> pa.ChunkedArray:
    """Return a key of the run, the workload and the step of each row."""
    keys = [metrics[name] for name in ("run_key", "workload_fingerprint", "step")]
    return pc.binary_join_element_wise(*keys, " ")


def text_metrics(
    lake: Lake,
    workload_fingerprint: str,
    step: str,
    metric: str,
    interval: Interval | None = None,
) -> dict[str, str]:
    """Return a metric whose value is a string, for all runs of a workload, by run key.

    Args:
        lake: the tables.
        workload_fingerprint: the fingerprint of the queries.
        step: name of the step.
        metric: name of the metric.
        interval: an interval that the caller needs. If the metric of its run is stored but not
            recorded yet, only this run is returned, because the table is slow to read: 90 days
            take 60 ms.
    """
    own = {"workload_fingerprint": workload_fingerprint, "step": step, "metric": metric}
    alone = own | {"run_key": interval and run_key(interval)}
    noted = (row for *_, rows in _noted(lake.root) for row in rows)
    found = [row for row in noted if alone.items() <= row.items()]
    where = reduce(and_, (pc.field(name) == value for name, value in own.items()))
    found = found or read_metrics(lake.root, where).to_pylist()
    return {row["run_key"]: row["detail"] for row in found if row["detail"] is not None}


def find_text(
    lake: Lake, workload_fingerprint: str, interval: Interval, step: str, metric: str
) -> str | None:
    """Return a metric whose value is a string, of the run over exactly this interval.

    Returns:
        The value; None if the run has none.
    """
    return text_metrics(lake, workload_fingerprint, step, metric, interval).get(run_key(interval))
