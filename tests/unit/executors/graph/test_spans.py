"""Spans by other means: differences of windows, anchors one by one, and parts of the events."""

from __future__ import annotations

import importlib
import random
from collections import Counter
from typing import Any

import numpy as np
import pytest

from elsinore.choices import Executor
from elsinore.events import EventTable
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.graph.reach import Reach
from elsinore.executors.graph.span_sets import aggregate_span_set, span_sets
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.input.entries import make_entries
from elsinore.executors.output.partial_rows import PartialRows
from elsinore.executors.output.participation import aggregate_participation
from elsinore.executors.plan.compile_plan import REFUSALS
from elsinore.numbers.exact_columns import Integers, to_python
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import BoundQuery
from elsinore.query.parse import parse_workload
from elsinore.template.build import build_templates
from elsinore.timeline import Interval
from tests.golden_cases import bound_query, stream_schema

_SPANS = importlib.import_module("elsinore.executors.graph.spans")
_SPAN_COUNTS = importlib.import_module("elsinore.executors.graph.span_counts")
_COMPARED = importlib.import_module("elsinore.executors.graph.compared_spans")
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
            patched.setattr(_SPANS, "compares", lambda *given: False)
            assert values_of(aggregate_query(query, events)) == found, (seed, text)
        most += [counts[0] for counts in found.values()]
    assert min(most) < 2**60
    assert sum(count > 2**63 for count in most) > 10


#: One comparison per trend, with and without events before, between and after; then several.
COMPARING = (
    "SEQ(A, B) WHERE A.v < NEXT(B).v",
    "SEQ(A+, B) WHERE A.v <= NEXT(B).v",
    "SEQ(A, B+) WHERE A.v > NEXT(B).v",
    "SEQ(A+, B+) WHERE A.v < NEXT(B).v AND [k]",
    "SEQ(A+, B, C+) WHERE A.v = NEXT(B).v",
    "SEQ(A, B?, C) WHERE A.v < NEXT(C).v GROUP-BY k",
    "SEQ((A OR B)+, C) WHERE A.v < NEXT(C).v",
    "SEQ(A, B, C, A x) WHERE B.v >= NEXT(C).v",
    "SEQ((SEQ(A, B))+, C) WHERE B.v < NEXT(C).v",
    "A+ WHERE A.v < NEXT(A).v",
    "SEQ(A+, B) WHERE A.v >= NEXT(A).v",
    "SEQ(A, B, C) WHERE A.v < NEXT(B).v AND B.v < NEXT(C).v",
    "SEQ(A+, B+) WHERE A.v = NEXT(A).v AND B.v > NEXT(B).v",
)


