"""The four event types of the flights stream as tables of raw records.

A table has one row an event: first `hour` (int64 microseconds, the first instant of the event's
hour), then the fields of a raw record in the order in which they are written. Integers that may be
missing are pandas `Int64`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from elsinore.generate.flight_tables import FlightTables
from elsinore.generate.flight_times import real_arrivals, real_departures, scheduled_departures
from elsinore.timeline import HOUR, Interval

_FLIGHT = ["tailnum", "carrier", "flight", "origin", "dest"]
_FIELDS = {
    "Departure": [*_FLIGHT, "dep_delay", "distance"],
    "Arrival": [*_FLIGHT, "arr_delay", "air_time", "distance"],
    "Cancellation": [*_FLIGHT, "distance"],
    "Weather": [
        "origin", "temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip",
        "pressure", "visib",
    ],
}  # fmt: skip
#: Columns that pandas reads as floats for no reason but their missing values.
_INTEGERS = ("dep_delay", "arr_delay", "air_time", "wind_dir")


def flight_events(tables: FlightTables, span: Interval) -> list[pd.DataFrame]:
    """Departures, arrivals, cancellations and weather of the hours that begin in `span`."""
    flights = tables.flights
    left = flights[flights["dep_time"].notna()]
    landed = left[left["arr_time"].notna()]
    cancelled = flights[flights["dep_time"].isna()]
    observed = tables.weather
    timed = {
        "Departure": (left, real_departures(left)),
        "Arrival": (landed, real_arrivals(landed, tables.zones)),
        "Cancellation": (cancelled, scheduled_departures(cancelled)),
        "Weather": (observed, observed["time_hour"]),
    }
    return [_records(kind, rows, instants, span) for kind, (rows, instants) in timed.items()]


def _records(kind: str, rows: pd.DataFrame, instants: pd.Series, span: Interval) -> pd.DataFrame:
    micros = instants.astype("datetime64[us, UTC]").astype(np.int64)
    hours = micros // HOUR * HOUR
    # Cut first: spelling out times and ids is the slow part.
    inside = (hours >= span.start) & (hours < span.end)
    rows, instants = rows[inside], instants[inside]
    table = rows[_FIELDS[kind]].copy()
    for name in _INTEGERS:
        if name in table:
            table[name] = table[name].astype("Int64")
    labels = _weather_labels(rows) if kind == "Weather" else _flight_labels(rows)
    table.insert(0, "hour", hours[inside])
    table.insert(1, "id", f"{kind[0]}-" + labels)
    table.insert(2, "time", instants.dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    table.insert(3, "type", kind)
    return table


def _flight_labels(rows: pd.DataFrame) -> pd.Series:
    """`2013-01-01-UA1545-EWR`: local date of the schedule, flight, origin; unique in the table."""
    date = _padded(rows["year"], 4) + "-" + _padded(rows["month"], 2)
    date += "-" + _padded(rows["day"], 2)
    return date + "-" + rows["carrier"] + rows["flight"].astype(str) + "-" + rows["origin"]


def _weather_labels(rows: pd.DataFrame) -> pd.Series:
    """`2013-11-03T05Z-EWR`: in UTC, since the local hour 01 occurs twice on that day."""
    return rows["time_hour"].dt.strftime("%Y-%m-%dT%HZ-") + rows["origin"]


def _padded(numbers: pd.Series, width: int) -> pd.Series:
    return numbers.astype(str).str.zfill(width)
