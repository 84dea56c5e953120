"""Steps against the queries of their prefixes, which are written by hand.

The reference makes the steps of a query from its bound form. Here each step is a query of its own,
so an error in what a step keeps of conditions, keys and aggregates shows.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import pytest

from elsinore.catalog.stream import StreamSchema
from elsinore.cli.cases import bound_query, stream_schema
from elsinore.events import EventTable
from elsinore.executors.plan import Executor
from elsinore.library.results import answer
from elsinore.query.bound import Workload
from elsinore.reference.two_step import two_step
from elsinore.results.row import ResultRow
from tests.draws import draws

pytestmark = pytest.mark.usefixtures("compiled_by_set_up")

_TYPES = {
    "A": {"k": "long", "g": "string", "x": "long"},
    "B": {"k": "long", "g": "string", "x": "long"},
    "C": {"k": "long", "g": "string", "x": "long"},
    "N": {"k": "long", "x": "long"},
    "D": {"x": "long"},
}
SCHEMA: StreamSchema = stream_schema(_TYPES)
#: Numbers of streams per query.
STREAMS = draws(25, 200)


class Funnel(NamedTuple):
    """A query with steps from PATTERN on, and from PATTERN on the query of each step."""

    text: str
    steps: tuple[str, ...]
    key: str | None = None


FUNNELS = (
    Funnel(
        "SEQ(A, B, C) WHERE [k] WITHIN 20",
        ("A WHERE [k] WITHIN 20", "SEQ(A, B) WHERE [k] WITHIN 20",
         "SEQ(A, B, C) WHERE [k] WITHIN 20"),
        "k",
    ),
    Funnel(
        "SEQ(A a+, NOT N n, B, C c) WHERE [k] AND a.x < NEXT(a).x AND n.x > 1 AND c.x > 0 "
        "GROUP-BY a.g WITHIN 20 SLIDE 10",
        ("A a+ WHERE [k] AND a.x < NEXT(a).x GROUP-BY a.g WITHIN 20 SLIDE 10",
         "SEQ(A a+, NOT N n, B) WHERE [k] AND a.x < NEXT(a).x AND n.x > 1 GROUP-BY a.g "
         "WITHIN 20 SLIDE 10",
         "SEQ(A a+, NOT N n, B, C c) WHERE [k] AND a.x < NEXT(a).x AND n.x > 1 AND c.x > 0 "
         "GROUP-BY a.g WITHIN 20 SLIDE 10"),
        "k",
    ),
    Funnel(
        "SEQ(A, D, NOT B, C) WHERE [k] AND [C.g] AND D.x <= NEXT(C).x WITHIN 20",
        ("A WHERE [k] WITHIN 20", "SEQ(A, D) WHERE [k] WITHIN 20",
         "SEQ(A, D, NOT B, C) WHERE [k] AND [C.g] AND D.x <= NEXT(C).x WITHIN 20"),
    ),
    Funnel(
        "SEQ(SEQ(A, B), (C OR B b2)+, NOT N) WHERE [g] WITHIN 30 SLIDE 7",
        ("SEQ(A, B) WHERE [g] WITHIN 30 SLIDE 7",
         "SEQ(A, B, (C OR B b2)+) WHERE [g] WITHIN 30 SLIDE 7"),
        "g",
    ),
    Funnel(
        "SEQ(NOT N, A, B*, C) WHERE [k] AND B.x > NEXT(C).x GROUP-BY k WITHIN 20 "
        "SEMANTICS skip-till-next-match",
        ("SEQ(NOT N, A) WHERE [k] GROUP-BY k WITHIN 20 SEMANTICS skip-till-next-match",
         "SEQ(NOT N, A, B*) WHERE [k] GROUP-BY k WITHIN 20 SEMANTICS skip-till-next-match",
         "SEQ(NOT N, A, B*, C) WHERE [k] AND B.x > NEXT(C).x GROUP-BY k WITHIN 20 "
         "SEMANTICS skip-till-next-match"),
        "k",
    ),
    Funnel(
        "SEQ(A+, B, C) WHERE [k] WITHIN 25 SEMANTICS contiguous",
        ("A+ WHERE [k] WITHIN 25 SEMANTICS contiguous",
         "SEQ(A+, B) WHERE [k] WITHIN 25 SEMANTICS contiguous",
         "SEQ(A+, B, C) WHERE [k] WITHIN 25 SEMANTICS contiguous"),
        "k",
    ),
    Funnel(
        "SEQ(A, B, C) WHERE [A.g] AND A.x < NEXT(B).x WITHIN 20 SEMANTICS contiguous",
        ("A WHERE [A.g] WITHIN 20 SEMANTICS contiguous",
         "SEQ(A, B) WHERE [A.g] AND A.x < NEXT(B).x WITHIN 20 SEMANTICS contiguous",
         "SEQ(A, B, C) WHERE [A.g] AND A.x < NEXT(B).x WITHIN 20 SEMANTICS contiguous"),
    ),
)  # fmt: skip


def drawn_events(seed: str) -> EventTable:
    """Some events with ties, NULLs and few keys."""
    dice = random.Random(seed)
    rows = []
    for _ in range(dice.randint(4, 18)):
        kind = dice.choice("AAABBBCCCND")
        values = {"k": dice.choice((1, 1, 2, None)), "g": dice.choice(("p", "p", "q", None)),
                  "x": dice.randint(0, 3)}  # fmt: skip
        own = {name: value for name, value in values.items() if name in _TYPES[kind]}
        rows.append((kind, dice.randint(-5, 30), own))
    return EventTable.of(SCHEMA, rows)


def rows_of_prefixes(funnel: Funnel, events: EventTable) -> list[tuple[Any, ...]]:
    """The rows that the steps of a funnel must have, from the queries of its prefixes."""
    returned = "COUNT(*) AS trends"
    returned += f", COUNT(DISTINCT {funnel.key}) AS keys" if funnel.key else ""
    steps = [
        {(row.group, row.window_start): row.values for row in two_step(query, events)}
        for query in (bound_query(f"RETURN {returned} PATTERN {text}", SCHEMA)
                      for text in funnel.steps)
    ]  # fmt: skip
    zeros = (("trends", 0), *([("keys", 0)] if funnel.key else []))
    return [
        (*place, number, rows.get(place, zeros))
        for place in steps[0]
        for number, rows in enumerate(steps, 1)
    ]


def plain(rows: list[ResultRow]) -> list[tuple[Any, ...]]:
    """Rows as `rows_of_prefixes` has them."""
    return [(row.group, row.window_start, row.step, row.values) for row in rows]


@pytest.mark.parametrize("funnel", FUNNELS, ids=lambda funnel: funnel.text)
def test_steps_are_the_queries_of_their_prefixes(funnel: Funnel) -> None:
    query = bound_query(f"RETURN STEPS PATTERN {funnel.text}", SCHEMA)
    workload, reached = Workload(SCHEMA, (query,)), set()
    for number in range(STREAMS):
        events = drawn_events(f"{funnel.text} {number}")
        wanted = sorted(rows_of_prefixes(funnel, events), key=repr)
        assert sorted(plain(two_step(query, events)), key=repr) == wanted, number
        assert sorted(plain(answer(workload, events, Executor.AUTO)), key=repr) == wanted, number
        reached |= {(step, dict(values)["trends"] > 0) for *_, step, values in wanted}
    last = len(funnel.steps)
    assert reached >= {(step, True) for step in range(1, last + 1)} | {(last, False)}
