"""Remembers what was worked out from a query, which never changes, as long as that lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar

from elsinore.query.bound import BoundQuery

_Found = TypeVar("_Found")


def of_query(function: Callable[[BoundQuery], _Found]) -> Callable[[BoundQuery], _Found]:
    """A function of one query that is called once for each; what it found lives as long as that.

    It must be pure, and what it finds must not be changed. What it raises is not remembered.
    """
    name = f"_{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def remembered(query: BoundQuery) -> _Found:
        kept = query.__dict__  # where `cached_property` keeps the values of frozen classes too
        if name not in kept:
            kept[name] = function(query)
        found: _Found = kept[name]
        return found

    return remembered
