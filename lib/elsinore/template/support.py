"""What the compiled executors can run; everything else is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from elsinore.errors import Diagnostic, UnsupportedQueryError
from elsinore.query.bound import BoundQuery, of_query
from elsinore.query.syntax import EventPattern, Semantics, Sequence
from elsinore.template.build import template_parts
from elsinore.template.subsets import NotUnambiguous


@of_query
def greta_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Why the greta executor cannot run a query; empty if it can."""
    try:
        template_parts(query)
    except NotUnambiguous as reason:
        return (str(reason),)
    return ()


@of_query
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


def require(
    queries: Iterable[BoundQuery],
    executor: str = "greta",
    refusals: Callable[[BoundQuery], tuple[str, ...]] = greta_refusals,
) -> None:
    """Refuse all queries at once that an executor has a reason not to run.

    The reasons are greta's for all that leave to greta what they do not run themselves.

    Raises:
        UnsupportedQueryError: fields `executor` and `queries`, the names.
    """
    refused = {query.name: (query, reasons) for query in queries if (reasons := refusals(query))}
    if refused:
        faults = tuple(
            Diagnostic(
                f"{executor} cannot run {name}: {'; '.join(reasons)}", query.at,
                _run_instead(query, refusals),
            )
            for name, (query, reasons) in refused.items()
        )  # fmt: skip
        raise UnsupportedQueryError(
            " | ".join(str(fault) for fault in faults),
            diagnostics=faults,
            executor=executor,
            queries=tuple(refused),
        )


def _run_instead(query: BoundQuery, refusals: object) -> str:
    """Return a hint for a query that an executor cannot run."""
    if refusals is greta_refusals:
        return "add a condition to each part of the pattern that only its events meet"
    return f"use --executor {'twostep' if greta_refusals(query) else 'greta'}"
