"""The winner of a key: by version or time of modification, within a span, by file and record."""

from __future__ import annotations

import os
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from elsinore.ingest.decode_records import decode_files
from elsinore.ingest.event_keys import LONGEST_LITERAL
from elsinore.ingest.refresh import _changed_keys, refresh
from elsinore.ingest.write_raw import write_raw
from elsinore.timeline import hour_label
from tests.draws import draws
from tests.ingest.histories import END, FIRST, later
from tests.ingest.landing_zone import (
    NewTables,
    departure,
    fates,
    files_of,
    hour,
    ingest,
    put,
    rows,
)

pytestmark = pytest.mark.spark

#: Times of records of the hours 10 to 13: in two days and four hours.
_TIMES = ("2012-12-31T23:50", "2013-01-01T00:10", "2013-01-01T08:59", "2013-01-01T09:00")
#: Versions of records, in order: none, numbers, and a timestamp.
_VERSIONS = (..., None, -1, 0, 2.5, 3, 10, "2013-01-01T00:00:00Z", "2013-01-01T01:00:00+02:00")

Record = dict[str, Any]


def _records(dice: random.Random) -> list[Record]:
    """Records of few ids."""
    return [
        departure(
            dice.randrange(3), time=f"{dice.choice(_TIMES)}:00Z", dep_delay=dice.randrange(2),
            updated_at=dice.choice(_VERSIONS),
        )
        for _ in range(dice.randrange(1, 5))
    ]  # fmt: skip


def _rank(record: Record) -> float:
    """The version of a record as a number, of a timestamp in microseconds; none is the lowest."""
    version = record.get("updated_at")
    if version is None:
        return float("-inf")
    if not isinstance(version, str):
        return float(version)
    # 2013 began 15,706 days after 1970; the second one is an hour before.
    return 15_706 * 86_400e6 - (3_600e6 if "+02" in version else 0)


#: Schemas of ids, and by definition the key of a record and what it is ordered by first.
Case = tuple[str, Callable[[Record], Any], Callable[[Record], float]]
CASES: dict[str, Case] = {
    "version": ("{field: id, version: updated_at}", lambda r: r["id"], _rank),
    "day": ("{field: id, unique_within: day}", lambda r: (r["id"], r["time"][:10]), lambda r: 0),
    "hour": ("{field: id, unique_within: hour}", lambda r: (r["id"], r["time"][:13]), lambda r: 0),
}


def _by_definition(
    final: dict[int, list[Record]], key: Callable[[Record], Any], rank: Callable[[Record], float]
) -> tuple[list[Any], dict[int, list[int]]]:
    """The events, and the fates of each hour: records, accepted, duplicates, superseded, bad."""
    placed = [
        (rank(record), at, number, record)
        for at, records in final.items() for number, record in enumerate(records, start=1)
    ]  # fmt: skip
    winners = {key(record): (at, number, record) for _, at, number, record in sorted(
        placed, key=lambda found: found[:3])}  # fmt: skip
    counts: dict[int, list[int]] = defaultdict(lambda: [0] * 5)
    for _, at, number, record in placed:
        won_at, won_number, winner = winners[key(record)]
        same = all(record[name] == winner[name] for name in ("time", "dep_delay"))
        fate = 1 if (won_at, won_number) == (at, number) else 2 if same else 3
        counts[at][0] += 1
        counts[at][fate] += 1
    return [(r["id"], at, n, r["dep_delay"]) for at, n, r in winners.values()], counts


