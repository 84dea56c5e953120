"""Load of a cluster's mappers, with the distributions of GRETA Table 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from elsinore.events import EventTable
from elsinore.generate.schemas import event_table, long, stream_schema
from elsinore.generate.skeleton import (
    MOST_KEYS,
    Script,
    StreamOptions,
    arrival_times,
    draw_skeleton,
    option,
    require_range,
    share,
    walk,
)

#: Table 2: bounds of CPU and memory, bound of the load, and its mean.
_CPU, _LOAD, _MEAN_LOAD = 1_000, 10_000, 100
_JOB = (long("job"), long("mapper"))
SCHEMA = stream_schema(
    "cluster",
    {
        "Start": _JOB,
        "Measurement": (
            *_JOB,
            long("cpu", 0, _CPU),
            long("memory", 0, _CPU),
            long("load", 0, _LOAD),
        ),
        "Progress": (*_JOB, long("percent", 0, 100)),
        "End": _JOB,
    },
)
NOTES = ("Measurements of the mappers of jobs, generated (`elsinore generate cluster`).",)


@dataclass(frozen=True, kw_only=True)
class ClusterOptions(StreamOptions):
    """A job's mapper starts, is measured in bursts with reports of progress between, and ends.

    Every mapper works on every job, again and again. Loads are Poisson with mean 100 and
    independent of each other, unless `rising` makes the load of a mapper's job walk.
    """

    rate: float = option(180_000.0, "Mean number of events a minute.")
    mappers: int = option(10, "How many mappers.", 1, MOST_KEYS)
    jobs: int = option(10, "How many jobs; each runs on every mapper.", 1, MOST_KEYS)
    units: float = option(
        3.0,
        "Mean number of parts of a job's run on a mapper; all but the last have a burst.",
        2,
        1_000_000,
    )
    rising: float | None = share(
        None, "Share of steps by which a load goes up; none: loads are independent, Poisson."
    )

    def __post_init__(self) -> None:
        """Refuse what no stream can have.

        Raises:
            ParameterError: a value is out of range.
        """
        super().__post_init__()
        require_range("mappers times jobs", self.mappers * self.jobs, 1, MOST_KEYS)


def cluster(options: ClusterOptions) -> EventTable:
    """The events, in order of time."""
    dice = np.random.default_rng(options.seed)
    times = arrival_times(dice, options)
    codes = SCHEMA.type_codes
    script = Script(
        codes["Measurement"],
        codes["Start"],
        (codes["Progress"],),
        (1.0,),
        (codes["End"],),
        options.units,
    )
    found = draw_skeleton(dice, options, options.mappers * options.jobs, script)
    size = options.events
    return event_table(
        SCHEMA,
        times,
        found.types,
        {
            "job": found.slots % options.jobs,
            "mapper": found.slots // options.jobs,
            "cpu": dice.integers(0, _CPU + 1, size),
            "memory": dice.integers(0, _CPU + 1, size),
            "load": _loads(dice, options, found.slots),
            "percent": dice.integers(0, 101, size),
        },
    )


def _loads(dice: np.random.Generator, options: ClusterOptions, slots: np.ndarray) -> np.ndarray:
    if options.rising is None:
        return np.minimum(dice.poisson(_MEAN_LOAD, slots.size), _LOAD)
    # Steps of 1 at least, lest many be equal once rounded.
    walked = walk(dice, slots, 1 - options.rising, float(_MEAN_LOAD), float(_LOAD))
    return walked.astype(np.int64)
