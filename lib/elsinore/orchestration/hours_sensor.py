"""Waits until the hours of a run lie back far enough."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from airflow.sdk import BaseSensorOperator, Context

from elsinore.orchestration.run_interval import context_interval
from elsinore.timeline import SECOND


class HoursSensor(BaseSensorOperator):
    """Waits until some time after the hours that the run works on.

    Airflow's own sensors know the data interval alone, and would let a run that somebody asked for
    wait although the day that it is for is long over.

    Args:
        delta: how long after their end.
        arguments: of every sensor.
    """

    def __init__(self, *, delta: timedelta, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.delta = delta

    def poke(self, context: Context) -> bool:
        """Whether the time has come.

        Raises:
            ParameterError: the run has no valid hours.
        """
        end = context_interval(context).end / SECOND
        return time.time() >= end + self.delta.total_seconds()
