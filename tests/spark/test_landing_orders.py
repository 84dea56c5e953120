"""Landing hours in any order, in any cut, with overlaps and repeats leaves the same tables.

By default the first order is tried, with `ELSINORE_LONG=1` all are, a minute each.
"""

from __future__ import annotations

from typing import Any

import pytest

from elsinore.lake.tables import Lake
from elsinore.settings import Settings
from tests.draws import draws
from tests.spark.conftest import NewHome
from tests.spark.histories import END, FINAL, FIRST, Step, assert_final, land_step, orders
from tests.spark.landing_zone import LANDED, contents, hours

ORDERS = orders(20)
TRIED = draws(1, len(ORDERS))


@pytest.fixture(scope="module")
def at_once(new_home: NewHome) -> dict[str, list[Any]]:
    """What the tables hold after one landing of all hours."""
    settings = new_home()
    lake = Lake.open(settings)
    land_step(lake, settings, Step(hours(FIRST, END), frozenset()))
    assert_final(lake)
    return contents(lake)


def test_the_orders_differ_and_try_what_they_are_for() -> None:
    assert len({str(steps) for steps in ORDERS}) == 20
    assert any(step.earlier for steps in ORDERS for step in steps)
    starts = [[step.interval.start for step in steps if not step.earlier] for steps in ORDERS]
    assert any(found == sorted(found, reverse=True) and len(found) > 1 for found in starts)
    for steps in ORDERS:
        last: dict[int, bool] = {}
        for step in steps:
            inside = (h for h in FINAL if step.interval.contains(hours(h, h + 1).start))
            last |= {hour: hour in step.earlier for hour in inside}
        assert last == dict.fromkeys(FINAL, False)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(TRIED))
def test_any_order_of_landings_leaves_the_same_tables(
    lake: Lake, settings: Settings, at_once: dict[str, list[Any]], number: int
) -> None:
    for step in ORDERS[number]:
        land_step(lake, settings, step)
    found = contents(lake)
    for table in LANDED:
        assert found[table] == at_once[table], (table, ORDERS[number])
