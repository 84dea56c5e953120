"""Starts jobs as children that have everything imported already; see `warm.Warm`.

A line of JSON on standard input is a job: arguments, environment, folder, and files for what it
prints. The answers are its process id, at once, and its exit code, when it has ended. Nothing but
imports happens in this process while a child is made, so that it is what a new interpreter would be
by then.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import Any, NoReturn

_IMPORTED = (
    "pyspark.sql", "pyspark.sql.classic.dataframe", "delta.tables", "deltalake", "numba",
    "great_expectations", "elsinore.spark.land", "elsinore.spark.aggregate",
    "elsinore.spark.validate", "elsinore.spark.publish", "elsinore.spark.profile",
    "elsinore.spark.plans", "elsinore.spark.maintain", "elsinore.quality.checkpoint",
    "elsinore.quality.report", "tests.faults.launch",
)  # fmt: skip


#: Seconds to wait for what a process prints that the job has left behind.
_PATIENCE = 5.0


def main() -> None:
    """Until standard input ends."""
    for module in _IMPORTED:
        importlib.import_module(module)
    _say(ready=os.getpid())
    for line in sys.stdin:
        asked = json.loads(line)
        # Pipes, as under Airflow: a job that may write no file can still say so.
        pipes = {1: os.pipe(), 2: os.pipe()}
        pid = os.fork()
        if pid == 0:
            _become(asked, {number: end for number, (_, end) in pipes.items()})
        _say(pid=pid)
        readers = [
            _copy(pipes[number], Path(asked[name]))
            for number, name in ((1, "output"), (2, "errors"))
        ]
        _, status = os.waitpid(pid, 0)
        for reader in readers:  # ends with the last process that the job has left
            reader.join(_PATIENCE)
        _say(code=os.waitstatus_to_exitcode(status))


def _copy(pipe: tuple[int, int], file: Path) -> Thread:
    """Writes what comes out of a pipe to a file, until nobody holds the other end."""
    source, end = pipe
    os.close(end)

    def copy() -> None:
        with open(source, "rb") as said, file.open("wb", buffering=0) as kept:
            while text := said.read1():
                kept.write(text)

    reader = Thread(target=copy, daemon=True)
    reader.start()
    return reader


def _become(asked: dict[str, Any], ends: Mapping[int, int]) -> NoReturn:
    code = 1
    try:
        os.setpgid(0, 0)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, end in ends.items():
            os.dup2(end, number)
            os.close(end)
        sys.argv = [str(Path(__file__).with_name("launch.py")), *asked["arguments"]]
        from tests.faults.launch import main as launch

        launch()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001  the child's last word, as an interpreter's
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _say(**what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
