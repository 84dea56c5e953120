"""The recipes print what their page shows, and agree with counts by brute force.

The counts here read the CSV files with plain Python and look at events one by one. They share no
code with Elsinore.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import pytest

import elsinore
from tests.page_examples import ROOT, is_part_of_an_example, page_blocks, run_python_blocks

PAGE = "docs/how-to/recipes.md"
EXAMPLE = ROOT / "docs" / "example"
TWO_HOURS, TWENTY_MINUTES, TEN_MINUTES = (timedelta(minutes=n) for n in (120, 20, 10))


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


def rows(page: dict[str, Any], query: str) -> list[dict[str, Any]]:
    """Rows of a query over shop.csv, without the bounds of the window."""
    results = page["shop"].run(str(EXAMPLE / "shop.csv"))[query]
    return [dict(row) for row in results.drop(["window_start", "window_end"]).to_pylist()]


def test_the_queries_of_the_page_are_those_of_the_files() -> None:
    queries = [block for block in page_blocks(PAGE) if block.language == "sase"]
    assert len(queries) == 11
    assert all(is_part_of_an_example(query, ".sase") for query in queries)


def test_all_events_are_of_one_day() -> None:
    """So that no match of the page crosses the border of a window of a day."""
    assert len({event.time.date() for event in read_shop("shop.csv", "shop_late.csv")}) == 1


def test_users_orders_and_revenue(page: dict[str, Any]) -> None:
    true = orders_after(["View", "Purchase"], TWO_HOURS, SHOP).values()
    users, revenue = len({event.user for event in true}), sum(event.revenue for event in true)
    assert rows(page, "orders") == [{"users": users, "orders": len(true), "revenue": revenue}]
    everything = [event for event in SHOP if event.event == "Purchase"]
    assert len(true) < len(everything), "an order without a view is there to be left out"


def test_per_country(page: dict[str, Any]) -> None:
    users: dict[str, set[str]] = defaultdict(set)
    revenue: dict[str, float] = defaultdict(float)
    for event in orders_after(["View", "Purchase"], TWO_HOURS, SHOP).values():
        users[event.country].add(event.user)
        revenue[event.country] += event.revenue
    found = {row["country"]: row for row in rows(page, "countries")}
    assert {name: row["users"] for name, row in found.items()} == {
        name: len(each) for name, each in users.items()
    }
    assert {name: row["revenue"] for name, row in found.items()} == revenue
    assert all(row["revenue_per_user"] == row["revenue"] / row["users"] for row in found.values())


def test_at_least_three(page: dict[str, Any]) -> None:
    chains_of_three = orders_after(["View", "View", "View", "Purchase"], TWO_HOURS, SHOP)
    views = Counter(chain[-1].id for chain in chains(["View", "Purchase"], TWO_HOURS, SHOP))
    found = {row["order_id"]: row["views"] for row in rows(page, "three_views")}
    assert found == {order: views[order] for order in chains_of_three}


def test_the_first_to_the_last_event_within_twenty_minutes(page: dict[str, Any]) -> None:
    steps = ["View", "Cart", "Purchase"]
    true = orders_after(steps, TWENTY_MINUTES, SHOP)
    revenue = sum(event.revenue for event in true.values())
    assert rows(page, "fast_orders") == [{"orders": len(true), "revenue": revenue}]
    assert len(true) < len(orders_after(steps, TWO_HOURS, SHOP))


def test_orders_per_visit(page: dict[str, Any]) -> None:
    visits: dict[str, list[list[Event]]] = defaultdict(list)
    for event in SHOP:
        own = visits[event.user]
        if not own or event.time - own[-1][-1].time > timedelta(minutes=30):
            own.append([])
        own[-1].append(event)
    true = []
    for user, found in sorted(visits.items()):
        for visit in found:
            viewed = [event.time for event in visit if event.event == "View"]
            orders = [e for e in visit if e.event == "Purchase" and viewed and viewed[0] < e.time]
            if orders:
                revenue = sum(order.revenue for order in orders)
                true.append({"user_id": user, "orders": len(orders), "revenue": revenue})
    assert {event.event for event in SHOP} == {"View", "Cart", "Purchase"}
    assert rows(page, "visits") == true
    assert len({row["user_id"] for row in true}) < len(true), "a user has two visits with an order"


def test_at_least_two_views_and_a_purchase_within_two_hours(page: dict[str, Any]) -> None:
    users: dict[str, set[str]] = defaultdict(set)
    revenue: dict[str, float] = defaultdict(float)
    true = orders_after(["View", "View", "Purchase"], TWO_HOURS, SHOP)
    for event in true.values():
        users[event.country].add(event.user)
        revenue[event.country] += event.revenue
    found = {row["country"]: (row["users"], row["revenue"]) for row in rows(page, "two_views")}
    assert found == {name: (len(users[name]), revenue[name]) for name in users}
    assert len(true) < len(orders_after(["View", "Purchase"], TWO_HOURS, SHOP))


def test_three_purchases_within_six_hours(page: dict[str, Any]) -> None:
    true = {chain[0].user for chain in chains(["Purchase"] * 3, timedelta(hours=6), SHOP)}
    assert rows(page, "three_purchases") == [{"users": len(true)}]
    assert len(true) < len({event.user for event in SHOP if event.event == "Purchase"})


def test_a_and_never_b(page: dict[str, Any]) -> None:
    paid = {chain[0].id for chain in chains(["Cart", "Purchase"], TWO_HOURS, SHOP)}
    true = {event.id for event in SHOP if event.event == "Cart"} - paid
    assert {row["cart_id"] for row in rows(page, "unpaid")} == true
    assert true


def test_the_longest_chain(page: dict[str, Any]) -> None:
    true: dict[str, int] = {}
    purchases = [event for event in SHOP if event.event == "Purchase"]
    for length in range(2, len(purchases) + 1):
        for chosen in combinations(purchases, length):
            one_user = len({event.user for event in chosen}) == 1
            if one_user and all(a.revenue < b.revenue for a, b in pairwise(chosen)):
                true[chosen[0].user] = length
    assert page["longest"] == true


def test_the_funnel(page: dict[str, Any]) -> None:
    ends: list[tuple[Event, ...]] = [(event,) for event in SHOP if event.event == "View"]
    true = []
    for number, kinds in enumerate((["View", "Cart"], ["Cart", "Purchase"], []), 1):
        users = len({chain[0].user for chain in ends})
        true.append({"step": number, "trends": len(ends), "keys": users})
        pairs = list(chains(kinds, TWO_HOURS, SHOP)) if kinds else []
        ends = [(*chain, b) for chain in ends for a, b in pairs if a.id == chain[-1].id]
    assert rows(page, "funnel") == true
    assert [step["keys"] for step in true] == [10, 8, 7]


def test_late_and_corrected_events(page: dict[str, Any]) -> None:
    files = ("shop.csv", "shop_late.csv")
    events = read_shop(*files)
    true = orders_after(["View", "Purchase"], TWO_HOURS, events).values()
    results = page["shop"].run([str(EXAMPLE / name) for name in files])
    [found] = results["orders"].to_pylist()
    assert found["orders"] == len(true)
    assert found["revenue"] == sum(event.revenue for event in true)
    assert len(events) == len(SHOP) + 1


def failures_before_successes() -> dict[str, int]:
    """By host, the failures of at most ten minutes before a success, if there are three or more."""
    attempts: dict[tuple[str, str], list[tuple[datetime, str]]] = defaultdict(list)
    with (EXAMPLE / "logins.csv").open(encoding="utf-8", newline="") as lines:
        for line in csv.DictReader(lines):
            time = datetime.fromisoformat(line["time"])
            attempts[line["host"], line["user"]].append((time, line["outcome"]))
    true = {}
    for (host, _), events in attempts.items():
        for number, (end, outcome) in enumerate(events):
            failed = sum(o == "fail" and end - t <= TEN_MINUTES for t, o in events[:number])
            if outcome == "ok" and failed >= 3:
                true[host] = failed
    return true


def test_a_success_after_three_failures(page: dict[str, Any]) -> None:
    found = page["guessed"]
    assert set(found["host"]) == failures_before_successes().keys()
    assert set(found["alarms"]) == {1}


def test_equal_timestamps(page: dict[str, Any]) -> None:
    true = failures_before_successes()
    found = page["logins"].run(str(EXAMPLE / "logins.csv"))["break_ins"].to_pylist()
    assert {row["host"]: row["attempts"] for row in found} == true


def test_a_chain_needs_the_order_of_attempts_with_equal_timestamps() -> None:
    chain = """QUERY chain RETURN host, COUNT(*)
        PATTERN SEQ(Failed a, Failed b, Failed c, Success S)
        WHERE [user] GROUP-BY host SPAN 10 minutes PER 1 day;"""
    schema = (EXAMPLE / "logins.yaml").read_text(encoding="utf-8")
    ordered = elsinore.workload(chain, schema=schema).run(str(EXAMPLE / "logins.csv"))
    assert set(ordered["chain"]["host"].to_pylist()) == {"h1", "h2", "h5"}
    assert not ordered.warnings
    bare = elsinore.workload(chain, schema=schema.replace(", then: record_number", ""))
    tied = bare.run(str(EXAMPLE / "logins.csv"))
    assert set(tied["chain"]["host"].to_pylist()) == {"h2", "h5"}
    assert "share their time" in tied.warnings[0]
