"""Replays a stretch of hours through the whole pipeline in Airflow, and reads what came of it."""

from elsinore.replay.run import DEFAULT_END, DEFAULT_START, replay
from elsinore.replay.show import ProgressPrinter, print_summary
from elsinore.replay.summary import ReplaySummary

__all__ = [
    "DEFAULT_END",
    "DEFAULT_START",
    "ProgressPrinter",
    "ReplaySummary",
    "print_summary",
    "replay",
]
