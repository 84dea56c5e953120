"""Command lines of jobs."""

from __future__ import annotations

import sys

import pytest

from elsinore.errors import ParameterError
from elsinore.orchestration.job_command import job_command
from elsinore.timeline import Interval

HOUR = Interval.parse("2013-02-08T07:00", "2013-02-08T08:00")


def test_the_running_interpreter_starts_the_module() -> None:
    assert job_command("land_events", HOUR) == [
        sys.executable, "-m", "jobs.land_events",
        "--start", "2013-02-08T07:00:00.000000Z", "--end", "2013-02-08T08:00:00.000000Z",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["", "land-events", "os.system", "../x", "land_events; ls", "A"])
def test_what_is_no_module_name_is_refused(name: str) -> None:
    with pytest.raises(ParameterError):
        job_command(name, HOUR)
