"""Common parts of generated streams: options, a schema, and a skeleton of slots, types and times.

A unit is an event of a lead type, then a burst of the main type, all of one slot (a driver, a
company, a mapper's job). The units of a slot are cut into trips: the first unit of a trip has the
type that starts it, the last one a type that ends it and no burst. A burst is never followed by its
own type, in the slot or in the stream, since a lead comes between. Columns are drawn whole, without
a loop over events.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import ParameterError
from elsinore.events import ARROW_TYPES, TIME_COLUMN, TYPE_COLUMN, EventTable, arrow_schema
from elsinore.timeline import CALENDAR, MINUTE, NUMBER_LENGTHS, TimeUnit, instant_of

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


def option(default: Any, meaning: str, low: float | None = None, high: float = math.inf) -> Any:
    """A field of an options class, with what it means; the command line shows it as help.

    A number must lie between `low` and `high`, both included; without `low` it may be any.
    """
    return field(default=default, metadata={"help": meaning, "low": low, "high": high})


def share(default: float | None, meaning: str) -> Any:
    """An option between 0 and 1."""
    return option(default, meaning, 0, 1)


@dataclass(frozen=True, kw_only=True)
class StreamOptions(ABC):
    """Size, rate and burstiness; the other options of a stream are its own.

    A stream is made of units: an event of some other type, then a burst of the stream's main type
    (Hamlet, Definition 4.1), all of one key and next to each other. So the bursts have the lengths
    asked for in the whole stream and in each of its partitions alike. Times follow a Poisson
    process. The same options give the same events.

    Attributes:
        schema: what the events are; their records have `id`, `time` (ISO 8601) and `type`.
    """

    schema: ClassVar[LazySchema]

    events: int = option(100_000, "Number of events.", 1, MOST_EVENTS)
    rate: float = option(10_000.0, "Mean number of events per minute.")
    first_rate: float | None = option(
        None, "Rate at the start; it grows evenly to the rate at the end."
    )
    burst: float = option(10.0, "Mean number of events per burst.", 1, 1_000_000)
    fixed_bursts: bool = option(
        False, "Give every burst the mean length. Default: geometric lengths."
    )
    start: datetime = field(
        default=datetime(2013, 1, 1, tzinfo=UTC), metadata={"help": "Start of the stream in UTC."}
    )
    resolution: Resolution = field(
        default=Resolution.MICROSECONDS,
        metadata={"help": "Cut times to this unit. Events with equal times are never adjacent."},
    )
    seed: int = option(0, "Seed of the random numbers.", 0, 2**63 - 1)

    def __post_init__(self) -> None:
        """Refuse what no stream can have; ParameterError: a value is out of range."""
        for each in fields(self):
            low, value = each.metadata.get("low"), getattr(self, each.name)
            if low is not None and value is not None:
                require_range(each.name.replace("_", "-"), value, low, each.metadata["high"])
        require_range("rate", self.rate, 0.001, FASTEST)
        if self.first_rate is not None:
            require_range("first-rate", self.first_rate, 0.001, self.rate)
        slowest = self.first_rate or self.rate
        last = self.start_micros + 2 * (self.events / slowest + 1) * MINUTE
        if self.start_micros < CALENDAR.start or last > CALENDAR.end:
            raise ParameterError(
                f"{self.events:,} events at {slowest:g} per minute from {self.start} may be "
                "outside of the years 1 to 9999",
                hint="ask for fewer events, a higher rate or another start",
            )

    @property
    def start_micros(self) -> int:
        """The instant before the first event, microseconds since the epoch."""
        return instant_of(self.start)

    @property
    @abstractmethod
    def script(self) -> Script:
        """The parts of trips."""

    @abstractmethod
    def columns(self, dice: np.random.Generator, found: Skeleton) -> Columns:
        """Return a column per attribute; values of events without the attribute are arbitrary."""

    @classmethod
    def yaml(cls) -> str:
        """The text of the schema's file."""
        return _schema_file(cls.schema.name).read_text(encoding="utf-8")

    def make(self) -> EventTable:
        """The events, in order of time."""
        dice = np.random.default_rng(self.seed)
        times = arrival_times(dice, self)
        found = draw_skeleton(dice, self)
        drawn = self.columns(dice, found)
        columns = {TIME_COLUMN: pa.array(times), TYPE_COLUMN: pa.array(found.types, pa.int32())}
        for name, kind in self.schema.attributes.items():
            carriers = self.schema.carriers(name)
            lacking = np.array([each.name not in carriers for each in self.schema.types])
            columns[name] = _column(drawn[name], lacking[found.types], ARROW_TYPES[kind])
        return EventTable(self.schema, pa.table(columns, schema=arrow_schema(self.schema)))


