"""The ledger as the steps of a run use it: read the state of hours, append what was done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from elsinore.errors import (
    DataError,
    ElsinoreError,
    EngineError,
    LostWorkerError,
    ValidationError,
)
from elsinore.ledger.fold import Fold, fold
from elsinore.ledger.rows import State, entries, hours_in
from elsinore.ledger.table import Ledger
from elsinore.settings import Settings
from elsinore.timeline import Interval

#: Characters of a reason.
_LONGEST = 1_000
#: Errors that can be limited to some hours. Others, such as a full disk, concern all runs.
OF_HOURS = DataError, EngineError, LostWorkerError, ValidationError


@dataclass(frozen=True)
class RunLedger:
    """The ledger of a stream for one step of a run.

    Attributes:
        ledger: The table.
        stream: Name of the stream.
        step: Name of the step.
        run: Id of the run.
    """

    ledger: Ledger
    stream: str
    step: str
    run: str

    @classmethod
    def open(cls, settings: Settings, stream: str, step: str, run: str) -> RunLedger:
        """Return the ledger of the stream of the settings."""
        return cls(Ledger.open(settings), stream, step, run)

    def state(self, workload: str = "") -> Fold:
        """Return the state of the hours of a workload; DataError: the ledger does not exist."""
        return fold(self.ledger.read(workloads=[workload]), workload)

    def append(
        self, state: State, hours: Interval, workload: str, columns: Mapping[str, Any]
    ) -> None:
        """Append a row for each hour of an interval, in one commit.

        Args:
            state: The new state of the hours.
            hours: The hours.
            workload: Name of the workload.
            columns: Further columns, each a value for all hours or a column with a value per hour.

        Raises:
            ConflictError: others kept writing at the same time.
            SetupError: the disk is full or read-only.
        """
        rows = entries(
            self.ledger.schema, state, hours_in(hours), stream=self.stream, step=self.step,
            run=self.run, workload=workload, columns=dict(columns),
        )  # fmt: skip
        self.ledger.append([rows], run=self.run)

    @contextmanager
    def failures(
        self, hours: Interval, workloads: Mapping[str, Mapping[str, Any]]
    ) -> Iterator[None]:
        """Record that the step failed for some hours if the block raises an error of the hours.

        So later runs compute other hours first, and the report shows the reason. Errors that do not
        concern these hours, such as a full disk, are not recorded.

        Args:
            hours: The hours.
            workloads: By name, the columns that say what the hours were computed from.
        """
        try:
            yield
        except BaseException as error:  # a timeout of Airflow is a BaseException
            if not isinstance(error, ElsinoreError) or isinstance(error, OF_HOURS):
                for name, columns in workloads.items():
                    reason = " ".join(f"{error or type(error).__name__}".split())[:_LONGEST]
                    self.append(State.FAILED, hours, name, {**columns, "reason": reason})
            raise
