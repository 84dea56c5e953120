"""Which edge predicates of a query trees answer, in words for people."""

from __future__ import annotations

from collections.abc import Iterable

from elsinore.lowering.layout import lay_out
from elsinore.query.bound import EdgePredicate
from elsinore.template.template import Template


def answered_by_order(edge: EdgePredicate, templates: Iterable[Template]) -> bool:
    """Whether order statistics answer an edge predicate, in all but small windows.

    False where any transition that asks for it looks at the pairs, or no transition asks.
    """
    answers = []
    for template in templates:
        ordered = {number for number, _ in lay_out(template).orders}
        for number, arrow in enumerate(template.transitions):
            earlier, later = template.states[arrow.earlier], template.states[arrow.later]
            if edge.earlier in earlier.positions and edge.later in later.positions:
                answers.append(number in ordered)
    return bool(answers) and all(answers)
