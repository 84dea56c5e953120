"""A long landing is cut into stretches of hours."""

from __future__ import annotations

import pytest

from elsinore.lake.land import FoundLanding
from elsinore.lake.landing_zone import LandingFile
from elsinore.lake.regions import Landings
from elsinore.timeline import Interval, hour_label, hours_of

LATE = Interval.parse("2013-01-01T02:00Z", "2013-01-01T03:00Z")
OWN = Interval.parse("2013-01-01T10:00Z", "2013-01-01T14:00Z")


def file(hour: int, size: int, name: str = "x.jsonl") -> LandingFile:
    return LandingFile(hour_label(hour), name, f"/zone/{name}", size, 0)


@pytest.mark.parametrize(
    ("most", "cuts"),
    [
        (10**9, ["10"]),
        (60, ["10", "12", "13"]),
        (50, ["10", "11", "13"]),
        (1, ["10", "11", "12", "13"]),
    ],
)
def test_every_hour_and_file_is_in_one_part(most: int, cuts: list[str]) -> None:
    """Of 10, 20, 30 and 50 bytes, the third packed; an earlier hour has 30 and lands first."""
    late, (ten, eleven, twelve, last) = LATE.start, hours_of(OWN)
    sizes = {late: 30, ten: 10, eleven: 20, last: 50}
    files = [file(hour, size) for hour, size in sizes.items()] + [file(twelve, 6, "x.jsonl.gz")]
    found = FoundLanding(Landings(OWN, (LATE,)), tuple(sorted(files)), {"2013-01-01T03": "bad"})
    parts = list(found.parts(most))
    assert [hour_label(part.own.interval.start)[-2:] for part in parts] == cuts
    assert [hour for part in parts for hour in hours_of(part.own.interval)] == [*hours_of(OWN)]
    assert sorted(each for part in parts for each in part.files) == sorted(files)
    assert [(part.late, part.refused) for part in parts] == [
        ([late], {"2013-01-01T03": "bad"}),
        *(([], {}) for _ in cuts[1:]),
    ]
