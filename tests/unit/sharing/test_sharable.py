"""Which queries make a sharable set (Hamlet Definitions 3.1 and 3.2), and their merged template."""

from __future__ import annotations

import pytest

from elsinore.errors import ParameterError
from elsinore.events import EventTable
from elsinore.executors.hamlet.aggregate_set import aggregate_set
from elsinore.query.load_workload import read_workload
from elsinore.sharing.sharable import Sharing, sharable_sets
from tests.property.random_cases import SCHEMA


def _sharing(*texts: str) -> Sharing:
    queries = "".join(f"QUERY q{n} RETURN COUNT(*) {text};" for n, text in enumerate(texts))
    return sharable_sets(read_workload(queries, SCHEMA).queries)


def _names(sharing: Sharing) -> list[list[str]]:
    return [[query.name for query in found.queries] for found in sharing.sets]


def test_figure_3_b_each_type_stands_once() -> None:
    """SEQ(A, B+) and SEQ(C, B+): only the transition from B to itself belongs to both."""
    (found,) = _sharing("PATTERN SEQ(A, B+) WITHIN 10", "PATTERN SEQ(C, B+) WITHIN 15").sets
    merged = found.merged
    assert [state.type for state in merged.states] == ["A", "B", "C"]
    links = {(link.earlier, link.later): link.queries for link in merged.links}
    assert links == {(0, 1): (0,), (1, 1): (0, 1), (2, 1): (1,)}
    assert tuple(merged.sharers) == (1,)
    assert merged.shared_types == ("B",)
    assert found.kleene == "B"


def test_panes_are_the_gcd_of_all_windows() -> None:
    """Section 3.1: WITHIN 10 SLIDE 5 and WITHIN 15 SLIDE 5 make panes of 5."""
    (found,) = _sharing("PATTERN B+ WITHIN 10 SLIDE 5", "PATTERN B+ WITHIN 15 SLIDE 5").sets
    assert found.pane == 5


def test_queries_without_a_common_kleene_type_make_sets_of_their_own() -> None:
    sharing = _sharing(
        *("PATTERN SEQ(A, B+) WITHIN 9", "PATTERN SEQ(B, C+) WITHIN 9"),
        *("PATTERN SEQ(A+, B+) WITHIN 9", "PATTERN C+ WITHIN 9", "PATTERN SEQ(A, B) WITHIN 9"),
    )
    assert _names(sharing) == [["q0", "q2"], ["q1", "q3"]]
    assert [query.name for query, _ in sharing.beside] == ["q4"]


def test_partition_keys_must_agree() -> None:
    sharing = _sharing(
        *("PATTERN B+ WHERE [k] WITHIN 9", "PATTERN SEQ(A, B+) WHERE [k] WITHIN 9"),
        *("PATTERN B+ WITHIN 9", "PATTERN SEQ(C, B+) WITHIN 9", "PATTERN A+ GROUP-BY g WITHIN 9"),
    )
    assert _names(sharing) == [["q0", "q1"], ["q2", "q3"]]
    assert [query.name for query, _ in sharing.beside] == ["q4"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PATTERN SEQ(B+, NOT A, C) WITHIN 9", "NOT"),
        ("PATTERN B+ WITHIN 9 SEMANTICS contiguous", "contiguous"),
        ("PATTERN B+ WITHIN 9 SEMANTICS skip-till-next-match", "skip-till-next-match"),
        ("PATTERN B+ AND A WITHIN 9", "AND"),
    ],
)
def test_what_looks_at_more_than_pairs_runs_beside(text: str, reason: str) -> None:
    sharing = _sharing("PATTERN B+ WITHIN 9", "PATTERN SEQ(A, B+) WITHIN 9", text)
    assert _names(sharing) == [["q0", "q1"]]
    ((query, why),) = sharing.beside
    assert query.name == "q2"
    assert reason in why


def test_queries_that_are_no_set_are_refused() -> None:
    texts = (
        "QUERY a RETURN COUNT(*) PATTERN A+ WITHIN 9; QUERY b RETURN COUNT(*) PATTERN B+ WITHIN 9;"
    )
    queries = read_workload(texts, SCHEMA).queries
    with pytest.raises(ParameterError):
        aggregate_set(queries, EventTable.of(SCHEMA, []))
