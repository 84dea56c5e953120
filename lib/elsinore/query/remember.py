"""Remembers what was worked out from queries, which never change, while they are in use.

A run asks for the templates and sets of the same queries again with every chunk of events; for a
hundred queries that is 60 ms each time.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TypeVar

from elsinore.query.bound import BoundQuery

_Found = TypeVar("_Found")

#: Sequences of queries that `of_queries` remembers for each function, the last used ones.
LATEST = 16


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


def of_queries(
    function: Callable[[Sequence[BoundQuery]], _Found],
) -> Callable[[Sequence[BoundQuery]], _Found]:
    """The same for a function of several queries, whose order matters.

    Queries are told apart by identity: comparing hundreds would cost more than it saves.
    """
    kept: OrderedDict[tuple[int, ...], tuple[tuple[BoundQuery, ...], _Found]] = OrderedDict()

    @wraps(function)
    def remembered(queries: Sequence[BoundQuery]) -> _Found:
        given = tuple(queries)
        key = tuple(map(id, given))
        entry = kept.pop(key, None) or (given, function(given))
        kept[key] = entry  # it holds the queries, so that no other gets the identity of one
        while len(kept) > LATEST:
            kept.popitem(last=False)
        return entry[1]

    return remembered
