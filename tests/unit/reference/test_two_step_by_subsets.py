"""The reference against a second enumeration: every subset of a small stream, tried one by one.

What a positive pattern matches is decided by a regular expression over type letters, which shares
nothing with the depth-first search.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations, pairwise
from operator import itemgetter
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from elsinore.events import EventTable
from elsinore.query.automaton import neighbours
from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Semantics
from elsinore.reference.two_step import two_step
from tests.draws import draws
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema({letter: {} for letter in "ABCDEZ"})

Stream = list[tuple[str, int]]
Event = TypeVar("Event", bound=tuple[Any, ...])


@dataclass(frozen=True)
class Shape:
    """A pattern twice, as text and as a regular expression, with `@` for each event type."""

    text: str
    regex: str

    @property
    def leaves(self) -> int:
        return self.regex.count("@")

    def typed(self, letters: list[str]) -> Shape:
        """With a type for each leaf, and an alias in the text where types repeat."""
        repeat = len(set(letters)) < len(letters)
        named = [f"{letter} x{n}" if repeat else letter for n, letter in enumerate(letters)]
        return Shape(_filled(self.text, named), _filled(self.regex, letters))


def _filled(template: str, leaves: list[str]) -> str:
    rest = iter(leaves)
    return re.sub("@", lambda _: next(rest), template)


def _repeated(inner: st.SearchStrategy[Shape]) -> st.SearchStrategy[Shape]:
    return st.builds(
        lambda shape, sign: Shape(f"({shape.text}){sign}", f"(?:{shape.regex}){sign}"),
        inner,
        st.sampled_from([*"+*?", "{2}", "{1,3}", "{,2}", "{2,}", "{3}", "{1}"]),
    )


def _joined(inner: st.SearchStrategy[Shape]) -> st.SearchStrategy[Shape]:
    parts = st.lists(inner, min_size=2, max_size=3)
    return parts.map(
        lambda found: Shape(
            f"SEQ({', '.join(part.text for part in found)})",
            "".join(f"(?:{part.regex})" for part in found),
        )
    )


def _either(inner: st.SearchStrategy[Shape]) -> st.SearchStrategy[Shape]:
    parts = st.lists(inner, min_size=2, max_size=2)
    return parts.map(
        lambda found: Shape(
            " OR ".join(f"({part.text})" for part in found),
            "|".join(f"(?:{part.regex})" for part in found),
        )
    )


_SHAPES = st.recursive(
    st.just(Shape("@", "@")),
    lambda inner: _repeated(inner) | _joined(inner) | _either(inner),
    max_leaves=5,
)


@st.composite
def cases(draw: st.DrawFn, *, repeat: bool = True) -> tuple[Shape, Stream]:
    """A pattern and a stream of its types and of one more; few times make ties."""
    shape = draw(_repeated(_SHAPES) | _joined(_SHAPES))
    assume(shape.leaves <= 5)
    if repeat:
        types = st.sampled_from("ABC")
        letters = draw(st.lists(types, min_size=shape.leaves, max_size=shape.leaves))
    else:
        letters = draw(st.permutations("ABCDE"))[: shape.leaves]
    size = draw(st.sampled_from([8, 8, 7, 3]))
    kinds = st.sampled_from([*letters, *letters, "Z"])
    events = st.tuples(kinds, st.integers(0, 9))
    return shape.typed(letters), draw(st.lists(events, min_size=size, max_size=size))


def counted(query: BoundQuery, stream: Stream) -> int:
    rows = two_step(query, EventTable.of(SCHEMA, [(kind, time, {}) for kind, time in stream]))
    assert len(rows) <= 1
    assert all(value for row in rows for _, value in row.values), "a row has a trend"
    return int(rows[0].values[0][1] or 0) if rows else 0


def chains(stream: list[Event]) -> list[list[Event]]:
    """All non-empty subsets of strictly increasing times, which stand behind the types."""
    subsets = (s for n in range(1, len(stream) + 1) for s in combinations(stream, n))
    found = (sorted(subset, key=itemgetter(1)) for subset in subsets)
    return [s for s in found if all(p[1] < e[1] for p, e in pairwise(s))]


def word(chain: Stream) -> str:
    return "".join(kind for kind, _ in chain)


def between(stream: Stream, chain: Stream) -> list[tuple[str, str]]:
    """Types of the earlier event and of what lies strictly between it and the later one."""
    return [(p[0], x[0]) for p, e in pairwise(chain) for x in stream if p[1] < x[1] < e[1]]


@pytest.mark.slow
@settings(max_examples=draws(100, 300), deadline=None)
@given(cases())
def test_counts_every_subset_that_matches(case: tuple[Shape, Stream]) -> None:
    shape, stream = case
    query = bound_query(f"RETURN COUNT(*) PATTERN {shape.text} WITHIN 100", SCHEMA)
    regex = re.compile(shape.regex)
    assert counted(query, stream) == sum(
        regex.fullmatch(word(chain)) is not None for chain in chains(stream)
    )


@pytest.mark.slow
@settings(max_examples=draws(100, 300), deadline=None)
@given(cases())
def test_contiguous_counts_the_subsets_without_gaps(case: tuple[Shape, Stream]) -> None:
    shape, stream = case
    text = f"RETURN COUNT(*) PATTERN {shape.text} WITHIN 100 SEMANTICS contiguous"
    regex = re.compile(shape.regex)
    assert counted(bound_query(text, SCHEMA), stream) == sum(
        regex.fullmatch(word(chain)) is not None and not between(stream, chain)
        for chain in chains(stream)
    )


@pytest.mark.slow
@settings(max_examples=draws(100, 300), deadline=None)
@given(cases(repeat=False))
def test_next_match_counts_the_subsets_that_skip_nothing_of_use(case: tuple[Shape, Stream]) -> None:
    shape, stream = case
    text = f"RETURN COUNT(*) PATTERN {shape.text} WITHIN 100 SEMANTICS {Semantics.NEXT}"
    query = bound_query(text, SCHEMA)
    follows = neighbours(query.pattern)  # an alias is its type here
    regex = re.compile(shape.regex)
    assert counted(query, stream) == sum(
        regex.fullmatch(word(chain)) is not None
        and not any(pair in follows for pair in between(stream, chain))
        for chain in chains(stream)
    )


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_input_order_does_not_matter(case: tuple[Shape, Stream], random: Random) -> None:
    shape, stream = case
    query = bound_query(f"RETURN COUNT(*) PATTERN {shape.text} WITHIN 3", SCHEMA)
    shuffled = list(stream)
    random.shuffle(shuffled)
    tables = [EventTable.of(SCHEMA, [(k, t, {}) for k, t in s]) for s in (stream, shuffled)]
    assert two_step(query, tables[0]) == two_step(query, tables[1])
