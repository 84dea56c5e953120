"""Validation catches engines that are wrong on purpose: every one where it checks every result."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

import pytest

from elsinore.events import EventTable
from elsinore.quality.sample import SampleSize
from elsinore.quality.validate import Validation, validate
from elsinore.query.bound import BoundQuery, Workload
from elsinore.reference.budget import Meter
from elsinore.reference.two_step import Method, answer_windows
from elsinore.results.row import ResultRow
from elsinore.store.tables import Lake
from tests.results_lake import answers, hours, latest_staged, stage, workload
from tests.unit.quality.mutants import MUTANTS, QUERIES, Mutant

pytestmark = pytest.mark.slow

RUN = hours("16", "18")
EVERYTHING = SampleSize(windows=1_000, steps=1_000_000, seed=0)

#: As a run over one workload of this size has it by default (`settings.Settings`).
DEFAULT = SampleSize(windows=200, steps=200_000, seed=0)

Answers = dict[str, list[ResultRow]]


@pytest.fixture(scope="module", autouse=True)
def _each_search_once() -> Iterator[None]:
    """Mutants of one query are compared with one answer of the reference, not each with its own."""
    query_of = {m.name: m.query for m in MUTANTS} | {f"{name}_right": name for name in QUERIES}
    known: dict[tuple[object, ...], tuple[list[ResultRow] | None, int]] = {}

    def answer(
        query: BoundQuery, events: EventTable, windows: Collection[int], meter: Meter,
        method: Method,
    ) -> list[ResultRow]:  # fmt: skip
        search = (query_of[query.name], *windows, method, repr(events.table.to_pydict()))
        rows, steps = known.get(search, (None, 0))
        for _ in range(steps):  # it costs what the first one did, which may be too much again
            meter.spend()
        if rows is None:
            meter.steps = 0
            try:
                rows = answer_windows(query, events, windows, meter, method)
            finally:
                known[search] = rows, meter.steps
        return [replace(row, query=query.name) for row in rows]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("elsinore.quality.validate.answer_windows", answer)
        yield


@pytest.fixture(scope="module")
def lake(flights: tuple[Lake, EventTable]) -> Lake:
    return flights[0]


@pytest.fixture(scope="module")
def asked(lake: Lake) -> Workload:
    """The mutants' queries, and each query once more for a right engine."""
    right = [f"QUERY {name}_right {text};" for name, text in QUERIES.items()]
    return workload(lake, "\n".join([*(mutant.right_text for mutant in MUTANTS), *right]))


@pytest.fixture(scope="module")
def right(flights: tuple[Lake, EventTable], asked: Workload) -> Answers:
    """The right answers to every query."""
    lake, events = flights
    by_query = {
        name: answers(workload(lake, f"QUERY {name} {text};"), events, RUN)
        for name, text in QUERIES.items()
    }
    found = {m.name: renamed(by_query[m.query], m.name) for m in MUTANTS}
    return found | {f"{n}_right": renamed(rows, f"{n}_right") for n, rows in by_query.items()}


@pytest.fixture(scope="module")
def wrong(flights: tuple[Lake, EventTable], right: Answers) -> Answers:
    """The answers of each mutant to its query."""
    lake, events = flights
    return {mutant.name: mutated(lake, events, mutant, right[mutant.name]) for mutant in MUTANTS}


@pytest.fixture(scope="module")
def whole(lake: Lake, asked: Workload, right: Answers, wrong: Answers) -> Validation:
    """Every result of all mutants and of the right engine checked."""
    stage(lake, asked, (row for rows in (right | wrong).values() for row in rows), RUN)
    return validate(lake, asked, RUN, EVERYTHING, latest_staged(lake, asked), run="test")


def renamed(rows: list[ResultRow], name: str) -> list[ResultRow]:
    return [replace(row, query=name) for row in rows]


