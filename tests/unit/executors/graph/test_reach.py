"""Compare the passes of EACH with a search over all pairs, in windows of many events."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from elsinore.events import EventTable
from elsinore.executors.graph.reach import Reach
from elsinore.executors.output.finish import finish
from elsinore.executors.output.participation import aggregate_participation
from elsinore.query.load_workload import read_workload
from tests.golden_cases import stream_schema

pytestmark = pytest.mark.usefixtures("compiled_by_set_up")

SCHEMA = stream_schema({kind: {"v": "long", "x": "double"} for kind in "SABEN"})
SIZE = 260

#: An event: its type, time and values.
Event = tuple[str, int, dict[str, float | None]]
#: Returns whether a condition on two adjacent events holds.
Holds = Callable[[dict[str, float | None], dict[str, float | None]], bool]


def _compared(name: str, compare: Callable[[float, float], bool]) -> Holds:
    def holds(earlier: dict[str, float | None], later: dict[str, float | None]) -> bool:
        left, right = earlier[name], later[name]
        return left is not None and right is not None and compare(left, right)

    return holds


#: Conditions on two adjacent events, with P for the earlier and Q for the later one.
CONDITIONS: dict[str, Holds] = {
    "": lambda earlier, later: True,
    "P.v < NEXT(Q).v": _compared("v", lambda a, b: a < b),
    "P.v >= NEXT(Q).v": _compared("v", lambda a, b: a >= b),
    "P.x <= NEXT(Q).x": _compared("x", lambda a, b: a <= b),
    "P.x > NEXT(Q).x": _compared("x", lambda a, b: a > b),
    "P.v = NEXT(Q).v": _compared("v", lambda a, b: a == b),
    "P.x = NEXT(Q).x": _compared("x", lambda a, b: a == b),
    "P.v + NEXT(Q).v = 7": _compared("v", lambda a, b: a + b == 7),
    "NEXT(Q).v - P.v > 5": _compared("v", lambda a, b: b - a > 5),
}
SEMANTICS = ("skip-till-any-match", "skip-till-next-match", "contiguous")
#: The types of SEQ(S, A+, E), and the pairs of them that can be adjacent.
PATH, PAIRS = "SAE", ("SA", "AA", "AE")


def _participating(events: list[Event], holds: Holds, semantics: str, *, without: bool) -> set[int]:
    """Return the numbers of participating events; `without` excludes N between A and E."""

    def follows(i: int, j: int) -> bool:
        pair = events[i][0] + events[j][0]
        if (
            pair not in PAIRS
            or events[i][1] >= events[j][1]
            or not holds(events[i][2], events[j][2])
        ):
            return False
        if not (without and pair == "AE"):
            return True
        return not any(e[0] == "N" and events[i][1] < e[1] < events[j][1] for e in events)

    after: list[list[int]] = []
    for i in range(len(events)):
        found = [j for j in range(len(events)) if follows(i, j)]
        if semantics == "skip-till-next-match":
            coming = min((events[j][1] for j in found), default=0)
            found = [j for j in found if events[j][1] == coming]
        if semantics == "contiguous":
            coming = min((e[1] for e in events if e[1] > events[i][1]), default=0)
            found = [j for j in found if events[j][1] == coming]
        after.append(found)

    def spread(begin: list[int], onwards: list[list[int]]) -> set[int]:
        reached, pending = set(begin), list(begin)
        while pending:
            pending += (new := [j for j in onwards[pending.pop()] if j not in reached])
            reached.update(new)
        return reached

    before: list[list[int]] = [[] for _ in events]
    for i, found in enumerate(after):
        for j in found:
            before[j].append(i)
    starts = [i for i, event in enumerate(events) if event[0] == "S"]
    ends = [i for i, event in enumerate(events) if event[0] == "E"]
    return spread(starts, after) & spread(ends, before)


def _events(dice: random.Random, spread: int) -> list[Event]:
    """Return events of which few start or end a trend, with NULL, both zeros and ties."""
    found: list[Event] = []
    for time in range(1, SIZE + 1):
        kind = dice.choices("SAEBN", (1, 60, 1, 1, 0.3))[0]
        x = dice.choice((0.0, -0.0, 0.5, 1.5, -2.25, None, dice.random() * spread))
        v = dice.choice((None, *(dice.randint(0, spread) for _ in range(6))))
        found.append((kind, time - dice.choice((0, 0, 0, 1)), {"v": v, "x": x}))
    return sorted(found, key=lambda event: event[1])


@pytest.mark.parametrize("semantics", SEMANTICS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_reach_equals_a_search_over_all_pairs(condition: str, semantics: str) -> None:
    """SEQ(S, A+, E) with a condition on each pair, with and without NOT between A and E."""
    dice = random.Random(condition)
    where = " AND ".join(condition.replace("P", pair[0]).replace("Q", pair[1]) for pair in PAIRS)
    clauses = f"{f'WHERE {where}' if condition else ''} WITHIN {2 * SIZE} SEMANTICS {semantics}"
    for spread in (4, 300):
        rows = _events(dice, spread)
        for pattern in ("SEQ(S, A+, E)", "SEQ(S, A+, NOT N, E)"):
            holds, without = CONDITIONS[condition], "N" in pattern
            found = _participating(rows, holds, semantics, without=without)
            text = f"QUERY q RETURN COUNT(EACH *), COUNT(EACH A) PATTERN {pattern} {clauses};"
            workload = read_workload(text, SCHEMA)
            table = aggregate_participation(workload.queries, EventTable.of(SCHEMA, rows), Reach)
            wanted = (len(found), sum(rows[i][0] == "A" for i in found))
            values = [tuple(v for _, v in row.values) for row in finish(workload, table)]
            assert values == ([wanted] if found else []), text
