"""A query per construct of RETURN, PATTERN and the windows, over one small stream."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa

SCHEMA = """
stream: shop
time: {field: at, unit: iso}
type: {field: kind}
id: {field: id}
types:
  View: {user: string, price: long, rate: {type: double, nullable: true}}
  Cart: {user: string, price: long}
  Buy: {user: string, price: long, seen: {type: timestamp, nullable: true}}
"""

_USER = "WHERE [user] WITHIN 1 hour"
_PAIR = f"PATTERN SEQ(View V+, Buy B) {_USER}"
#: From RETURN on.
QUERIES = {
    "EACH": f"RETURN COUNT(EACH V) AS views, SUM(EACH B.price) AS revenue {_PAIR}",
    "DISTINCT": f"RETURN COUNT(DISTINCT user) AS users, COUNT(DISTINCT V.price % 3) {_PAIR}",
    "LENGTH": f"RETURN AVG(LENGTH) AS mean, MAX(LENGTH) AS longest {_PAIR}",
    "DURATION": f"RETURN MAX(DURATION) AS longest, SUM(DURATION) {_PAIR}",
    "FIRST and LAST": (
        f"RETURN SUM(LAST(V.price) - FIRST(V.price)) AS gained, MIN(FIRST(V.time)) {_PAIR}"
    ),
    "TOTAL": f"RETURN MAX(TOTAL(V.price * V.price)) AS most, SUM(TOTAL(V.rate)) {_PAIR}",
    "dispersion": f"RETURN STDDEV(V.price) AS s, VAR_POP(V.rate), VARIANCE(EACH V.price) {_PAIR}",
    "dispersion of a measure": f"RETURN STDDEV(LENGTH) AS spread {_PAIR}",
    "percentiles": (
        f"RETURN MEDIAN(EACH V.price) AS middle, PERCENTILE(EACH V.price, 0.9) AS high {_PAIR}"
    ),
    "quantifiers": f"RETURN COUNT(*) AS n PATTERN SEQ(View{{2,3}}, Buy B) {_USER}",
    "ANY": f"RETURN COUNT(EACH x) AS n, SUM(x.price) PATTERN SEQ(ANY(View, Cart) x, Buy) {_USER}",
    "expressions": (
        "RETURN SUM(B.price * B.price) / COUNT(*) AS mean, upper('n') AS label, "
        f"COUNT(CASE WHEN V.price > 5 THEN 1 END) {_PAIR}"
    ),
    "GROUP-BY expression": (
        "RETURN minute, COUNT(*) AS n PATTERN SEQ(View V+, Buy B) WHERE [user] "
        "GROUP-BY extract(minute FROM B.time) AS minute WITHIN 1 hour"
    ),
    "HAVING": (
        "RETURN user, COUNT(*) AS n PATTERN SEQ(View V+, Buy B) WHERE [user] "
        "GROUP-BY user HAVING n > 1 AND MAX(LENGTH) > 2 WITHIN 1 hour"
    ),
    "STEPS": f"RETURN STEPS PATTERN SEQ(View V, Cart, Buy B) {_USER}",
    "SPAN": (
        "RETURN COUNT(*) AS n, COUNT(EACH V) AS views PATTERN SEQ(View V+, Buy B) "
        "WHERE [user] SPAN 30 minutes PER 1 hour"
    ),
    "SESSION": (
        "RETURN COUNT(*) AS n, COUNT(EACH V) AS views PATTERN SEQ(View V+, Buy B) "
        "SESSION 10 minutes UP TO 1 hour BY user"
    ),
    "OFFSET": (
        "RETURN COUNT(*) AS n PATTERN SEQ(View V+, Buy B) "
        "WHERE [user] WITHIN 1 hour OFFSET 5 minutes"
    ),
    "parameters": (
        "RETURN COUNT(EACH B) AS n PATTERN SEQ(View V+, Buy B) "
        "WHERE [user] AND B.price >= $least WITHIN 1 hour"
    ),
}  # fmt: skip

PARAMETERS = "PARAM least long DEFAULT 2;\n"


def statement(construct: str, name: str = "q") -> str:
    """The workload of a construct, with its parameters."""
    declared = PARAMETERS if construct == "parameters" else ""
    return f"{declared}QUERY {name} {QUERIES[construct]};"


def records(*, changed: bool = False) -> list[dict[str, Any]]:
    """Events of three users; the changed ones have other prices, times, and another purchase."""
    first, second = ["View", "View", "Cart", "View", "Buy"], ["View", "Cart", "Buy", "View", "View"]
    kinds = [*first, *second, "Buy", "View", "Cart", "Buy"]
    start, found = datetime(2025, 3, 3, 10, 5, tzinfo=UTC), []
    for number, kind in enumerate(kinds):
        moved = 1 if changed and number % 4 == 1 else 0
        found.append({
            "id": f"e{number}", "kind": kind, "user": ["ann", "bob", "cam"][number // 5],
            "at": start + timedelta(minutes=2 * number, seconds=37 * moved),
            "price": 2 + 3 * number + 100 * moved, "rate": number / 4 + moved, "seen": start,
        })  # fmt: skip
    late = {**found[-1], "id": "late", "at": start + timedelta(minutes=29), "price": 77}
    return [*found, {**late, "user": "bob"}] if changed else found


def events(*, changed: bool = False) -> pa.Table:
    """The events as a table."""
    return pa.Table.from_pylist(records(changed=changed))
