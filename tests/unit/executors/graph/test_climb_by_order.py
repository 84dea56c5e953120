"""Edge predicates of one comparison: order statistics, pairs and the reference agree."""

from __future__ import annotations

import random

import pytest

import elsinore.executors.graph.climb as ladder
from benchmarks.increasing import increasing_subsequences
from elsinore.events import EventTable
from elsinore.executors.graph.layout import lay_out
from elsinore.query.bound import Workload
from elsinore.reference.two_step import two_step
from elsinore.template.build import build_templates
from tests.golden_cases import bound_query, stream_schema
from tests.property.compare import assert_same_rows, greta
from tests.property.ways import ways

TYPES = {"x": "long", "y": "double", "s": "string", "b": "boolean", "k": "long"}
SCHEMA = stream_schema(dict.fromkeys("ABN", TYPES))
NAN, INFINITY = float("nan"), float("inf")
LONGS = [None, -(2**63), 2**63 - 1, 2**63 - 2, 2**53, 2**53 + 1, -1, 0, 1, 2, 3]
DOUBLES = [None, NAN, -INFINITY, INFINITY, -0.0, 0.0, 0.5, 1.0, 2.0, 2.0**53, 9.3e18]

#: Conditions on adjacent A, each of one comparison.
CONDITIONS = [
    *(f"A.{name} {op} NEXT(A).{name}" for name in "xy" for op in ("<", "<=", ">", ">=", "=")),
    *(f"NEXT(A).x {op} A.y" for op in ("<", "<=", ">", ">=", "=")),
    "A.x + 2 <= NEXT(A).x",
    "A.x > NEXT(A).x * 2 - 1",
    "A.y / 2 < NEXT(A).x",
    "NOT A.x < NEXT(A).x",
    "NOT NEXT(A).y != A.y",
    "A.s = NEXT(A).s",
    "A.s >= NEXT(A).s",
    "A.b = NEXT(A).b",
    "NEXT(A).x BETWEEN A.x AND 2",  # asks something of the later event alone
    "NEXT(A).y BETWEEN -0.5 AND A.x",
]
#: Conditions that stay with pairs.
PAIRED = ["A.x != NEXT(A).x", "A.x - NEXT(A).x < 2", "A.x < NEXT(A).x AND A.y < NEXT(A).y"]
PAIRED += ["A.x < NEXT(A).x OR NEXT(A).b", "NOT (A.x < NEXT(A).x AND NEXT(A).b)"]
RETURNED = "RETURN k, COUNT(*), SUM(A.x), COUNT(A), MIN(A.y), MAX(A.x), AVG(A.y)"


def stream(seed: int, events: int, times: int, kinds: str = "A") -> EventTable:
    """Random events with many ties in time and in value."""
    rng = random.Random(seed)
    chosen = [
        (
            rng.choice(kinds),
            rng.randrange(times),
            {
                "x": rng.choice(LONGS),
                "y": rng.choice(DOUBLES),
                "s": rng.choice([None, "a", "b", "c"]),
                "b": rng.choice([None, True, False]),
                "k": rng.randrange(2),
            },
        )
        for _ in range(events)
    ]
    return EventTable.of(SCHEMA, chosen)


def judge(text: str, small: EventTable, large: EventTable) -> None:
    """All ways give the reference's rows of few events, and greta's by pairs of many."""
    query = bound_query(text, SCHEMA)
    with pytest.MonkeyPatch.context() as paired:
        paired.setattr(ladder, "BY_ORDER", 10**9)
        many = greta(query, large)
    assert many
    for events, expected in ((small, two_step(query, small)), (large, many)):
        for way in ways(Workload(SCHEMA, (query,)), events, text):
            assert_same_rows(way.rows(events), expected)


def is_ordered(query: str) -> bool:
    (template,) = build_templates(bound_query(query, SCHEMA))
    return bool(lay_out(template).orders)


@pytest.mark.slow
@pytest.mark.parametrize("condition", CONDITIONS)
def test_every_comparison(condition: str) -> None:
    query = f"{RETURNED} PATTERN A+ WHERE {condition} GROUP-BY k WITHIN 30 SLIDE 10"
    assert is_ordered(query)
    for seed in range(3):
        judge(query, stream(seed, 26, 40), stream(seed, 300, 90))


def test_both_events_of_a_pair_read_one_column() -> None:
    text = "RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 30"
    (template,) = build_templates(bound_query(text, SCHEMA))
    assert len(lay_out(template).slots) == 1


