"""Validates the staged results of a run: a sample of them against the two-step reference."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from elsinore.errors import BudgetError, UnsupportedQueryError, ValidationError
from elsinore.events import EventTable
from elsinore.ledger.staged import Staged
from elsinore.quality.checked_events import MAX_EVENTS, events_of_places
from elsinore.quality.sample import (
    EVERY_GROUP,
    MAX_GROUPS,
    Check,
    Number,
    SampleSize,
    built_steps,
    choose,
    count_strata,
    is_beyond,
    read_results,
    shows_more,
)
from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.reference.budget import Meter
from elsinore.reference.tally import tally_trends
from elsinore.reference.two_step import Method, answer_windows, enumerate_trends
from elsinore.results.published import group_text, numbers_of
from elsinore.results.row import Bounds, ResultRow, within
from elsinore.store.regions import Hours, of_workload
from elsinore.store.tables import Lake
from elsinore.timeline import HOUR, Interval, format_instant, hour_label
from elsinore.wording import value_label

VALIDATIONS = "validations"

#: A query that went past the budget this often is not tried again in the same run; results and
#: whole windows are counted apart.
MAX_EXHAUSTED = 3

#: Budget of all checks of a run, as a number of full budgets of single checks.
FULL_CHECKS = 20

#: The value of a missing result.
NOTHING: Number = (None, None)

#: The reference's value of an aggregate, and its bounds by rounding (None: exact).
_Answer = tuple[Number, Bounds | None]
_NO_ANSWER: _Answer = (NOTHING, None)

#: The aggregate of a row that says of a whole window whether it was searched.
EVERY_AGGREGATE = "*"

#: How the reference came by its values: by building every trend, or by counting them.
ENUMERATED, COUNTED = "enumerated", "counted"

#: Places whose events are in memory at a time.
BATCH = 250


@dataclass(frozen=True, slots=True)
class Compared:
    """One aggregate of a result, and its value by the reference.

    A window that was searched for missing results has one without values, plus one per missing
    result. `method` is `ENUMERATED` or `COUNTED`, None if it was skipped. `reason` is the reason of
    a skip or of a mismatch; `has_result` is whether a result is published, with any value.
    """

    query: str
    group_key: str
    window: Interval
    aggregate: str
    published: Number = NOTHING
    reference: Number = NOTHING
    mismatch: bool = False
    method: str | None = None
    reason: str | None = None
    has_result: bool = False
    ahead: int = 0  #: how long after its end the window is complete, see `Window.ahead`

    @property
    def checked(self) -> bool:
        """Return whether the reference has answered."""
        return self.method is not None

    @property
    def whole(self) -> bool:
        """Return whether it is of a whole window."""
        return self.group_key == EVERY_GROUP

    def __str__(self) -> str:
        window = f"[{format_instant(self.window.start)}, {format_instant(self.window.end)})"
        return (
            f"query {self.query}, group {self.group_key}, window {window}, {self.aggregate}: "
            f"{_spell(self.published)} instead of {_spell(self.reference)}"
        )

    def row(self) -> dict[str, object]:
        """As a row of `validations`."""
        return {
            "window_end_hour": hour_label(self.window.end + self.ahead - 1),
            "query": self.query,
            "group_key": self.group_key,
            "window_start": self.window.start,
            "window_end": self.window.end,
            "aggregate": self.aggregate,
            "has_result": self.has_result,
            "published_exact": self.published[0],
            "published_value": self.published[1],
            "reference_exact": self.reference[0],
            "reference_value": self.reference[1],
            "mismatch": self.mismatch,
            "status": "checked" if self.checked else "skipped",
            "method": self.method,
            "reason": self.reason,
        }


def _spell(number: Number) -> str:
    exact, value = number
    if exact is not None:
        return exact if len(exact) <= 60 else f"{exact[:30]}...{exact[-20:]} ({len(exact)} digits)"
    return "nothing" if value is None else repr(value)


@dataclass(frozen=True)
class Validation:
    """The result of a validation."""

    staged: Staged  #: the staged results that were validated
    #: how many results there were to draw from, by query and class of size.
    strata: Mapping[tuple[str, int], int]
    covered: Mapping[tuple[str, int], int]  #: of these, how many were checked
    compared: Sequence[Compared]  #: every aggregate of every check once, by query, window and group

    @property
    def mismatches(self) -> tuple[Compared, ...]:
        """The aggregates in which engine and reference differ."""
        return tuple(item for item in self.compared if item.mismatch)

    def checked_rows(self) -> dict[int, int]:
        """Return by hour, if there are any, the number of results that equal the reference."""
        checked = (
            item for item in self.compared
            if item.checked and item.has_result and not item.mismatch
        )  # fmt: skip
        return dict(Counter((item.window.end - 1) // HOUR * HOUR for item in checked))

    def figures(self) -> dict[str, int | str]:
        """As plain values, for metrics; without any check, `outcome` is `not validated`.

        `results_of_sample` counts staged results. `checked_places` also counts pairs of a group and
        a window without a result, and `checked_values` the aggregates of both. `searched_windows`
        counts windows that were searched for missing results. `skipped_windows` could not be
        searched; the rows of `validations` have the reasons.
        """
        windows = [item for item in self.compared if item.whole]
        results = [item for item in self.compared if not item.whole]
        return {
            "outcome": self._outcome(),
            "results": sum(self.strata.values()),
            "results_beyond_enumeration": sum(
                n for (_, stratum), n in self.strata.items() if is_beyond(stratum)
            ),
            "checked_places": _results(item for item in results if item.checked),
            "skipped_places": _results(item for item in results if not item.checked),
            "searched_windows": sum(item.checked for item in windows),
            "skipped_windows": sum(not item.checked for item in windows),
            "results_of_sample": sum(self.covered.values()),
            "strata": len(self.strata),
            "strata_covered": len(self.covered),
            "counted_places": _results(item for item in results if item.method == COUNTED),
            "checked_values": sum(item.checked for item in results),
            "mismatches": len(self.mismatches),
            "queries_checked": len({item.query for item in self.compared if item.checked}),
        }

    def _outcome(self) -> str:
        if self.mismatches:
            return "wrong"
        # That nothing is missing says nothing of the results that there are.
        told = any(item.checked for item in self.compared if not (item.whole and self.strata))
        return "validated" if told else "not validated"


def validate(
    lake: Lake,
    workload: Workload,
    interval: Interval,
    size: SampleSize,
    staged: Staged,
    *,
    run: str,
) -> Validation:
    """Check a sample of the staged results of an interval and write every check to `validations`.

    Equal staged results, events and seed give equal rows. Mismatches do not raise here, so that
    they can be reported first: see `require_no_mismatch`.

    Raises:
        UnsupportedQueryError: a query is ambiguous for the reference.
        ConflictError: another writer changed a table; retry.
    """
    results = read_results(lake, workload, Hours(interval), staged.version, size.steps)
    checks = choose(lake, workload, interval, results, staged, size)
    # A missing result that two checks find is one mismatch.
    once = {
        (_place(item), item.aggregate): item
        for item in check_all(lake, workload, checks, staged.events_version, size.steps)
    }
    compared = sorted(once.values(), key=_place)
    own = workload_fingerprint(workload)
    rows = [{"workload_fingerprint": own} | item.row() for item in compared]
    lake.record(VALIDATIONS, rows, where=of_workload(Hours(interval), own), run=run)
    covered = _covered(workload, checks, compared)
    return Validation(staged, count_strata(results), covered, compared)


def require_no_mismatch(validation: Validation) -> None:
    """Stop here if engine and reference differ; ValidationError has all `mismatches`."""
    mismatches = validation.mismatches
    if not mismatches:
        return
    more = f" (and {len(mismatches) - 1} more)" if len(mismatches) > 1 else ""
    raise ValidationError(
        f"results differ from the reference: {mismatches[0]}{more}",
        hint='list them: `elsinore sql "SELECT * FROM validations WHERE mismatch"`',
        mismatches=tuple(str(item) for item in mismatches[:100]),
    )


def _place(item: Compared) -> tuple[str, int, str]:
    return item.query, item.window.start, item.group_key


def _covered(
    workload: Workload, checks: Iterable[Check], compared: Iterable[Compared]
) -> Counter[tuple[str, int]]:
    done = {_place(item) for item in compared if item.checked}
    covered: Counter[tuple[str, int]] = Counter()
    for check in checks:
        place = check.place
        bounds = workload.by_name[place.query].window.bounds(place.window)
        if check.stratum is not None and (place.query, bounds.start, place.group_key) in done:
            covered[place.query, check.stratum] += 1
    return covered


def _results(compared: Iterable[Compared]) -> int:
    return len({(item.query, item.group_key, item.window) for item in compared})


def check_all(
    lake: Lake, workload: Workload, checks: Sequence[Check], events_version: int, budget: int
) -> Iterator[Compared]:
    """Compare each check with the reference over the events that the engine read.

    Every trend is enumerated if this takes few steps (`sample.built_steps`). If there are too many,
    the reference counts them in the same search (`reference.tally`); trends of queries that cannot
    be counted are enumerated up to the budget. A check beyond the limits is `skipped`, with the
    reason. The work is bounded by the budget per check, by `MAX_EXHAUSTED` per query, and by
    `FULL_CHECKS` in total. Empty windows without a result are left out.

    Whole windows are searched after all results, so that they do not use up their budget. A search
    and a check may find the same missing result.
    """
    turns: dict[bool, list[Check]] = defaultdict(list)
    for check in checks:
        turns[check.place.whole].append(check)
    reference = _Reference(workload, budget)
    for _, members in sorted(turns.items()):
        for first in range(0, len(members), BATCH):
            batch = members[first : first + BATCH]
            places = [check.place for check in batch]
            events = events_of_places(lake, workload, events_version, places)
            for check, found in zip(batch, events, strict=True):
                yield from reference.check(check, found)


class _Reference:
    """The reference with what it may still spend in this run."""

    def __init__(self, workload: Workload, budget: int) -> None:
        self._workload = workload
        self._budget = budget
        self._left = FULL_CHECKS * budget
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
            return skipped(query, check, "the run's budget for checks is used up")
        if self._exhausted[query.name, check.place.whole] >= MAX_EXHAUSTED:
            reason = f"{MAX_EXHAUSTED} checks of the query exceeded the budget"
            return skipped(query, check, reason)
        return self._first_answer(query, check, events)

    def _first_answer(self, query: BoundQuery, check: Check, events: EventTable) -> list[Compared]:
        reason = f"more trends than can be enumerated in {self._budget} steps"
        for method, steps in _ways(query, check, self._budget):
            meter = Meter(query.name, steps)
            try:
                rows = answer_windows(query, events, [check.place.window], meter, method)
            except BudgetError as error:
                # A single result has more trends than it says, or than it takes to count them.
                if steps == self._budget:
                    self._exhausted[query.name, check.place.whole] += 1
                    return skipped(query, check, error.message)
            except UnsupportedQueryError as error:
                if method is not tally_trends:
                    raise
                reason += f", and {error.fields['reasons'][0]}"
            else:
                return compare(
                    query, check, rows, COUNTED if method is tally_trends else ENUMERATED
                )
            finally:
                self._left -= meter.steps
        return skipped(query, check, reason)


def _ways(query: BoundQuery, check: Check, steps: int) -> tuple[tuple[Method, int], ...]:
    """Yield the methods of a check in their order, with their maximum number of steps.

    Few trends of a result are enumerated: such a step takes several times as long as a counting
    step. For a whole window only the groups with trends matter, which counting finds in fewer
    steps, for queries that can be counted.
    """
    build, count, few = (enumerate_trends, steps), (tally_trends, steps), built_steps(steps)
    if check.place.whole:
        return count, build
    size = check.stratum
    if shows_more(query, check.published, few) if size is None else is_beyond(size):
        return (count,) if shows_more(query, check.published, steps) else (count, build)
    return (enumerate_trends, few), count, build


def skipped(query: BoundQuery, check: Check, reason: str) -> list[Compared]:
    """A check that was not made, for every aggregate of its query."""
    place, window = check.place, query.window.bounds(check.place.window)
    labels = [EVERY_AGGREGATE] if place.whole else query.value_labels
    return [
        Compared(
            query.name, place.group_key, window, label,
            published=check.published.get(label, NOTHING), reason=reason,
            has_result=bool(check.published), ahead=query.window.ahead,
        )
        for label in labels
    ]  # fmt: skip


def compare(
    query: BoundQuery, check: Check, reference: Iterable[ResultRow], method: str
) -> list[Compared]:
    """Compare a check with the reference's rows of its window, without other groups.

    In a whole window, each group that only the reference finds is a mismatch; groups of both are
    compared by separate checks.
    """
    found = dict[str, dict[str, _Answer]]()
    for row in reference:
        found.setdefault(group_text(row.group), {}).update(_answers(row))
    place = check.place
    if not place.whole:
        return _compare(query, check, place.group_key, found.get(place.group_key, {}), method)
    assert check.groups is not None, "unknown groups cannot be distinguished from missing groups"
    window = query.window.bounds(place.window)
    compared = [
        Compared(
            query.name, EVERY_GROUP, window, EVERY_AGGREGATE, method=method,
            ahead=query.window.ahead,
        )
    ]  # fmt: skip
    for group in sorted(found.keys() - check.groups):
        compared += _compare(query, check, group, found[group], method)
    return compared


def differ(published: Number, reference: Number, bounds: Bounds | None = None) -> bool:
    """Return whether two values differ: integers in any digit, doubles beyond rounding errors.

    `bounds` are the bounds of the reference's value; None if it is exact.
    """
    if published[0] is not None or reference[0] is not None:
        return published[0] != reference[0]
    left, right = published[1], reference[1]
    if left is None or right is None:
        return left is not right
    return not within(left, bounds or (right, right))


def _answers(row: ResultRow) -> dict[str, _Answer]:
    answers = {}
    for (label, found), bounds in zip(row.values, row.bounds, strict=True):
        value, exact, _ = numbers_of(found)
        answers[value_label(label, row.step)] = (exact, value), bounds
    return answers


def _compare(
    query: BoundQuery, check: Check, group: str, reference: Mapping[str, _Answer], method: str
) -> list[Compared]:
    published, window = check.published, query.window.bounds(check.place.window)
    labels = dict.fromkeys([*query.value_labels, *published])
    missing = _missing(published, reference)
    compared = []
    for label in labels:
        ours, (theirs, bounds) = published.get(label, NOTHING), reference.get(label, _NO_ANSWER)
        wrong = missing or ("the values differ" if differ(ours, theirs, bounds) else None)
        found = Compared(
            query.name, group, window, label, ours, theirs, wrong is not None, method, wrong,
            has_result=bool(published), ahead=query.window.ahead,
        )  # fmt: skip
        compared.append(found)
    return compared


def _missing(published: Mapping[str, Number], reference: Mapping[str, _Answer]) -> str | None:
    """Why two results cannot be the same whatever their values, if so."""
    if published and not reference:
        return "the reference finds no trend"
    if reference and not published:
        return "the result is missing"
    if published.keys() != reference.keys():
        return "the result has other aggregates than the query"
    return None
