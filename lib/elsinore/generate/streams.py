"""The streams of the papers' experiments.

Rides are the Hamlet paper's own stream, of 20 event types and bursts of `Travel` (section 5.1);
stock trades are in the setting of GRETA section 10.1 and Hamlet 5.1, the load of a cluster's
mappers has the distributions of GRETA Table 2, and position reports on an expressway are after the
Linear Road benchmark (GRETA section 10.1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from elsinore.generate.skeleton import (
    MOST_KEYS,
    Columns,
    LazySchema,
    Script,
    Skeleton,
    StreamOptions,
    numbered,
    option,
    require_range,
    running_numbers,
    share,
    walk,
)

# ---- rides

_ENDS = ("Dropoff", "Cancel")
#: Events between two bursts of travelling, in addition to a pickup, in the schema's order.
MIDDLE_TYPES = (
    "Surge", "Detour", "Accept", "Assign", "Arrive", "Wait", "Stop", "Toll", "Message", "Call",
    "Reroute", "Refuel", "Share", "Tip", "Break",
)  # fmt: skip
#: Request, Travel, Pickup, the ends and one of the middle types; and all types.
_FEWEST_TYPES = 3 + len(_ENDS) + 1
_ALL_TYPES = _FEWEST_TYPES - 1 + len(MIDDLE_TYPES)
#: Miles per hour below which traffic is slow, as in query q3, and which no ride reaches.
_SLOW, _FASTEST = 10, 60


@dataclass(frozen=True, kw_only=True)
class RidesharingOptions(StreamOptions):
    """Rides: a request, bursts of travelling with other events between, a dropoff or a cancel.

    `slow` and `pool` are the selectivities of the local predicates of the paper's q3 and q2.
    """

    schema = LazySchema("ridesharing")

    types: int = option(_ALL_TYPES, "Number of event types.", _FEWEST_TYPES, _ALL_TYPES)
    districts: int = option(10, "Number of districts; each ride is in one.", 1, MOST_KEYS)
    drivers: int = option(100, "Number of drivers; each has one ride at a time.", 1, MOST_KEYS)
    riders: int = option(1_000, "Number of riders; each ride has a random one.", 1, MOST_KEYS)
    units: float = option(
        4.0, "Mean number of parts per ride; all but the last have a burst.", 2, 1_000_000
    )
    slow: float = share(0.3, "Share of Travel events below 10 miles per hour.")
    pool: float = share(0.5, "Share of requests of kind Pool.")

    @property
    def script(self) -> Script:
        """Rides; every other time that something happens between two bursts it is a pickup."""
        middle = MIDDLE_TYPES[: self.types - _FEWEST_TYPES + 1]
        weights = (float(len(middle)), *(1.0 for _ in middle))
        return Script(
            self.drivers, "Travel", "Request", ("Pickup", *middle), weights, _ENDS, self.units
        )

    def columns(self, dice: np.random.Generator, found: Skeleton) -> Columns:
        """Return a column per attribute."""
        size = self.events
        riders = dice.integers(0, self.riders, found.most_trips)[found.trips]
        districts = dice.integers(0, self.districts, found.most_trips)[found.trips]
        slow = dice.random(size) < self.slow
        low = dice.integers(0, _SLOW * 10, size)
        high = dice.integers(_SLOW * 10, _FASTEST * 10, size)
        return {
            "driver": numbered("v", found.slots, self.drivers),
            "rider": numbered("r", riders, self.riders),
            "district": numbered("d", districts, self.districts),
            "kind": ((dice.random(size) >= self.pool).astype(np.int64), ("Pool", "Single")),
            "speed": np.where(slow, low, high) / 10,
            "duration": dice.integers(10, 301, size),
            "price": dice.integers(100, 10_001, size) / 100,
        }


# ---- stock trades

#: Prices lie within this factor of each other, from a dollar on, before they split.
_PRICES = 1_000.0


@dataclass(frozen=True, kw_only=True)
class StockOptions(StreamOptions):
    """Bursts of trades (`Stock`) of one company each; a quote, news or a halt before each burst.

    A company's price takes a step per event. Beyond 1,000 dollars it goes on at 1 dollar, and the
    other way round, as stocks are split and merged.

    `falling` is the selectivity of `S.price > NEXT(S).price` for adjacent trades; for
    trades far apart the selectivity is further from one half. Rate, bursts and companies are from
    the Hamlet paper, sectors from GRETA.
    """

    schema = LazySchema("stock")

    rate: float = option(4_500.0, "Mean number of events per minute.")
    burst: float = option(120.0, "Mean number of events per burst.", 1, 1_000_000)
    companies: int = option(220, "Number of companies.", 1, MOST_KEYS)
    sectors: int = option(10, "Number of sectors; companies are assigned in turn.", 1, MOST_KEYS)
    falling: float = share(0.5, "Share of price changes that are decreases.")
    volatility: float = option(0.005, "Mean price change, relative to the price.", 1e-6, 1)
    sell: float = share(0.5, "Share of trades that are sales.")

    @property
    def script(self) -> Script:
        """Trades, with something else before each burst."""
        return Script(self.companies, "Stock", None, ("Quote", "News", "Halt"), (6.0, 3.0, 1.0))

    def columns(self, dice: np.random.Generator, found: Skeleton) -> Columns:
        """Return a column per attribute."""
        size = self.events
        height = float(np.log(_PRICES))
        prices = np.exp(walk(dice, found.slots, self.falling, self.volatility, height))
        spreads = prices * 0.0005
        return {
            "company": numbered("c", found.slots, self.companies),
            "sector": numbered("s", found.slots % self.sectors, self.sectors),
            "kind": ((dice.random(size) >= self.sell).astype(np.int64), ("sell", "buy")),
            "price": np.round(prices, 4),
            "volume": 1 + np.floor(dice.lognormal(5, 1, size)).astype(np.int64),
            "bid": np.round(prices - spreads, 4),
            "ask": np.round(prices + spreads, 4),
            "mood": np.round(dice.uniform(-1, 1, size), 2),
        }


# ---- a cluster

#: Table 2: bounds of CPU and memory, bound of the load, and its mean.
_CPU, _LOAD, _MEAN_LOAD = 1_000, 10_000, 100


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(StreamOptions):
    """A job's mapper starts, is measured in bursts with reports of progress between, and ends.

    Every mapper works on every job, again and again. Loads are Poisson with mean 100 and
    independent of each other, unless `rising` makes the load of a mapper's job walk.
    """

    schema = LazySchema("cluster")

    rate: float = option(180_000.0, "Mean number of events per minute.")
    mappers: int = option(10, "Number of mappers.", 1, MOST_KEYS)
    jobs: int = option(10, "Number of jobs; each runs on every mapper.", 1, MOST_KEYS)
    units: float = option(
        3.0,
        "Mean number of parts per run of a job on a mapper; all but the last have a burst.",
        2,
        1_000_000,
    )
    rising: float | None = share(
        None, "Share of load changes that are increases. Default: independent Poisson loads."
    )

    def __post_init__(self) -> None:
        """Refuse what no stream can have; ParameterError: a value is out of range."""
        super().__post_init__()
        require_range("mappers times jobs", self.mappers * self.jobs, 1, MOST_KEYS)

    @property
    def script(self) -> Script:
        """Runs of a job on a mapper."""
        slots = self.mappers * self.jobs
        return Script(slots, "Measurement", "Start", ("Progress",), (1.0,), ("End",), self.units)

    def columns(self, dice: np.random.Generator, found: Skeleton) -> Columns:
        """Return a column per attribute."""
        size = self.events
        return {
            "job": found.slots % self.jobs,
            "mapper": found.slots // self.jobs,
            "cpu": dice.integers(0, _CPU + 1, size),
            "memory": dice.integers(0, _CPU + 1, size),
            "load": self._loads(dice, found.slots),
            "percent": dice.integers(0, 101, size),
        }

    def _loads(self, dice: np.random.Generator, slots: np.ndarray) -> np.ndarray:
        if self.rising is None:
            return np.minimum(dice.poisson(_MEAN_LOAD, slots.size), _LOAD)
        # Steps of 1 at least, lest many be equal once rounded.
        walked = walk(dice, slots, 1 - self.rising, float(_MEAN_LOAD), float(_LOAD))
        return walked.astype(np.int64)


# ---- an expressway

#: Linear Road: the greatest speed in miles per hour, lanes, feet of a segment.
_TOP_SPEED, _LANES, _FEET = 100, 5, 5_280


@dataclass(frozen=True, kw_only=True)
class LinearRoadOptions(StreamOptions):
    """A vehicle pays a toll and reports from the segment that it enters, burst by burst.

    It drives from one segment to the next, and from the last to the first. Who has come to a stop
    starts off at full speed. What `falling` is to prices in `StockOptions`, `slowing` is to speeds.
    """

    schema = LazySchema("linear_road")

    rate: float = option(240_000.0, "Mean number of events per minute.")
    vehicles: int = option(1_000, "Number of vehicles.", 1, MOST_KEYS)
    segments: int = option(100, "Number of segments of the expressway.", 1, MOST_KEYS)
    slowing: float = share(0.5, "Share of speed changes that are decreases.")
    accidents: float = share(
        0.02, "Share of bursts with an accident in the segment before them instead of a toll."
    )

    @property
    def script(self) -> Script:
        """Reports from a segment, with a toll or an accident before them."""
        weights = (1 - self.accidents, self.accidents)
        return Script(self.vehicles, "Position", None, ("Toll", "Accident"), weights)

    def columns(self, dice: np.random.Generator, found: Skeleton) -> Columns:
        """Return a column per attribute."""
        size = self.events
        entered = dice.integers(0, self.segments, self.vehicles)[found.slots]
        segments = (entered + found.units) % self.segments
        speeds = walk(dice, found.slots, self.slowing, 2.0, float(_TOP_SPEED))
        return {
            "vehicle": found.slots,
            "segment": segments,
            "lane": dice.integers(0, _LANES, size),
            "speed": np.floor(speeds * 100) / 100,
            "location": segments * _FEET + _feet_into_segment(found),
            "amount": dice.integers(1, 11, size),
        }


def _feet_into_segment(found: Skeleton) -> np.ndarray:
    """Reports of a burst are spread evenly over the segment, in the direction of travel."""
    places = running_numbers(found.trips)
    sizes = np.bincount(found.trips)[found.trips]
    return places * _FEET // sizes


#: By name, as the command line has them.
STREAMS: Mapping[str, type[StreamOptions]] = {
    "ridesharing": RidesharingOptions,
    "stock": StockOptions,
    "cluster": ClusterOptions,
    "linear-road": LinearRoadOptions,
}
