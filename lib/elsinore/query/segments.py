"""Segments of queries, and the signature by which queries may share the count of one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from elsinore.query.bound import BoundQuery, Key
from elsinore.query.expressions import Applied, BoundExpression, Constant, Field, operands_of
from elsinore.query.fingerprints import canonical_json
from elsinore.query.syntax import EventPattern, Semantics, Sequence, event_patterns

#: A position of a query's pattern, by the query's name.
Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive plain event types in one query (Sharon Definition 1)."""

    query: str  #: name of the query
    start: int  #: index of the first position in the query's pattern; the others follow it
    types: tuple[str, ...]  #: the event types, from left to right

    @property
    def stop(self) -> int:
        """Return the index after the last position."""
        return self.start + len(self.types)

    @property
    def places(self) -> list[Place]:
        """Return the positions."""
        return [(self.query, position) for position in range(self.start, self.stop)]


def segments(query: BoundQuery) -> tuple[Segment, ...]:
    """Return the maximal runs of plain event types at the top level of a query's pattern.

    Runs contain no Kleene operator, NOT or choice. A NOT between two types ends a run, because the
    gap must remain visible when the parts are combined. Queries with other semantics than
    skip-till-any-match have no runs, because adjacency then depends on events outside the run.
    """
    if query.semantics is not Semantics.ANY:
        return ()
    parts = query.pattern.parts if isinstance(query.pattern, Sequence) else (query.pattern,)
    found: list[Segment] = []
    place = 0
    for is_plain, run in groupby(parts, lambda part: isinstance(part, EventPattern)):
        types = tuple(event.type for part in run for event in event_patterns(part))
        if is_plain:
            found.append(Segment(query.name, place, types))
        place += len(types)
    return tuple(found)


def sub_segments(query: BoundQuery) -> Iterator[Segment]:
    """Yield all contiguous sub-patterns of length > 1 that can be counted separately.

    This is Sharon Algorithm 7. A sub-pattern with an edge predicate across its border is left out,
    because its count does not show which matches fit the events before or after it.
    """
    for whole in segments(query):
        for start in range(whole.start, whole.stop - 1):
            for stop in range(start + 2, whole.stop + 1):
                inside = range(start, stop)
                if all((e.earlier in inside) == (e.later in inside) for e in query.edge_predicates):
                    types = whole.types[start - whole.start : stop - whole.start]
                    yield Segment(query.name, start, types)


# ---- what queries must agree on to share one count (section 7.2)

#: Equivalent operators with exchanged operands: `a > b` is `b < a`.
_MIRRORED = {">": "<", ">=": "<="}


def signature(query: BoundQuery, segment: Segment) -> str:
    """Return the sharing signature of a sub-pattern; equal signatures can share one count.

    The signature is canonical JSON of the event types, the local and edge predicates inside the
    sub-pattern, and the attributes of the keys that its events carry. Positions are counted from
    the first position of the sub-pattern, so aliases and the rest of the pattern do not matter.

    RETURN does not matter, because one propagation carries every aggregate. WITHIN and SLIDE do not
    matter, because there is a count per START event of the sub-pattern. Each window reads the
    counts of its own START events, and counts expire with the longest window. OFFSET, clock and
    sessions must agree, because they set the positions of all times (`windows`).
    """
    inside = range(segment.start, segment.stop)
    local = [
        [predicate.position - segment.start, _canonical(predicate.condition, segment.start)]
        for predicate in query.local_predicates
        if predicate.position in inside
    ]
    edges = [
        [edge.earlier - segment.start, _canonical(edge.condition, segment.start)]
        for edge in query.edge_predicates
        if edge.earlier in inside and edge.later in inside
    ]
    keys = [
        [key.attribute, sorted(i - segment.start for i in key.positions if i in inside),
         key.equivalence]
        for key in keys_of(query, segment)
    ]  # fmt: skip
    return canonical_json(
        {
            **_axis(query),
            "types": segment.types,
            "local": _unordered(local),
            "edges": _unordered(edges),
            "keys": _unordered(keys),
        }
    )


def _axis(query: BoundQuery) -> dict[str, Any]:
    """Return what sets the positions of events, if it is not the default."""
    if (session := query.window.session) is not None:
        types = sorted(session.types)
        return {"session": [session.gap, session.up_to, [*session.keys], types]}
    return {"axis": str(query.window.axis)} if query.window.axis else {}


def keys_of(query: BoundQuery, segment: Segment) -> tuple[Key, ...]:
    """Return the keys of a query that some event of a sub-pattern carries."""
    inside = range(segment.start, segment.stop)
    return tuple(key for key in query.keys if any(i in inside for i in key.positions))


def _unordered(items: list[Any]) -> list[Any]:
    """Return distinct items in canonical order, because conjuncts may be in any order."""
    return [item for _, item in sorted({canonical_json(item): item for item in items}.items())]


def _canonical(expression: BoundExpression, base: int) -> list[Any]:
    """Return a bound expression as nested lists; positions are relative to `base`."""
    kind = expression.type
    inner = [_canonical(operand, base) for operand in operands_of(expression)]
    match expression:
        case Constant(value):
            return ["constant", kind, value]
        case Field(position, attribute, _, following):
            return ["field", kind, position - base, attribute, following]
        case Applied(name) if name in _MIRRORED:
            return [_MIRRORED[name], kind, *reversed(inner)]
        case Applied(name):
            return [name, kind, *(_unordered(inner) if name in ("AND", "OR") else inner)]
    raise AssertionError(f"{expression} is not an expression of events")
