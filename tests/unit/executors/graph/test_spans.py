"""Spans by other means: differences of windows, anchors one by one, and parts of the events."""

from __future__ import annotations

import importlib
import random
from collections import Counter
from typing import Any

import pytest

from elsinore.choices import Executor
from elsinore.events import EventTable
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.graph.reach import Reach
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import make_entries
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.participation import aggregate_participation
from elsinore.executors.plan.compile_plan import REFUSALS
from elsinore.numbers.exact_columns import Integers, to_python
from elsinore.query.bound import BoundQuery
from elsinore.timeline import Interval
from tests.golden_cases import bound_query, stream_schema

_SPANS = importlib.import_module("elsinore.executors.graph.spans")
_REACH = importlib.import_module("elsinore.executors.graph.reach")
_MEMBERS = importlib.import_module("elsinore.executors.output.participation")

SCHEMA = stream_schema({kind: {"k": "long", "v": "long"} for kind in "ABC"})
PATTERNS = (
    "A+", "SEQ(A, B)", "SEQ(A+, B)", "SEQ(A, B+, C)", "SEQ(A, (B OR C)+)", "SEQ(A+, B?)+",
    "SEQ(A, B, C, A x)", "A{2,3}",
)  # fmt: skip
CONDITIONS = ("", "WHERE [k]", "WHERE [k] GROUP-BY k", "WHERE A.v > 1")
COMPARED = ("", "WHERE A.v <= NEXT(A).v")


def draw_events(dice: random.Random, size: int, kinds: str = "ABC") -> EventTable:
    """Events at increasing times, some of them equal."""
    time, rows = dice.choice((-7, 0, 1000)), list[tuple[str, int, dict[str, Any]]]()
    for _ in range(size):
        time += dice.choice((0, 1, 1, 2, 5))
        values = {"k": dice.choice((1, 2)), "v": dice.choice((1, 2, 3, None))}
        rows.append((dice.choice(kinds), time, values))
    return EventTable.of(SCHEMA, rows)


def values_of(parts: list[PartialRows]) -> dict[tuple[str | None, int], list[Any]]:
    """The integers of each row, by group and window."""
    found = {}
    for part in parts:
        columns = [to_python(each).tolist() for each in part.columns if isinstance(each, Integers)]
        groups = part.groups.take(part.group).to_pylist()
        for n, key in enumerate(zip(groups, part.window.tolist(), strict=True)):
            found[key] = [column[n] for column in columns]
    return found


def total(text: str, events: EventTable) -> Counter[str | None]:
    """The number of trends by group, over all windows."""
    found: Counter[str | None] = Counter()
    for (group, _), (count, *_) in values_of(aggregate_query(query_of(text), events)).items():
        found[group] += count
    return found


def query_of(text: str) -> BoundQuery:
    """A query that counts trends."""
    return bound_query(f"RETURN COUNT(*) {text}", SCHEMA)


@pytest.mark.slow
def test_a_span_is_the_difference_of_two_sliding_windows() -> None:
    """A trend of length n is in d + 1 - n windows of d + 1, and in one less of d if n < d + 1."""
    for seed in range(1000):
        dice = random.Random(seed)
        events = draw_events(dice, dice.randint(0, 14))
        pattern = dice.choice(PATTERNS)
        where = dice.choice(COMPARED if pattern.startswith(("A+", "A{")) else CONDITIONS)
        span, period = dice.choice((1, 2, 3, 7, 20)), dice.choice((1, 4, 9, 1000))
        text = f"PATTERN {pattern} {where}"
        by = dice.choice(("", " BY FIRST"))
        wide = total(f"{text} WITHIN {span + 1} SLIDE 1", events)
        wide.subtract(total(f"{text} WITHIN {span} SLIDE 1", events))
        found = total(f"{text} SPAN {span} PER {period}{by}", events)
        assert found == +wide, (seed, text, span, period, by)


