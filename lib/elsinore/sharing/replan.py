"""Whether a stored plan still stands, and why not (Sharon section 7.4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from elsinore.query.bound import Workload
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.statistics import Statistics

#: How many changes a reason names.
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Replan:
    """A decision: whether a plan is to be found anew, and the reason, for people."""

    needed: bool
    reason: str


def replan(
    stored: StaticPlan | None,
    found_from: Statistics | None,
    workload: Workload,
    statistics: Statistics,
    *,
    tolerance: float = 0.0,
) -> Replan:
    """Compare a stored plan and what it was found from with a workload and its statistics.

    Args:
        stored: the plan of an earlier run; None where there is none.
        found_from: the statistics that it was found from; None where they are lost.
        workload: the queries to be run.
        statistics: of the stream now.
        tolerance: the share by which rates and numbers of partitions may have moved either way; by
            default none, so that a plan does not depend on which runs came before.

    >>> replan(None, None, None, None)
    Replan(needed=True, reason='no plan was found before')
    """
    if stored is None:
        return Replan(True, "no plan was found before")
    if changes := _changed_queries(stored, workload):
        return Replan(True, f"queries changed: {_listed(changes)}")
    if stored.statistics_fingerprint == statistics.fingerprint:
        return Replan(False, "neither queries nor statistics changed")
    if found_from is None:
        return Replan(True, "the statistics of the stored plan are not known")
    used = {p.type for query in workload.queries for p in query.positions}
    moved = [*_moved_rates(found_from, statistics, used), *_moved_keys(found_from, statistics)]
    beyond = [text for share, text in sorted(moved, reverse=True) if share > tolerance]
    if beyond:
        return Replan(True, f"statistics changed: {_listed(beyond)}")
    within = f"by more than {tolerance:.0%}" if tolerance else "for this workload"
    return Replan(False, f"no rate changed {within}")


def _changed_queries(stored: StaticPlan, workload: Workload) -> list[str]:
    now = {query.name: query.fingerprint for query in workload.queries}
    before = stored.queries
    return [
        *(f"{name} is new" for name in sorted(now.keys() - before.keys())),
        *(f"{name} is gone" for name in sorted(before.keys() - now.keys())),
        *(f"{name} is another" for name in sorted(now.keys() & before.keys())
          if now[name] != before[name]),
    ]  # fmt: skip


def _moved_rates(
    before: Statistics, now: Statistics, used: set[str]
) -> Iterator[tuple[float, str]]:
    """How far the rates of the workload's types moved, in events per the new statistics' span."""
    for name in sorted(used):
        old, new = before.rate(name, now.per), now.rate(name, now.per)
        yield _share(old, new), f"{name} from {old:,.6g} to {new:,.6g} events"


def _moved_keys(before: Statistics, now: Statistics) -> Iterator[tuple[float, str]]:
    for keys in sorted(before.by_keys.keys() | now.by_keys.keys()):
        old, new = before.partition_count(keys), now.partition_count(keys)
        yield _share(old, new), f"values of {', '.join(keys)} from {old:,} to {new:,}"


def _share(old: float, new: float) -> float:
    """By which share the larger exceeds the smaller.

    >>> _share(50, 100), _share(100, 50), _share(0, 0), _share(0, 1)
    (1.0, 1.0, 0.0, inf)
    """
    low, high = sorted((old, new))
    if low == high:
        return 0.0
    return high / low - 1 if low else float("inf")


def _listed(changes: list[str]) -> str:
    more = len(changes) - _NAMED
    return "; ".join(changes[:_NAMED]) + (f"; and {more} more" if more > 0 else "")
