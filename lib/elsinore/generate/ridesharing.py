"""Rides: the Hamlet paper's own stream, of 20 event types and bursts of `Travel` (section 5.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.events import EventTable
from elsinore.generate.schemas import Names, double, event_table, long, stream_schema, text
from elsinore.generate.skeleton import (
    MOST_KEYS,
    Script,
    StreamOptions,
    arrival_times,
    draw_skeleton,
    option,
    share,
)

_RIDE = (text("driver"), text("rider"))
_PLACED = (*_RIDE, text("district"))
_ENDS = ("Dropoff", "Cancel")
#: What may happen between two bursts of travelling, beside a pickup.
MIDDLE_TYPES = (
    "Surge", "Detour", "Accept", "Assign", "Arrive", "Wait", "Stop", "Toll", "Message", "Call",
    "Reroute", "Refuel", "Share", "Tip", "Break",
)  # fmt: skip
#: Requests and pickups have no district: they belong to every district that their ride is in.
SCHEMA = stream_schema(
    "ridesharing",
    {
        "Request": (*_RIDE, text("kind", "Pool", "Single")),
        "Travel": (*_PLACED, double("speed"), long("duration"), double("price")),
        "Pickup": _RIDE,
        "Dropoff": (*_PLACED, double("price")),
        "Cancel": _PLACED,
    }
    | dict.fromkeys(MIDDLE_TYPES, _PLACED),
)
NOTES = (
    "Rides of drivers with their riders, generated (`elsinore generate ridesharing`).",
    "Speed in miles per hour, duration in seconds, price in dollars.",
)
_FEWEST_TYPES = len(SCHEMA.types) - len(MIDDLE_TYPES) + 1
#: Miles per hour below which traffic is slow, as in query q3, and which no ride reaches.
_SLOW, _FASTEST = 10, 60


@dataclass(frozen=True, kw_only=True)
class RidesharingOptions(StreamOptions):
    """Rides: a request, bursts of travelling with other events between, a dropoff or a cancel.

    `slow` and `pool` are the selectivities of the local predicates of the paper's q3 and q2.
    """

    types: int = option(
        len(SCHEMA.types), "How many event types occur.", _FEWEST_TYPES, len(SCHEMA.types)
    )
    districts: int = option(10, "How many districts; a ride lies in one.", 1, MOST_KEYS)
    drivers: int = option(100, "How many drivers; each has one ride after the other.", 1, MOST_KEYS)
    riders: int = option(1_000, "How many riders; each ride has one at random.", 1, MOST_KEYS)
    units: float = option(
        4.0, "Mean number of parts of a ride; all but the last have a burst.", 2, 1_000_000
    )
    slow: float = share(0.3, "Share of Travel events below 10 miles per hour.")
    pool: float = share(0.5, "Share of requests of kind Pool.")


def ridesharing(options: RidesharingOptions) -> EventTable:
    """The events, in order of time."""
    dice = np.random.default_rng(options.seed)
    times = arrival_times(dice, options)
    codes = SCHEMA.type_codes
    middle = MIDDLE_TYPES[: options.types - _FEWEST_TYPES + 1]
    script = Script(
        codes["Travel"],
        codes["Request"],
        (codes["Pickup"], *(codes[name] for name in middle)),
        (float(len(middle)), *(1.0 for _ in middle)),  # every other time a pickup
        tuple(codes[name] for name in _ENDS),
        options.units,
    )
    found = draw_skeleton(dice, options, options.drivers, script)
    size = options.events
    riders = dice.integers(0, options.riders, found.most_trips)[found.trips]
    districts = dice.integers(0, options.districts, found.most_trips)[found.trips]
    slow = dice.random(size) < options.slow
    tenths = np.where(
        slow, dice.integers(0, _SLOW * 10, size), dice.integers(_SLOW * 10, _FASTEST * 10, size)
    )
    return event_table(
        SCHEMA,
        times,
        found.types,
        {
            "driver": Names.numbered("v", found.slots, options.drivers),
            "rider": Names.numbered("r", riders, options.riders),
            "district": Names.numbered("d", districts, options.districts),
            "kind": Names((dice.random(size) >= options.pool).astype(np.int64), ("Pool", "Single")),
            "speed": tenths / 10,
            "duration": dice.integers(10, 301, size),
            "price": dice.integers(100, 10_001, size) / 100,
        },
    )
