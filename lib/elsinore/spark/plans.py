"""Statistics, profiles and static plans in the table `plans`: each written once, found by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow.compute as pc
from pyspark.sql import functions as F  # noqa: N812  (the name that Spark's users know)

from elsinore.engine.auto import choose_sets
from elsinore.errors import DataError, PlanError
from elsinore.query.bound import Workload
from elsinore.sharing.find_plan import TIME_LIMIT, find_plans
from elsinore.sharing.fingerprints import workload_fingerprint
from elsinore.sharing.plan import Finder, StaticPlan
from elsinore.sharing.profile import StreamProfile
from elsinore.sharing.replan import replan
from elsinore.sharing.statistics import Statistics
from elsinore.sharing.verify import verify
from elsinore.spark.failures import spark_failures
from elsinore.spark.regions import run_key
from elsinore.spark.run_metrics import Metric, record_metrics, text_metric, text_metrics
from elsinore.spark.tables import Lake
from elsinore.timeline import Interval, parse_instant

STATISTICS, PROFILE, PLAN = "statistics", "profile", "plan"
#: Metric of the step `plan`: the fingerprint of a run's plan.
PLAN_FINGERPRINT = "plan_fingerprint"
#: Metric of the step `statistics`: the fingerprint of a run's statistics.
STATISTICS_FINGERPRINT = "statistics_fingerprint"
#: Metric of the step `statistics`: the fingerprint of the profile of a run's stream.
PROFILE_FINGERPRINT = "profile_fingerprint"


class FoundPlan(NamedTuple):
    """A plan, and whether it had been found before."""

    plan: StaticPlan
    reused: bool


def store_statistics(
    lake: Lake, workload: Workload, statistics: Statistics, *profiles: StreamProfile
) -> None:
    """Keep statistics and profiles of the events that they were counted from; the same ones once.

    Raises:
        ConflictError: another run wrote to the table meanwhile.
    """
    own, of_workload = statistics.fingerprint, workload_fingerprint(workload)
    measured = [
        (PROFILE, profile.fingerprint, of_workload, own, profile.to_json(), "measured")
        for profile in profiles
    ]
    counted = (STATISTICS, own, of_workload, own, statistics.to_json(), "counted")
    _append_once(lake, [counted, *measured])


def load_profile(lake: Lake, interval: Interval) -> StreamProfile:
    """The profile of the events that the run over exactly this interval reads.

    Raises:
        DataError: the run's step `statistics` has not been done.
        PlanError: the profile is damaged.
    """
    name = text_metric(lake, interval, STATISTICS, PROFILE_FINGERPRINT)
    return StreamProfile.from_json(_body(lake, PROFILE, name))


def plan_run(
    lake: Lake,
    workload: Workload,
    interval: Interval,
    *,
    run: str,
    time_limit: float = TIME_LIMIT,
) -> FoundPlan:
    """The static plan of a run, from the statistics that were collected for it.

    The plan of the run before stands while nothing has changed that it depends on; the metrics say
    what had (Sharon section 7.4), and say the same when the run is repeated. A plan that was found
    for the same workload and statistics is taken from the table. Otherwise GWMIN's plan is kept at
    once and then the optimal one, or the best that `time_limit` seconds give, which is the run's.

    Raises:
        DataError: no statistics were collected for this run.
        PlanError: stored statistics or a stored plan are damaged, or not valid for the workload.
        ConflictError: another run wrote to the table meanwhile.
    """
    statistics_name = text_metric(lake, interval, STATISTICS, STATISTICS_FINGERPRINT)
    statistics = Statistics.from_json(_body(lake, STATISTICS, statistics_name))
    if statistics.fingerprint != statistics_name:
        raise PlanError("stored statistics are not what their fingerprint says", hint="recount")
    earlier = _plan_before(lake, interval)
    known = load_statistics(lake, earlier.statistics_fingerprint) if earlier else None
    decision = replan(earlier, known, workload, statistics)
    profiles = _profiles(lake, interval)
    stored = None
    if earlier is not None and not decision.needed:
        plan = stored = earlier
    else:
        stored = _stored_plan(lake, workload, statistics)
        plan = stored or _find_and_keep(lake, workload, statistics, profiles, time_limit)
    verify(plan, workload)
    figures: dict[str, Metric] = {
        PLAN_FINGERPRINT: plan.fingerprint,
        "finder": plan.finder,
        "candidates": len(plan.candidates),
        "chosen": len(plan.chosen),
        "sets": len(plan.sets),
        "sets_that_pay": sum(found.pays for found in plan.sets),
        "score": plan.score,
        "guaranteed_weight": plan.guaranteed_weight,
        "proven": plan.proven,
        "replanned": decision.needed,
        "reason": decision.reason,
    }
    if plan.bound is not None:
        figures["bound"] = plan.bound
    record_metrics(lake, interval, PLAN, figures, run=run)
    return FoundPlan(plan, stored is not None)


def _find_and_keep(
    lake: Lake,
    workload: Workload,
    statistics: Statistics,
    profiles: tuple[StreamProfile, ...],
    time_limit: float,
) -> StaticPlan:
    """Every plan as soon as it is found; the last is the best."""
    sets = choose_sets(workload, statistics, profiles).sets
    for plan in find_plans(workload, statistics, time_limit=time_limit, sets=sets):
        verify(plan, workload)
        found = plan.workload_fingerprint, plan.statistics_fingerprint
        _append_once(lake, [(PLAN, plan.fingerprint, *found, plan.to_json(), plan.finder)])
    return plan


def _profiles(lake: Lake, interval: Interval) -> tuple[StreamProfile, ...]:
    """The profile of a run's stream, if it was measured: what Kleene sets cost depends on it."""
    named = text_metrics(lake, STATISTICS, PROFILE_FINGERPRINT)
    return (load_profile(lake, interval),) if run_key(interval) in named else ()


