"""Compare the closed form of bursts of quantified events with the enumeration of all trends."""

from __future__ import annotations

import operator
import random
from math import comb

import pytest

from elsinore.errors import QueryError
from elsinore.events import EventTable
from elsinore.executors.linear.kernels.sweep_program import CHAINED, LONGEST_CHAIN
from elsinore.executors.linear.sweep import aggregate_sweep
from elsinore.executors.linear.sweep_sets import Member, SweepSet, sweep_sets
from elsinore.executors.linear.sweep_tables import make_tables
from elsinore.executors.output.finish import finish
from elsinore.query.load_workload import read_workload
from elsinore.reference.two_step import two_step
from tests.draws import draws
from tests.golden_cases import stream_schema

pytestmark = pytest.mark.usefixtures("compiled_by_set_up")

SCHEMA = stream_schema({kind: {"k": "string", "v": "long"} for kind in "ABC"})
PATTERNS = (
    *("A{2,}", "A{2}", "A{2,3}", "A{3,}", "A{1,4}", "A{4,}", "A{5,}", "A{7,}", "A{0,2}"),
    *(
        "SEQ(A{2,}, B)",
        "SEQ(B, A{2,})",
        "SEQ(A{3}, B+)",
        "SEQ(A x{2,}, B, A y{2})",
        "SEQ(A?, B{2,})",
    ),
    *(
        "SEQ(C, A{2,}, B{2,3})",
        "(SEQ(A{2}, B))+",
        "SEQ(A{2,4}, B?, C)",
        "A x{2,} OR SEQ(B, A y{3})",
    ),
    *("SEQ(ANY(A, B) x{2,}, C)", "(SEQ(A, B)){2,}", "SEQ(A x, A y{2,})"),
)
WHERES = ("", "", "[k]", "A.v > 0", "[k] AND A.v > 0")
WINDOWS = ("10", "12", "8 SLIDE 4", "9 SLIDE 3", "6 SLIDE 2")


def _text(dice: random.Random, number: int, where: str, pattern: str) -> str:
    returned = dice.choice(("COUNT(*)", "COUNT(*)", "COUNT(*)", "COUNT(*), COUNT(A)"))
    clause = f"WHERE {where}" if where else ""
    window = dice.choice(WINDOWS)
    return f"QUERY q{number} RETURN {returned} PATTERN {pattern} {clause} WITHIN {window};"


def _events(dice: random.Random) -> EventTable:
    """Events in bursts, some of them with equal times."""
    rows, time = list[tuple[str, int, dict[str, str | int | None]]](), 0
    while len(rows) < 14:
        kind = dice.choice("AAABC")
        for _ in range(dice.randint(1, 5)):
            time += dice.choice((0, 1, 1, 1, 2))
            values = {"k": dice.choice(("p", "p", "q")), "v": dice.choice((0, 1, 1, None))}
            rows.append((kind, time, values))
    return EventTable.of(SCHEMA, rows[:14])


def _chains(found: SweepSet) -> bool:
    """Return whether a burst of A has a closed form only as a chain."""
    members = [Member(q, t) for q, t in zip(found.queries, found.templates, strict=True)]
    of_a = frozenset(
        (n, s)
        for n, member in enumerate(members)
        for s in member.states
        if member.query.positions[min(member.template.states[s].meets)].type == "A"
    )
    return bool((make_tables(members, [of_a]).program.classes[:, CHAINED] >= 0).any())


@pytest.mark.parametrize("seed", range(8))
def test_random_bursts(seed: int) -> None:
    """Swept queries with quantifiers have the rows of the reference, alone and in sets."""
    dice, chained = random.Random(seed), 0
    for _ in range(draws(12, 120)):
        where = dice.choice(WHERES)
        texts = [
            _text(dice, n, where, dice.choice(PATTERNS)) for n in range(dice.choice((1, 1, 3)))
        ]
        try:
            workload = read_workload("\n".join(texts), SCHEMA)
        except QueryError:  # the pattern has no A that the condition or COUNT(A) can name
            continue
        events = _events(dice)
        sets = sweep_sets(workload.queries)
        swept = {query.name for found in sets for query in found.queries}
        expected = [
            row for query in workload.queries if query.name in swept
            for row in two_step(query, events)
        ]  # fmt: skip
        for panes in (False, None, True):
            rows = [rows for f in sets for rows in aggregate_sweep(f, events, panes=panes)]
            found = [row for row in finish(workload, rows) if row.query in swept]
            key = operator.attrgetter("key")
            assert [(row.key, row.values) for row in sorted(found, key=key)] == [
                (row.key, row.values) for row in sorted(expected, key=key)
            ], (texts, panes)
        chained += any(map(_chains, sets)) and bool(expected)
    assert chained > 2


@pytest.mark.parametrize("least", [2, 3, LONGEST_CHAIN, LONGEST_CHAIN + 1])
@pytest.mark.parametrize("most", [None, LONGEST_CHAIN])
@pytest.mark.parametrize("size", [40, 61, 130, 200])
def test_wide_counts(least: int, most: int | None, size: int) -> None:
    """Bursts of any length, and counts of any width, have the number of subsets of events."""
    if most is not None and most < least:
        most = least
    text = f"QUERY q RETURN COUNT(*) PATTERN A{{{least},{most or ''}}} WITHIN 1000;"
    workload = read_workload(text, SCHEMA)
    events = EventTable.of(SCHEMA, [("A", n, {"k": "p", "v": 1}) for n in range(size)])
    [found] = sweep_sets(workload.queries)
    [row] = finish(workload, aggregate_sweep(found, events))
    expected = sum(comb(size, number) for number in range(least, (most or size) + 1))
    assert row.values == (("COUNT(*)", expected),)