@pytest.mark.parametrize("case", [*CASES][: draws(1, 3)])
def test_any_order_of_ingests_leaves_the_events_of_the_definition(
    new_tables: NewTables, case: str
) -> None:
    ids, key, rank = CASES[case]
    tables, zone = new_tables(ids)
    # Three days apart, so that none is in the days of another.
    histories, dice = [72 * number for number in range(draws(12, 100))], random.Random(case)
    earlier, final = (
        {hours: {at: _records(dice) for at in range(FIRST, END)} for hours in histories}
        for _ in range(2)
    )
    every = [(hours, at) for hours in histories for at in range(FIRST, END)]
    first, second = (set(dice.sample(every, len(every) // 2)) for _ in range(2))
    # Some hours, with what their files contained before; then others and the rest, in this order.
    for of, chosen in ((earlier, first), (final, second), (final, set(every) - second)):
        for hours, at in chosen:
            put(zone, hour(at + hours), *later(of[hours][at], hours))
        ingest(tables, zone, [hour(at + hours) for hours, at in sorted(chosen)])
    events, counts = [], []
    for hours in histories:
        moved = {at: later(records, hours) for at, records in final[hours].items()}
        won, fate = _by_definition(moved, key, rank)
        events += [(i, hour_label(hour(at + hours)), n, delay) for i, at, n, delay in won]
        counts += [(hour_label(hour(at + hours)), *own) for at, own in fate.items()]
    found = rows(tables, "events", "event_id", "file_hour", "record_number", "dep_delay")
    assert found == sorted(events)
    assert fates(tables) == sorted(counts)


@pytest.mark.long
def test_versions_of_other_kinds_are_quarantined(new_tables: NewTables) -> None:
    tables, zone = new_tables("{field: id, version: updated_at}")
    bad = ["soon", True, [1], {"a": 1}, 1e30, 1e-12, "2013-13-01"]
    put(zone, hour(10), *(departure(n, updated_at=version) for n, version in enumerate(bad)))
    put(zone, hour(11), departure(50, updated_at=2**63), departure(50, updated_at=2**63 - 1))
    done = ingest(tables, zone, [hour(10), hour(11)])
    assert done.hours["2013-01-01T10"].reasons == {"bad_version": len(bad)}
    assert rows(tables, "events", "event_id", "record_number") == [("d50", 1)]
    reasons = [reason for (reason,) in rows(tables, "quarantine", "reason")]
    assert "updated_at: 'soon' is not a number or ISO 8601 timestamp" in reasons


@pytest.mark.long
def test_long_ids_are_no_literals_of_statements(new_tables: NewTables) -> None:
    """Statements have a maximum size, which a few ids of megabytes exceed."""
    tables, zone = new_tables()
    records = [departure(1, id="x" * 1_000 + end) for end in ("a", "b", "\U0010ffff")]
    put(zone, hour(10), *records, departure(2))
    assert ingest(tables, zone, [hour(10)]).events.inserted == 4
    put(zone, hour(11), *({**record, "dep_delay": 9} for record in records))
    done = write_raw(tables, files_of(zone, [hour(11)]), [hour(11)], run="test")
    assert done.hours["2013-01-01T11"].records == 3
    changed = _changed_keys(tables, tables.store.version("raw_events") - 1)
    assert changed is not None
    assert changed.few == ()
    assert max(map(len, (changed.first, changed.last))) <= LONGEST_LITERAL + 1
    assert refresh(tables, run="test").updated == 3
    assert rows(tables, "events", "dep_delay") == [(5,), (9,), (9,), (9,)]


def test_a_file_can_have_any_time_of_modification(new_tables: NewTables) -> None:
    tables, zone = new_tables("{field: id, order: modified}")
    put(zone, hour(10), departure(1))
    (file,) = files_of(zone, [hour(10)])
    far = replace(file, changed=(2**63 - 1) * 10**9)  # the latest of some file systems
    decode = decode_files([[far]], tables.stream)
    (found,) = decode(iter([pa.record_batch({"id": [0]})]))
    assert found["event_version"].to_pylist() == [2**63 - 1]


@pytest.mark.long
def test_names_and_times_of_files(new_tables: NewTables) -> None:
    """Of the files of an hour the last name wins, or if asked for the last modification."""
    for ids, winner in (("{field: id}", 3), ("{field: id, order: modified}", 4)):
        tables, zone = new_tables(ids)
        # `-` sorts before `.`: with its extension the first name would be the last.
        paths = [put(zone, hour(10), departure(1, dep_delay=1))]
        paths += [put(zone, hour(10), departure(1, dep_delay=2), name="-late")]
        paths += [put(zone, hour(10), departure(1, dep_delay=3), name="_2")]
        paths += [put(zone, hour(9), departure(1, dep_delay=4))]
        for second, path in enumerate(paths):
            os.utime(path, (second, second))
        ingest(tables, zone, [hour(9), hour(10)])
        assert rows(tables, "events", "dep_delay") == [(winner,)]


@pytest.mark.long
def test_events_without_ids(new_tables: NewTables) -> None:
    tables, zone = new_tables("")
    put(zone, hour(10), departure(1), departure(1), "bad", departure(2))
    ingest(tables, zone, [hour(10)])
    put(zone, hour(10), departure(1), departure(3))
    put(zone, hour(11), departure(1))
    done = ingest(tables, zone, [hour(10), hour(11)]).events
    assert (done.inserted, done.updated, done.deleted) == (1, 0, 1)
    found = rows(tables, "events", "file_hour", "record_number")
    assert found == [("2013-01-01T10", 1), ("2013-01-01T10", 2), ("2013-01-01T11", 1)]
    assert {row.event_id for row in tables.store.read("events").collect()} == {None}
