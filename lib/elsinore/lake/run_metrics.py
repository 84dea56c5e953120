"""Figures of the steps of runs, in the table `run_metrics`; some of them read from it again.

Each step notes its own in a file, and the report of a run records those of all its steps at once: a
commit for each would make the log of this table the longest of all.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from operator import and_
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from elsinore.engine.plan import RuntimePlan
from elsinore.errors import DataError
from elsinore.lake.delta_log import read_rows
from elsinore.lake.regions import interval_of, of_step, run_key
from elsinore.lake.tables import Lake
from elsinore.places import whole_file
from elsinore.query.bound import Workload
from elsinore.settings import LakePath
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.step_clock import step_times
from elsinore.timeline import HOUR, Interval, hours_of
from elsinore.wording import command

#: The table, and its folder of figures that are not recorded yet; Delta passes over such names.
TABLE, _NOTED = "run_metrics", "_noted"

#: A figure, or a text.
Metric = float | int | str

#: Names of steps; that of planning is a kind of rows of `plans`, too.
LAND_STEP, AGGREGATE_STEP, VALIDATE_STEP = "land", "aggregate", "validate"
PUBLISH_STEP, MAINTAIN_STEP = "publish", "maintain"

#: Of hours that are to be published, those of a run and others, and of such that could not be
#: aggregated: no steps that reports tell of.
_TRIED, _MISSED, _FAILED = "tried", "missed", "failed"

#: The metric of landing that names what lies in the landing zone and is not read.
UNREAD = "unread_files"

#: Metrics of landing, as JSON: by hour the fields without values, sentences about corrections that
#: lost, and pairs of files of which one may be a compressed copy.
EMPTIED, LOST, COPIES = "emptied_fields", "lost_corrections", "packed_copies"

#: The metric of validation that publishing looks for.
STAGED_VERSION = "staged_version"

#: The metric of planning that names the profile of a run's stream.
PROFILE_FINGERPRINT = "profile_fingerprint"

_CHOICE = "executor of "
_SET = "hamlet set "
_COUNT = "hamlet: "
_ALONE, _TOGETHER = "predicted seconds alone", "predicted seconds together"
_NANOSECONDS = 1e-9


def note_metrics(
    lake: Lake, workload: Workload | None, interval: Interval, step: str,
    metrics: Mapping[str, Metric],
) -> None:  # fmt: skip
    """Make these the figures of a step of a run of a workload over an interval, its only ones.

    They lie in a file beside the table until `record_metrics` puts those of all steps into it.
    """
    _note(lake, workload, interval, step, {**metrics, **step_times()})


def note_tried(
    lake: Lake, workload: Workload | None, interval: Interval, *, is_run: bool = True
) -> None:
    """Note that hours are to be published, also where their run never lands them, or never came.

    It `is_run` if a run was about just these hours.
    """
    step = _TRIED if is_run else _MISSED
    _note(lake, workload, interval, step, {"hours": interval.length // HOUR})


def record_failed(
    lake: Lake, workload: Workload, interval: Interval, events_version: int, *, run: str
) -> None:
    """Record that hours could not be aggregated, of a version of `events`.

    Raises:
        ConflictError: others kept writing meanwhile.
    """
    own = workload_fingerprint(workload)
    told = {"events_version": float(events_version), "time": time.time() * 1000}
    key = {"run_key": run_key(interval), "workload_fingerprint": own, "step": _FAILED}
    rows = [{**key, "metric": name, "value": value, "detail": None} for name, value in told.items()]
    lake.record(TABLE, rows, where=of_step(interval, _FAILED, own), run=run)


def failed_hours(lake: LakePath, workload: Workload) -> dict[int, tuple[int, float]]:
    """The hours that could not be aggregated for a workload, each with the version of `events` that
    this was tried at last, and when that was, in milliseconds since 1970.
    """
    of_own = pc.field("workload_fingerprint") == workload_fingerprint(workload)
    rows = read_rows(lake, TABLE, where=of_own & (pc.field("step") == _FAILED)).to_pylist()
    told: dict[str, dict[str, float]] = defaultdict(dict)
    for row in rows:
        told[row["run_key"]][row["metric"]] = row["value"]
    found: dict[int, tuple[int, float]] = {}
    for key, one in sorted(told.items(), key=lambda each: each[1]["time"]):
        for hour in hours_of(interval_of(key)):
            found[hour] = int(one["events_version"]), one["time"]
    return found


def _note(
    lake: Lake, workload: Workload | None, interval: Interval, step: str,
    metrics: Mapping[str, Metric],
) -> None:  # fmt: skip
    own = "" if workload is None else workload_fingerprint(workload)
    key = {"run_key": run_key(interval), "workload_fingerprint": own, "step": step}
    rows = [
        {**key, "metric": metric, "value": None, "detail": None}
        | ({"detail": value} if isinstance(value, str) else {"value": float(value)})
        for metric, value in metrics.items()
    ]
    with whole_file(lake.path(TABLE) / _NOTED / f"{'.'.join(key.values())}.json") as out:
        out.write(json.dumps([interval.start, interval.end, rows]).encode())


def record_metrics(lake: Lake, run: str, within: Interval | None = None) -> None:
    """Put the figures that steps of runs within an interval have noted into the table, or all.

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
        with suppress(FileNotFoundError):  # another report has recorded it, too
            if file.read_text(encoding="utf-8") == text:  # else the step was run again meanwhile
                file.unlink()


