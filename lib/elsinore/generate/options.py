"""What all generated streams have in common: how many events, how fast, in what bursts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from elsinore.errors import ParameterError
from elsinore.timeline import EPOCH, MAX_INSTANT, MICROSECOND, MILLISECOND, MINUTE, SECOND

#: Events a minute; event times are distinct microseconds, of which a minute has sixty millions.
FASTEST = 6_000_000.0
#: Events of one call, which are held in memory.
MOST_EVENTS = 200_000_000
#: Distinct values of one key, each of which is named.
MOST_KEYS = 10_000_000


class Resolution(StrEnum):
    """Units to which event times are cut."""

    MICROSECONDS = "us"
    MILLISECONDS = "ms"
    SECONDS = "s"

    @property
    def micros(self) -> int:
        """The unit in microseconds."""
        return {"us": MICROSECOND, "ms": MILLISECOND, "s": SECOND}[self.value]


def option(default: Any, meaning: str, low: float | None = None, high: float = math.inf) -> Any:
    """A field of an options class, with what it means; the command line shows it as help.

    A number must lie between `low` and `high`, both included; without `low` it may be any.
    """
    return field(default=default, metadata={"help": meaning, "low": low, "high": high})


def share(default: float | None, meaning: str) -> Any:
    """An option between 0 and 1."""
    return option(default, meaning, 0, 1)


@dataclass(frozen=True, kw_only=True)
class StreamOptions:
    """Size, rate and burstiness; the other options of a stream are its own.

    A stream is made of units: an event of some other type, then a burst of the stream's main type
    (Hamlet, Definition 4.1), all of one key and next to each other. So the bursts have the lengths
    asked for in the whole stream and in each of its partitions alike. Times are those of a Poisson
    process. The same options give the same events.
    """

    events: int = option(100_000, "How many events.", 1, MOST_EVENTS)
    rate: float = option(10_000.0, "Mean number of events a minute.")
    first_rate: float | None = option(None, "Let the rate grow evenly from this to the other one.")
    burst: float = option(10.0, "Mean number of events of a burst.", 1, 1_000_000)
    fixed_bursts: bool = option(False, "Give all bursts that length; else lengths are geometric.")
    start: datetime = field(
        default=datetime(2013, 1, 1, tzinfo=UTC), metadata={"help": "When the stream begins, UTC."}
    )
    resolution: Resolution = field(
        default=Resolution.MICROSECONDS,
        metadata={"help": "Cut times to this unit. Events of one time are never adjacent."},
    )
    seed: int = option(0, "Another seed gives other events of the same kind.", 0, 2**63 - 1)

    def __post_init__(self) -> None:
        """Refuse what no stream can have.

        Raises:
            ParameterError: a value is out of range.
        """
        for each in fields(self):
            low, value = each.metadata.get("low"), getattr(self, each.name)
            if low is not None and value is not None:
                require_range(each.name.replace("_", "-"), value, low, each.metadata["high"])
        require_range("rate", self.rate, 0.001, FASTEST)
        if self.first_rate is not None:
            require_range("first-rate", self.first_rate, 0.001, self.rate)
        slowest = self.first_rate or self.rate
        if self.start_micros + 2 * (self.events / slowest + 1) * MINUTE > MAX_INSTANT:
            raise ParameterError(
                f"{self.events:,} events at {slowest:g} a minute may last beyond the year 9999",
                hint="ask for fewer events or a higher rate",
            )

    @property
    def start_micros(self) -> int:
        """The instant before the first event, microseconds since the epoch."""
        aware = self.start if self.start.tzinfo else self.start.replace(tzinfo=UTC)
        return (aware - EPOCH) // timedelta(microseconds=1)


def require_range(name: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside of `[low, high]`, NaN included.

    Raises:
        ParameterError: it lies outside.
    """
    if not (math.isfinite(value) and low <= value <= high):
        raise ParameterError(f"{name} is {value:g}, not between {low:,g} and {high:,g}")
