"""What a plan is found from: how often events of each type occur, and in how many partitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import pydantic

from elsinore.catalog.stream import StreamSchema
from elsinore.catalog.yaml_text import read_yaml
from elsinore.errors import Diagnostic, Location, ParameterError, PlanError, SchemaError
from elsinore.sharing.fingerprints import Part, canonical_json, fingerprint
from elsinore.timeline import NUMBER_LENGTHS, UNITS, Interval, TimeUnit

#: Version of the JSON form; other versions are refused.
FORMAT = 1

PartitionCounts = Mapping[tuple[str, ...], int]


@dataclass(frozen=True)
class Statistics:
    """Mean numbers of events, as `Rate(E)` of the Sharon paper (section 3.2) is read from.

    Attributes:
        per: the span that `events` refers to, in ticks (microseconds, or the ticks of a stream of
            integer times).
        events: mean number of events in `per` ticks, all partitions together, by event type in
            alphabetical order. Where the statistics were observed these are the events counted.
        observed: the interval in which events were counted, `per` ticks long; None where the rates
            were given by a person.
        partitions: number of distinct values of sets of key attributes (each set and the whole in
            alphabetical order); sets that are not listed were not counted.

    Use `Statistics.given` or `Statistics.counted`.
    """

    per: int
    events: tuple[tuple[str, float], ...]
    observed: Interval | None
    partitions: tuple[tuple[tuple[str, ...], int], ...]

    def __post_init__(self) -> None:
        if self.per <= 0:
            raise ParameterError("rates must refer to a positive span of time")
        if self.observed is not None and self.observed.length != self.per:
            raise ParameterError("observed events must refer to the whole observed interval")
        for name, number in self.events:
            if not (isfinite(number) and number >= 0):
                raise ParameterError(f"the rate of {name} must be a number from 0 on: {number}")
        for keys, count in self.partitions:
            if count < 1 or not keys:
                raise ParameterError(f"a number of partitions must be 1 or more: {keys}: {count}")

    @classmethod
    def given(
        cls, per: int, events: Mapping[str, float], partitions: PartitionCounts | None = None
    ) -> Statistics:
        """Rates as a person states them: mean number of events of each type in `per` ticks.

        Raises:
            ParameterError: a rate is negative or not finite, or a span or count is not positive.
        """
        return cls._sorted(per, events, None, partitions or {})

    @classmethod
    def counted(
        cls,
        observed: Interval,
        events: Mapping[str, int],
        partitions: PartitionCounts | None = None,
    ) -> Statistics:
        """Rates from the events counted in an interval; a type that is not named had none.

        Raises:
            ParameterError: a count is negative, or a number of partitions is not positive.
        """
        return cls._sorted(observed.length, events, observed, partitions or {})

    @classmethod
    def _sorted(
        cls,
        per: int,
        events: Mapping[str, float],
        observed: Interval | None,
        counts: PartitionCounts,
    ) -> Statistics:
        rates = sorted((name, float(number)) for name, number in events.items())
        partitions = sorted((tuple(sorted(set(keys))), count) for keys, count in counts.items())
        return cls(per, tuple(rates), observed, tuple(partitions))

    @cached_property
    def by_type(self) -> dict[str, float]:
        """Mean number of events in `per` ticks by event type."""
        return dict(self.events)

    @cached_property
    def by_keys(self) -> dict[tuple[str, ...], int]:
        """Number of distinct values by set of key attributes, alphabetical."""
        return dict(self.partitions)

    def rate(self, event_type: str, length: int, attributes: Collection[str] = ()) -> float:
        """Mean number of events of a type in `length` ticks and one partition by some attributes.

        Raises:
            ParameterError: the rates were given by a person and leave this type out.
        """
        number = self.by_type.get(event_type, 0.0 if self.observed else None)
        if number is None:
            raise ParameterError(
                f"no rate is given for {event_type}", hint="name every type of the workload"
            )
        return number * length / self.per / self.partition_count(attributes)

    def partition_count(self, attributes: Collection[str]) -> int:
        """Number of partitions by some key attributes; 1 where it was not counted."""
        return self.by_keys.get(tuple(sorted(set(attributes))), 1)

    def to_json(self) -> str:
        """The canonical JSON text; `from_json` reads it back."""
        return canonical_json(self._document())

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of the canonical JSON."""
        return fingerprint(self._document())

    def _document(self) -> dict[str, object]:
        observed = self.observed and [self.observed.start, self.observed.end]
        return {
            "version": FORMAT,
            "per": self.per,
            "events": dict(self.events),
            "observed": observed,
            "partitions": [{"keys": list(k), "count": n} for k, n in self.partitions],
        }

    @classmethod
    def from_json(cls, text: str) -> Statistics:
        """Statistics from their JSON text.

        Raises:
            PlanError: the text is no statistics of this version.
        """
        try:
            document = _Document.model_validate_json(text, strict=True)
        except pydantic.ValidationError as error:
            raise PlanError(f"these are no statistics of version {FORMAT}: {error}") from error
        counts = {tuple(sorted(p.keys)): p.count for p in document.partitions}
        try:
            observed = document.observed and Interval(*document.observed)
            return cls._sorted(document.per, document.events, observed, counts)
        except ParameterError as error:
            raise PlanError(f"these statistics are damaged: {error}") from error