def require_range(name: str, value: float, low: float, high: float) -> None:
    """Refuse a number outside of `[low, high]`, NaN included (ParameterError)."""
    if not (math.isfinite(value) and low <= value <= high):
        raise ParameterError(
            f"{name} is {value:,.12g}, not between {low:,.12g} and {high:,.12g}",
            hint=f"write a number from {low:,.12g} to {high:,.12g}",
        )


@dataclass(frozen=True)
class Script:
    """The parts of trips, by names of event types."""

    slots: int  #: how many drivers, companies or the like there are
    main: str  #: the type of the bursts
    #: the type that starts a trip; None for streams without trips, led by any type of `middle`.
    start: str | None
    middle: tuple[str, ...]  #: the types that lead within a trip
    weights: tuple[float, ...]  #: how often these occur, relative to each other
    end: tuple[str, ...] = ()  #: the types that end a trip, equally often
    units: float = 2.0  #: mean number of units of a trip, 2 or more


@dataclass(frozen=True)
class Skeleton:
    """Columns of a stream, one element an event, int64.

    `types` are codes; `units` number the units of a slot from 0, `trips` all trips, each of one
    slot, with gaps, below `most_trips`.
    """

    types: np.ndarray
    slots: np.ndarray
    units: np.ndarray
    trips: np.ndarray
    most_trips: int


def draw_skeleton(dice: np.random.Generator, options: StreamOptions) -> Skeleton:
    """The skeleton of exactly `options.events` events; each unit has a slot at random."""
    script, codes = options.script, options.schema.type_codes
    count = int(options.events / (options.burst + 1) * 1.2) + 64
    fixed = round(options.burst) if options.fixed_bursts else None
    while True:
        slot = dice.integers(0, script.slots, count)
        trips, begins, ends = _cut_into_trips(dice, slot, script)
        sizes = np.where(ends, 1, (fixed or dice.geometric(1 / options.burst, count)) + 1)
        if sizes.sum() >= options.events:
            break
        count *= 2
    unit = np.repeat(np.arange(count), sizes)[: options.events]
    types = np.full(options.events, codes[script.main], np.int64)
    firsts = np.cumsum(sizes) - sizes
    inside = firsts < options.events
    types[firsts[inside]] = _leads(dice, begins, ends, options)[inside]
    return Skeleton(types, slot[unit], running_numbers(slot)[unit], trips[unit], count)


