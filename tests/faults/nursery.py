"""Starts jobs as children that have everything imported already; see `warm.Warm`.

A line of JSON on standard input is a job: arguments, environment, folder, and files for what it
prints. The answers are its process id, at once, and its exit code, when it has ended. Nothing but
imports happens in this process, so that a child is what a new interpreter would be by then.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any, NoReturn

_IMPORTED = (
    "pyspark.sql", "pyspark.sql.classic.dataframe", "delta.tables", "deltalake", "numba",
    "great_expectations", "elsinore.spark.land", "elsinore.spark.aggregate",
    "elsinore.spark.validate", "elsinore.spark.publish", "elsinore.spark.profile",
    "elsinore.spark.plans", "elsinore.spark.maintain", "elsinore.quality.checkpoint",
    "elsinore.quality.report", "tests.faults.launch",
)  # fmt: skip


def main() -> None:
    """Until standard input ends."""
    for module in _IMPORTED:
        importlib.import_module(module)
    _say(ready=os.getpid())
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(asked)
        _say(pid=pid)
        _, status = os.waitpid(pid, 0)
        _say(code=os.waitstatus_to_exitcode(status))


def _become(asked: dict[str, Any]) -> NoReturn:
    code = 1
    try:
        os.setpgid(0, 0)
        os.chdir(asked["cwd"])
        os.environ.clear()
        os.environ.update(asked["env"])
        for number, name in ((0, os.devnull), (1, asked["output"]), (2, asked["errors"])):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            os.dup2(os.open(name, flags), number)
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
