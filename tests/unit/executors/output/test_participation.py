"""Compare EACH and DISTINCT by both kinds of passes with the enumeration of all trends."""

from __future__ import annotations

import operator
import random

import pytest

from elsinore.errors import QueryError, UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.executors.graph.reach import Reach
from elsinore.executors.graph.reach_together import ReachTogether
from elsinore.executors.linear.time_bounds import TimeBounds
from elsinore.executors.output import participation
from elsinore.executors.output.finish import finish
from elsinore.executors.output.participation import aggregate_participation
from elsinore.executors.plan.participation_sets import participation_sets
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.reference.two_step import two_step
from elsinore.template.support import participation_refusals
from tests.draws import draws
from tests.golden_cases import stream_schema

pytestmark = pytest.mark.usefixtures("compiled_by_set_up")

SCHEMA = stream_schema(
    {
        "A": {"k": "string", "g": "long", "v": "long", "x": "double"},
        "B": {"k": "string", "v": "long", "x": "double"},
        "C": {"g": "long", "v": "long"},
    }
)
PATTERNS = (
    *("A+", "SEQ(A+, B)", "SEQ(A x+, A y+)", "(SEQ(A+, B?))+", "SEQ(A?, B*, C)", "A+ OR SEQ(B, C)"),
    *("SEQ(A x, B, A y)", "SEQ(A x+, B?, A y, C*)", "(A x OR SEQ(A y, B))+", "SEQ(A, B+)"),
)
WHERES = ("", "[k]", "[A.k]", "[A.k] AND A.v > 1", "[g]", "A.v > 0")
GROUPS = ("", "GROUP-BY k", "GROUP-BY g", "GROUP-BY A.g")
WINDOWS = ("10", "8 SLIDE 3", "5", "7 SLIDE 1")
EVENTS = {"A": ("k", "g", "v", "x"), "B": ("k", "v", "x"), "C": ("g", "v")}
VALUES = {
    "k": ("p", "q", None),
    "g": (1, 2, None),
    "v": (0, 1, 2, 2**62, -(2**63), None),
    "x": (0.0, -0.0, 1.5, float("nan"), None),
}


def _types(pattern: str) -> list[str]:
    return [kind for kind in "ABC" if kind in pattern.replace("SEQ", "").replace("OR", "")]


def _query(dice: random.Random, pattern: str) -> str:
    items = ["COUNT(EACH *)", "COUNT(DISTINCT v)"]
    for kind in "ABC":
        if kind in _types(pattern):
            items += [f"COUNT(EACH {kind})", f"SUM(EACH {kind}.v)", f"AVG(EACH {kind}.v)"]
            items += [f"MIN(EACH {kind}.v)", f"MAX(EACH {kind}.time)", f"COUNT(DISTINCT {kind}.v)"]
    if "A" in pattern.replace("SEQ", ""):
        items += ["SUM(EACH A.x)", "COUNT(DISTINCT A.x)", "COUNT(DISTINCT k)", "COUNT(DISTINCT g)"]
    where = dice.choice(WHERES)
    where = f"WHERE {where}" if where else ""
    clauses = f"{where} {dice.choice(GROUPS)} WITHIN {dice.choice(WINDOWS)}"
    return f"QUERY q RETURN {', '.join(items)} PATTERN {pattern} {clauses};"


def _events(dice: random.Random) -> EventTable:
    kinds = (dice.choice("AABBC") for _ in range(dice.randint(1, 7)))
    rows = [(k, dice.randint(0, 9), {a: dice.choice(VALUES[a]) for a in EVENTS[k]}) for k in kinds]
    return EventTable.of(SCHEMA, rows)


@pytest.mark.parametrize("seed", range(8))
def test_random_queries(seed: int) -> None:
    """Each random query has the rows of the reference."""
    dice, compared = random.Random(seed), 0
    for _ in range(12):
        text = _query(dice, dice.choice(PATTERNS))
        try:
            workload = read_workload(text, SCHEMA)
        except QueryError:  # the pattern lacks the type of a condition or of a group
            continue
        [query] = workload.queries
        events = _events(dice)
        if participation_refusals(query):
            continue
        try:
            expected = two_step(query, events)
        except UnsupportedQueryError as error:
            raise AssertionError(text) from error
        shown = [repr((row.key, row.values)) for row in expected]
        for make in (TimeBounds, Reach):
            found = finish(workload, aggregate_participation([query], events, make))
            assert [repr((row.key, row.values)) for row in found] == shown, (text, make)
        compared += 1
    assert compared


