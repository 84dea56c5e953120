"""Questions of three jobs, each one query with a span, against counts by brute force."""

from __future__ import annotations

import random
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from typing import Any

import pandas as pd
import pytest

import elsinore

START = datetime(2025, 3, 1, tzinfo=UTC)

SCHEMA = """
stream: mixed
time: {field: time, unit: iso}
type: {field: event}
types:
  Attempt: {order_id: string, carrier: string}
  View: {user_id: string, country: string}
  Purchase: {user_id: string, country: string, revenue: double}
  Failed: {source: string, user: string}
  Success: {source: string, user: string}
"""

Row = dict[str, Any]


def ask(query: str, rows: list[Row]) -> list[Row]:
    """The rows of a query without the bounds of periods."""
    answer = elsinore.workload(f"QUERY q {query};", schema=SCHEMA).run(pd.DataFrame(rows))
    found = answer["q"].drop(["window_start", "window_end"]).to_pylist()
    return [dict(row) for row in found]


def event(kind: str, minutes: float, **values: object) -> Row:
    return {"event": kind, "time": START + timedelta(minutes=minutes), **values}


def span_of(rows: list[Row]) -> timedelta:
    return max(row["time"] for row in rows) - min(row["time"] for row in rows)


@pytest.mark.parametrize("seed", range(5))
def test_orders_with_three_delivery_attempts_within_a_day_per_carrier(seed: int) -> None:
    """Most attempts of an order cross midnight UTC, so days would lose many orders."""
    dice, rows, true = random.Random(seed), list[Row](), defaultdict[str, set[str]](set)
    for number in range(40):
        order, carrier = f"O{number}", dice.choice(("DHL", "DPD", "GLS"))
        start, gaps = 1440 * dice.random() * 5, dice.choice(((300, 400), (700, 745), (900, 700)))
        times = [start, start + gaps[0], start + sum(gaps)][: dice.choice((2, 3, 3))]
        own = [event("Attempt", time, order_id=order, carrier=carrier) for time in times]
        if len(own) == 3 and span_of(own) <= timedelta(days=1):
            true[carrier].add(order)
        rows += own
    found = ask(
        "RETURN carrier, COUNT(DISTINCT order_id) AS orders PATTERN Attempt{3,} "
        "WHERE [order_id] GROUP-BY carrier SPAN 1 day PER 365 days",
        rows,
    )
    assert {row["carrier"]: row["orders"] for row in found} == {
        carrier: len(orders) for carrier, orders in true.items()
    }


@pytest.mark.parametrize("seed", range(5))
def test_users_who_viewed_twice_and_bought_within_two_hours(seed: int) -> None:
    """A purchase counts once, in whatever number of matches."""
    dice, rows = random.Random(seed), list[Row]()
    users, revenue = defaultdict[str, set[str]](set), defaultdict[str, float](float)
    for number in range(30):
        user, country = f"u{number}", dice.choice(("DE", "FR", "NL"))
        start = 1440 * dice.random() * 3
        views = sorted(start + dice.uniform(0, 150) for _ in range(dice.randint(1, 5)))
        bought = start + dice.uniform(100, 200)
        rows += [event("View", each, user_id=user, country=country) for each in views]
        price = float(dice.randint(1, 50))
        rows.append(event("Purchase", bought, user_id=user, country=country, revenue=price))
        before = [each for each in views if bought - 120 <= each < bought]
        if len(before) >= 2:
            users[country].add(user)
            revenue[country] += price
    found = ask(
        "RETURN country, COUNT(DISTINCT user_id) AS users, SUM(EACH P.revenue) AS revenue "
        "PATTERN SEQ(View{2,}, Purchase P) WHERE [user_id] GROUP-BY country "
        "SPAN 2 hours PER 365 days",
        rows,
    )
    assert {row["country"]: (row["users"], row["revenue"]) for row in found} == {
        country: (len(users[country]), revenue[country]) for country in users
    }


@pytest.mark.parametrize("seed", range(5))
def test_nine_failed_logons_then_a_success_within_ten_minutes(seed: int) -> None:
    """The failures of every second host lie across a multiple of ten minutes."""
    dice, rows, true = random.Random(seed), list[Row](), set[tuple[str, str]]()
    for number in range(16):
        source, user = f"WS-{number:03}", f"user{number % 7}"
        start = 60 * number + (6 if number % 2 else 1)
        length = dice.choice((4, 9, 9, 12))
        failures = [start + length * n / 9 for n in range(dice.choice((8, 9, 9)))]
        rows += [event("Failed", each, source=source, user=user) for each in failures]
        end = start + length
        rows.append(event("Success", end, source=source, user=user))
        if sum(end - 10 <= each < end for each in failures) >= 9:
            true.add((source, user))
    found = ask(
        "RETURN source, user, COUNT(EACH S) AS alarms PATTERN SEQ(Failed{9,}, Success S) "
        "WHERE [source] GROUP-BY source, S.user SPAN 10 minutes PER 1 day",
        rows,
    )
    assert {(row["source"], row["user"]) for row in found} == true
    assert all(row["alarms"] == 1 for row in found)


def _random_visits(seed: int) -> list[Row]:
    dice = random.Random(seed)
    users = [f"u{number}" for number in range(6)]
    return [
        event("Purchase", dice.uniform(0, 5 * 1440), user_id=dice.choice(users), country="DE",
              revenue=float(dice.randint(1, 9)))
        if dice.random() < 0.3
        else event("View", dice.uniform(0, 5 * 1440), user_id=dice.choice(users), country="DE")
        for _ in range(300)
    ]  # fmt: skip


def _per_period(seed: int, period: str, by: str) -> list[Row]:
    values = "COUNT(*) AS n, COUNT(P) AS paid, SUM(P.revenue) AS sum, COUNT(EACH V) AS views"
    pattern = "SEQ(View V, Purchase P) WHERE [user_id]"
    query = f"RETURN {values} PATTERN {pattern} SPAN 9 hours PER {period} {by}"
    return ask(query, _random_visits(seed))


@pytest.mark.parametrize("by", ["BY LAST", "BY FIRST"])
@pytest.mark.parametrize("seed", range(5))
def test_matches_and_sums_add_up_over_days_and_events_do_not(seed: int, by: str) -> None:
    [whole] = _per_period(seed, "20000 days", by)
    days = _per_period(seed, "1 day", by)
    assert len(days) >= 5
    for name in ("n", "paid", "sum"):
        assert sum(day[name] for day in days) == whole[name]
    # By last event, a view before midnight counts in its day, and with purchases of the next day.
    views = sum(day["views"] for day in days)
    assert views > whole["views"] if by == "BY LAST" else views == whole["views"]