def mutated(
    lake: Lake, events: EventTable, mutant: Mutant, right: list[ResultRow]
) -> list[ResultRow]:
    labels = [label for label, _ in right[0].values]
    if mutant.asked[0] or mutant.read(events) is not events:
        found = answers(workload(lake, mutant.wrong_text), mutant.read(events), RUN)
    else:
        found = right
    # A misread RETURN names its columns as they were asked for.
    relabelled = [
        replace(row, values=tuple(zip(labels, (value for _, value in row.values), strict=True)))
        for row in found
    ]
    return mutant.spoil(relabelled)


def share_wrong(right: list[ResultRow], wrong: list[ResultRow]) -> float:
    """Of all results that are there or should be, how many are not as they should be."""
    truth, found = ({row.key: repr(row.values) for row in rows} for rows in (right, wrong))
    places = truth.keys() | found.keys()
    return sum(truth.get(place) != found.get(place) for place in places) / len(places)


def caught(validation: Validation) -> set[str]:
    return {item.query for item in validation.mismatches}


def test_every_mutant_is_wrong_somewhere(right: Answers, wrong: Answers) -> None:
    shares = {m.name: share_wrong(right[m.name], wrong[m.name]) for m in MUTANTS}
    assert [name for name, share in shares.items() if share == 0] == []
    assert max(int(dict(row.values)["COUNT(*)"] or 0) for row in right["runs_right"]) > 2**127


def test_every_mutant_is_caught_where_every_result_is_checked(whole: Validation) -> None:
    assert {mutant.name for mutant in MUTANTS} - caught(whole) == set()
    assert not {name for name in caught(whole) if name.endswith("_right")}
    said = {(item.query, item.reason) for item in whole.mismatches}
    assert ("one_row_missing", "the result is missing") in said
    assert ("one_row_too_many", "the reference finds no trend") in said
    figures = whole.figures()
    assert figures["results_of_sample"] == figures["results"]
    assert figures["strata_covered"] == figures["strata"]
    # Counts of hundreds of bits are not passed over.
    assert figures["results_beyond_enumeration"] != 0
    assert figures["counted_places"] != 0
    assert figures["skipped_places"] == figures["skipped_windows"] == 0


def test_a_mismatch_says_where_it_is_and_what_it_is(whole: Validation, right: Answers) -> None:
    (off,) = (
        item
        for item in whole.mismatches
        if item.query == "one_huge_count_off_by_one" and item.aggregate == "COUNT(*)"
    )
    row = right["one_huge_count_off_by_one"][3]
    count = dict(row.values)["COUNT(*)"]
    assert isinstance(count, int)
    assert (off.published[0], off.reference[0]) == (str(count - 1), str(count))
    assert off.window.start == row.window_start
    text = str(off)
    for part in ("one_huge_count_off_by_one", "origin", str(row.window_start)[:16], "COUNT(*)"):
        assert part in text
    assert f"{count - 1} instead of {count}" in text


def test_a_sample_catches_what_is_wrong_in_every_second_result(
    lake: Lake, asked: Workload, whole: Validation, right: Answers, wrong: Answers
) -> None:
    """A run checks 200 results by default; here these are less than half of them."""
    del whole  # what it has staged is sampled
    validation = validate(lake, asked, RUN, DEFAULT, latest_staged(lake, asked), run="test")
    figures = validation.figures()
    assert figures["results_of_sample"] == 200
    missed = {mutant.name for mutant in MUTANTS} - caught(validation)
    shares = {name: share_wrong(right[name], wrong[name]) for name in sorted(missed)}
    print(f"of {len(MUTANTS)} mutants the sample missed {shares} with", figures)
    assert max(shares.values(), default=0) < 1 / 2
    # Queries take turns: each has its even share of the 200, or all of its results are checked.
    results, checked = (
        {q.name: sum(n for (name, _), n in of.items() if name == q.name) for q in asked.queries}
        for of in (validation.strata, validation.covered)
    )
    share = 200 // sum(number > 0 for number in results.values())
    assert share == 4
    assert {name: n for name, n in checked.items() if n < min(share, results[name])} == {}
