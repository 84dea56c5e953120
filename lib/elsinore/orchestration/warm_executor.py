"""Airflow's executor for one machine, whose tasks begin with the libraries of our steps imported.

The scheduler forks workers and these fork a process for each task, so that each has what the
scheduler has imported: 1 to 4 s of every task else. Of our own code that is what names the
libraries, no more: a scheduler lives long, and its tasks run the code that is there as they start.
"""

from __future__ import annotations

from airflow.executors.local_executor import LocalExecutor

from elsinore.orchestration.run_step import import_libraries


class WarmExecutor(LocalExecutor):
    """Runs tasks as processes of the scheduler's machine."""

    def start(self) -> None:
        """Imports before any worker is made."""
        import_libraries()
        super().start()
