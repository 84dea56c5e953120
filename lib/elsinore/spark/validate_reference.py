"""Makes the checks of a sample: each result, or whole window, beside the two-step reference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from elsinore.errors import BudgetError, UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery, Workload
from elsinore.reference.budget import Budget, Meter
from elsinore.reference.tally import tally_trends
from elsinore.reference.two_step import Method, answer_windows, enumerate_trends
from elsinore.spark.sample import MAX_GROUPS, Check, built_steps, shows_more
from elsinore.spark.tables import Lake
from elsinore.spark.validate_compare import COUNTED, ENUMERATED, Compared, compare, skipped
from elsinore.spark.validate_events import BATCH, MAX_EVENTS, events_of_places

#: A query that went past the budget this often is not tried again in the same run; results and
#: whole windows are counted apart.
MAX_EXHAUSTED = 3

#: All checks of a run together may take as much as so many of them at the end of their budget.
FULL_CHECKS = 20

#: How to answer, what that is called, and steps for it at most.
_Way = tuple[Method, str, int]


def check_all(
    lake: Lake, workload: Workload, checks: Sequence[Check], budget: Budget
) -> Iterator[Compared]:
    """Compare each check with the reference over the events that the engine read.

    Every trend is built where that takes few steps (`sample.built_steps`); where there are too
    many, the reference counts them in the same search (`reference.tally`), and those of queries
    that cannot be counted are built as far as the budget goes. A check that it cannot make within
    bounds is `skipped`, with the reason. The work is bounded by the budget for each check, by
    `MAX_EXHAUSTED` for each query and by `FULL_CHECKS` for all. That there is no result where there
    is no event is left out: it says nothing of either side.

    Whole windows come after all results, so that searching them takes nothing from these. What a
    search finds missing may have been found by a check of its own too.
    """
    turns: dict[tuple[bool, int], list[Check]] = defaultdict(list)
    for check in checks:
        if check.events_version is None:
            query = workload.by_name[check.place.query]
            yield from skipped(query, check, "no aggregation of its hour is on record")
        else:
            turns[check.place.whole, check.events_version].append(check)
    reference = _Reference(workload, budget)
    for (_, version), members in sorted(turns.items()):
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
        self._exhausted: Counter[tuple[str, bool]] = Counter()

    def check(self, check: Check, events: EventTable | None) -> list[Compared]:
        query = self._workload.by_name[check.place.query]
        if events is None:
            return skipped(query, check, f"more than {MAX_EVENTS} events")
        if check.groups is None:
            return skipped(query, check, f"more than {MAX_GROUPS} groups with a result")
        if not len(events) and not check.published:
            return []
        if self._left <= 0:
            return skipped(query, check, "the run's budget for checks is spent")
        if self._exhausted[query.name, check.place.whole] >= MAX_EXHAUSTED:
            reason = f"{MAX_EXHAUSTED} checks of the query went past the budget"
            return skipped(query, check, reason)
        return self._first_answer(query, check, events)

    def _first_answer(self, query: BoundQuery, check: Check, events: EventTable) -> list[Compared]:
        reason = f"more trends than {self._budget.steps} steps can enumerate"
        for way in _ways(check, self._budget.steps):
            method, _, steps = way
            try:
                return self._answer(query, check, events, way)
            except BudgetError as error:
                # A single result has more trends than it says, or than it takes to count them.
                if steps == self._budget.steps:
                    self._exhausted[query.name, check.place.whole] += 1
                    return skipped(query, check, str(error))
            except UnsupportedQueryError as error:
                if method is not tally_trends:
                    raise
                reason += f", and {error.fields['reasons'][0]}"
        return skipped(query, check, reason)

    def _answer(
        self, query: BoundQuery, check: Check, events: EventTable, way: _Way
    ) -> list[Compared]:
        method, name, steps = way
        meter = Meter(query.name, Budget(steps))
        try:
            rows = answer_windows(query, events, [check.place.window], meter, method)
        finally:
            self._left -= meter.steps
        return compare(query, check, rows, name)


def _ways(check: Check, steps: int) -> tuple[_Way, ...]:
    """What to try, in this order.

    A result is judged by its very trends where these are few: a step of building takes several
    times as long as one of counting. Of a whole window it matters which groups have any: counting
    tells it in fewer steps, of the queries that can be counted.
    """
    few: _Way = (enumerate_trends, ENUMERATED, built_steps(steps))
    build: _Way = (enumerate_trends, ENUMERATED, steps)
    count: _Way = (tally_trends, COUNTED, steps)
    if check.place.whole:
        return count, build
    if check.beyond:
        return (count,) if shows_more(check.published, steps) else (count, build)
    return few, count, build
