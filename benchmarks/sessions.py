"""Sessions against tumbling windows of the same mean number of events."""

from __future__ import annotations

import numpy as np

from benchmarks.claim import Measured, benchmark
from benchmarks.streams import auto, events_of, medians, stream_of, workload_of
from elsinore.events import EventTable
from elsinore.library.results import answer

EVENTS, USERS, ROUNDS = 2_000_000, 1_000, 5
#: Events per session, the longest gap, and the time between two sessions of a user.
SIZE, GAP, PAUSE = 20, 2_000, 20_000
STREAM = stream_of(["A", "B"], "user", "v")
QUERIES = (
    "RETURN COUNT(*) PATTERN SEQ(A, B)",
    "RETURN COUNT(*) PATTERN SEQ(A+, B)",
    "RETURN COUNT(EACH A), COUNT(EACH B) PATTERN SEQ(A, B)",
    "RETURN COUNT(*) PATTERN A+ WHERE A.v < NEXT(A).v",
)


def _stream(events: int) -> EventTable:
    """Visits of about `SIZE` events of each user, in the order of time."""
    dice = np.random.default_rng(7)
    users = np.arange(events) % USERS
    visits = dice.random(events) < 1 / SIZE
    steps = np.where(visits, PAUSE, dice.integers(1, GAP + 1, events)).reshape(-1, USERS)
    times = np.cumsum(steps, axis=0).reshape(-1) + users
    order = np.argsort(times, kind="stable")
    kinds, v = dice.integers(0, 2, events), dice.integers(0, 10**6, events)
    return events_of(STREAM, kinds, times[order], user=users[order], v=v)


def _sessions(events: EventTable) -> np.ndarray:
    """The start of each event's session, in the order of users and times."""
    users, times = (events.table[name].to_numpy() for name in ("user", "_time"))
    order = np.lexsort((times, users))
    begins = np.ones(times.size, np.bool_)
    begins[1:] = (np.diff(users[order]) != 0) | (np.diff(times[order]) > GAP)
    return np.cumsum(begins)


def _window(events: EventTable, sessions: int) -> int:
    """A WITHIN by which users have about as many windows with an event as sessions."""
    users, times = (events.table[name].to_numpy() for name in ("user", "_time"))
    low, high = 1, int(times.max())
    while low < high:
        within = (low + high) // 2
        windows = np.unique(users * (times.max() // within + 1) + times // within).size
        low, high = (within + 1, high) if windows > sessions else (low, within)
    return low


def _pairs(events: EventTable) -> int:
    """The number of pairs of an A and a later B of one session; no user has equal times."""
    users, times, kinds = (events.table[name].to_numpy() for name in ("user", "_time", "_type"))
    order = np.lexsort((times, users))
    is_a, session = kinds[order] == 0, _sessions(events)
    before = np.cumsum(is_a) - is_a
    first = np.searchsorted(session, session)
    return int((before - before[first])[~is_a].sum())


@benchmark(
    "sessions",
    "Sessions take little more than tumbling windows of the same mean size",
    f"{len(QUERIES)} queries, {EVENTS:,} events of {USERS:,} users, {SIZE} per session, auto",
    "times the time of the same query with WITHIN",
    at_most=1.5,
)
def sessions() -> Measured:
    """The worst of several queries, each run separately."""
    few = _stream(EVENTS // 20)
    found = answer(workload_of(STREAM, [f"{QUERIES[0]} SESSION {GAP} BY user"]), few)
    assert sum(int(str(row.values[0][1])) for row in found) == _pairs(few)
    events = _stream(EVENTS)
    number = int(_sessions(events)[-1])
    within = _window(events, number)
    rows: list[dict[str, float | str]] = []
    for text in QUERIES:
        pattern, _, where = text.partition(" WHERE ")
        conditions = " AND ".join(["[user]", *([where] if where else [])])
        windows = f"{pattern} WHERE {conditions} GROUP-BY user WITHIN {within}"
        ways = {
            "sessions": auto(workload_of(STREAM, [f"{text} SESSION {GAP} BY user"]), events),
            "windows": auto(workload_of(STREAM, [windows]), events),
        }
        for way in ways.values():
            way()
        seconds = medians(ways, ROUNDS)
        ratio = seconds["sessions"] / seconds["windows"]
        rows.append({"query": text, **seconds, "ratio": ratio})
    return Measured(
        max(float(row["ratio"]) for row in rows),
        f"the number of matches in {EVENTS // 20:,} events, by a sum over sessions",
        tuple(rows),
        f"{number:,} sessions, and windows of {within:,}.",
    )
