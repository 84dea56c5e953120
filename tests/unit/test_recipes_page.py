"""The recipes print what their page shows, and agree with counts by brute force.

The counts here read the CSV files with plain Python and look at events one by one. They share no
code with Elsinore.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import pandas as pd
import pytest

from tests.page_examples import ROOT, is_part_of_an_example, page_blocks, run_python_blocks

PAGE = "docs/how-to/recipes.md"
EXAMPLE = ROOT / "docs" / "example"
TWO_HOURS, TEN_MINUTES, SIX_HOURS = (timedelta(minutes=n) for n in (120, 10, 360))


class Event(NamedTuple):
    """A line of shop.csv."""

    id: str
    time: datetime
    user: str
    event: str
    country: str
    revenue: float


def read_shop(*names: str) -> list[Event]:
    """All events in order of time; of several with one id the last one that was read."""
    events = {}
    for name in names:
        with (EXAMPLE / name).open(encoding="utf-8", newline="") as lines:
            for line in csv.DictReader(lines):
                time = datetime.fromisoformat(line["time"])
                events[line["id"]] = Event(
                    line["id"], time, line["user_id"], line["event"], line["country"],
                    float(line["revenue"] or 0),
                )  # fmt: skip
    return sorted(events.values(), key=lambda event: event.time)


SHOP = read_shop("shop.csv")


def chains(kinds: list[str], limit: timedelta, events: list[Event]) -> Iterator[list[Event]]:
    """Yield every sequence of one user's events with these kinds that takes at most `limit`."""

    def longer(chain: list[Event]) -> Iterator[list[Event]]:
        if len(chain) == len(kinds):
            yield chain
            return
        for event in events:
            if event.event == kinds[len(chain)] and (
                not chain
                or (
                    event.user == chain[0].user
                    and event.time > chain[-1].time
                    and event.time - chain[0].time <= limit
                )
            ):
                yield from longer([*chain, event])

    yield from longer([])


def orders_after(kinds: list[str], limit: timedelta, events: list[Event]) -> dict[str, Event]:
    """The last events of all chains, by id."""
    return {chain[-1].id: chain[-1] for chain in chains(kinds, limit, events)}


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    """What the Python of the page leaves; its output has been compared with the page."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        return run_python_blocks(PAGE)


def test_the_queries_of_the_page_are_those_of_the_files() -> None:
    queries = [block for block in page_blocks(PAGE) if block.language == "sase"]
    assert len(queries) == 6
    assert all(is_part_of_an_example(query, ".sase") for query in queries)


def test_users_orders_and_revenue(page: dict[str, Any]) -> None:
    true = orders_after(["View", "Purchase"], TWO_HOURS, SHOP)
    assert set(page["orders"]["order_id"]) == set(true)
    assert page["orders"]["user_id"].nunique() == len({event.user for event in true.values()})
    assert page["orders"]["MAX(P.revenue)"].sum() == sum(event.revenue for event in true.values())
    everything = [event for event in SHOP if event.event == "Purchase"]
    assert len(true) < len(everything), "an order without a view is there to be left out"


def test_the_naive_query_is_wrong(page: dict[str, Any]) -> None:
    true = orders_after(["View", "Purchase"], TWO_HOURS, SHOP)
    revenue = sum(event.revenue for event in true.values())
    results = page["naive"].run(str(EXAMPLE / "shop.csv")).to_pandas()["q"]
    assert results["SUM(P.revenue)"].sum() > 2 * revenue


def test_per_country(page: dict[str, Any]) -> None:
    users: dict[str, set[str]] = defaultdict(set)
    revenue: dict[str, float] = defaultdict(float)
    for event in orders_after(["View", "Purchase"], TWO_HOURS, SHOP).values():
        users[event.country].add(event.user)
        revenue[event.country] += event.revenue
    found = page["per_country"]
    assert dict(found["users"]) == {country: len(those) for country, those in users.items()}
    assert dict(found["revenue"]) == revenue


def test_at_least_three(page: dict[str, Any]) -> None:
    true = orders_after(["View", "View", "View", "Purchase"], TWO_HOURS, SHOP)
    assert page["three_views"] == sorted(true)


def test_within_ten_minutes_of_each_other(page: dict[str, Any]) -> None:
    true = orders_after(["Cart", "Purchase"], TEN_MINUTES, SHOP)
    assert page["quick_orders"] == sorted(true)
    assert len(true) < len(orders_after(["Cart", "Purchase"], TWO_HOURS, SHOP))


def test_a_and_never_b(page: dict[str, Any]) -> None:
    paid = {chain[0].id for chain in chains(["Cart", "Purchase"], TWO_HOURS, SHOP)}
    true = {event.id for event in SHOP if event.event == "Cart"} - paid
    assert set(page["left"]["cart_id"]) == true
    assert true


def test_the_longest_chain(page: dict[str, Any]) -> None:
    true: dict[str, int] = {}
    purchases = [event for event in SHOP if event.event == "Purchase"]
    for length in range(2, len(purchases) + 1):
        for chosen in combinations(purchases, length):
            one_user = len({event.user for event in chosen}) == 1
            rises = all(a.revenue < b.revenue for a, b in pairwise(chosen))
            if one_user and rises and chosen[-1].time - chosen[0].time <= SIX_HOURS:
                true[chosen[0].user] = length
    assert page["longest"] == true


def test_the_funnel(page: dict[str, Any]) -> None:
    steps = ["View", "Cart", "Purchase"]
    true = [
        len({chain[0].user for chain in chains(steps[:length], TWO_HOURS, SHOP)})
        for length in (1, 2, 3)
    ]
    assert list(page["funnel"].values()) == true
    assert true == sorted(true, reverse=True)
    assert len(set(true)) == 3


def test_late_and_corrected_events(page: dict[str, Any]) -> None:
    events = read_shop("shop.csv", "shop_late.csv")
    true = orders_after(["View", "Purchase"], TWO_HOURS, events)
    assert set(page["late"]["order_id"]) == set(true)
    assert page["late"]["MAX(P.revenue)"].sum() == sum(event.revenue for event in true.values())
    assert len(events) == len(SHOP) + 1


def test_equal_timestamps(page: dict[str, Any]) -> None:
    attempts: dict[tuple[str, str], list[tuple[datetime, str]]] = defaultdict(list)
    with (EXAMPLE / "logins.csv").open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            time = datetime.fromisoformat(line["time"])
            attempts[line["host"], line["user"]].append((time, line["outcome"]))
    true = {
        host
        for (host, _), events in attempts.items()
        for number, (end, outcome) in enumerate(events)
        if outcome == "ok"
        and sum(o == "fail" and end - t <= TEN_MINUTES for t, o in events[:number]) >= 3
    }
    assert page["hosts"] == sorted(true)
    assert set(page["tied"].to_pandas()["break_ins"]["host"]) < true


def test_order_of_the_lines_gives_each_login_a_time(page: dict[str, Any]) -> None:
    times = page["events"]["time"]
    assert times.is_unique
    assert pd.Series(times).dt.floor("s").nunique() < len(times)
