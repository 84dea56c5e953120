"""Queries that ask nothing of the events between those of a trend: what can run with others."""

from __future__ import annotations

from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Conjunction, Semantics
from elsinore.template.build import build_templates
from elsinore.template.subsets import NotUnambiguous
from elsinore.template.template import Open, Reaches, Template, leaves_of


def plain_template(query: BoundQuery) -> Template | str:
    """The one template of a query without NOT under skip-till-any-match; else why it has none."""
    if isinstance(query.pattern, Conjunction):
        return "AND counts pairs of trends"
    if query.semantics is not Semantics.ANY:
        return f"{query.semantics} looks at events between"
    try:
        templates = build_templates(query)
    except NotUnambiguous as reason:
        return str(reason)
    if len(templates) != 1:
        return "its trends carry different keys"
    (template,) = templates
    if template.guards or template.bars or template.contiguous or _has_floor(template):
        return "NOT looks at events between"
    attributes = [key.attribute for key in query.keys]
    if len(set(attributes)) < len(attributes):
        return "one attribute is several keys"
    return template


def _has_floor(template: Template) -> bool:
    if any(template.starts.values()) or any(template.ends.values()) or template.ways_out:
        return True
    leaves = [
        leaf
        for arrow in template.transitions
        if arrow.condition is not None
        for leaf in leaves_of(arrow.condition)
    ]
    return any(arrow.floor is not None or arrow.closes for arrow in template.transitions) or any(
        isinstance(leaf, Reaches | Open) for leaf in leaves
    )