def _noted(lake: LakePath) -> Iterator[tuple[Path, str, Interval, list[dict[str, Any]]]]:
    """Figures that are not recorded yet: the file, its text, the interval of the run, the rows."""
    for file in sorted((lake / TABLE / _NOTED).glob("*.json")):
        with suppress(FileNotFoundError):  # recorded this very moment
            text = file.read_text(encoding="utf-8")
            try:
                start, end, rows = json.loads(text)
            except ValueError as error:
                hint = f"run `{command('rm', file)}`; the step then has no metrics"
                raise DataError(f"{file} is damaged: {error}", hint=hint) from error
            yield file, text, Interval(start, end), rows


def read_metrics(lake: LakePath, where: pc.Expression | None = None) -> pa.Table:
    """Rows of `run_metrics`, with what steps have noted instead of what they had recorded before.

    Raises:
        DataError: the table is missing or cannot be read.
    """
    of_steps = ~pc.field("step").isin([_TRIED, _MISSED, _FAILED])
    return _read(lake, of_steps if where is None else where & of_steps)


def run_keys(lake: LakePath) -> list[str]:
    """The names of all runs, in order; raises as `read_metrics`."""
    found = _read(lake, ~pc.field("step").isin([_MISSED, _FAILED]))["run_key"]
    return sorted(found.unique().to_pylist())


def _read(lake: LakePath, where: pc.Expression) -> pa.Table:
    # In this order: what is recorded meanwhile is there twice, and not missing.
    noted = [row for *_, rows in _noted(lake) for row in rows]
    recorded = read_rows(lake, TABLE, where=where)
    if not noted:
        return recorded
    new = pa.Table.from_pylist(noted, schema=recorded.schema)
    again = pc.is_in(_step_of(recorded), _step_of(new))
    recorded = recorded.filter(pc.invert(again))
    return pa.concat_tables([recorded, new.filter(where)])


def _step_of(metrics: pa.Table) -> pa.ChunkedArray:
    """For each row, which step of which run of which workload it is of."""
    keys = [metrics[name] for name in ("run_key", "workload_fingerprint", "step")]
    return pc.binary_join_element_wise(*keys, " ")


def text_metrics(
    lake: Lake, workload: Workload, step: str, metric: str, interval: Interval | None = None
) -> dict[str, str]:
    """A metric that is a text, of all runs of a workload, by run key.

    Of the run over exactly an interval alone, if it is given and that run has just noted its own:
    to read what 90 days have recorded takes 60 ms.
    """
    own = {"workload_fingerprint": workload_fingerprint(workload), "step": step, "metric": metric}
    alone = own | {"run_key": interval and run_key(interval)}
    noted = (row for *_, rows in _noted(lake.root) for row in rows)
    found = [row for row in noted if alone.items() <= row.items()]
    where = reduce(and_, (pc.field(name) == value for name, value in own.items()))
    found = found or read_metrics(lake.root, where).to_pylist()
    return {row["run_key"]: row["detail"] for row in found if row["detail"] is not None}


