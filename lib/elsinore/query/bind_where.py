"""Sorts the conjuncts of WHERE into equivalence keys, local and edge predicates."""

from __future__ import annotations

from dataclasses import dataclass, field

from elsinore.query.bind_expression import bind_condition
from elsinore.query.bound import EdgePredicate, LocalPredicate
from elsinore.query.expressions import Both, BoundExpression, fields_of, sides_of
from elsinore.query.faults import some_of
from elsinore.query.resolve import BindFault, Scope
from elsinore.query.syntax import Equivalence, Expression, Operation, Reference


@dataclass
class Conditions:
    """What WHERE says, by class of predicate (GRETA section 6)."""

    equivalences: list[Reference] = field(default_factory=list)
    local: list[LocalPredicate] = field(default_factory=list)
    edges: list[EdgePredicate] = field(default_factory=list)


def bind_where(scope: Scope, where: Expression | None) -> Conditions:
    """The conditions of a WHERE clause; faults are noted in the scope."""
    conditions = Conditions()
    for conjunct in _conjuncts(where):
        if isinstance(conjunct, Equivalence):
            conditions.equivalences += conjunct.keys
            continue
        try:
            bound = bind_condition(scope, conjunct)
        except BindFault:
            continue
        for part in _apart(bound):
            _classify(scope, part, conjunct, conditions)
    return conditions


def _conjuncts(where: Expression | None) -> list[Expression]:
    if where is None:
        return []
    if isinstance(where, Operation) and where.name == "AND":
        return [conjunct for part in where.operands for conjunct in _conjuncts(part)]
    return [where]


def _apart(condition: BoundExpression) -> tuple[BoundExpression, ...]:
    """BETWEEN as two conditions where each stands on its own (AND was taken apart before)."""
    if not isinstance(condition, Both):
        return (condition,)
    alone = all(False in sides_of(part) for part in condition.parts)
    return condition.parts if alone else (condition,)


def _classify(
    scope: Scope, condition: BoundExpression, written: Expression, conditions: Conditions
) -> None:
    now = {field.position for field in fields_of(condition) if not field.following}
    later = {field.position for field in fields_of(condition) if field.following}
    if not now and not later:
        scope.fault("this condition reads no attribute of any event", written.at)
    elif len(now) > 1 or len(later) > 1:
        names = some_of(sorted(scope.positions[i].alias for i in now | later))
        scope.fault(
            f"this condition is about {names} at once",
            written.at,
            "a condition reads one event, or an event and the NEXT(...) one",
        )
    elif not later:
        conditions.local.append(LocalPredicate(now.pop(), condition))
    elif not now:
        scope.fault("NEXT(...) stands alone", written.at, "compare it with the event before it")
    else:
        _add_edge(scope, EdgePredicate(now.pop(), later.pop(), condition), written, conditions)


def _add_edge(
    scope: Scope, edge: EdgePredicate, written: Expression, conditions: Conditions
) -> None:
    earlier, later = (scope.positions[i].alias for i in (edge.earlier, edge.later))
    if scope.well_shaped and (earlier, later) not in scope.adjacency.pairs:
        scope.fault(
            f"{later} never comes right after {earlier} in this pattern",
            written.at,
            "an edge predicate is about adjacent events",
        )
    else:
        conditions.edges.append(edge)
