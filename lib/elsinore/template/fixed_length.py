"""What A-Seq and Sharon run: sequences of single events, each position one event of a trend."""

from __future__ import annotations

from collections.abc import Iterable

from elsinore.errors import Diagnostic, UnsupportedQueryError
from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import EventPattern, Semantics, Sequence


def aseq_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Why the executors aseq and sharon cannot run a query; empty if they can.

    Sharon Definitions 1 and 2: a fixed number of events, any other events in between, predicates on
    single events or on what all events share.
    """
    reasons = []
    parts = query.pattern.parts if isinstance(query.pattern, Sequence) else (query.pattern,)
    if not all(isinstance(part, EventPattern) for part in parts):
        reasons.append("its pattern is more than a sequence of single events")
    if query.semantics is not Semantics.ANY:
        reasons.append(f"its semantics are {query.semantics}")
    if query.edge_predicates:
        reasons.append("it has a predicate on adjacent events")
    return tuple(reasons)


def require_aseq(queries: Iterable[BoundQuery], executor: str) -> None:
    """Refuse all queries at once that the executors aseq and sharon cannot run.

    Raises:
        UnsupportedQueryError: fields `executor` and `queries`, the names.
    """
    refused = {query: reasons for query in queries if (reasons := aseq_refusals(query))}
    if refused:
        hint = "greta runs the whole language"
        faults = tuple(
            Diagnostic(f"{executor} cannot run {query.name}: {'; '.join(reasons)}", query.at, hint)
            for query, reasons in refused.items()
        )
        raise UnsupportedQueryError(
            " | ".join(str(fault) for fault in faults),
            diagnostics=faults,
            executor=executor,
            queries=tuple(query.name for query in refused),
        )
