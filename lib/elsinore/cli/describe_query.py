"""What a bound query is, as plain data: the source of `elsinore check`, as text and as JSON."""

from __future__ import annotations

from typing import Any

from elsinore.lowering.layout import answered_by_order
from elsinore.lowering.sweep import sweep_refusals
from elsinore.query.bound import BoundQuery, Key
from elsinore.query.print_query import print_bound, print_length, print_pattern
from elsinore.template.build import carried_keys, template_parts
from elsinore.template.describe import describe_template, numbered_nots
from elsinore.template.subsets import NotUnambiguous
from elsinore.template.support import aseq_refusals, greta_refusals
from elsinore.template.template import Template


def describe_query(query: BoundQuery, *, calendar: bool) -> dict[str, Any]:
    """Everything that `check` says of a query.

    Args:
        query: the query.
        calendar: whether the stream's time is in microseconds, not in ticks of no unit.

    Returns:
        A mapping that JSON can hold. `within`, `slide` and `pane` are numbers, `window` says the
        same in words; `templates` is empty where the pattern cannot be made unambiguous. `by_order`
        of an edge predicate: greta answers it from order statistics, not by pairs.
    """
    refusals = greta_refusals(query)
    executors = [] if refusals else ["greta"]
    executors += [] if sweep_refusals(query) else ["sweep"]
    executors += [] if aseq_refusals(query) else ["sharon", "aseq"]
    executors.append("twostep")
    parts = _parts(query)
    aliases = {position.index: position.alias for position in query.positions}
    return {
        "query": query.name,
        "fingerprint": query.fingerprint,
        "pattern": print_pattern(query.pattern),
        "nots": [
            {"number": found.number, "pattern": print_pattern(found.body), "inside": found.inside}
            for found in numbered_nots(query)
        ],
        "templates": _templates(query, parts),
        "local_predicates": [
            {"alias": aliases[p.position], "condition": print_bound(p.condition, aliases)}
            for p in query.local_predicates
        ],
        "edge_predicates": [
            {
                "earlier": aliases[edge.earlier],
                "later": aliases[edge.later],
                "condition": print_bound(edge.condition, aliases),
                "by_order": answered_by_order(edge, (template for _, template in parts)),
            }
            for edge in query.edge_predicates
        ],
        "keys": [_key(query, key) for key in query.keys],
        "aggregates": [aggregate.label for aggregate in query.aggregates],
        **_window(query, calendar=calendar),
        "semantics": str(query.semantics),
        "executors": executors,
        "refused": {"greta": list(refusals)} if refusals else {},
    }


def _parts(query: BoundQuery) -> list[tuple[str, Template]]:
    try:
        return template_parts(query)
    except NotUnambiguous:
        return []


def _templates(query: BoundQuery, parts: list[tuple[str, Template]]) -> list[dict[str, Any]]:
    return [
        {
            "of": side,
            "keys": carried_keys(query, template),
            "text": describe_template(query, template),
        }
        for side, template in parts
    ]


def _key(query: BoundQuery, key: Key) -> dict[str, Any]:
    return {
        "attribute": key.attribute,
        "aliases": [query.positions[p].alias for p in sorted(key.positions)],
        "not_carried_by": [p.alias for p in query.positions if p.index not in key.positions],
        "equivalence": key.equivalence,
        "group": key.group_label,
    }


def _window(query: BoundQuery, *, calendar: bool) -> dict[str, Any]:
    window = query.window
    lengths = {"within": window.within, "slide": window.slide, "pane": window.pane()}
    words = [f"{name} {print_length(n) if calendar else n}" for name, n in lengths.items()]
    return lengths | {"window": ", ".join(words)}