@pytest.mark.parametrize("by", ["", " BY FIRST"])
@pytest.mark.parametrize("pattern", ["A+", "SEQ(B?, A+)", "SEQ(A+, B)", "SEQ(A+, B+, C?)"])
def test_numbers_beyond_64_bits_are_those_of_single_anchors(
    pattern: str, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counts of up to 90 bits, so that some periods need more bits and others do not."""
    most = []
    for seed in range(6):
        dice = random.Random(seed)
        events = draw_events(dice, 180, "AAAAB")
        aggregates = dice.choice(("COUNT(*)", "COUNT(*), COUNT(A), SUM(A.v)"))
        span, period = dice.choice((130, 150, 170)), dice.choice((7, 40))
        text = f"RETURN {aggregates} PATTERN {pattern} SPAN {span} PER {period}{by}"
        query = bound_query(text, SCHEMA)
        found = values_of(aggregate_query(query, events))
        with monkeypatch.context() as patched:
            patched.setattr(_SPANS, "is_linear", lambda template: False)
            assert values_of(aggregate_query(query, events)) == found, (seed, text)
        most += [counts[0] for counts in found.values()]
    assert min(most) < 2**60
    assert sum(count > 2**63 for count in most) > 10


@pytest.mark.parametrize("by", ["", " BY FIRST"])
def test_participating_events_are_those_of_single_anchors(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With room for all rows, and with room for a few rows and events at a time."""
    rows = 0
    for seed in range(100):
        dice = random.Random(seed)
        events = draw_events(dice, dice.randint(10, 60))
        span, period = dice.choice((2, 3, 7, 20)), dice.choice((1, 4, 9, 1000))
        text = (
            "RETURN COUNT(EACH A), SUM(EACH A.v), COUNT(DISTINCT A.v) "
            f"PATTERN {dice.choice(PATTERNS)} {dice.choice(CONDITIONS)} SPAN {span} PER {period}"
        )
        query = bound_query(f"{text}{by}", SCHEMA)
        found = values_of(aggregate_participation([query], events, Reach))
        with monkeypatch.context() as patched:
            patched.setattr(_MEMBERS, "_ROWS", 2)
            patched.setattr(_MEMBERS, "_PAIRS", 1)
            assert values_of(aggregate_participation([query], events, Reach)) == found, (seed, text)
            patched.setattr(_REACH, "is_linear", lambda template: False)
            assert values_of(aggregate_participation([query], events, Reach)) == found, (seed, text)
        rows += len(found)
    assert rows > 300


@pytest.mark.parametrize(
    "clauses",
    [
        "PATTERN SEQ(A+, B) SPAN 6 PER 10",
        "PATTERN SEQ(A+, B) SPAN 6 PER 10 BY FIRST",
        "PATTERN SEQ(A+, B, NOT C) WHERE [k] SPAN 6 PER 10",
        "PATTERN SEQ(NOT C, A, B) SPAN 6 PER 10 BY FIRST",
        "PATTERN SEQ(NOT C, A+, NOT B) WHERE A.v <= NEXT(A).v SPAN 6 PER 10",
    ],
)
def test_runs_over_hours_read_one_span_more(clauses: str) -> None:
    """Each run has the events of `Window.reach` only, and together they have all rows."""
    query = query_of(clauses)
    for seed in range(20):
        events = draw_events(random.Random(seed), 40)
        times = events.table["_time"].to_pylist()
        every = values_of(aggregate_query(query, events))
        start = min(times) - 100
        joined: dict[tuple[str | None, int], list[Any]] = {}
        while start < max(times) + 100:
            owned = Interval(start, start + 15)
            read = query.window.reach(owned)
            part = aggregate_query(query, events.between(read.start, read.end), owned=owned)
            rows = values_of(part)
            assert not joined.keys() & rows.keys()
            joined |= rows
            start += 15
        assert joined == every, seed


def test_queries_that_differ_only_in_their_span_share_entries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = list[object]()

    def counted(*given: Any) -> object:
        made.append(given)
        return make_entries(*given)

    monkeypatch.setattr("elsinore.executors.input.entries.make_entries", counted)
    events = draw_events(random.Random(1), 40)
    columns = EventColumns.of(events)
    for span in (3, 8):
        query = query_of(f"PATTERN SEQ(A+, B) WHERE [k] SPAN {span} PER 10")
        found = values_of(aggregate_query(query, columns))
        assert found
        assert found == values_of(aggregate_query(query, EventColumns.of(events)))
    assert len(made) == 3  # one for both, and one for each that is alone


def test_executors_of_windows_refuse_spans() -> None:
    """Only greta, hamlet (which asks greta) and twostep run them."""
    query = query_of("PATTERN SEQ(A, B) SPAN 6 PER 10")
    refused = {executor for executor, refusals in REFUSALS.items() if refusals(query)}
    assert refused == {Executor.SWEEP, Executor.ASEQ, Executor.SHARON}
