"""Parameters that people give to runs: each with a type, a pattern or a list, and a form field."""

from __future__ import annotations

from airflow.sdk import Param

from elsinore.orchestration.run_params import (
    DAY_PATTERN,
    NAME_PATTERN,
    WHOLE_HOUR_PATTERN,
    known_workloads,
)
from elsinore.settings import Settings

_HOUR = "A whole hour in UTC, such as 2013-02-08T00:00:00Z"


#: Two values of their own: a parameter that two names share would hold one value for both.
_BORDERS = {"start": "The first hour", "end": "The end of the last hour"}


def optional_hours() -> dict[str, Param]:
    """`start` and `end`, both or neither; without them a run has its data interval."""
    both = "Both or none of the two; none means the data interval of the run."
    return {
        name: Param(
            None,
            title=title,
            type=["null", "string"],
            pattern=WHOLE_HOUR_PATTERN,
            description=f"{_HOUR}. {both}",
        )
        for name, title in _BORDERS.items()
    }


def required_hours() -> dict[str, Param]:
    """`start` and `end`, which have no default."""
    return {
        name: Param(title=title, type="string", pattern=WHOLE_HOUR_PATTERN, description=f"{_HOUR}.")
        for name, title in _BORDERS.items()
    }


def optional_day() -> dict[str, Param]:
    """`day`; without it a run has the day of its data interval."""
    param = Param(
        None,
        title="The day",
        type=["null", "string"],
        format="date",
        pattern=DAY_PATTERN,
        description="A day in UTC, such as 2013-02-08; none means the data interval of the run.",
    )
    return {"day": param}


def workload() -> dict[str, Param]:
    """`workload`, one of the files in `schemas/workloads` over the stream, by name.

    The one that the settings name is the default; if they name another file, one must be chosen.
    """
    settings = Settings.load()
    known = known_workloads(settings.root, settings.schema_file.stem)
    configured = settings.workload_file.stem
    param = Param(
        **({"default": configured} if configured in known else {}),
        title="The workload",
        type="string",
        enum=list(known),
        pattern=NAME_PATTERN,
        description="Whose queries to answer: a file of schemas/workloads, by name.",
    )
    return {"workload": param}


def force() -> dict[str, Param]:
    """`force`, off by default."""
    param = Param(
        False,
        title="Replay what is published",
        type="boolean",
        description="Off: hours that are published for this workload are left alone, and results "
        "of other queries are never replaced. On: the hours are replayed whatever they hold, and "
        "hold this workload's results afterwards, and no others.",
    )
    return {"force": param}
