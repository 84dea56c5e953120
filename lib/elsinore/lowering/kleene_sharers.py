"""Which queries of a sharable set share which Kleene sub-pattern."""

from __future__ import annotations

from elsinore.lowering.sharable import SharableSet


def kleene_sharers(found: SharableSet) -> dict[int, tuple[int, ...]]:
    """Numbers of the queries that have E+ at each merged state where several do (Definition 3.1).

    Both are numbers of `found.merged`: of its states, ascending, and of its queries, ascending.
    """
    merged = found.merged
    return {
        state: tuple(
            sorted(
                {q for link in merged.links for q in link.queries
                 if link.earlier == link.later == state}
            )
        )
        for state in merged.kleene
    }  # fmt: skip