@pytest.mark.parametrize("pattern", COMPARING)
def test_compared_counts_are_those_of_single_anchors(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In runs of some sizes, which overlap by a span; counts of 1 to 100 bits."""
    taken, widest = Counter[bool](), 0
    for seed in range(8):
        dice = random.Random(seed)
        events = draw_events(dice, dice.choice((30, 60, 150)), dice.choice(("ABC", "AABBC")))
        span, period = dice.choice((1, 3, 7, 20, 60)), dice.choice((1, 4, 9, 50, 1000))
        by = dice.choice(("", " BY FIRST"))
        query = query_of(f"PATTERN {pattern} SPAN {span} PER {period}{by}")
        with monkeypatch.context() as patched:
            patched.setattr(_COMPARED, "_LEAST", dice.choice((1, 16, 4096)))
            taken[_COMPARED.compares_once(build_templates(query)[0])] += 1
            found = values_of(aggregate_query(query, events))
            patched.setattr(_SPANS, "compares", lambda *given: False)
            assert values_of(aggregate_query(query, events)) == found, seed
        widest = max(widest, *(count for count, *_ in found.values()), 0)
    assert taken[COMPARING.index(pattern) < COMPARING.index("A+ WHERE A.v < NEXT(A).v")] == 8
    assert widest > 3


def test_rising_trends_beyond_64_bits() -> None:
    """A rising subsequence is a set of events: 2^n - 1 of each first event with n later ones."""
    rows = [("A", time, {"k": 1, "v": time}) for time in range(300)]
    events, span = EventTable.of(SCHEMA, rows), 149
    for by in ("", " BY FIRST"):
        text = f"PATTERN A+ WHERE A.v < NEXT(A).v SPAN {span} PER 1000{by}"
        # The other events of a trend are any of those within a span of its first event.
        assert total(text, events)["[]"] == sum(2 ** min(span, 299 - n) for n in range(300))


def test_a_comparison_after_and_before_many_events_beyond_64_bits() -> None:
    """All A precede all B, and every A is below every B."""
    rows = [("A", n, {"k": 1, "v": 1}) for n in range(80)]
    rows += [("B", 80 + n, {"k": 1, "v": 2}) for n in range(80)]
    events = EventTable.of(SCHEMA, rows)
    text = "PATTERN SEQ(A+, B+) WHERE A.v < NEXT(B).v SPAN"
    assert total(f"{text} 159 PER 1000", events)["[]"] == (2**80 - 1) ** 2
    # The first A is number a, the last B number b, and others are between them.
    expected = sum(2 ** (79 - a) * 2**b for a in range(80) for b in range(80) if 80 + b - a <= 100)
    for by in ("", " BY FIRST"):
        assert total(f"{text} 100 PER 1000{by}", events)["[]"] == expected


def test_matrices_without_an_inverse_are_not_divided_by() -> None:
    """A and B at one time that can follow each other; the trends are a, b, c and a, b, a, b, c."""
    rows = [(kind, time, {"k": 1, "v": 1}) for time in (0, 1, 2, 3) for kind in "AB"]
    events = EventTable.of(SCHEMA, [*rows, ("C", 4, {"k": 1, "v": 2})])
    text = "PATTERN SEQ((SEQ(A, B))+, C) WHERE B.v < NEXT(C).v SPAN"
    assert total(f"{text} 4 PER 10", events)["[]"] == 6 + 1
    assert total(f"{text} 3 PER 10", events)["[]"] == 3


def test_many_events_without_the_last_type_have_no_trend() -> None:
    """The number of sets of A has 80 bits, and no B ends a trend."""
    events = EventTable.of(SCHEMA, [("A", n, {"k": 1, "v": 1}) for n in range(80)])
    assert not total("PATTERN SEQ(A+, B) SPAN 100 PER 1000", events)


@pytest.mark.parametrize("by", ["", " BY FIRST"])
def test_queries_together_have_the_rows_of_each_alone(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Queries with different spans, periods, patterns and conditions; some counts of 80 bits."""
    wide = 0
    for seed in range(20):
        dice = random.Random(seed)
        events = draw_events(
            dice, dice.choice((0, 20, 200, 200)), dice.choice(("ABC", "A" * 9 + "B"))
        )
        where = dice.choice(("", "", "WHERE [k] AND", "WHERE"))
        texts = []
        for number in range(5):
            condition = f"{where} A.v > {dice.randint(0, 2)}" if where else ""
            pattern = dice.choice(("A+", "SEQ(A+, B)", "SEQ(A+, B+, C)", "SEQ(A, B)"))
            clause = f"SPAN {dice.choice((2, 300, 300))} PER {dice.choice((3, 50))}{by}"
            text = f"PATTERN {pattern} {condition} {clause}"
            texts.append(f"QUERY q{number} RETURN COUNT(*) {text};")
        queries = bind_workload(parse_workload("\n".join(texts)), SCHEMA).queries
        (found,) = span_sets(queries)
        with monkeypatch.context() as patched:
            patched.setattr(_SPAN_COUNTS, "_ROWS", dice.choice((1, 1 << 22)))
            parts = aggregate_span_set(found, events)
        assert len(found.queries) > 1
        for query in found.queries:
            own = [p.take(np.flatnonzero(_names(p) == query.name)) for p in parts]
            alone = values_of(aggregate_query(query, events))
            assert values_of(own) == alone, (seed, query.name)
            wide += any(count > 2**64 for count, *_ in alone.values())
    assert wide > 3


def _names(part: PartialRows) -> np.ndarray:
    return np.array([query.name for query in part.queries], object)[part.query]


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
