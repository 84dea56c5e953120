"""Airflow's executor for one machine, with imported libraries.

The scheduler forks workers, and these fork a process per task, so tasks do not import the libraries
again, which takes 1 to 4 s. It imports only the module of Elsinore that lists the libraries: a
scheduler is long-lived, and its tasks must run the code that is current when they start.
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
