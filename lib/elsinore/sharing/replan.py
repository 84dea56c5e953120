"""Check that a stored plan is valid for a workload and still current (Sharon section 7.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from elsinore.errors import ParameterError, PlanError
from elsinore.query.bound import Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.segments import Place
from elsinore.sharing.artifact import NEW_PLAN
from elsinore.sharing.candidates import Candidate, mine_candidates, places_of
from elsinore.sharing.plan import PlannedCandidate, StaticPlan
from elsinore.sharing.statistics import Statistics


def load_plan(path: Path, workload: Workload) -> StaticPlan:
    """Return a plan from a file that `elsinore plan --json` wrote.

    Raises:
        ParameterError: the file cannot be read.
        PlanError: the file does not contain a plan, or the plan does not fit the workload.
    """
    try:
        plan = StaticPlan.from_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        hint = "check the path of --plan FILE"
        raise ParameterError(f"cannot read {path}: {error.strerror}", hint=hint) from error
    except UnicodeDecodeError as error:
        raise PlanError(f"the static plan {path} is not UTF-8", hint=NEW_PLAN) from error
    except PlanError as error:
        raise PlanError(f"{path}: {error.message}", hint=error.hint, **error.fields) from error
    verify(plan, workload)
    return plan


def verify(plan: StaticPlan, workload: Workload) -> None:
    """Raise an error if a plan is of another workload, or its choice is invalid.

    Chosen candidates are compared with the workload, because an intact fingerprint does not prove
    who wrote the plan. A choice is valid if every chosen candidate is shared by at least two of its
    queries, and no position of a query is shared twice (Sharon Definition 7).

    Raises:
        PlanError: the plan is stale, shares patterns outside of the workload, or is invalid.
    """
    expected = workload_fingerprint(workload)
    if plan.workload_fingerprint != expected:
        raise PlanError(
            "the static plan was found for another workload",
            hint=NEW_PLAN,
            plan=plan.workload_fingerprint,
            workload=expected,
        )
    if len(set(plan.chosen)) < len(plan.chosen):
        raise PlanError("the static plan shares a candidate twice", hint=NEW_PLAN)
    owners: dict[Place, str] = {}
    for name, candidate in chosen_candidates(plan, workload).items():
        for place in places_of(candidate, _sharing(plan.by_id[name])):
            other = owners.setdefault(place, name)
            if other != name:
                problem = f"the static plan shares both {other} and {name}, which overlap"
                raise PlanError(problem, hint=NEW_PLAN)


def chosen_candidates(plan: StaticPlan, workload: Workload) -> dict[str, Candidate]:
    """Return the shared candidates of a plan by id.

    Raises:
        PlanError: the workload does not contain one of them.
    """
    mined = {_content(candidate): candidate for candidate in mine_candidates(workload)}
    found = {}
    for name in plan.chosen:
        planned = plan.by_id.get(name)
        if planned is None or _content(planned) not in mined:
            problem = f"the static plan shares {name}, which the workload does not contain"
            raise PlanError(problem, hint=NEW_PLAN)
        found[name] = mined[_content(planned)]
    return found


def _sharing(planned: PlannedCandidate) -> frozenset[str]:
    """Return the names of the queries that share a candidate."""
    queries = frozenset(planned.shared_by)
    if len(queries) < 2 or len(queries) < len(planned.shared_by):
        problem = f"the static plan shares {planned.id} between fewer than two queries"
        raise PlanError(problem, hint=NEW_PLAN)
    if not queries <= set(planned.queries):
        problem = f"the static plan shares {planned.id} in a query that does not contain it"
        raise PlanError(problem, hint=NEW_PLAN)
    return queries


def _content(found: Candidate | PlannedCandidate) -> tuple[object, ...]:
    return found.pattern, tuple((s.query, s.start, s.stop) for s in found.occurrences)


# ---- whether a stored plan is still valid (section 7.4)

#: Maximum number of changes that a reason lists.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Band:
    """Tolerance of statistics before a new plan is needed.

    A rate or a number of partitions may grow or fall by `factor`. Numbers below `floor` count as
    `floor`: they vary by chance, and cost little.
    """

    factor: float
    floor: float


#: For runs shorter than a day, which usually reuse the stored plan.
BAND = Band(2.0, 100.0)
#: For longer runs, such as nightly maintenance: a plan costs little compared with their work.
ANY_CHANGE = Band(1.0, 0.0)


@dataclass(frozen=True, slots=True)
class Replan:
    """The decision whether a new plan is needed, with its reason."""

    needed: bool
    reason: str


def replan(
    stored: StaticPlan | None,
    found_from: Statistics | None,
    workload: Workload,
    statistics: Statistics,
    *,
    band: Band = BAND,
) -> Replan:
    """Compare the plan of an earlier run, if any, with the workload and its current statistics.

    Args:
        stored: the plan; None if no plan was stored.
        found_from: the statistics from which it was found; None if they are lost.
        workload: the current queries.
        statistics: the current statistics.
        band: the tolerated changes.

    >>> replan(None, None, None, None)
    Replan(needed=True, reason='no plan was stored')
    """
    if stored is None:
        return Replan(True, "no plan was stored")
    if changes := _changed_queries(stored, workload):
        return Replan(True, f"queries changed: {_listed(changes)}")
    if stored.statistics_fingerprint == statistics.fingerprint:
        return Replan(False, "neither queries nor statistics changed")
    if found_from is None:
        return Replan(True, "the statistics of the stored plan are unknown")
    used = {p.type for query in workload.queries for p in query.positions}
    moved = [
        *_moved_rates(found_from, statistics, used, band.floor),
        *_moved_keys(found_from, statistics, band.floor),
    ]
    beyond = [text for factor, text in sorted(moved, reverse=True) if factor > band.factor]
    if beyond:
        return Replan(True, f"statistics changed: {_listed(beyond)}")
    return Replan(False, f"no rate changed by more than a factor of {band.factor:g}")


def _changed_queries(stored: StaticPlan, workload: Workload) -> list[str]:
    now = {query.name: query.fingerprint for query in workload.queries}
    before = stored.queries
    return [
        *(f"{name} is new" for name in sorted(now.keys() - before.keys())),
        *(f"{name} was removed" for name in sorted(before.keys() - now.keys())),
        *(f"{name} was changed" for name in sorted(now.keys() & before.keys())
          if now[name] != before[name]),
    ]  # fmt: skip


def _moved_rates(
    before: Statistics, now: Statistics, used: set[str], floor: float
) -> Iterator[tuple[float, str]]:
    """Yield the factor of change of each type's rate, in events per the new statistics' span."""
    for name in sorted(used):
        old, new = before.rate(name, now.per), now.rate(name, now.per)
        text = f"{name} from {old:,.6g} to {new:,.6g} events"
        yield max(_times(old, new, floor), _times(new, old, floor)), text


def _moved_keys(before: Statistics, now: Statistics, floor: float) -> Iterator[tuple[float, str]]:
    """Yield the changes of numbers of partitions, if the two spans are comparable.

    A longer span has more values of a key even if nothing changed.
    """
    for keys in sorted(before.by_keys.keys() | now.by_keys.keys()):
        old, new = before.partition_count(keys), now.partition_count(keys)
        grown = _times(old, new, floor) if now.per <= before.per else 1.0
        fallen = _times(new, old, floor) if now.per >= before.per else 1.0
        yield max(grown, fallen), f"values of {', '.join(keys)} from {old:,} to {new:,}"


def _times(old: float, new: float, floor: float) -> float:
    """Return the new number divided by the old one, both at least `floor`.

    >>> _times(50, 100, 0), _times(50, 100, 80), _times(0, 0, 0), _times(0, 1, 0)
    (2.0, 1.25, 1.0, inf)
    """
    low, high = max(old, floor), max(new, floor)
    if low:
        return high / low
    return float("inf") if high else 1.0


def _listed(changes: list[str]) -> str:
    more = len(changes) - _NAMED
    return "; ".join(changes[:_NAMED]) + (f"; and {more} more" if more > 0 else "")
