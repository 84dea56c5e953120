"""Which Kleene sub-patterns several queries hold: the part of a plan that Hamlet shares."""

from __future__ import annotations

from collections.abc import Iterator

from elsinore.query.bound import BoundQuery, Workload
from elsinore.query.syntax import (
    EventPattern,
    KleenePlus,
    KleeneStar,
    Negation,
    Pattern,
    parts_of,
)


def shared_kleene(workload: Workload) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Event types E whose `E+` more than one query holds, with the names of those queries.

    `E*` holds E+; what stands under NOT does not count. Whether the queries can really share it
    (Hamlet Definition 3.2) depends on more than this.
    """
    found: dict[str, list[str]] = {}
    for query in workload.queries:
        for event_type in sorted(set(_repeated_types(query.pattern))):
            found.setdefault(event_type, []).append(query.name)
    return tuple(
        (kind, tuple(sorted(names))) for kind, names in sorted(found.items()) if len(names) > 1
    )


def has_kleene(query: BoundQuery) -> bool:
    """Whether a query holds an E+ or E* that counts."""
    return any(True for _ in _repeated_types(query.pattern))


def _repeated_types(pattern: Pattern) -> Iterator[str]:
    if isinstance(pattern, Negation):
        return
    if isinstance(pattern, KleenePlus | KleeneStar) and isinstance(pattern.body, EventPattern):
        yield pattern.body.type
    for part in parts_of(pattern):
        yield from _repeated_types(part)
