"""Reads the rates that a person states for `elsinore plan --rates FILE`.

A YAML (or JSON) file:

    per: minute                  # microsecond ... day; a bare number in the unit of the schema's
                                 # time, the only form for streams of integer times
    rates: {Departure: 35.5, Arrival: 35}          # mean number of events per `per`
    partitions:                                    # optional: distinct values of key attributes
      - {keys: [tailnum], count: 4000}
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pydantic

from elsinore.catalog.stream import StreamSchema
from elsinore.catalog.yaml_text import read_yaml
from elsinore.errors import Diagnostic, Location, ParameterError, SchemaError
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import MICROSECOND, MILLISECOND, SECOND, UNITS, TimeUnit

_TICKS = {
    TimeUnit.SECONDS: SECOND,
    TimeUnit.MILLISECONDS: MILLISECOND,
    TimeUnit.MICROSECONDS: MICROSECOND,
    TimeUnit.INTEGER: 1,
}


class _Partitions(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    keys: list[str]
    count: pydantic.StrictInt


class _RatesFile(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")

    per: pydantic.StrictStr | pydantic.StrictInt
    rates: dict[str, pydantic.StrictInt | pydantic.StrictFloat]
    partitions: list[_Partitions] = []


def load_rates(path: Path, schema: StreamSchema) -> Statistics:
    """The statistics that a rates file states about a stream.

    Raises:
        ParameterError: the file is not readable or not of the form above, or names an event type,
            attribute or unit that the stream does not have.
    """
    document = _read(path)
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


def _read(path: Path) -> _RatesFile:
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
    if unit not in _TICKS:
        raise _refuse(path, "per: needs a unit, as in minute")
    return per * _TICKS[unit]


def _refuse(path: Path, *faults: str) -> ParameterError:
    place = Location(str(path))
    diagnostics = tuple(Diagnostic(fault, place) for fault in faults)
    return ParameterError("; ".join(map(str, diagnostics)), diagnostics=diagnostics)
