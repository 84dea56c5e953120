"""Hours by day: the calendar, the numbers, and both as text and JSON."""

from __future__ import annotations

import json
import tracemalloc
from datetime import date

import pytest

from elsinore.ledger.days import calendar, completeness, freshness, runs_of, shown_days
from elsinore.ledger.inputs import missing_inputs
from elsinore.ledger.rows import State
from elsinore.ledger.show import View, hours_json, hours_text
from elsinore.ledger.to_compute import Planned, Question, Why, to_compute
from elsinore.timeline import DAY, HOUR, Interval
from tests.unit.ledger.ledgers import (
    START,
    at,
    failed,
    ingested,
    published,
    refreshed,
    row,
    state,
)

DAYS = Interval(START, START + 2 * DAY)
UNTIL = START + 30 * HOUR
LEDGER = state(
    [ingested(hour, "a", records=100, bad_records=1) for hour in (2, 3, 4, 5, 7, 8, 9, 10, 24)],
    ingested(11),
    [published(hour, 1) for hour in (2, 3, 4, 5)],
    published(7, 1, 6, rows=6, checked_rows=3),
    published(12, 1, 12),
    published(24, 1, rows=0, checked_rows=0),
    refreshed(4, 2),
    [failed(8, "a | b"), failed(13, workload="")],
    ingested(12, "late", records=7, bad_records=None),
    row(State.REMOVED, 9, events_version=3),
)


TEXT = """\
stream flights, workload delays: the newest published hour ended at 2013-02-09T01:00 UTC, 5 h ago

day         0     6     12    18      files  published  records  invalid  results  checked
2013-02-08    ##s#.pFxi-wF..........   9/22          6      807        8       26    30.8%
2013-02-09  #.....                      1/6          1      100        1        0        -

# published  p provisional  w inputs arrived  s stale  F failed  i ingested  - no file  . missing  \
x events removed

4 hours to compute:
  2013-02-08T04: events of 2013-02-08T04 changed
  2013-02-08T10: not published yet
  2013-02-08T12: files arrived for 2013-02-08T12
  2013-02-08T08: not published yet; failed once, last in test: a | b
"""


def test_the_calendar_has_a_character_per_hour() -> None:
    assert runs_of(calendar(LEDGER, DAYS, 0, UNTIL)) == [
        #        hours 2 and 3, stale, 5, missing, provisional, failed, lost, ingested, no file, ...
        "  ##s#.pFxi-wF..........",
        "#.....                  ",
    ]
    # If windows reach an hour back, a change makes the next hour stale, too.
    assert runs_of(calendar(LEDGER, DAYS, 1, UNTIL))[0][4:6] == "ss"


def test_each_day_has_its_numbers() -> None:
    first, second = completeness(LEDGER, DAYS, 0, UNTIL).to_pylist()
    assert first == {
        "day": date(2013, 2, 8), "hours": 22, "arrived": 9, "missing": 12, "published": 6,
        "provisional": 2, "stale": 1, "failed": 2, "records": 807, "bad_records": 8, "rows": 26,
        "checked_rows": 8, "coverage": pytest.approx(8 / 26),
    }  # fmt: skip
    assert (second["hours"], second["arrived"], second["coverage"]) == (6, 1, None)


def test_freshness_is_the_age_of_the_newest_published_hour() -> None:
    assert freshness(LEDGER, START + 26 * HOUR + 5) == HOUR + 5
    assert freshness(state(ingested(1, "a")), START) is None


def test_the_days_end_now_or_with_the_newest_hour_of_old_files() -> None:
    days, until = shown_days(LEDGER, START + 50 * HOUR + 7, 2)
    assert days == Interval(START + DAY, START + 3 * DAY)
    assert until == START + 50 * HOUR
    old = shown_days(LEDGER, START + 400 * DAY, 2)
    assert old == (Interval(START, START + 2 * DAY), START + 25 * HOUR)
    assert shown_days(LEDGER, START + 400 * DAY, 9) == old
    assert shown_days(state(), START + 5, 1) == (Interval(START - DAY, START), START)


def view() -> View:
    return View(stream="flights", workload="delays", days=DAYS, until=UNTIL, now=UNTIL, reach=0)


def test_hours_as_text() -> None:
    hours = to_compute(LEDGER, Question(reach=0, until=UNTIL, since=START))
    assert hours_text(LEDGER, view(), hours) == TEXT


def test_text_of_an_empty_ledger_and_of_long_lists() -> None:
    empty = hours_text(state(), view(), [])
    assert empty.startswith("stream flights, workload delays: no hour is published\n")
    assert empty.endswith("\n\nno hour has to be computed\n")
    many = [Planned(START + 2 * n * HOUR, Why.STALE, "x") for n in range(12)]
    assert "\n  and 2 more lines; --json lists every hour\n" in hours_text(state(), view(), many)


def test_hours_as_json() -> None:
    hours = [Planned(START + 4 * HOUR, Why.STALE, "events changed")]
    found = json.loads(json.dumps(hours_json(LEDGER, view(), hours)))
    assert found["freshness_seconds"] == 5 * 3600
    assert found["until"] == "2013-02-09T06:00:00.000000Z"
    assert found["days"][0]["cells"] == "  ##s#.pFxi-wF.........."
    assert found["days"][1] == {
        "day": "2013-02-09", "cells": "#.....                  ", "hours": 6, "arrived": 1,
        "missing": 5, "published": 1, "provisional": 0, "stale": 0, "failed": 0, "records": 100,
        "bad_records": 1, "rows": 0, "checked_rows": 0, "coverage": None,
    }  # fmt: skip
    assert found["to_compute"] == [
        {"hour": "2013-02-08T04", "reason": "stale", "text": "events changed"}
    ]
    assert found["legend"]["s"] == "stale"


def test_a_file_of_a_far_hour_costs_no_memory_for_the_hours_before() -> None:
    far = 8_000_000  # in the year 2925
    found, end = state(ingested(0, "a"), ingested(far, "b"), published(far, 1)), START + far * HOUR
    days, until = shown_days(found, end, 14)
    tracemalloc.start()
    cells = runs_of(calendar(found, days, 1, until))
    counts = completeness(found, days, 1, until).to_pylist()
    awaited = missing_inputs(found, at(far), 2).to_pylist()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert cells[-1].rstrip().endswith(".#")
    assert (counts[0]["missing"], len(awaited[0])) == (24, 2)
    assert peak < 4_000_000
