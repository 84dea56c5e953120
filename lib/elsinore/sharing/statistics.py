"""What a plan is found from: how often events of each type occur, and in how many partitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Literal

import pydantic

from elsinore.catalog.stream import StreamSchema
from elsinore.catalog.yaml_text import Strict, read_model
from elsinore.errors import (
    AuthorError,
    Diagnostic,
    Location,
    ParameterError,
    PlanError,
    SchemaError,
)
from elsinore.sharing.fingerprints import Part, canonical_json, fingerprint
from elsinore.timeline import NUMBER_LENGTHS, UNITS, Interval, TimeUnit

PartitionCounts = Mapping[tuple[str, ...], int]


@dataclass(frozen=True)
class Statistics:
    """Mean numbers of events, as `Rate(E)` of the Sharon paper (section 3.2) is read from.

    Made by `Statistics.given` or `Statistics.counted`.

    Attributes:
        per: the span that `events` refers to, in ticks.
        events: mean number of events in `per` ticks, all partitions together, by event type in
            alphabetical order; where they were observed, the events counted.
        observed: the interval in which events were counted, `per` ticks long; None where the rates
            were given by a person.
        partitions: number of distinct values of sets of key attributes (each set and the whole in
            alphabetical order); sets that are not listed were not counted.
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
        cls,
        per: int,
        events: Mapping[str, float],
        partitions: PartitionCounts | None = None,
        observed: Interval | None = None,
    ) -> Statistics:
        """Rates as a person states them: mean number of events of each type in `per` ticks.

        Raises:
            ParameterError: a rate is negative or not finite, or a span or count is not positive.
        """
        rates = sorted((name, float(number)) for name, number in events.items())
        counts = sorted((tuple(sorted(set(k))), count) for k, count in (partitions or {}).items())
        return cls(per, tuple(rates), observed, tuple(counts))

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
        return cls.given(observed.length, events, partitions, observed)

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
            "version": 1,
            "per": self.per,
            "events": dict(self.events),
            "observed": observed,
            "partitions": [{"keys": list(k), "count": n} for k, n in self.partitions],
        }

    @classmethod
    def from_json(cls, text: str) -> Statistics:
        """Statistics from their JSON text; PlanError: it is none of this version."""
        try:
            document = _Document.model_validate_json(text, strict=True)
        except pydantic.ValidationError as error:
            raise PlanError(f"these are no statistics of version 1: {error}") from error
        counts = {p.keys: p.count for p in document.partitions}
        try:
            observed = document.observed and Interval(*document.observed)
            return cls.given(document.per, document.events, counts, observed)
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


class _StatedPartitions(Strict):
    keys: list[str]
    count: int


class _RatesFile(Strict):
    per: str | int
    rates: dict[str, float]
    partitions: tuple[_StatedPartitions, ...] = pydantic.Field((), strict=False)


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
    try:
        stated = read_model(path, _RatesFile, "a file of rates")
    except SchemaError as error:
        raise ParameterError(error.message, diagnostics=error.diagnostics) from error
    attributes = [attribute for each in stated.partitions for attribute in each.keys]
    faults = [
        *(f"{name} is no event type" for name in stated.rates if name not in schema.by_name),
        *(f"{name} is no attribute" for name in attributes if name not in schema.attributes),
    ]
    if faults:
        raise _refuse(path, *(f"{fault} of {schema.name}" for fault in faults))
    try:
        per = _ticks(stated.per, schema.time_unit)
        counts = {tuple(each.keys): each.count for each in stated.partitions}
        return Statistics.given(per, stated.rates, counts)
    except (ParameterError, OverflowError) as error:
        raise _refuse(path, str(error)) from error


def _ticks(per: str | int, unit: TimeUnit) -> int:
    """Ticks of a unit word, or of a bare number in the unit of the stream's time."""
    if isinstance(per, int):
        if unit not in NUMBER_LENGTHS:
            raise ParameterError("per: needs a unit, as in minute")
        return per * NUMBER_LENGTHS[unit]
    if unit is TimeUnit.INTEGER:
        raise ParameterError("per: this stream's time has no unit; write a bare number")
    length = UNITS.get(per.removesuffix("s"))
    if length is None:
        raise ParameterError(f"per: {per} is no unit of time, as {', '.join(UNITS)} are")
    return length


def _refuse(path: Path, *faults: str) -> AuthorError:
    place = Location(str(path))
    return ParameterError.of([Diagnostic(fault, place) for fault in faults])
