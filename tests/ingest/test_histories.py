"""Tables follow from the files: any order, corrected files, kills, several runs at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pytest

from elsinore.ingest.tables import IngestTables
from elsinore.settings import Settings
from elsinore.spark.session import open_session
from elsinore.store.spark_tables import SparkTables
from tests.draws import draws
from tests.ingest.histories import END, FINAL, FIRST, assert_final, later, order, play
from tests.ingest.landing_zone import NewTables, departure, hour, ingest, put, rows

pytestmark = pytest.mark.spark

#: Histories of one lake, by the hours that they begin later: each is some rows more, and no job.
HISTORIES = {4 * number - FIRST: order(number) for number in range(draws(12, 300))}


def test_any_order_of_ingests_leaves_the_same_tables(new_tables: NewTables) -> None:
    tables, zone = new_tables()
    play(zone, HISTORIES, lambda hours: ingest(tables, zone, hours))
    assert_final(tables, HISTORIES)
    version = tables.store.version("events")
    again = ingest(tables, zone, [hour(at + later) for later in HISTORIES for at in FINAL])
    assert again.events.changed == 0
    assert tables.store.version("events") == version


class Killed(Exception):
    """The process ends here."""


@dataclass(frozen=True)
class MortalTables(SparkTables):
    """Tables whose writes end the process, before or after they commit."""

    writes: Callable[[str], bool] = lambda moment: False

    def _or_die(self, write: Callable[[], None]) -> None:
        if self.writes("before"):
            raise Killed
        write()
        if self.writes("after"):
            raise Killed

    def replace(self, *args: Any, **named: Any) -> None:
        self._or_die(lambda: SparkTables.replace(self, *args, **named))

    def append(self, *args: Any, **named: Any) -> None:
        self._or_die(lambda: SparkTables.append(self, *args, **named))

    def merge(self, *args: Any, **named: Any) -> None:
        self._or_die(lambda: SparkTables.merge(self, *args, **named))


def mortal(tables: IngestTables, moment: int) -> IngestTables:
    """Tables that end the process at a moment: even ones are before a write, odd ones after it."""
    moments = iter(range(100))
    store = tables.store
    own = MortalTables(store.spark, store.root, store.schemas, lambda _: next(moments) == moment)
    return replace(tables, store=own)


@pytest.mark.long
def test_killed_at_any_write_others_complete_what_is_missing(new_tables: NewTables) -> None:
    tables, zone = new_tables()
    lost, moments = set[int](), iter([4, 2, 5, 3, 1, 4, 3, 5])

    def die(hours: list[int]) -> None:
        """Ingest until a write; what a run did not store is ingested again in the end."""
        moment = next(moments)
        with pytest.raises(Killed):
            ingest(mortal(tables, moment), zone, hours)
        if moment < 3:  # before raw events are stored
            lost.update(hours)
        else:
            lost.difference_update(hours)

    play(zone, HISTORIES, die)
    # Any hours will do for `events` to be completed: here one without files.
    ingest(tables, zone, sorted(lost) or [hour(500)])
    assert_final(tables, HISTORIES)


@pytest.mark.long
def test_four_at_once(new_tables: NewTables, server: Settings) -> None:
    tables, zone = new_tables()
    histories = [4 * number - FIRST for number in range(6)]  # of one day
    for hours in histories:
        for at in range(FIRST, END):
            put(zone, hour(at + hours), *later(FINAL[at], hours))

    def run(at: int) -> None:
        with open_session(server) as session:
            store = SparkTables.open(session, tables.store.root, tables.store.schemas)
            ingest(replace(tables, store=store), zone, [hour(at + hours) for hours in histories])

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(run, range(FIRST, END)))
    assert_final(tables, histories)
    assert len(rows(tables, "raw_events", "file")) == 14 * len(histories)


@pytest.mark.long
def test_many_bytes_do_not_pass_through_this_process(
    new_tables: NewTables, server: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables, zone = new_tables()
    for module in ("refresh", "write_raw"):
        monkeypatch.setattr(f"elsinore.ingest.{module}._MOST_LOCAL_BYTES", 0)

    def run() -> list[int]:
        """Return the number of new events of each hour: the first fills `events`."""
        with open_session(server) as session:
            # Without the method, an ingest that uses it fails.
            monkeypatch.setattr(session, "createDataFrame", None)
            store = SparkTables.open(session, tables.store.root, tables.store.schemas)
            own = replace(tables, store=store)
            inserted = []
            for number in (10, 11):
                put(zone, hour(number), departure(number), departure(number + 5), departure(30))
                inserted.append(ingest(own, zone, [hour(number)]).events.inserted)
            return inserted

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run).result() == [3, 2]
    events = rows(tables, "events", "event_id", "file_hour")
    assert [(event, label[-2:]) for event, label in events] == [
        ("d10", "10"), ("d11", "11"), ("d15", "10"), ("d16", "11"), ("d30", "11"),
    ]  # fmt: skip