@pytest.mark.parametrize("seed", range(8))
def test_random_sets(seed: int) -> None:
    """Queries that share a pass have the rows of the reference."""
    dice = random.Random(seed)
    assert sum(_shared_by_random_sets(dice, compares=False) for _ in range(12)) > 3


@pytest.mark.parametrize("seed", range(8))
def test_random_sets_that_compare(seed: int) -> None:
    """Queries that compare adjacent events and share a graph have the rows of the reference."""
    dice = random.Random(seed)
    assert sum(_shared_by_random_sets(dice, compares=True) for _ in range(draws(20, 200))) > 3


def _shared_by_random_sets(dice: random.Random, *, compares: bool) -> int:
    """Compare the sets of random queries with the reference; return how many have several."""
    keys = dice.choice(("", "[k]", "[k]", "[g]"))
    window = f"WITHIN {dice.choice(WINDOWS)}"
    texts = [_text_of_set(dice, n, keys, window, compares=compares) for n in range(4)]
    try:
        workload = read_workload("\n".join(texts), SCHEMA)
    except QueryError:  # C has no k, and B has no g
        return 0
    events, shared = _events(dice), 0
    for found in participation_sets(workload.queries):
        make = ReachTogether if compares and len(found) > 1 else Reach if compares else TimeBounds
        partial = aggregate_participation(found, events, make)
        rows = finish(Workload(SCHEMA, found), partial)
        expected = [row for query in found for row in two_step(query, events)]
        key = operator.attrgetter("key")
        shown = [repr((row.key, row.values)) for row in sorted(expected, key=key)]
        assert [repr((row.key, row.values)) for row in sorted(rows, key=key)] == shown, texts
        shared += len(found) > 1 and bool(shown)
    return shared


#: Conditions on adjacent events, by pattern.
COMPARING = {
    "A+": ("A.v < NEXT(A).v", "A.v = NEXT(A).v", "A.x >= NEXT(A).x", "A.k <= NEXT(A).k"),
    "SEQ(A+, B)": ("A.v < NEXT(B).v", "A.v >= NEXT(A).v AND A.v < NEXT(B).v", "A.x = NEXT(B).x"),
    "SEQ(A, B+)": ("B.v < NEXT(B).v AND A.v < NEXT(B).v", "B.x > NEXT(B).x", "A.v = NEXT(B).v"),
    "SEQ(B, A+)": ("A.v < NEXT(A).v AND B.v < NEXT(A).v", "A.v + 1 > NEXT(A).v"),
    "SEQ(C, B+)": ("B.v < NEXT(B).v", "C.v < NEXT(B).v AND B.v < NEXT(B).v"),
    "SEQ(C, A+)": ("A.g = NEXT(A).g AND A.v > 0", "C.v <= NEXT(A).v AND A.v < NEXT(A).v"),
    "SEQ(A x, B?, A y)": ("x.v < NEXT(y).v", "x.v <= NEXT(B).v AND B.v <= NEXT(y).v"),
    "(SEQ(A, B))+": ("A.v < NEXT(B).v", "B.v > NEXT(A).v AND A.v > 0"),
}


def _text_of_set(
    dice: random.Random, number: int, keys: str, window: str, *, compares: bool
) -> str:
    pattern = dice.choice([*COMPARING] if compares else PATTERNS)
    conditions = [keys] if keys else []
    if compares:
        conditions.append(dice.choice(COMPARING[pattern]))
    items = ["COUNT(EACH *)"] + [f"COUNT(DISTINCT {key})" for key in keys.strip("[]")]
    for kind in _types(pattern):
        values = (f"COUNT(EACH {kind})", f"SUM(EACH {kind}.v)", f"MIN(EACH {kind}.v)")
        items += dice.sample(values, dice.randint(0, 3))
        if kind != "C":
            items += dice.sample((f"SUM(EACH {kind}.x)", f"MAX(EACH {kind}.x)"), 1)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"QUERY q{number} RETURN {', '.join(items)} PATTERN {pattern} {where} {window};"


def test_too_many_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of lists has an error that names the query and a fix."""
    monkeypatch.setattr(participation, "MOST_LISTED", 2)
    text = "QUERY q RETURN COUNT(DISTINCT A.v) PATTERN A+ WITHIN 10;"
    workload: Workload = read_workload(text, SCHEMA)
    row = {"k": "p", "g": 1, "v": 1, "x": 1.0}
    events = EventTable.of(SCHEMA, [("A", n, row) for n in range(5)])
    with pytest.raises(QueryError, match=r"query q: more than 2 .*\(shorten WITHIN"):
        aggregate_participation(workload.queries, events, TimeBounds)
