"""What A-Seq and Sharon run: sequences of single events, each position one event of a trend."""

from __future__ import annotations

from collections.abc import Iterable

from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import EventPattern, Semantics, Sequence
from elsinore.template.support import refuse_all


def aseq_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Why the executors aseq and sharon cannot run a query; empty if they can.

    Sharon Definitions 1 and 2: a fixed number of events, any other events in between, predicates on
    single events, keys of any scope. Clause by clause it is said what they run; nothing else is.
    """
    parts = query.pattern.parts if isinstance(query.pattern, Sequence) else (query.pattern,)
    runs = {
        "its pattern is more than a sequence of single events": all(
            isinstance(part, EventPattern) for part in parts
        ),
        f"its semantics are {query.semantics}": query.semantics is Semantics.ANY,
        "it has a predicate on adjacent events": not query.edge_predicates,
    }
    return tuple(reason for reason, shown in runs.items() if not shown)


def require_aseq(queries: Iterable[BoundQuery], executor: str) -> None:
    """Refuse all queries at once that the executors aseq and sharon cannot run.

    Raises:
        UnsupportedQueryError: fields `executor` and `queries`, the names.
    """
    refuse_all(executor, {query: aseq_refusals(query) for query in queries})
