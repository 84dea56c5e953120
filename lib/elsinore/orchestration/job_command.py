"""The command line of a job: a list of arguments, never text for a shell."""

from __future__ import annotations

import re
import sys

from elsinore.errors import ParameterError
from elsinore.timeline import Interval, format_instant

_NAME = re.compile(r"[a-z]+(_[a-z]+)*")


def job_command(name: str, interval: Interval) -> list[str]:
    """Arguments that start a job over an interval, to be run from the checkout's root.

    The interpreter is the running one, so that a task and its job live in one environment.

    Args:
        name: module in `jobs/`, such as `land_events`.
        interval: what the job is to work on; written as instants in UTC.

    Raises:
        ParameterError: `name` is no module name.

    >>> job_command("land_events", Interval.parse("2013-02-08", "2013-02-09"))[1:]
    ['-m', 'jobs.land_events', '--start', '2013-02-08T00:00:00.000000Z', '--end', \
'2013-02-09T00:00:00.000000Z']
    """
    if not _NAME.fullmatch(name):
        raise ParameterError(f"{name!r} is no name of a job")
    start, end = format_instant(interval.start), format_instant(interval.end)
    return [sys.executable, "-m", f"jobs.{name}", "--start", start, "--end", end]
