"""Runs the whole pipeline as a user does, in a home of its own, and reads what it leaves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.lake_contents import Contents, contents

ROOT = Path(__file__).parents[2]
START, END = "2013-02-08T21:00:00Z", "2013-02-08T23:00:00Z"
SLICES = 2

#: The command as a user types it.
ELSINORE = Path(sys.executable).parent / "elsinore"


@dataclass(frozen=True)
class Home:
    """A place for all that a pipeline writes: tables, raw files, Airflow's database.

    Attributes:
        path: the place.
        shared: variables that name the Spark server that works for it, and others.
    """

    path: Path
    shared: Mapping[str, str]

    @property
    def lake(self) -> Path:
        return self.path / "var" / "lake"

    @property
    def environment(self) -> dict[str, str]:
        """For whatever is to work on this home."""
        return {
            **os.environ,
            "AIRFLOW_HOME": str(self.path / "airflow"),
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{self.path / 'airflow.db'}",
            "ELSINORE_HOME": str(self.path / "var"),
            "ELSINORE_SLICES": str(SLICES),
            **self.shared,
        }

    def copy(self, to: Path) -> Home:
        """The same tables and raw files in another place, to be changed; it tells no lineage."""
        shutil.copytree(self.path / "var", to / "var", ignore=shutil.ignore_patterns("spark"))
        shutil.copytree(self.path / "airflow", to / "airflow")
        shutil.copy(self.path / "airflow.db", to)
        return Home(to, {**self.shared, "AIRFLOW__OPENLINEAGE__DISABLED": "True"})

    def run_dag(self, dag: str, conf: dict[str, object], **variables: str) -> tuple[int, str]:
        """Runs a DAG by `airflow dags test`; its exit code and all that it printed."""
        airflow = [sys.executable, "-m", "airflow", "dags", "test", dag, "--conf", json.dumps(conf)]
        done = subprocess.run(
            [sys.executable, "-m", "elsinore.orchestration.airflow_environment", *airflow],
            cwd=ROOT,
            env=self.environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout

    def start(self, start: str = START, end: str = END) -> subprocess.Popen[str]:
        """Starts a replay, in a process group of its own."""
        return subprocess.Popen(
            [ELSINORE, "replay", "--start", start, "--end", end],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def replay(self, start: str = START, end: str = END) -> str:
        """Runs a replay to its end and returns what it printed."""
        process = self.start(start, end)
        output, _ = process.communicate()
        assert process.returncode == 0, output
        return output

    def rows(self, workload: str = "") -> Contents:
        """Every row of every table, as sorted JSON, without when and by whom it was written.

        Of a workload by name, those of the tables that it has for itself.
        """
        own = self.path / "var" / "workloads" / workload / "lake"
        return contents(own if workload else self.lake)

    def writing(self, table: str) -> None:
        """Waits until a task has begun to write a table.

        A new file is there by then, and most likely no commit that names it.
        """
        wait_until((self.lake / table).exists, f"there is {table}")
        before = self._files(table)
        wait_until(lambda: self._files(table) != before, f"{table} is written")

    def _files(self, table: str) -> set[Path]:
        return set((self.lake / table).rglob("*.parquet"))


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 240) -> None:
    """Waits for a condition, looking often: the points aimed at are milliseconds long."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.005)
