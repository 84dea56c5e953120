"""Which counts of several queries have one column, and in which direction events are taken."""

from __future__ import annotations

import pytest

from elsinore.executors.aggregates import accumulators_of
from elsinore.executors.graph.aggregate_ordered import lower_ordered
from elsinore.executors.kinds import Kind
from elsinore.query.load_workload import read_workload
from elsinore.sharing.sharable import sharable_sets
from tests.golden_cases import stream_schema

SCHEMA = stream_schema({kind: {"x": "long"} for kind in "ABCD"})


@pytest.mark.parametrize(
    ("patterns", "returned", "backwards", "columns"),
    [
        ("SEQ(A, B+)  SEQ(C, B+)  SEQ(D, B+)", "COUNT(*)", True, 1),
        ("SEQ(B+, A)  SEQ(B+, C)  SEQ(B+, D)", "COUNT(*)", False, 1),
        ("SEQ(A, B+)  SEQ(A, B+, C)", "COUNT(*)", False, 1),
        ("SEQ(A, B+, C)  SEQ(D, B+, C)", "COUNT(*)", True, 1),
        ("SEQ(A, B+, C)  SEQ(D, B+)", "COUNT(*)", False, 2),  # they differ at both ends
        # Trends, events, the sum, and how many x there are:
        ("SEQ(A, B+)  SEQ(C, B+)", "COUNT(*), COUNT(B), SUM(B.x)", True, 4),
        ("B+  SEQ(B+, C)", "COUNT(*), COUNT(B)", False, 2),
    ],
)
def test_columns(patterns: str, returned: str, backwards: bool, columns: int) -> None:
    texts = (
        f"QUERY q{number} RETURN {returned} PATTERN {pattern} WHERE B.x < NEXT(B).x WITHIN 9;"
        for number, pattern in enumerate(patterns.split("  "))
    )
    queries = read_workload("\n".join(texts), SCHEMA).queries
    (found,) = sharable_sets(queries).sets
    lowered = lower_ordered(found)
    assert (lowered.backwards, lowered.lanes.columns) == (backwards, columns)
    assert lowered.lanes.finished == sum(
        len(accumulators_of(query).columns[Kind.INTEGER]) for query in queries
    )
