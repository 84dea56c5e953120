"""Check which queries the compiled executors support, and raise errors for the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain

from elsinore.errors import Diagnostic, UnsupportedQueryError
from elsinore.hints import Hint, Option
from elsinore.query.bound import BoundQuery, Workload, of_query
from elsinore.query.steps import with_steps
from elsinore.query.syntax import EventPattern, Semantics, Sequence
from elsinore.template.build import (
    has_few_places,
    has_one_group,
    position_templates,
    template_parts,
)
from elsinore.template.measures import measure_queries
from elsinore.template.subsets import NotUnambiguous


@of_query
def greta_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Return why the executor greta cannot run a query; empty if it can.

    It runs a query with steps if it runs each step.
    """
    if query.steps:
        return of_steps(greta_refusals)(query)
    if refusals := participation_refusals(query):
        return refusals
    try:
        template_parts(query)
        measure_queries(query)
    except NotUnambiguous as reason:
        return (str(reason),)
    return ()


def pipeline_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Return why the pipeline cannot run a query; empty if it can."""
    if query.window.session is not None:
        return (NO_SESSIONS,)
    return greta_refusals(query)


#: Why the pipeline does not run a query with sessions.
NO_SESSIONS = "a late event can change sessions of any later hour"


def of_steps(
    refusals: Callable[[BoundQuery], tuple[str, ...]],
) -> Callable[[BoundQuery], tuple[str, ...]]:
    """Return why an executor cannot run a query, or one of its steps."""

    def refused(query: BoundQuery) -> tuple[str, ...]:
        found = (reason for each in with_steps([query]) for reason in refusals(each))
        return tuple(dict.fromkeys(found))

    return refused


def lowered(workload: Workload) -> Workload:
    """Return a workload with the steps of its queries instead of the queries.

    A query stays as it is if greta cannot run one of its steps: only twostep can run it.
    """
    if not any(query.steps for query in workload.queries):
        return workload
    found = (
        (query,) if greta_refusals(query) else with_steps([query]) for query in workload.queries
    )
    return replace(workload, queries=tuple(chain.from_iterable(found)))


def counts_trends(query: BoundQuery) -> bool:
    """Return whether a query needs the number of trends, or sums over trends."""
    return bool(query.counted or query.measured) or not query.participating


@of_query
def participation_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Return why the participating events of a query cannot be found without enumerating trends.

    Empty if they can, or if the query has no EACH and no DISTINCT.
    """
    if not query.participating:
        return ()
    try:
        position_templates(query)
        is_clear = has_one_group(query)
    except NotUnambiguous as reason:
        return (str(reason),)
    return () if is_clear else ("the group of a trend can depend on how it is matched",)


def needs_pairs(query: BoundQuery) -> bool:
    """Return whether conditions on pairs of events decide which events participate."""
    return (
        query.semantics is not Semantics.ANY
        or query.window.span is not None
        or bool(query.edge_predicates)
        or any(position.negated for position in query.positions)
    )


@of_query
def aseq_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Return why the executors aseq and sharon cannot run a query; empty if they can.

    They support Sharon Definitions 1 and 2: a fixed number of events, with any other events in
    between, predicates on single events, and keys of any scope. Each supported clause is checked,
    so new clauses are not supported by default.
    """
    parts = query.pattern.parts if isinstance(query.pattern, Sequence) else (query.pattern,)
    runs = {
        "it is a part of a query of measures": query.refinement is None,
        "its pattern is more than a sequence of single events": all(
            isinstance(part, EventPattern) for part in parts
        ),
        f"its semantics are {query.semantics}": query.semantics is Semantics.ANY,
        "it has a predicate on adjacent events": not query.edge_predicates,
        "it has a span": query.window.span is None,
    }
    return tuple(reason for reason, shown in runs.items() if not shown)


def require(
    queries: Iterable[BoundQuery],
    executor: str = "greta",
    refusals: Callable[[BoundQuery], tuple[str, ...]] = greta_refusals,
) -> None:
    """Raise one error for all queries that an executor cannot run.

    Args:
        queries: the queries.
        executor: its name, for the error.
        refusals: returns why the executor cannot run a query. The default also fits executors that
            pass unsupported queries to greta.

    Raises:
        UnsupportedQueryError: with the fields `executor` and `queries`, the names of the queries.
    """
    refused = {query.name: (query, reasons) for query in queries if (reasons := refusals(query))}
    if refused:
        faults = {
            name: Diagnostic(
                f"{executor} cannot run {name}: {'; '.join(reasons)}", query.at,
                _run_instead(query, refusals),
            )
            for name, (query, reasons) in refused.items()
        }  # fmt: skip
        raise UnsupportedQueryError.of_queries(executor, faults)


def _run_instead(query: BoundQuery, refusals: object) -> str:
    """Return a hint for a query that an executor cannot run."""
    if refusals is pipeline_refusals and query.window.session is not None:
        return "run it by elsinore run or elsinore.spark.run, or write SPAN ... PER ..."
    if not has_few_places(query):
        return Hint("repeat fewer events, or use ", Option("executor", "twostep"))
    if participation_refusals(query):
        return Hint("use ", Option("executor", "twostep"))
    if refusals in (greta_refusals, pipeline_refusals):
        return "add a condition to each part of the pattern that only its events meet"
    return Hint("use ", Option("executor", "twostep" if greta_refusals(query) else "greta"))
