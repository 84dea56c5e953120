"""What the compiled executors can run; everything else is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from elsinore.errors import Diagnostic, UnsupportedQueryError
from elsinore.query.bound import BoundQuery, of_query
from elsinore.query.syntax import Conjunction, EventPattern, Semantics, Sequence
from elsinore.template.build import build_conjoined, build_templates
from elsinore.template.subsets import NotUnambiguous


@of_query
def greta_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Why the greta executor cannot run a query; empty if it can."""
    try:
        if isinstance(query.pattern, Conjunction):
            build_conjoined(query)
        else:
            build_templates(query)
    except NotUnambiguous as reason:
        return (str(reason),)
    return ()


def require_greta(queries: Iterable[BoundQuery], executor: str = "greta") -> None:
    """Refuse all queries at once that the greta executor cannot run.

    Args:
        queries: the queries.
        executor: who refuses them: greta, or one that leaves to greta what it does not run itself.

    Raises:
        UnsupportedQueryError: fields `executor` and `queries`, the names.
    """
    hint = "give each part of the pattern what tells its events from those of the others"
    refuse_all(executor, {query: greta_refusals(query) for query in queries}, lambda _: hint)


def run_instead(query: BoundQuery) -> str:
    """A hint where another executor refuses a query: who can run it."""
    return f"{'twostep' if greta_refusals(query) else 'greta'} can run it"


def refuse_all(
    executor: str,
    refusals: Mapping[BoundQuery, tuple[str, ...]],
    hint: Callable[[BoundQuery], str] = run_instead,
) -> None:
    """Refuse every query that an executor has a reason not to run, all in one error.

    Raises:
        UnsupportedQueryError: fields `executor` and `queries`, the names.
    """
    refused = {query: reasons for query, reasons in refusals.items() if reasons}
    if refused:
        faults = tuple(
            Diagnostic(
                f"{executor} cannot run {query.name}: {'; '.join(reasons)}", query.at, hint(query)
            )
            for query, reasons in refused.items()
        )
        raise UnsupportedQueryError(
            " | ".join(str(fault) for fault in faults),
            diagnostics=faults,
            executor=executor,
            queries=tuple(query.name for query in refused),
        )


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
