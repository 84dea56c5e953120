"""Which events are brought for a check: by window, type and group, as the engine sees values."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from elsinore.events import TIME_COLUMN, TYPE_COLUMN
from elsinore.quality import checked_events
from elsinore.quality.checked_events import events_of_places
from elsinore.quality.sample import EVERY_GROUP, Place
from elsinore.query.bind_query import bind_workload
from elsinore.query.parse import parse_workload
from elsinore.settings import Settings
from elsinore.store.tables import Lake, load_tables
from elsinore.timeline import EPOCH, HOUR, MINUTE
from tests.golden_cases import stream_schema
from tests.property.random_cases.dice import Dice

SCHEMA = stream_schema(
    {
        "A": {"x": "double", "g": "string"},
        "B": {"x": "double", "g": "string"},
        "C": {"g": "string"},
    },
    time="iso",
)
QUERIES = bind_workload(
    parse_workload(
        """
        QUERY by_double RETURN x, COUNT(*) PATTERN A+ GROUP-BY x WITHIN 1 hour;
        QUERY by_text RETURN g, COUNT(*) PATTERN SEQ(A, B) WHERE [g] GROUP-BY g
        WITHIN 2 hours SLIDE 1 hour;
        QUERY first RETURN g, COUNT(*) PATTERN SEQ(A, B) GROUP-BY A.g WITHIN 1 hour;
        QUERY optional RETURN g, COUNT(*) PATTERN SEQ(A, C?) GROUP-BY C.g WITHIN 1 hour;
        QUERY near RETURN g, COUNT(*) PATTERN A+ WHERE A.x > 1.0 GROUP-BY g WITHIN 1 hour
        SEMANTICS contiguous;
        QUERY scoped RETURN g, COUNT(*) PATTERN SEQ(A+, NOT SEQ(C x, C y), B) GROUP-BY A.g
        WITHIN 1 hour SEMANTICS contiguous;
        QUERY guarded RETURN g, COUNT(*) PATTERN SEQ(A+, NOT C) GROUP-BY g WITHIN 1 hour
        SEMANTICS contiguous;
        QUERY late RETURN g, COUNT(*) PATTERN SEQ(A, B+) WHERE B.x > 1.0 GROUP-BY A.g WITHIN 1 hour;
        """,
        "<test>",
    ),
    SCHEMA,
)
#: Of which types events are wanted, where that is not A and B.
TYPES = {
    "by_double": "A", "optional": "AC", "near": "ABC", "scoped": "ABC", "guarded": "ABC",
}  # fmt: skip
START = datetime(2013, 1, 1, 22, tzinfo=UTC)
FIRST = (START - EPOCH) // timedelta(microseconds=1) // HOUR


def event(kind: str, minute: int, x: float | None = None, g: str | None = None) -> dict[str, Any]:
    at = START + timedelta(minutes=minute)
    return {
        "event_day": at.date(), "event_id": f"{kind}{minute}", "event_type": kind,
        "event_time": at, "x": x, "g": g, "file_hour": "2013-01-01T22", "file": "f",
        "record_number": 1,
    }  # fmt: skip


EVENTS = [
    event("A", 50, math.nan), event("A", 0, 0.0, "one"), event("A", 10, -0.0, "two"),
    event("A", 20, None, "one"), event("A", 30, 1.5), event("B", 40, None, "one"),
    event("B", 119, 0.0, None), event("A", 60, 0.0, "one"), event("C", 5, None, "one"),
    # Midnight, hence another day and file.
    event("A", 120, 0.0, "one"), event("B", 125, 1.5, "one"),
]  # fmt: skip


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(1, tmp_path, SCHEMA, load_tables(Settings().tables_dir, SCHEMA))
    put(lake, EVENTS[:7])
    put(lake, EVENTS[7:])
    return lake


def put(lake: Lake, events: list[dict[str, Any]]) -> None:
    table = pa.Table.from_pylist(events, schema=lake.schema("events").arrow())
    write_deltalake(str(lake.path("events")), table, mode="append", partition_by=["event_day"])


def found(lake: Lake, *places: Place, version: int = 1) -> list[list[tuple[str, int]] | None]:
    """Types and minutes of the events of each place."""
    told: list[list[tuple[str, int]] | None] = []
    for events in events_of_places(lake, QUERIES, version, places):
        rows = None if events is None else events.table.to_pylist()
        told.append(
            rows and [
                (SCHEMA.types[row[TYPE_COLUMN]].name, row[TIME_COLUMN] // MINUTE - FIRST * 60)
                for row in rows
            ]
        )  # fmt: skip
    return told


def test_values_are_the_same_that_the_engine_takes_for_the_same(lake: Lake) -> None:
    zero, missing, nan, half, none_such = found(
        lake,
        *(Place("by_double", f'{{"x": {x}}}', FIRST) for x in ("0.0", "null", "NaN", "1.5", "7.0")),
    )
    assert zero == [("A", 0), ("A", 10)]
    assert missing == [("A", 20)]
    assert nan == [("A", 50)]
    assert half == [("A", 30)]
    assert none_such == []


def test_windows_reach_over_files_and_days_and_other_types_stay_away(lake: Lake) -> None:
    one, nothing, whole = found(
        lake,
        Place("by_text", '{"g": "one"}', FIRST + 1),
        Place("by_text", '{"g": null}', FIRST + 1),
        Place("by_text", EVERY_GROUP, FIRST),
    )
    assert one == [("A", 60), ("A", 120), ("B", 125)]
    assert nothing == [("B", 119)]
    assert whole == [
        ("A", 0), ("A", 10), ("A", 20), ("A", 30), ("B", 40), ("A", 50), ("A", 60), ("B", 119),
    ]  # fmt: skip


def test_events_of_a_type_that_the_group_says_nothing_of_are_kept(lake: Lake) -> None:
    assert found(lake, Place("first", '{"g": "two"}', FIRST)) == [[("A", 10), ("B", 40)]]


def test_events_that_separate_contiguous_ones_are_kept(lake: Lake) -> None:
    """A scoped key applies to neither B nor C; one of the whole trend also to C, under NOT."""
    put(lake, [event("C", 15, None, "two")])
    scoped, guarded = found(
        lake,
        Place("scoped", '{"g": "one"}', FIRST),
        Place("guarded", '{"g": "one"}', FIRST),
        version=2,
    )
    assert scoped == [("A", 0), ("C", 5), ("C", 15), ("A", 20), ("B", 40)]
    assert guarded == [("A", 0), ("C", 5), ("A", 20), ("B", 40)]


def test_the_version_is_the_one_that_was_asked_for(lake: Lake) -> None:
    place = Place("by_text", '{"g": "one"}', FIRST + 1)
    assert found(lake, place, version=0) == [[]]
    put(lake, [event("A", 61, None, "one")])
    assert found(lake, place)[0] == [("A", 60), ("A", 120), ("B", 125)]


def test_a_place_of_too_many_events_is_not_read(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checked_events, "MAX_EVENTS", 7)
    whole, part = found(
        lake, Place("by_text", EVERY_GROUP, FIRST), Place("by_text", '{"g": "one"}', FIRST)
    )
    assert whole is None
    assert part is not None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_any_places_get_the_events_of_their_windows_types_and_groups(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    dice = Dice(f"places {seed}")
    most = dice.pick((3, 8, 1_000))
    monkeypatch.setattr(checked_events, "MAX_EVENTS", most)
    monkeypatch.setattr("elsinore.lake.event_files._BATCH", dice.pick((1, 9, 1_000)))
    monkeypatch.setattr(checked_events, "_BITS", dice.pick((1, 2, 64)))
    monkeypatch.setattr(checked_events, "_MANY", dice.pick((1, 10, 1_000)))
    values, texts = (None, math.nan, 0.0, -0.0, 1.5), (None, "one", "two", "three")
    drawn = [
        event(dice.pick("AABBC"), dice.number(0, 240), dice.pick(values), dice.pick(texts))
        for _ in range(dice.number(0, 90))
    ]
    put(lake, drawn)
    rows = [*EVENTS, *drawn]
    groups = {
        "by_double": [f'{{"x": {x}}}' for x in ("0.0", "null", "NaN", "1.5", "7.0")],
        "by_text": [f'{{"g": {g}}}' for g in ('"one"', "null", '"none"')],
        "first": [f'{{"g": {g}}}' for g in ('"two"', "null")],
        "optional": [f'{{"g": {g}}}' for g in ('"two"', "null")],
        "late": ['{"g": "one"}'],
        "near": ['{"g": "one"}'],
        "scoped": ['{"g": "one"}', '{"g": null}'],
        "guarded": ['{"g": "one"}', '{"g": null}'],
    }
    places = {
        Place(name, dice.pick((EVERY_GROUP, *groups[name])), FIRST + dice.number(-1, 3))
        for name in (dice.pick(tuple(groups)) for _ in range(dice.number(1, 25)))
    }
    version = lake.version("events")
    for place, told in zip(places, found(lake, *places, version=version), strict=True):
        bounds = QUERIES.by_name[place.query].window.bounds(place.window)
        own = sorted(
            (row["event_type"], minute)
            for row in rows
            if row["event_type"] in TYPES.get(place.query, "AB")
            if bounds.contains((minute := (row["event_time"] - START) // timedelta(minutes=1))
                               * MINUTE + FIRST * HOUR)
            if passes(place, row) and (place.whole or fits(place, row))
        )  # fmt: skip
        assert (None if told is None else sorted(told)) == (own if len(own) <= most else None)


def passes(place: Place, row: dict[str, Any]) -> bool:
    """Whether an event meets the condition of its position."""
    return (place.query, row["event_type"]) != ("late", "B") or (row["x"] or 0.0) > 1.0


def fits(place: Place, row: dict[str, Any]) -> bool:
    """Whether an event may be of a group."""
    ((name, value),) = json.loads(place.group_key).items()
    free = {
        "first": "B", "optional": "A", "late": "B", "near": "BC", "scoped": "BC", "guarded": "B",
    }.get(place.query, "")  # fmt: skip
    if row["event_type"] in free or (place.query == "optional" and value is None):
        return True
    return repr(value) == repr(row[name] + 0.0 if isinstance(row[name], float) else row[name])
