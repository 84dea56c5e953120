"""All templates of a query, whatever its pattern, each with what its trends match."""

from __future__ import annotations

from elsinore.query.bound import BoundQuery
from elsinore.query.syntax import Conjunction
from elsinore.template.build import build_conjoined, build_templates
from elsinore.template.template import Template

#: What the trends of a template match: the whole pattern, or a side of AND.
WHOLE = "pattern"
LEFT, RIGHT, BOTH = "left side of AND", "right side of AND", "both sides of AND at once"


def template_parts(query: BoundQuery) -> list[tuple[str, Template]]:
    """The templates of a query, one for each set of keys that its trends may carry.

    Raises:
        NotUnambiguous: the pattern has none.
    """
    if not isinstance(query.pattern, Conjunction):
        return [(WHOLE, template) for template in build_templates(query)]
    found = build_conjoined(query)
    sides = ((LEFT, found.left), (RIGHT, found.right), (BOTH, found.both))
    return [(side, template) for side, templates in sides for template in templates]


def carried_keys(query: BoundQuery, template: Template) -> list[str]:
    """Attributes of the keys that the trends of a template carry."""
    return [query.keys[number].attribute for number in sorted(template.keys)]