class _Partitions(Part):
    keys: tuple[str, ...]
    count: int


class _Document(Part):
    version: Literal[1]
    per: int
    events: dict[str, float]
    observed: tuple[int, int] | None
    partitions: tuple[_Partitions, ...]


# ---- stated by a person


class _StatedPartitions(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    keys: list[str]
    count: pydantic.StrictInt


class _RatesFile(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    per: pydantic.StrictStr | pydantic.StrictInt
    rates: dict[str, pydantic.StrictInt | pydantic.StrictFloat]
    partitions: list[_StatedPartitions] = []


def load_rates(path: Path, schema: StreamSchema) -> Statistics:
    """The statistics that a person states in a YAML (or JSON) file, for `plan --rates FILE`.

        per: minute              # microsecond ... day; a bare number in the unit of the schema's
                                 # time, the only form for streams of integer times
        rates: {Departure: 35.5, Arrival: 35}      # mean number of events per `per`
        partitions:                                # optional: distinct values of key attributes
          - {keys: [tailnum], count: 4000}

    Raises:
        ParameterError: the file is not readable or not of the form above, or names an event type,
            attribute or unit that the stream does not have.
    """
    document = _read_rates(path)
    faults = [f"{name} is no event type of {schema.name}" for name in document.rates
              if name not in schema.by_name]  # fmt: skip
    faults += [
        f"{attribute} is no attribute of {schema.name}"
        for found in document.partitions
        for attribute in found.keys
        if attribute not in schema.attributes
    ]
    if faults:
        raise _refuse(path, *faults)
    per = _span(path, document.per, schema.time_unit)
    try:
        counts = {tuple(found.keys): found.count for found in document.partitions}
        return Statistics.given(per, document.rates, counts)
    except (ParameterError, OverflowError) as error:
        raise _refuse(path, str(error)) from error


def _read_rates(path: Path) -> _RatesFile:
    try:
        return _RatesFile.model_validate(read_yaml(path))
    except SchemaError as error:
        raise ParameterError(error.message, diagnostics=error.diagnostics) from error
    except pydantic.ValidationError as error:
        raise _refuse(path, *map(_describe, error.errors())) from error


def _describe(fault: Any) -> str:
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {fault['msg']}" if where else str(fault["msg"])


def _span(path: Path, per: str | int, unit: TimeUnit) -> int:
    """Ticks of a unit word, or of a bare number in the unit of the stream's time."""
    if isinstance(per, str):
        if unit is TimeUnit.INTEGER:
            raise _refuse(path, "per: this stream's time has no unit; write a bare number")
        length = UNITS.get(per.removesuffix("s"))
        if length is None:
            raise _refuse(path, f"per: {per} is no unit of time, as {', '.join(UNITS)} are")
        return length
    if unit not in NUMBER_LENGTHS:
        raise _refuse(path, "per: needs a unit, as in minute")
    return per * NUMBER_LENGTHS[unit]


def _refuse(path: Path, *faults: str) -> ParameterError:
    place = Location(str(path))
    diagnostics = tuple(Diagnostic(fault, place) for fault in faults)
    return ParameterError("; ".join(map(str, diagnostics)), diagnostics=diagnostics)