def find_text(
    lake: Lake, workload: Workload, interval: Interval, step: str, metric: str
) -> str | None:
    """A metric that is a text, of the run over exactly this interval; None where it has none."""
    return text_metrics(lake, workload, step, metric, interval).get(run_key(interval))


def tried_hours(lake: LakePath) -> set[int]:
    """The hours of runs that have ended, and those of stops, whatever the queries were then."""
    of_landing = (pc.field("step") == LAND_STEP) & (pc.field("metric") == "lines")
    where = of_landing | pc.field("step").isin([_TRIED, _MISSED])
    keys = read_rows(lake, TABLE, columns=["run_key"], where=where)["run_key"].unique()
    runs = map(interval_of, keys.to_pylist())
    under_way = {interval for *_, interval, _ in _noted(lake)}
    return set(chain.from_iterable(map(hours_of, runs))).difference(*map(hours_of, under_way))


def sharing_metrics(plan: RuntimePlan, counts: Mapping[str, int]) -> dict[str, Metric]:
    """The executor of each query and why, the sets, what sharing is predicted to save, and counts.

    `counts` are those of Hamlet's observers, over all tasks.
    """
    found: dict[str, Metric] = {
        f"{_CHOICE}{c.query}": f"{c.executor}: {c.why}" for c in plan.choices
    }
    found |= {f"{_SET}{n}": ", ".join(names) for n, names in enumerate(plan.sets, start=1)}
    found |= {f"{_COUNT}{name}": number for name, number in counts.items()}
    if plan.alone:
        found[_ALONE] = plan.alone * _NANOSECONDS
        found[_TOGETHER] = plan.together * _NANOSECONDS
    return found


def is_of_sharing(metric: str) -> bool:
    """Return whether `sharing_metrics` made a metric."""
    return metric in (_ALONE, _TOGETHER) or metric.startswith((_CHOICE, _SET, _COUNT))


@dataclass(frozen=True, slots=True)
class RunTime:
    """What was shared in a run, over all of its slices."""

    ran: Mapping[tuple[str, str], Collection[str]]  #: by executor, and why it, the queries
    sets: tuple[tuple[str, ...], ...]  #: the queries of each Hamlet set
    counts: dict[str, int]  #: what Hamlet's observers counted
    #: predicted seconds without and with sharing, over the span of the statistics; 0 where nothing
    #: could be shared.
    alone: float
    together: float

    @property
    def saved(self) -> float:
        """Predicted seconds that sharing saves."""
        return self.alone - self.together


def run_time_sharing(metrics: Iterable[tuple[str, float | None, str | None]]) -> RunTime:
    """The figures of `sharing_metrics` of all slices of a run, as `(metric, value, detail)`."""
    ran: dict[tuple[str, str], dict[str, None]] = {}
    sets: dict[tuple[str, ...], None] = {}
    counts: dict[str, int] = {}
    seconds = {_ALONE: 0.0, _TOGETHER: 0.0}
    for metric, value, detail in metrics:
        if metric.startswith(_CHOICE):
            executor, _, why = (detail or "").partition(": ")
            ran.setdefault((executor, why), {})[metric.removeprefix(_CHOICE)] = None
        elif metric.startswith(_SET):
            sets[tuple((detail or "").split(", "))] = None
        elif metric.startswith(_COUNT):
            name = metric.removeprefix(_COUNT)
            counts[name] = counts.get(name, 0) + int(value or 0)
        elif metric in seconds:  # each slice has the plan's, for the span of the plan
            seconds[metric] = max(seconds[metric], value or 0.0)
    return RunTime(ran, tuple(sets), counts, seconds[_ALONE], seconds[_TOGETHER])
