"""Every answer equals its definition, in plain Python over all rows, on random ledgers."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from elsinore.ledger.inputs import missing, without_files
from elsinore.ledger.results import (
    lost,
    not_validated,
    provisional,
    stale,
    unpublished,
    waiting,
)
from elsinore.ledger.rows import State
from elsinore.timeline import HOUR, Interval
from elsinore.windows import Window
from tests.draws import draws
from tests.unit.ledger.ledgers import (
    START,
    WORKLOAD,
    at,
    failed,
    ingested,
    label,
    numbers,
    published,
    refreshed,
    row,
    state,
)

HOURS = 8
_hours, _versions = st.integers(0, HOURS - 1), st.integers(0, 5)
_rows = st.one_of(
    st.builds(ingested, _hours),
    st.builds(ingested, _hours, st.just("a")),
    st.builds(refreshed, _hours, _versions),
    st.builds(lambda hour, at: row(State.REMOVED, hour, events_version=at), _hours, _versions),
    st.builds(lambda hour, at: row(State.AGGREGATED, hour, events_version=at), _hours, _versions),
    st.builds(lambda hour: row(State.VALIDATED, hour), _hours),
    st.builds(lambda hour, at, missing: published(hour, at, *missing), _hours, _versions,
              st.lists(_hours, unique=True, max_size=2)),
    st.builds(failed, _hours),
    st.builds(lambda hour: failed(hour, workload=""), _hours),
    st.builds(lambda hour: published(hour, 9) | {"workload": "others"}, _hours),
)  # fmt: skip
_ledgers = st.lists(_rows, max_size=30)

Row = dict[str, Any]


class Naive:
    """The definitions: `rows` are all rows in the order of commits, with their place."""

    def __init__(self, rows: list[Row], reach: int) -> None:
        own = [one for one in rows if one["workload"] in ("", WORKLOAD)]
        self.rows = [{**one, "place": place} for place, one in enumerate(rows) if one in own]
        self.reach = reach

    def of(self, states: tuple[State, ...], hour: int, workload: str | None = None) -> list[Row]:
        return [
            one for one in self.rows
            if one["hour"] == label(hour) and one["state"] in states
            and workload in (None, one["workload"])
        ]  # fmt: skip

    def last(self, state: State, hour: int) -> Row | None:
        found = self.of((state,), hour)
        return found[-1] if found else None

    def reached(self, hour: int) -> range:
        return range(hour - self.reach, hour + 1)

    def has_file(self, hour: int) -> bool:
        one = self.last(State.INGESTED, hour)
        return one is not None and bool(one["files"])

    def is_stale(self, hour: int) -> bool:
        done = self.last(State.PUBLISHED, hour)
        return done is not None and any(
            one["events_version"] > done["events_version"]
            for near in self.reached(hour)
            for one in self.of((State.REFRESHED,), near)[-1:]
        )

    def is_lost(self, hour: int) -> bool:
        def is_gone(near: int) -> bool:
            found = self.of((State.REMOVED, State.INGESTED), near)
            return bool(found) and found[-1]["state"] == State.REMOVED

        return any(map(is_gone, self.reached(hour)))

    def missing_inputs(self, hour: int) -> list[str]:
        done = self.last(State.PUBLISHED, hour)
        return done["missing_inputs"] if done else []

    def is_waiting(self, hour: int) -> bool:
        return any(self.has_file(h) for h in range(HOURS) if label(h) in self.missing_inputs(hour))

    def failures(self, hour: int, workload: str) -> int:
        """Return the number of failed attempts of an hour whose last attempt failed."""
        ends = State.PUBLISHED if workload else State.INGESTED
        steps = (State.AGGREGATED, State.VALIDATED, ends, State.FAILED)
        found = [one["state"] for one in self.of(steps, hour, workload)]
        if not found or found[-1] != State.FAILED:
            return 0
        done = max((n for n, one in enumerate(found) if one == ends), default=-1)
        return found[done + 1 :].count(State.FAILED)

    def is_unpublished(self, hour: int, since: int) -> bool:
        if self.last(State.PUBLISHED, hour):
            return False
        work = (State.AGGREGATED, State.VALIDATED, State.PUBLISHED, State.FAILED)
        own = [one for one in self.rows if one["workload"] == WORKLOAD]
        done = [h for h in range(HOURS) if self.last(State.PUBLISHED, h)]
        first = min(done, default=HOURS)
        ingest = self.last(State.INGESTED, hour)
        is_new = ingest is not None and bool(own) and ingest["place"] > own[0]["place"]
        is_wanted = hour >= first and (hour >= since or is_new)
        has_inputs = any(
            self.has_file(near) or self.last(State.REFRESHED, near) for near in self.reached(hour)
        )
        return has_inputs and (is_wanted or bool(self.of(work, hour, WORKLOAD)))


@settings(max_examples=draws(40, 2_000))
@given(_ledgers, st.integers(0, 3), st.integers(0, HOURS))
def test_answers_equal_their_definitions(rows: list[Row], reach: int, since: int) -> None:
    found, naive, every = state(*rows), Naive(rows, reach), range(HOURS)
    end = START + HOURS * HOUR
    assert numbers(stale(found, reach)) == [h for h in every if naive.is_stale(h)]
    assert numbers(provisional(found)) == [h for h in every if naive.missing_inputs(h)]
    assert numbers(waiting(found)) == [h for h in every if naive.is_waiting(h)]
    assert numbers(lost(found, at(*every), reach)) == [h for h in every if naive.is_lost(h)]
    last = (State.AGGREGATED, State.VALIDATED)
    tops = {h: naive.of(last, h)[-1:] for h in every if naive.last(State.AGGREGATED, h)}
    assert numbers(not_validated(found)) == [
        h for h, top in tops.items() if top[0]["state"] == State.AGGREGATED
    ]
    for failures, workload in ((found.failed, WORKLOAD), (found.failed_ingests, "")):
        tries = dict(zip(numbers(failures.last.hours), failures.tries.tolist(), strict=True))
        expected = {h: naive.failures(h, workload) for h in every}
        assert tries == {h: count for h, count in expected.items() if count}
    assert numbers(unpublished(found, reach, end, since=START + since * HOUR)) == [
        h for h in every if naive.is_unpublished(h, since)
    ]
    seen = [h for h in every if naive.last(State.INGESTED, h)]
    assert numbers(missing(found, end)) == [
        h for h in every if seen and h > seen[0] and h not in seen
    ]
    files = [h for h in every if naive.has_file(h)]
    assert numbers(without_files(found, end)) == [
        h for h in every if files and h > files[0] and h not in files
    ]


@given(st.integers(1, 400), st.integers(1, 400))
def test_windows_of_some_hour_reach_as_far_back_as_they_say(within: int, slide: int) -> None:
    minutes = HOUR // 60
    window = Window(within * minutes, slide * minutes)
    # The pattern of windows repeats after as many hours as SLIDE has minutes.
    starts = [
        window.bounds(number).start - hour * HOUR
        for hour in range(slide)
        for number in window.ending_in(Interval(hour * HOUR, (hour + 1) * HOUR))[:1]
    ]
    assert window.hours_back == max(-(min(starts) // HOUR), 0)
