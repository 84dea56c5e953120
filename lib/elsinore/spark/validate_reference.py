"""Makes the checks of a sample: each result beside the two-step reference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from elsinore.errors import BudgetError
from elsinore.events.table import EventTable
from elsinore.query.bound import Workload
from elsinore.reference.budget import Budget
from elsinore.reference.two_step import two_step
from elsinore.spark.sample import Check
from elsinore.spark.tables import Lake
from elsinore.spark.validate_compare import Compared, compare, skipped
from elsinore.spark.validate_events import MAX_EVENTS, events_of_places

#: A query that went past the budget this often is not tried again in the same run.
MAX_EXHAUSTED = 3


def check_all(
    lake: Lake, workload: Workload, checks: Sequence[Check], budget: Budget
) -> Iterator[Compared]:
    """Compare each check with the reference over the events that the engine read.

    A check that the reference cannot make within bounds is `skipped`, with the reason. The work is
    bounded by the budget for each check, and by `MAX_EXHAUSTED` for each query. That there is no
    result where there is no event is left out: it says nothing of either side.
    """
    by_version: dict[int, list[Check]] = defaultdict(list)
    for check in checks:
        query = workload.by_name[check.place.query]
        if check.beyond:
            reason = f"more trends than {budget.steps} steps can enumerate"
            yield from skipped(query, check, reason)
        elif check.events_version is None:
            yield from skipped(query, check, "no aggregation of its hour is on record")
        else:
            by_version[check.events_version].append(check)
    exhausted: Counter[str] = Counter()
    for version, members in sorted(by_version.items()):
        events = events_of_places(lake, workload, version, [check.place for check in members])
        for check, found in zip(members, events, strict=True):
            yield from _check(workload, check, found, budget, exhausted)


def _check(
    workload: Workload,
    check: Check,
    events: EventTable | None,
    budget: Budget,
    exhausted: Counter[str],
) -> list[Compared]:
    query = workload.by_name[check.place.query]
    if events is None:
        return skipped(query, check, f"more than {MAX_EVENTS} events")
    if not len(events) and not check.published:
        return []
    if exhausted[query.name] >= MAX_EXHAUSTED:
        return skipped(query, check, f"{MAX_EXHAUSTED} checks of the query went past the budget")
    try:
        rows = two_step(query, events, windows=[check.place.window], budget=budget)
    except BudgetError as error:
        exhausted[query.name] += 1
        return skipped(query, check, str(error))
    return compare(query, check, rows)
