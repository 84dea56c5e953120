"""What the compiled executors can run; everything else is refused by name."""

from __future__ import annotations

from collections.abc import Iterable

from elsinore.errors import Diagnostic, UnsupportedQueryError
from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import (
    Conjunction,
    Disjunction,
    KleeneStar,
    Maybe,
    Negation,
    Pattern,
    Semantics,
    parts_of,
)
from elsinore.template.ambiguity import is_ambiguous
from elsinore.template.template import build_template

_NAMES: dict[type, str] = {
    Negation: "NOT",
    Disjunction: "OR",
    Conjunction: "AND",
    KleeneStar: "*",
    Maybe: "?",
}


def greta_refusals(query: BoundQuery) -> tuple[str, ...]:
    """Why the greta executor cannot run a query; empty if it can."""
    reasons = [f"it has no {name} in patterns" for name in sorted(_constructs(query.pattern))]
    if query.semantics is not Semantics.ANY:
        reasons.append(f"it has no {query.semantics} semantics")
    if not reasons and is_ambiguous(build_template(query)):
        reasons.append("the pattern can match one trend in two ways")
    return tuple(reasons)


def require_greta(queries: Iterable[BoundQuery]) -> None:
    """Refuse all queries at once that the greta executor cannot run.

    Raises:
        UnsupportedQueryError: fields `executor` and `queries`, the names.
    """
    refused = {query: reasons for query in queries if (reasons := greta_refusals(query))}
    if refused:
        hint = "`elsinore run --executor twostep` runs it on small data"
        faults = tuple(
            Diagnostic(f"greta cannot run {query.name}: {'; '.join(reasons)}", query.at, hint)
            for query, reasons in refused.items()
        )
        raise UnsupportedQueryError(
            " | ".join(str(fault) for fault in faults),
            diagnostics=faults,
            executor="greta",
            queries=tuple(query.name for query in refused),
        )


def _constructs(pattern: Pattern) -> set[str]:
    found = {_NAMES[type(pattern)]} if type(pattern) in _NAMES else set()
    return found.union(*(_constructs(part) for part in parts_of(pattern)))
