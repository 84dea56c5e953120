"""Open windows contain ingested events, and their hours are not published."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.catalog.load_schema import read_schema
from elsinore.ledger.fold import Fold
from elsinore.ledger.rows import State
from elsinore.quality.open_windows import is_reached, open_windows
from elsinore.query.fingerprints import workload_fingerprint
from elsinore.query.load_workload import read_workload
from elsinore.timeline import DAY, HOUR, MINUTE, Interval, hour_label
from elsinore.windows import owning_hour
from tests.draws import draws
from tests.unit.ledger.ledgers import published, row
from tests.unit.ledger.ledgers import state as ledger_state

SCHEMA = read_schema("stream: s\ntime: {field: at, unit: iso}\ntypes: {A: }\n")
QUERY = "QUERY q{} RETURN COUNT(*) PATTERN A a WITHIN {} minutes SLIDE {} minutes;"
START = 15_000 * DAY

lengths = st.tuples(st.integers(1, 2000), st.integers(1, 2000)).map(sorted)


@pytest.mark.slow
@settings(max_examples=draws(40, 400))
@given(
    st.lists(lengths, min_size=1, max_size=3),
    st.lists(st.integers(0, 1440), min_size=1, max_size=8),
    st.sets(st.integers(0, 70)),
    st.integers(1, 24),
)
def test_they_are_those_of_the_ingested_events(
    queries: list[list[int]], minutes: list[int], published: set[int], until: int
) -> None:
    """By the definition: every window of every event of an earlier hour."""
    text = "".join(QUERY.format(n, within, slide) for n, (slide, within) in enumerate(queries))
    workload = read_workload(text, SCHEMA)
    border = START + until * HOUR
    times = sorted(START + minute * MINUTE for minute in minutes)
    closed = {START + hour * HOUR for hour in published}
    landed = [time for time in times if time < border]
    ends: dict[str, int] = {}
    hours: set[int] = set()
    every: set[int] = set()
    for query in workload.queries:
        held = [query.window.bounds(k).end for t in landed for k in query.window.indices(t)]
        every.update(owning_hour(end) for end in held)
        left = [end for end in held if end > border and owning_hour(end) not in closed]
        ends |= {query.name: max(left)} if left else {}
        hours.update(map(owning_hour, left))
    state = state_of(times, closed, workload_fingerprint(workload))
    found = open_windows(state, workload, border)
    assert found.ends == ends
    assert found.hours == (Interval(min(hours), max(hours) + HOUR) if hours else None)
    for length in (1, 30):
        later = Interval(border, border + length * HOUR)
        assert is_reached(state, workload, later) == any(map(later.contains, every))


def state_of(times: list[int], closed: set[int], fingerprint: str) -> Fold:
    """Return the state of hours with events and of published hours, one of other queries."""
    by_hour: dict[int, list[int]] = {}
    for time in times:
        by_hour.setdefault(time // HOUR * HOUR, []).append(time)
    silent = row(State.INGESTED, 0) | {"hour": hour_label(START - HOUR)}
    ingested = [silent] + [
        silent | {"hour": hour_label(hour), "first_event": own[0], "last_event": own[-1]}
        for hour, own in by_hour.items()
    ]
    hours = [(hour, fingerprint) for hour in sorted(closed)] + [(START + 2 * DAY, "another")]
    done = [
        published(0, 0, workload_fingerprint=own) | {"hour": hour_label(hour)}
        for hour, own in hours
    ]
    return ledger_state(ingested, done)