def _cut_into_trips(
    dice: np.random.Generator, slot: np.ndarray, script: Script
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each unit the first unit of its trip; whether it begins one; whether it ends one."""
    if script.start is None:
        return np.arange(slot.size), np.zeros(slot.size, np.bool_), np.zeros(slot.size, np.bool_)
    # Slot by slot; a trip that reaches the end of its slot's units is not finished.
    order = np.argsort(slot, kind="stable")
    first = np.concatenate([[True], slot[order][1:] != slot[order][:-1]])
    planned = np.cumsum(1 + dice.geometric(1 / (script.units - 1), slot.size // 2 + 1)) - 1
    lasts = np.zeros(slot.size, np.bool_)
    lasts[planned[planned < slot.size]] = True
    lasts &= ~first
    fresh = first | np.concatenate([[False], lasts[:-1]])
    trips, begins, ends = np.empty(slot.size, np.int64), np.empty_like(lasts), np.empty_like(lasts)
    trips[order] = order[np.maximum.accumulate(np.where(fresh, np.arange(slot.size), 0))]
    begins[order] = fresh
    ends[order] = lasts
    return trips, begins, ends


def _leads(
    dice: np.random.Generator, begins: np.ndarray, ends: np.ndarray, options: StreamOptions
) -> np.ndarray:
    """The type of each unit's first event."""
    script, codes = options.script, options.schema.type_codes
    weights = np.array(script.weights, float)
    chosen = dice.choice(weights.size, begins.size, p=weights / weights.sum())
    leads = np.array([codes[name] for name in script.middle], np.int64)[chosen]
    if script.start is not None:
        leads[begins] = codes[script.start]
        last = np.array([codes[name] for name in script.end], np.int64)
        leads[ends] = dice.choice(last, int(ends.sum()))
    return leads


def arrival_times(dice: np.random.Generator, options: StreamOptions) -> np.ndarray:
    """Increasing int64 microseconds of a Poisson process whose rate is constant or grows evenly.

    Distinct unless `options.resolution` makes some equal.
    """
    passed = np.cumsum(dice.standard_exponential(options.events))  # events that should have come
    rate = options.rate / MINUTE
    first = rate if options.first_rate is None else options.first_rate / MINUTE
    growth = (rate - first) * (rate + first) / (2 * options.events)
    # `passed = first t + growth t^2 / 2`, solved for t without cancellation.
    times = 2 * passed / (first + np.sqrt(first * first + 2 * growth * passed))
    ticks = np.floor(times).astype(np.int64)
    numbers = np.arange(options.events)
    ticks = np.maximum.accumulate(ticks - numbers) + numbers
    unit = NUMBER_LENGTHS[TimeUnit(options.resolution)]
    return (options.start_micros + ticks) // unit * unit


def running_numbers(keys: np.ndarray) -> np.ndarray:
    """For each element, how many before it have the same key.

    >>> running_numbers(np.array([5, 7, 5, 5, 7])).tolist()
    [0, 0, 1, 2, 1]
    """
    return running_sums(keys, np.ones(keys.size, np.int64)) - 1


def running_sums(keys: np.ndarray, values: np.ndarray) -> np.ndarray:
    """For each element, the sum of the values up to it, its own included, that have its key.

    >>> running_sums(np.array([5, 7, 5]), np.array([1, 10, 2])).tolist()
    [1, 10, 3]
    """
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    sums = np.cumsum(values[order])
    begins = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    before = sums[begins] - values[order][begins]
    sums -= np.repeat(before, np.diff(np.append(begins, keys.size)))
    result = np.empty_like(sums)
    result[order] = sums
    return result


def walk(
    dice: np.random.Generator, keys: np.ndarray, falling: float, step: float, height: float
) -> np.ndarray:
    """A random walk within `[0, height)` for each key (a code from 0), one value an element.

    Steps are exponential, of mean `step`; a share `falling` of them goes down. A walk that leaves
    at one side enters at the other, so that it can fall (or rise) for ever; only there a step goes
    against its direction.
    """
    down = dice.random(keys.size) < falling
    steps = dice.standard_exponential(keys.size) * step * np.where(down, -1.0, 1.0)
    starts = dice.random(int(keys.max()) + 1) * height
    return (starts[keys] + running_sums(keys, steps)) % height


# ---- schemas and columns


class LazySchema:
    """The schema of a stream as a class attribute, loaded from its file on first use.

    Help does not need it, and loading pydantic and parsing YAML takes longer than all else. A class
    assigns it without an annotation: dataclasses read the values of annotated attributes.
    """

    def __init__(self, stream: str) -> None:
        self._stream = stream

    def __get__(self, instance: object, owner: type) -> StreamSchema:
        """Return the schema, which is loaded once."""
        return _schema_of(self._stream)


@cache
def _schema_of(stream: str) -> StreamSchema:
    """Return the schema of a stream, from the file next to this module."""
    from elsinore.catalog.load_schema import load_schema

    return load_schema(_schema_file(stream))


def _schema_file(stream: str) -> Path:
    return Path(__file__).with_name(f"{stream}.yaml")


#: A column of strings with few distinct values: int64 codes, one per event, and their values.
Names = tuple[np.ndarray, Sequence[str]]
#: By attribute, one value an event.
Columns = Mapping[str, np.ndarray | Names]


def numbered(prefix: str, codes: np.ndarray, count: int) -> Names:
    """`d0`, `d1` and so on."""
    return codes, [f"{prefix}{number}" for number in range(count)]


def _column(values: np.ndarray | Names, lacking: np.ndarray, kind: pa.DataType) -> pa.Array:
    if isinstance(values, np.ndarray):
        return pa.array(values, kind, mask=lacking)
    codes, labels = values
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=lacking), labels).cast(kind)
