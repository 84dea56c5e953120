"""The edge of every job: arguments and settings in, one JSON line or one error line out."""

from __future__ import annotations

import argparse
import json
import os
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from elsinore.errors import ElsinoreError, ParameterError
from elsinore.settings import DEBUG, PREFIX, Settings
from elsinore.timeline import Interval, require_whole_hours

#: Exit codes: 0 done; 1 failed; 2 a query, schema, parameter or the set-up is wrong; 75 worth
#: another try.
FAILED, TRY_AGAIN = 1, 75
#: Names the run that a job belongs to, for the history of tables.
RUN_ID = f"{PREFIX}RUN_ID"


@dataclass(frozen=True)
class Arguments:
    """What every job is told.

    Attributes:
        interval: the data interval of its run, at whole hours.
        run: what to write into the history of tables beside each commit, for people.
    """

    interval: Interval
    run: str


Main = Callable[[Arguments, Settings], Mapping[str, Any]]


def run_job(name: str, main: Main, argv: list[str] | None = None) -> NoReturn:
    """Run a job and end the process.

    Its figures go to standard output as one line of JSON. An error goes to standard error as one
    line; the stack is printed only where `ELSINORE_DEBUG` is set.

    Args:
        name: the job's name, for messages.
        main: the job.
        argv: arguments; None: the process's own.
    """
    try:
        figures = main(_parse(name, argv), Settings.load())
        print(json.dumps({"job": name, **figures}, sort_keys=False), flush=True)
    except ElsinoreError as error:
        _fail(name, error)
    except Exception as error:  # noqa: BLE001  (the edge: whatever it is, one line says so)
        _fail(name, _translated(error))
    sys.exit(0)


def exit_code(error: BaseException) -> int:
    """What a process ends with after an error."""
    if isinstance(error, ElsinoreError):
        return TRY_AGAIN if error.transient else error.exit_code
    return FAILED


def _translated(error: Exception) -> Exception:
    # Only a job that used Spark can meet Spark's errors.
    if "pyspark" in sys.modules:
        from elsinore.spark.failures import translate

        known = translate(error)
        if known is not None:
            known.__cause__ = error
            return known
    return error


def _fail(name: str, error: BaseException) -> NoReturn:
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    kind = error.code if isinstance(error, ElsinoreError) else type(error).__name__
    text = " ".join(str(error).split())
    print(f"{name}: {kind}: {text[:1_000]}", file=sys.stderr, flush=True)
    sys.exit(exit_code(error))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ParameterError(message, hint=self.format_usage().strip())


def _parse(name: str, argv: list[str] | None) -> Arguments:
    parser = _Parser(prog=f"python -m jobs.{name}", allow_abbrev=False)
    for border in ("start", "end"):
        parser.add_argument(
            f"--{border}", required=True, help=f"{border} of the interval, ISO 8601, a whole hour"
        )
    given = parser.parse_args(argv)
    interval = Interval.parse(given.start, given.end)
    require_whole_hours(interval)
    return Arguments(interval, os.environ.get(RUN_ID, f"{name} {interval}"))
