"""Position reports on an expressway, after the Linear Road benchmark (GRETA section 10.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.events import EventTable
from elsinore.generate.schemas import double, event_table, long, stream_schema
from elsinore.generate.skeleton import (
    MOST_KEYS,
    Script,
    Skeleton,
    StreamOptions,
    arrival_times,
    draw_skeleton,
    option,
    running_numbers,
    share,
    walk,
)

#: Linear Road: the greatest speed in miles per hour, lanes, feet of a segment.
_FASTEST, _LANES, _FEET = 100, 5, 5_280
SCHEMA = stream_schema(
    "linear_road",
    {
        "Position": (
            long("vehicle"),
            long("segment"),
            long("lane", 0, _LANES - 1),
            double("speed", 0.0, _FASTEST),
            long("location"),
        ),
        "Accident": (long("segment"),),
        "Toll": (long("vehicle"), long("segment"), long("amount")),
    },
)
NOTES = (
    "Position reports of vehicles on an expressway, accidents, and tolls for entering a segment,",
    "generated (`elsinore generate linear-road`). Speed in miles per hour, location in feet.",
)


@dataclass(frozen=True, kw_only=True)
class LinearRoadOptions(StreamOptions):
    """A vehicle pays a toll and reports from the segment that it enters, burst by burst.

    It drives from one segment to the next, and from the last to the first. Who has come to a stop
    starts off at full speed. What `falling` is to prices in `StockOptions`, `slowing` is to speeds.
    """

    rate: float = option(240_000.0, "Mean number of events a minute.")
    vehicles: int = option(1_000, "How many vehicles.", 1, MOST_KEYS)
    segments: int = option(100, "How many segments the expressway has.", 1, MOST_KEYS)
    slowing: float = share(0.5, "Share of steps by which a vehicle's speed goes down.")
    accidents: float = share(
        0.02, "Share of bursts with an accident in the segment before them, and no toll."
    )


def linear_road(options: LinearRoadOptions) -> EventTable:
    """The events, in order of time."""
    dice = np.random.default_rng(options.seed)
    times = arrival_times(dice, options)
    codes = SCHEMA.type_codes
    leads = (codes["Toll"], codes["Accident"])
    weights = (1 - options.accidents, options.accidents)
    found = draw_skeleton(
        dice, options, options.vehicles, Script(codes["Position"], None, leads, weights)
    )
    size = options.events
    entered = dice.integers(0, options.segments, options.vehicles)[found.slots]
    segments = (entered + found.units) % options.segments
    speeds = walk(dice, found.slots, options.slowing, 2.0, float(_FASTEST))
    return event_table(
        SCHEMA,
        times,
        found.types,
        {
            "vehicle": found.slots,
            "segment": segments,
            "lane": dice.integers(0, _LANES, size),
            "speed": np.floor(speeds * 100) / 100,
            "location": segments * _FEET + _feet_into_segment(found),
            "amount": dice.integers(1, 11, size),
        },
    )


def _feet_into_segment(found: Skeleton) -> np.ndarray:
    """Reports of a burst are spread evenly over the segment, in the direction of travel."""
    places = running_numbers(found.trips)
    sizes = np.bincount(found.trips)[found.trips]
    return places * _FEET // sizes
