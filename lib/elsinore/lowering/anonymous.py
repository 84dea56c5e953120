"""Conditions without the positions that they were bound to, so that queries compare by meaning."""

from __future__ import annotations

from dataclasses import replace

from elsinore.query.expressions import anonymous
from elsinore.template.template import Condition, Every, Holds, Never, Some


def anonymous_condition(condition: Condition) -> Condition:
    """A condition on pairs with every field read at position 0."""
    match condition:
        case Every(parts) | Some(parts):
            return replace(condition, parts=tuple(anonymous_condition(part) for part in parts))
        case Never(part):
            return Never(anonymous_condition(part))
        case Holds(expression):
            return Holds(anonymous(expression))
    return condition
