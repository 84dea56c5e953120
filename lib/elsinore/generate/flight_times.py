"""When flights really left and landed: UTC instants out of local clock times and delays.

The package gives the scheduled hour in UTC, but the arrival only as four digits of a clock at the
destination, without a date. `docs/data-flights.md` tells how the rules below were checked.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from elsinore.errors import DataError

#: Destinations that airports.csv does not list: Puerto Rico and the Virgin Islands, UTC-4 all year.
_UNLISTED_ZONES = dict.fromkeys(("BQN", "PSE", "SJU", "STT"), "America/Puerto_Rico")
_DAY_MINUTES = 24 * 60


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

    Args:
        flights: rows of the flights table, `dep_time` and `arr_time` never missing.
        zones: IANA time zone by airport code.

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
        raise DataError(f"no time zone is known for the airports {unknown}", airports=unknown)
    return found


def _local_minute_of_day(instants: pd.Series, zones: pd.Series) -> pd.Series:
    """Minutes since local midnight (int64) of each UTC instant in the zone beside it."""
    minutes = pd.Series(0, index=instants.index, dtype=np.int64)
    for zone, rows in zones.groupby(zones).groups.items():
        local = instants.loc[rows].dt.tz_convert(str(zone)).dt
        minutes.loc[rows] = local.hour.astype(np.int64) * 60 + local.minute
    return minutes