def load_plan(lake: Lake, workload: Workload, interval: Interval) -> StaticPlan:
    """The plan of the run that an interval, or a slice of one, belongs to.

    Of several runs of the workload that contain the interval the narrowest counts, and the earliest
    of these.

    Raises:
        DataError: no plan was found for such a run.
        PlanError: the plan is damaged, or made for another workload.
    """
    named = text_metrics(lake, PLAN, PLAN_FINGERPRINT)
    around = [
        found
        for found in map(_interval, named)
        if found.start <= interval.start and interval.end <= found.end
    ]
    if not around:
        raise DataError(f"there is no plan for {interval}", hint="find the plan of the run first")
    around.sort(key=lambda found: (found.length, found.start))
    plans = [StaticPlan.from_json(_body(lake, PLAN, named[run_key(found)])) for found in around]
    own = workload_fingerprint(workload)
    plan = next((plan for plan in plans if plan.workload_fingerprint == own), plans[0])
    verify(plan, workload)
    return plan


def _interval(key: str) -> Interval:
    start, end = key.split("_")
    return Interval(parse_instant(f"{start}:00Z"), parse_instant(f"{end}:00Z"))


def _stored_plan(lake: Lake, workload: Workload, statistics: Statistics) -> StaticPlan | None:
    """The best plan for exactly these; GWMIN's alone is what a run left that did not end."""
    wanted = (
        (pc.field("kind") == PLAN)
        & (pc.field("finder") == str(Finder.OPTIMAL))
        & (pc.field("workload_fingerprint") == workload_fingerprint(workload))
        & (pc.field("statistics_fingerprint") == statistics.fingerprint)
    )
    bodies = lake.rows("plans", wanted, columns=["body"])["body"].to_pylist()
    plans = [StaticPlan.from_json(body) for body in bodies if StaticPlan.is_current(body)]
    return max(plans, key=lambda plan: (plan.proven, plan.score, plan.fingerprint), default=None)


def _plan_before(lake: Lake, interval: Interval) -> StaticPlan | None:
    """The plan of the last run over hours before an interval, if this build can read it.

    A run that reaches into the interval or beyond it, such as a day's, is none: it may have come
    after this one the first time, and a repeated run is to say the same.
    """
    named = text_metrics(lake, PLAN, PLAN_FINGERPRINT)
    before = {key: found for key in named if (found := _interval(key)).end <= interval.start}
    if not before:
        return None
    body = _body(lake, PLAN, named[max(before, key=lambda key: (before[key].end, key))])
    return StaticPlan.from_json(body) if StaticPlan.is_current(body) else None


def load_statistics(lake: Lake, fingerprint: str) -> Statistics | None:
    """Stored statistics, if the lake still has them."""
    wanted = (pc.field("kind") == STATISTICS) & (pc.field("fingerprint") == fingerprint)
    found = lake.rows("plans", wanted, columns=["body"])["body"].to_pylist()
    return Statistics.from_json(found[0]) if found else None


def _body(lake: Lake, kind: str, fingerprint: str) -> str:
    wanted = (pc.field("kind") == kind) & (pc.field("fingerprint") == fingerprint)
    found = lake.rows("plans", wanted, columns=["body"])["body"].to_pylist()
    if not found:
        raise DataError(f"the table plans lacks the {kind} {fingerprint}")
    return str(found[0])


def _append_once(lake: Lake, rows: Sequence[tuple[str, ...]]) -> None:
    """Add the rows of `plans` that it lacks, in one commit."""
    new = [row for row in rows if not _is_kept(lake, *row[:2])]
    if not new:
        return
    # Another run may find the same at the same moment: MERGE looks again.
    names = lake.schema("plans").arrow().names
    source = lake.frame("plans", [dict(zip(names, row, strict=True)) for row in new]).alias("s")
    same = (F.col("t.kind") == F.col("s.kind")) & (F.col("t.fingerprint") == F.col("s.fingerprint"))
    table = lake.delta("plans").alias("t")
    with spark_failures():
        table.merge(source, same).whenNotMatchedInsertAll().execute()


def _is_kept(lake: Lake, kind: str, fingerprint: str) -> bool:
    wanted = (pc.field("kind") == kind) & (pc.field("fingerprint") == fingerprint)
    return lake.rows("plans", wanted, columns=["kind"]).num_rows > 0
