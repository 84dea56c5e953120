"""NOT in every place, with keys, against the definition tried on every subset of a small stream."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.reference.two_step import two_step
from tests.draws import draws
from tests.golden_cases import bound_query, stream_schema
from tests.unit.reference.test_two_step_by_subsets import chains

#: Type, time, and the value of k (which counts only where the type has a k).
Row = tuple[str, int, int | None]


@dataclass(frozen=True)
class Case:
    """`SEQ(NOT g0, A[+], NOT g1, B[+], ..., NOT gn)[+]`, each NOT optional.

    Attributes:
        leaves: types in their order, each once; `loops` says which are under a plus.
        guards: a negated type or None before each leaf and after the last one.
        looped: whether the whole is under a plus.
        carriers: the types with the equivalence key k.
    """

    leaves: str
    loops: tuple[bool, ...]
    guards: tuple[str | None, ...]
    looped: bool
    carriers: frozenset[str]

    @property
    def query(self) -> str:
        parts: list[str] = []
        for guard, leaf, loop in zip(self.guards, self.leaves, self.loops, strict=False):
            parts += [f"NOT {guard} n{len(parts)}"] if guard else []
            parts.append(leaf + "+" * loop)
        last = self.guards[-1]
        parts += [f"NOT {last} n{len(parts)}"] if last else []
        pattern = f"(SEQ({', '.join(parts)}))" + "+" * self.looped
        where = "WHERE [k]" if self.keyed else ""
        return f"RETURN COUNT(*) PATTERN {pattern} {where} WITHIN 100"

    def bound(self, stream: list[Row]) -> tuple[BoundQuery, EventTable]:
        types = {name: {"k": "long"} if name in self.carriers else {} for name in "ABCNM"}
        schema = stream_schema(types)
        events = EventTable.of(schema, [(kind, time, {"k": k}) for kind, time, k in stream])
        return bound_query(self.query, schema), events

    @property
    def regex(self) -> str:
        parts = [leaf + "+" * loop for leaf, loop in zip(self.leaves, self.loops, strict=True)]
        return f"(?:{''.join(parts)})" + "+" * self.looped

    @property
    def keyed(self) -> bool:
        return bool(self.carriers & set(self.leaves))


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, list[Row]]:
    leaves = "ABC"[: draw(st.integers(1, 3))]
    flags = st.booleans()
    case = Case(
        leaves,
        tuple(draw(flags) for _ in leaves),
        tuple(draw(st.sampled_from([None, "N", "M"])) for _ in range(len(leaves) + 1)),
        draw(flags),
        draw(st.frozensets(st.sampled_from("ABCNM"))),
    )
    rows = st.tuples(
        st.sampled_from([*leaves, *leaves, *leaves, "N", "M"]),
        st.integers(0, 9),
        st.sampled_from([1, 1, 2, None]),
    )
    return case, draw(st.lists(rows, min_size=5, max_size=9))


def is_trend(case: Case, chain: list[Row], stream: list[Row]) -> bool:
    if not re.fullmatch(case.regex, "".join(kind for kind, _, _ in chain)):
        return False
    values = {k for kind, _, k in chain if case.keyed and kind in case.carriers}
    if len(values) > 1 or None in values:
        return False

    def barred(guards: list[str | None], after: float, before: float) -> bool:
        return any(
            kind in guards and after < time < before and may_bar(kind, k)
            for kind, time, k in stream
        )

    def may_bar(kind: str, k: int | None) -> bool:
        return not case.keyed or kind not in case.carriers or k in values

    edges = [
        barred([case.guards[0]], -1, chain[0][1]),
        barred([case.guards[-1]], chain[-1][1], 100),
    ]
    inner = [barred(_guards_between(case, p[0], e[0]), p[1], e[1]) for p, e in pairwise(chain)]
    return not any(edges + inner)


def _guards_between(case: Case, earlier: str, later: str) -> list[str | None]:
    p, e = case.leaves.index(earlier), case.leaves.index(later)
    if p == e and case.loops[p]:
        return []  # within the loop of one leaf nothing is asked
    if e == p + 1:
        return [case.guards[e]]
    return [case.guards[-1], case.guards[0]]  # from one iteration to the next


@pytest.mark.slow
@settings(max_examples=draws(150, 400), deadline=None)
@given(cases())
def test_negation_by_definition(found: tuple[Case, list[Row]]) -> None:
    case, stream = found
    rows = two_step(*case.bound(stream))
    expected = sum(is_trend(case, chain, stream) for chain in chains(stream))
    assert [value for row in rows for _, value in row.values] == ([expected] if expected else [])