@pytest.mark.slow
@pytest.mark.parametrize("distance", [1, 2, 1000])
@pytest.mark.parametrize("condition", [*CONDITIONS[:5], "A.x >= NEXT(A).x * 2 - 7"])
def test_values_close_together_and_far_apart(condition: str, distance: int) -> None:
    rng = random.Random(distance)
    values = [None, *range(-30 * distance, 30 * distance, distance)]
    chosen = [("A", rng.randrange(200), {"x": rng.choice(values)}) for _ in range(240)]
    query = f"RETURN COUNT(*) PATTERN A+ WHERE {condition} WITHIN 60 SLIDE 20"
    judge(query, EventTable.of(SCHEMA, chosen[:8]), EventTable.of(SCHEMA, chosen))


@pytest.mark.parametrize("condition", PAIRED)
def test_what_is_not_one_comparison_stays_with_pairs(condition: str) -> None:
    assert not is_ordered(f"RETURN COUNT(*) PATTERN A+ WHERE {condition} WITHIN 30")


@pytest.mark.parametrize("semantics", ["SEMANTICS skip-till-next-match", "SEMANTICS contiguous"])
def test_other_semantics_stay_with_pairs(semantics: str) -> None:
    query = f"RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 30 {semantics}"
    assert not is_ordered(query)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "condition"),
    [
        ("SEQ(A+, B)", "A.x < NEXT(A).x AND A.y > NEXT(B).y"),  # two trees of one state
        ("SEQ(A+, B)", "A.x < NEXT(A).x AND A.x >= NEXT(B).x + 1"),  # one tree asked in two ways
        ("(SEQ(A+, B+))+", "A.x < NEXT(A).x AND B.y <= NEXT(A).y"),  # some without a condition
        ("(SEQ(A+, B))+", "A.x < NEXT(A).x AND B.x - NEXT(A).x < 1"),  # some by pairs
        ("SEQ(A+, NOT N, B)", "A.x < NEXT(A).x"),  # some with a floor
        ("SEQ(A+, NOT SEQ(N, B m), B b)", "A.x < NEXT(A).x AND N.x < NEXT(m).x"),
        ("SEQ(A+, B?)", "A.y = NEXT(A).y AND A.x > 0 AND B.k = 1"),  # beside local predicates
    ],
)
def test_several_transitions(pattern: str, condition: str) -> None:
    query = f"RETURN COUNT(*), SUM(A.x) PATTERN {pattern} WHERE {condition} WITHIN 40 SLIDE 20"
    for seed in range(4):
        judge(query, stream(seed, 22, 40, "AAABN"), stream(seed, 200, 60, "AAABN"))


ORDERINGS = (
    random.Random(5).sample(range(900), 900),
    random.Random(6).choices(range(40), k=900),
    [*range(700)],
    [*range(300, 0, -1), *range(500)],
)


@pytest.mark.parametrize("values", ORDERINGS, ids=len)
def test_a_window_goes_on_with_wider_counts(values: list[int]) -> None:
    events = EventTable.of(SCHEMA, [("A", t, {"x": x}) for t, x in enumerate(values)])
    query = bound_query("RETURN COUNT(*) PATTERN A+ WHERE A.x < NEXT(A).x WITHIN 100000", SCHEMA)
    for way in ways(Workload(SCHEMA, (query,)), events, ""):
        (row,) = way.rows(events)
        assert row.values == (("COUNT(*)", increasing_subsequences(values)),)


@pytest.mark.parametrize("condition", ["A.x <= NEXT(A).x", "A.x >= NEXT(A).x", "A.x = NEXT(A).x"])
def test_going_on_amid_ties_and_negative_sums(condition: str) -> None:
    rng = random.Random(8)
    chosen = [
        ("A", rng.randrange(250), {"x": rng.randrange(12), "k": rng.randint(-9, 4), "y": 1e300})
        for _ in range(1500)
    ]
    returned = "COUNT(*), SUM(A.k), COUNT(A), MIN(A.k), MAX(A.x), AVG(A.y)"
    text = f"RETURN {returned} PATTERN A+ WHERE {condition} WITHIN 100000"
    large = EventTable.of(SCHEMA, chosen)
    judge(text, EventTable.of(SCHEMA, chosen[:7]), large)
    (row,) = greta(bound_query(text, SCHEMA), large)
    total = dict(row.values)["SUM(A.k)"]
    assert isinstance(total, int)
    assert total < -(2**64)
