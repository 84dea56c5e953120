"""Makes the checks of a sample: each result beside the two-step reference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from elsinore.errors import BudgetError, UnsupportedQueryError
from elsinore.events.table import EventTable
from elsinore.query.bound import BoundQuery, Workload
from elsinore.reference.budget import Budget, Meter
from elsinore.reference.tally import tally_trends
from elsinore.reference.two_step import Method, answer_windows, enumerate_trends
from elsinore.spark.sample import Check
from elsinore.spark.tables import Lake
from elsinore.spark.validate_compare import COUNTED, ENUMERATED, Compared, compare, skipped
from elsinore.spark.validate_events import BATCH, MAX_EVENTS, events_of_places

#: A query that went past the budget this often is not tried again in the same run.
MAX_EXHAUSTED = 3

#: All checks of a run together may take as much as so many of them at the end of their budget.
FULL_CHECKS = 100


def check_all(
    lake: Lake, workload: Workload, checks: Sequence[Check], budget: Budget
) -> Iterator[Compared]:
    """Compare each check with the reference over the events that the engine read.

    Every trend is built where the budget allows it; where there are too many, the reference counts
    them in the same search (`reference.tally`). A check that it cannot make within bounds either
    way is `skipped`, with the reason. The work is bounded by the budget for each check, by
    `MAX_EXHAUSTED` for each query and by `FULL_CHECKS` for all. That there is no result where there
    is no event is left out: it says nothing of either side.
    """
    by_version: dict[int, list[Check]] = defaultdict(list)
    for check in checks:
        if check.events_version is None:
            query = workload.by_name[check.place.query]
            yield from skipped(query, check, "no aggregation of its hour is on record")
        else:
            by_version[check.events_version].append(check)
    reference = _Reference(workload, budget)
    for version, members in sorted(by_version.items()):
        for first in range(0, len(members), BATCH):
            batch = members[first : first + BATCH]
            events = events_of_places(lake, workload, version, [check.place for check in batch])
            for check, found in zip(batch, events, strict=True):
                yield from reference.check(check, found)


class _Reference:
    """The reference with what it may still spend in this run."""

    def __init__(self, workload: Workload, budget: Budget) -> None:
        self._workload = workload
        self._budget = budget
        self._left = FULL_CHECKS * budget.steps
        self._exhausted: Counter[str] = Counter()

    def check(self, check: Check, events: EventTable | None) -> list[Compared]:
        query = self._workload.by_name[check.place.query]
        if events is None:
            return skipped(query, check, f"more than {MAX_EVENTS} events")
        if not len(events) and not check.published:
            return []
        if self._left <= 0:
            return skipped(query, check, "the run's budget for checks is spent")
        if self._exhausted[query.name] >= MAX_EXHAUSTED:
            reason = f"{MAX_EXHAUSTED} checks of the query went past the budget"
            return skipped(query, check, reason)
        if not check.beyond:
            try:
                return self._answer(query, check, events, enumerate_trends, ENUMERATED)
            except BudgetError:
                # More trends than the result says, or than it takes to count them.
                pass
        try:
            return self._answer(query, check, events, tally_trends, COUNTED)
        except BudgetError as error:
            self._exhausted[query.name] += 1
            return skipped(query, check, str(error))
        except UnsupportedQueryError as error:
            many = f"more trends than {self._budget.steps} steps can enumerate"
            return skipped(query, check, f"{many}, and {error.fields['reasons'][0]}")

    def _answer(
        self, query: BoundQuery, check: Check, events: EventTable, method: Method, name: str
    ) -> list[Compared]:
        meter = Meter(query.name, self._budget)
        try:
            rows = answer_windows(query, events, [check.place.window], meter, method)
        finally:
            self._left -= meter.steps
        return compare(query, check, rows, name)
