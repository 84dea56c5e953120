"""Statistics for plans: the rates of event types, and the numbers of partitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import pydantic

from elsinore.catalog.stream import StreamSchema
from elsinore.catalog.yaml_text import Strict, read_model
from elsinore.errors import AuthorError, Diagnostic, Location, ParameterError, SchemaError
from elsinore.sharing.artifact import Artifact, Part
from elsinore.timeline import NUMBER_LENGTHS, UNITS, Interval, TimeUnit
from elsinore.wording import some_of, suggest

Rate = Annotated[float, pydantic.Field(ge=0, allow_inf_nan=False)]
PartitionCounts = Mapping[tuple[str, ...], int]


class PartitionCount(Part):
    """Number of distinct values of a set of key attributes, in alphabetical order."""

    keys: tuple[str, ...] = pydantic.Field(min_length=1)
    count: pydantic.PositiveInt


class Statistics(Artifact):
    """Mean numbers of events, from which `Rate(E)` of the Sharon paper (section 3.2) is derived.

    Created by `Statistics.given` or `Statistics.counted`.

    Attributes:
        per: the length of time that `events` refers to, in ticks.
        events: mean number of events in `per` ticks in all partitions, by event type. If events
            were counted, this is their number.
        observed: start and end of the interval in which events were counted, `per` ticks long; None
            if a user gave the rates.
        partitions: sets of key attributes in alphabetical order; other sets were not counted.
    """

    CALLED = "record of statistics"
    UNSIGNED: ClassVar[bool] = True
    version: Literal[1] = 1
    per: pydantic.PositiveInt
    events: dict[str, Rate]
    observed: tuple[int, int] | None
    partitions: tuple[PartitionCount, ...]

    @pydantic.model_validator(mode="after")
    def _of_the_whole(self) -> Self:
        if self.observed is not None and self.observed[1] - self.observed[0] != self.per:
            raise ValueError("observed events must refer to the whole observed interval")
        return self

    @classmethod
    def given(
        cls,
        per: int,
        events: Mapping[str, float],
        partitions: PartitionCounts | None = None,
        observed: Interval | None = None,
    ) -> Statistics:
        """Return statistics for given rates: the mean number of events of each type in `per` ticks.

        Raises:
            ValueError: a rate is negative or not finite, or a span or count is not positive.
        """
        counts = sorted((tuple(sorted(set(k))), count) for k, count in (partitions or {}).items())
        return cls(
            per=per,
            events=dict(events),
            observed=None if observed is None else (observed.start, observed.end),
            partitions=tuple(PartitionCount(keys=keys, count=count) for keys, count in counts),
        )

    @classmethod
    def counted(
        cls,
        observed: Interval,
        events: Mapping[str, int],
        partitions: PartitionCounts | None = None,
    ) -> Statistics:
        """Return statistics of events counted in an interval.

        A type without a count had no events.
        """
        return cls.given(observed.length, events, partitions, observed)

    @cached_property
    def by_keys(self) -> dict[tuple[str, ...], int]:
        """Return the number of distinct values by set of key attributes, alphabetical."""
        return {found.keys: found.count for found in self.partitions}

    def rate(self, event_type: str, length: int, attributes: Collection[str] = ()) -> float:
        """Return the mean number of events of a type in `length` ticks and one partition.

        Args:
            event_type: the type.
            length: in ticks.
            attributes: the attributes that partition the events.

        Raises:
            ParameterError: a user gave the rates and left out this type.
        """
        number = self.events.get(event_type, 0.0 if self.observed else None)
        if number is None:
            raise ParameterError(
                f"the rate of {event_type} is missing", hint=f"as in rates: {{{event_type}: 5}}"
            )
        return number * length / self.per / self.partition_count(attributes)

    def partition_count(self, attributes: Collection[str]) -> int:
        """Return the number of partitions by some key attributes; 1 if it was not counted."""
        return self.by_keys.get(tuple(sorted(set(attributes))), 1)


# ---- rates that a user gives in a file


class _StatedPartitions(Strict):
    keys: list[str] = pydantic.Field(min_length=1)
    count: pydantic.PositiveInt


class _RatesFile(Strict):
    per: str | int
    rates: dict[str, Rate]
    partitions: tuple[_StatedPartitions, ...] = pydantic.Field((), strict=False)


def load_rates(path: Path, schema: StreamSchema) -> Statistics:
    """Return the rates that a user gives in a YAML or JSON file, for `plan --rates FILE`.

    The file has this form:

        per: minute              # microsecond ... day, or a number in the unit of the schema's
                                 # time; streams of integer times need a number
        rates: {Departure: 35.5, Arrival: 35}      # mean number of events per `per`
        partitions:                                # optional: distinct values of key attributes
          - {keys: [tailnum], count: 4000}

    Raises:
        ParameterError: the file is not readable or has another form, or it names an event type,
            attribute or unit that the stream does not have.
    """
    try:
        stated = read_model(path, _RatesFile, "a file of rates")
    except SchemaError as error:
        raise ParameterError(
            error.message, hint=error.hint, diagnostics=error.diagnostics
        ) from error
    attributes = [attribute for each in stated.partitions for attribute in each.keys]
    faults = [
        (
            f"{schema.name} has no {what} {name}",
            suggest(name, known) or f"use one of {some_of(known)}",
        )
        for what, names, known in (
            ("event type", stated.rates, schema.by_name),
            ("attribute", attributes, schema.attributes),
        )
        for name in names
        if name not in known
    ]
    if faults:
        raise _refuse(path, *faults)
    try:
        per = _ticks(stated.per, schema.time_unit)
    except ParameterError as error:
        raise _refuse(path, (error.message, error.hint or "as in per: minute")) from error
    counts = {tuple(each.keys): each.count for each in stated.partitions}
    return Statistics.given(per, stated.rates, counts)


def _ticks(per: str | int, unit: TimeUnit) -> int:
    """Return the ticks of a unit, or of a number in the unit of the stream's time."""
    if isinstance(per, int):
        if unit not in NUMBER_LENGTHS:
            raise ParameterError("per: needs a unit", hint="as in per: minute")
        if per <= 0:
            raise ParameterError("per: must be positive", hint="as in per: 1")
        return per * NUMBER_LENGTHS[unit]
    if unit is TimeUnit.INTEGER:
        raise ParameterError("per: this stream's time has no unit", hint="as in per: 10")
    length = UNITS.get(per.removesuffix("s"))
    if length is None:
        hint = f"use one of {', '.join(UNITS)}"
        raise ParameterError(f"per: {per} is not a unit of time", hint=hint)
    return length


def _refuse(path: Path, *faults: tuple[str, str]) -> AuthorError:
    place = Location(str(path))
    return ParameterError.of([Diagnostic(fault, place, hint) for fault, hint in faults])
