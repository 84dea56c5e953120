"""Find, store and read static plans, with their statistics and profiles, in the table `plans`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from elsinore.choices import TIME_LIMIT, Optimizer
from elsinore.errors import DataError
from elsinore.executors.profile import measure
from elsinore.lake.cached_hours import CachedHours, read_cached
from elsinore.lake.event_files import hour_shares
from elsinore.lake.stored_events import StoredEvents
from elsinore.ledger.event_changes import EventChanges
from elsinore.ledger.run_metrics import PROFILE_FINGERPRINT, Metric, note_metrics, text_metrics
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.sharing.benefit import partition_keys
from elsinore.sharing.find_plan import find_plans
from elsinore.sharing.observe import EventCounts, event_types
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.profile import StreamProfile
from elsinore.sharing.replan import ANY_CHANGE, BAND, Replan, replan, verify
from elsinore.sharing.statistics import Statistics
from elsinore.store.delta_log import read_rows
from elsinore.store.regions import interval_of, step_command
from elsinore.store.tables import Lake
from elsinore.tasks import InTasks, in_turn
from elsinore.template.support import lowered
from elsinore.timeline import DAY, HOUR, Interval, hours_of, stretches

#: Kinds of rows of the table.
STATISTICS, PROFILE, PLAN = "statistics", "profile", "plan"

#: Minimum mean bytes of events per hour for which caching the counts of an hour is worthwhile.
FEWEST_BYTES = 2_000_000

#: Bytes of uncounted events from which Spark tasks count them. These are about 80 million events.
#: One core counts them in 8 s, which is also the time to start Spark.
MANY_BYTES = 2_000_000_000

#: Version of cached hours; raise it if their meaning changes.
_MEANING = 3

#: The metric of planning that names a run's plan.
PLAN_FINGERPRINT = "plan_fingerprint"

_Row = dict[str, str]


class FoundPlan(NamedTuple):
    """A plan, whether a stored plan was reused, and the metrics of the planning step."""

    plan: StaticPlan
    reused: bool
    figures: Mapping[str, Metric]


def plan_run(
    lake: Lake,
    workload: Workload,
    interval: Interval,
    *,
    changes: EventChanges,
    run: str,
    time_limit: float = TIME_LIMIT,
    in_tasks: InTasks | None = None,
) -> FoundPlan:
    """Count the events of a run, and reuse the current static plan or find a new one.

    A run reads the events from `start - longest WITHIN` to `end`. If very many were not counted
    before, `in_tasks` counts them in Spark tasks. The current plan is the plan of the workload from
    the latest events before the run, and among several the plan from the longest time range,
    usually of nightly maintenance. It is reused while the rates stay within a band (Sharon section
    7.4; `sharing.replan`); a run of at least a day reuses it only if nothing changed. The metrics
    record the decision and its reason, and are equal if the run is repeated.

    Otherwise it measures a profile and finds a plan, or reads the plan of the same statistics from
    the table. If optimality is not proven within `time_limit` seconds, the best plan found is used.

    Args:
        lake: The lake of the workload.
        workload: The queries.
        interval: The hours of the run.
        changes: The changes to events that the ledger records, by which cached counts are reused.
        run: Name of the run, for the history of the table `plans`.
        time_limit: Seconds of the search.
        in_tasks: Runs a function in Spark tasks; None: all events are counted in this process.

    Raises:
        DataError: the events were not ingested, or cannot be read without Spark.
        PlanError: the stored plan is damaged, or not valid for the workload.
        ConflictError: other writers kept changing the table.
    """
    workload = lowered(workload)
    version = lake.version("events")
    observed = Interval(interval.start - workload.longest_window, interval.end)
    events = StoredEvents.of(lake.path("events"), workload, observed, version=version)
    statistics = _counted(lake, events, version, changes, in_tasks)
    earlier, known = _plan_in_force(lake, workload, interval.start)
    band = BAND if interval.length < DAY else ANY_CHANGE
    decision = replan(earlier, known, workload, statistics, band=band)
    stored = _stored_plan(lake, workload, statistics) if decision.needed else earlier
    plan = stored or _find_and_keep(lake, events, statistics, time_limit=time_limit, run=run)
    verify(plan, workload)
    figures = _figures(plan, decision, statistics, version)
    own, source = plan.workload_fingerprint, plan.statistics_fingerprint
    for profile in _found_from(lake, "fingerprint", own, source, kind=PROFILE)[:1]:
        figures[PROFILE_FINGERPRINT] = profile
    note_metrics(lake, own, interval, PLAN, figures)
    return FoundPlan(plan, stored is not None, figures)


def _figures(
    plan: StaticPlan, decision: Replan, statistics: Statistics, version: int
) -> dict[str, Metric]:
    """Return the metrics of a run about its plan."""
    figures: dict[str, Metric] = {
        PLAN_FINGERPRINT: plan.fingerprint,
        "finder": str(plan.finder),
        "candidates": len(plan.candidates),
        "chosen": len(plan.chosen),
        "sets": len(plan.sets),
        "score": plan.score,
        "guaranteed_weight": plan.guaranteed_weight,
        "proven": plan.proven,
        "replanned": decision.needed,
        "reason": decision.reason,
        "events_version": str(version),
        **{f"events_{name}": number for name, number in statistics.events.items()},
    }
    if plan.bound is not None:
        figures["bound"] = plan.bound
    return figures


def _counted(
    lake: Lake, events: StoredEvents, version: int, changes: EventChanges,
    in_tasks: InTasks | None,
) -> Statistics:  # fmt: skip
    """Return the statistics of the events that a run reads.

    If there are many events, the counts of whole hours are cached and reused. A part of an hour
    before the first whole hour is left out.
    """
    workload, observed = events.workload, events.interval
    whole = Interval(-(-observed.start // HOUR) * HOUR, observed.end)
    if events.bytes_in(whole) * HOUR < FEWEST_BYTES * whole.length:
        return events.statistics()
    counts = EventCounts(workload)
    asked = [f"counts {_MEANING}", *counts.attributes, *event_types(workload)]
    kept = CachedHours.of(lake, [*asked, *workload.schema.by_name, *partition_keys(workload)])
    hours = tuple(hours_of(whole))
    found = kept.find(lake.root, hours, version, changes)
    missing = [hour for hour in hours if hour not in found]
    anew = sum(map(events.bytes_in, stretches(missing)))
    laid = events.files[0].bucket if events.files else None
    tasks = in_tasks if anew >= MANY_BYTES else None
    parts = hour_shares(
        missing, events.files, laid.keys if laid else (), lake.cores if tasks else 1
    )

    def keep(number: int) -> None:
        (hour, share), own = parts[number], EventCounts(workload)
        for files in share.in_turn():
            replace(events, files=files).count(Interval(hour, hour + HOUR), own)
        kept.write(hour, version, share.bucket, own.to_table())

    (tasks or in_turn)(len(parts), keep)
    for path in kept.all_of(lake.root, hours, version, changes):
        counts.add_table(read_cached([path]))
    kept.drop_before(whole.start - 2 * DAY)  # nightly maintenance reads the hours of the day
    return counts.statistics(whole)


def load_plan(lake: Lake, workload: Workload, interval: Interval) -> StaticPlan:
    """Load the plan of the run that an interval, or a slice of a run, belongs to.

    If several runs of the workload contain the interval and have a stored plan, the shortest run
    wins, then the earliest. If no run contains the interval, because its hours were missed, the
    next run is used.

    Raises:
        DataError: No run with a stored plan contains or follows the interval.
        PlanError: The plan is damaged, or not valid for the workload.
    """
    workload = lowered(workload)
    own = workload_fingerprint(workload)  # leaves out joint plans of several workloads
    named = text_metrics(lake, own, PLAN, PLAN_FINGERPRINT, interval)
    found = _rows(lake, "fingerprint", kind=PLAN, workload_fingerprint=own)
    there = {row["fingerprint"] for row in found}
    runs = {interval_of(key): name for key, name in named.items() if name in there}
    later = sorted((run for run in runs if interval.end <= run.end), key=lambda run: run.end)
    around = [run for run in later if run.start <= interval.start]
    if not later:
        hint = f"run {step_command('aggregate', interval)}"
        raise DataError(f"no plan was stored for {interval}", hint=hint)
    name = runs[min(around or later[:1], key=lambda run: (run.length, run.start))]
    plan = StaticPlan.from_json(_rows(lake, "body", kind=PLAN, fingerprint=name)[0]["body"])
    verify(plan, workload)
    return plan


def load_statistics(lake: Lake, fingerprint: str) -> Statistics | None:
    """Load stored statistics by fingerprint; return None if the lake no longer has them."""
    found = _rows(lake, "body", kind=STATISTICS, fingerprint=fingerprint)
    return Statistics.from_json(found[0]["body"]) if found else None


def _find_and_keep(
    lake: Lake, events: StoredEvents, statistics: Statistics, *, time_limit: float, run: str
) -> StaticPlan:
    """Find the best plan, and store it with its statistics and profile in one commit.

    A plan of GWMIN is stored first if the search for the best plan takes long.
    """
    workload = events.workload
    last, stretch = events.last()
    profile = measure(last, workload, stretch)

    def row(kind: str, content: Statistics | StreamProfile | StaticPlan, finder: str) -> _Row:
        return {
            "kind": kind,
            "fingerprint": content.fingerprint,
            "workload_fingerprint": profile.workload_fingerprint,
            "statistics_fingerprint": statistics.fingerprint,
            "body": content.to_json(),
            "finder": finder,
        }

    counted = [row(STATISTICS, statistics, "counted"), row(PROFILE, profile, "measured")]
    for plan in find_plans(workload, statistics, time_limit=time_limit):
        rows = [*counted, row(PLAN, plan, str(plan.finder))]
        lake.add("plans", rows, key=("kind", "fingerprint"), run=run)
    return plan


def _plan_in_force(
    lake: Lake, workload: Workload, end: int
) -> tuple[StaticPlan | None, Statistics | None]:
    """Return the plan from the latest events before a timestamp, and its time range.

    Plans from later events are excluded: they may not have existed at the first run, and a repeated
    run must decide equally. Without a plan of the workload, it returns the plan of another one, to
    show the changes.
    """
    own = workload_fingerprint(workload)
    counted = {
        row["fingerprint"]: Statistics.from_json(row["body"])
        for row in _rows(lake, "fingerprint", "body", kind=STATISTICS)
    }
    names = ("fingerprint", "workload_fingerprint", "statistics_fingerprint")
    before = [
        (row["workload_fingerprint"] == own, observed[1], found.per, row["fingerprint"])
        for row in _rows(lake, *names, kind=PLAN, finder=Optimizer.OPTIMAL)
        if (found := counted.get(row["statistics_fingerprint"])) is not None
        if (observed := found.observed) is not None and observed[1] <= end
    ]
    if not before:
        return None, None
    body = _rows(lake, "body", fingerprint=max(before)[-1])[0]["body"]
    if not StaticPlan.is_current(body):
        return None, None
    plan = StaticPlan.from_json(body)
    return plan, counted[plan.statistics_fingerprint]


def _stored_plan(lake: Lake, workload: Workload, statistics: Statistics) -> StaticPlan | None:
    """Return the best stored plan of the same statistics; None if only GWMIN's plan is stored."""
    own = workload_fingerprint(workload)
    rows = _found_from(
        lake, "body", own, statistics.fingerprint, kind=PLAN, finder=Optimizer.OPTIMAL
    )
    plans = [StaticPlan.from_json(body) for body in rows if StaticPlan.is_current(body)]
    return max(plans, key=lambda plan: (plan.proven, plan.score, plan.fingerprint), default=None)


def _found_from(lake: Lake, column: str, workload: str, statistics: str, **among: str) -> list[str]:
    """Return a column of the rows with fingerprints of a workload and of statistics."""
    source = {"workload_fingerprint": workload, "statistics_fingerprint": statistics}
    return [row[column] for row in _rows(lake, column, **source, **among)]


def _rows(lake: Lake, *columns: str, **given: str) -> list[_Row]:
    """Return columns of the rows with given values."""
    allowed: dict[str, Any] = {name: [value] for name, value in given.items()}
    found: list[_Row] = read_rows(lake.root, "plans", columns=columns, **allowed).to_pylist()
    return found
