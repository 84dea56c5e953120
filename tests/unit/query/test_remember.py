"""What was worked out from queries is remembered as long as it can be asked for again."""

from __future__ import annotations

import gc
import weakref

import pytest

from elsinore.catalog.stream import EventType, StreamSchema
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import BoundQuery, of_query
from elsinore.query.parse import parse_workload
from elsinore.timeline import TimeUnit

SCHEMA = StreamSchema("s", "time", TimeUnit.INTEGER, "type", None, (EventType("A", ()),))


def queries(*names: str) -> tuple[BoundQuery, ...]:
    texts = (f"QUERY {name} RETURN COUNT(*) PATTERN A+ WITHIN 10;" for name in names)
    return bind_workload(parse_workload("".join(texts)), SCHEMA).queries


def test_a_query_is_asked_once_and_what_was_found_goes_with_it() -> None:
    asked: list[str] = []

    class Found:
        pass

    @of_query
    def work(query: BoundQuery) -> Found:
        asked.append(query.name)
        return Found()

    first, second = queries("p", "q")
    assert work(first) is work(first) is not work(second)
    assert asked == ["p", "q"]
    assert first == queries("p")[0]  # what is remembered is no part of a query
    found = weakref.ref(work(first))
    del first
    gc.collect()
    assert found() is None


def test_what_is_raised_is_raised_again() -> None:
    @of_query
    def refuse(query: BoundQuery) -> None:
        raise ValueError(query.name)

    (query,) = queries("q")
    for _ in range(2):
        with pytest.raises(ValueError, match="q"):
            refuse(query)


def test_functions_do_not_see_what_others_found() -> None:
    (query,) = queries("q")
    assert [of_query(lambda _: 1)(query)] == [1]

    @of_query
    def other(query: BoundQuery) -> str:
        return query.name

    assert other(query) == "q"
