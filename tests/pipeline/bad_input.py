"""A landing zone with every kind of bad input at once beside good events."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterable, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import deltalake

from elsinore.cli.main import run_command
from elsinore.orchestration.run_step import Arguments
from elsinore.settings import Settings
from elsinore.timeline import Interval, format_instant
from tests.lake_contents import PUBLISHED
from tests.landing_zone import departure, hours

ROOT = Path(__file__).parents[2]

#: Two hours of events, and one that brings damaged files alone.
RUN = hours(10, 13)
JOBS = (
    "ingest_events", "find_plan", "aggregate_trends", "validate_results",
    "publish_results", "check_expectations", "report_quality",
)  # fmt: skip

#: Code for a shell, SQL, Python, templates and browsers, paths, and signs that end lines or texts.
HOSTILE = (
    "' OR 1=1 --", "'; DROP TABLE events; --", "../../outside", "a=b/%2F..%2Foutside",
    "$(touch pwned)", "`touch pwned`", "; touch pwned", "{0.__class__}", "{{ 7*7 }}", "%s%n",
    "<script>alert(1)</script>", "two\nlines\r\n", '"\\', "nul\u0000", "\u202e\u2603",
)  # fmt: skip
#: The same as a file's name, without what no name can have.
HOSTILE_NAME = "'; DROP TABLE events; -- $(touch pwned) {0.__class__} <img src=x>\n%2F.."

#: So many arrivals one after another are 2^1030 - 1 trends; doubles end before 2^1024.
RISING = 1_030

WORKLOAD = """
QUERY rising
RETURN COUNT(*), SUM(A.arr_delay), AVG(A.distance)
PATTERN Arrival A+
WITHIN 1 hour;

QUERY by_tail
RETURN tailnum, COUNT(*), SUM(D.dep_delay)
PATTERN Departure D+
WHERE [tailnum] AND D.dest <> '''; DROP TABLE events; --'
GROUP-BY tailnum
WITHIN 1 hour;

QUERY given_up
RETURN COUNT(*), MAX(D.dep_delay)
PATTERN SEQ(Departure D+, Cancellation C)
WHERE [carrier]
WITHIN 2 hours SLIDE 1 hour;
"""


def _cancellation(number: int, minute: int, hour: int = 10) -> dict[str, Any]:
    return departure(number, minute, hour, id=f"c{number}", type="Cancellation", dep_delay=...)


def _arrival(number: int) -> dict[str, Any]:
    minute, second = divmod(number, 60)
    time = f"2013-01-01T10:{minute:02}:{second:02}Z"
    values: dict[str, Any] = {"id": f"a{number}", "dep_delay": ...}
    values |= {"type": "Arrival", "time": time, "arr_delay": -1, "air_time": None, "distance": 7}
    return departure(number, **values)


#: N1 departs at 10:05, twice at 10:30, and at 10:40; at 10:30 a flight is given up, too.
TIES = (departure(1, 5), departure(2, 30), departure(3, 30), departure(4, 40))
ARRIVALS = tuple(_arrival(number) for number in range(RISING))
#: Sent twice: with the same file, and with the next hour's.
SAME_FILE, NEXT_FILE = departure(5, 15, tailnum="N5"), departure(6, 20, tailnum="N6")
#: Sent late: with the next hour's file.
LATE = (departure(7, 50, tailnum="N7"), departure(8, 55, tailnum="N7"))
#: Sent first with another delay, and put right with the next hour's file.
OLD, PUT_RIGHT = (departure(9, 10, tailnum="N9", dep_delay=delay) for delay in (1, 6))
CANCELLED = (_cancellation(1, 30), _cancellation(2, 45), _cancellation(3, 45))
#: Two departures of each aircraft of a hostile name, to a place of that name; the workload leaves
#: one of these places out.
STRANGE = tuple(
    departure(0, minute + number, 11, id=f"{text}{minute}", tailnum=text, dest=text, dep_delay=2)
    for minute in (0, 30)
    for number, text in enumerate(HOSTILE)
)
#: One in each file of a hostile name.
NAMES = tuple(text for text in (*HOSTILE, HOSTILE_NAME) if not {"/", "\0"} & set(text))
IN_FILES = tuple(
    departure(0, 55, 11, id=f"f{n}", tailnum="NF", time=f"2013-01-01T11:55:{n:02}Z")
    for n in range(len(NAMES))
)

FIRST_HOUR = (*TIES, *ARRIVALS, SAME_FILE, NEXT_FILE, *CANCELLED)
SECOND_HOUR = (*STRANGE, _cancellation(4, 20, 11))
#: Lines of the file that comes twice.
SECOND_FILE = len(SECOND_HOUR) + len(LATE) + 2
GOOD = (*FIRST_HOUR, *LATE, PUT_RIGHT, *SECOND_HOUR, *IN_FILES)


def _bad(**changes: Any) -> bytes:
    """A line with the id of a good event, which must not suffer from it."""
    return json.dumps(departure(1, 5, **changes)).encode()


#: Lines that are no events, and why.
BAD = (
    ("bad_json", b'{"id": "d1", "type": "Depart'),
    ("bad_json", b'{"id": "d1", "id": "d2"}'),
    ("not_an_object", b'["d1", "Departure"]'),
    ("too_deep", b"[" * 10_000),
    ("bad_encoding", b'{"id": "d1", "tailnum": "\xff\xfe"}'),
    ("missing_time", _bad(time=...)),
    ("bad_time", _bad(time="2013-02-30T10:00:00Z")),
    ("bad_time", _bad(time="2013-01-01T10:00:00Z'; DROP TABLE events; --")),
    ("time_far_from_landing", _bad(time="9999-01-01T00:00:00Z")),
    ("missing_type", _bad(type=...)),
    ("unknown_type", _bad(type="Landing")),
    ("unknown_type", _bad(type="../../Departure")),
    ("missing_id", _bad(id="")),
    ("missing_attribute", _bad(carrier=None)),
    ("wrong_type", _bad(dep_delay="late")),
    ("wrong_type", _bad(tailnum=[7])),
    ("wrong_type", _bad(dep_delay=2**63)),
    ("out_of_range", _bad(flight=0)),
    ("not_allowed", _bad(origin="$(touch pwned)")),
)

_HALF = "".join(json.dumps(departure(n, n % 60, 12, id=f"half{n}")) + "\n" for n in range(500))
_WHOLE = gzip.compress(_HALF.encode())
#: Files by the end of their name, and why they cannot be used. Of an empty one it has no name.
DAMAGED = {
    "-cut.jsonl.gz": (_WHOLE[: len(_WHOLE) // 2], "corrupt_file"),
    "-changed.jsonl.gz": (_WHOLE[:-8] + bytes(4) + _WHOLE[-4:], "corrupt_file"),
    "-prolonged.jsonl.gz": (_WHOLE + b"and more", "corrupt_file"),
    "-no-gzip.jsonl.gz": (_HALF.encode(), "corrupt_file"),
    "-<img src=x onerror=alert(1)>.jsonl.gz": (b"\x1f\x8b\x08\0rubbish", "corrupt_file"),
    "-utf16.jsonl": (_HALF.encode("utf-16"), "bad_encoding"),
    "-empty.jsonl": (b"", None),
    "-empty.jsonl.gz": (b"", None),
    "-nothing.jsonl.gz": (gzip.compress(b""), None),
}


def landed_file(hour: int, end: str = ".jsonl") -> str:
    """The name of a file below the landing zone."""
    return f"2013/01/01/events-2013-01-01T{hour}{end}"


#: By file and line, the reason code and the line.
Held = dict[tuple[str, int], tuple[str, bytes]]


def write_good(folder: Path) -> None:
    """Every good event once, in order of time."""
    _put(folder, landed_file(10), _lines(sorted(GOOD, key=lambda one: one["time"])))


def write_bad(zone: Path) -> Held:
    """The good events in any order among everything that is bad; what is to be quarantined."""
    draw = Random(2013)
    blank = [("", b""), ("", b" \t")]
    first = [*_lines([*FIRST_HOUR, SAME_FILE]), *BAD, *blank]
    first += _lines([OLD])
    second = _lines([*SECOND_HOUR, *LATE, PUT_RIGHT, NEXT_FILE])
    draw.shuffle(first)
    draw.shuffle(second)
    held = _put(zone, landed_file(10), first)
    for end in (".jsonl", "-again.jsonl"):  # one file under two names
        _put(zone, landed_file(11, end), second)
    for name, event in zip(NAMES, IN_FILES, strict=True):
        _put(zone, landed_file(11, f"-{name}.jsonl"), _lines([event]))
    for end, (content, _) in DAMAGED.items():
        (zone / landed_file(12, end)).write_bytes(content)
    return held


def _lines(events: Iterable[dict[str, Any]]) -> list[tuple[str, bytes]]:
    """Lines with the reason code "" of what is not to be quarantined."""
    return [("", json.dumps(event).encode()) for event in events]


def _put(zone: Path, name: str, lines: Sequence[tuple[str, bytes]]) -> Held:
    path = zone / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(line + b"\n" for _, line in lines))
    return {(name, place): line for place, line in enumerate(lines, 1) if line[0]}


@dataclass(frozen=True)
class Replayed:
    """A home after all jobs of a run.

    Attributes:
        settings: its settings.
        figures: what each job said.
        held: what was to be quarantined of the first two hours.
        strays: paths outside of the home that were not there before.
    """

    settings: Settings
    figures: dict[str, Any]
    held: Held
    strays: tuple[Path, ...]

    @property
    def page(self) -> str:
        """The report, as it was written."""
        return Path(self.figures["report_quality"]["report"]).read_text(encoding="utf-8")

    def rows(self, table: str) -> list[dict[str, Any]]:
        """Every row of a table."""
        path = str(self.settings.lake / table)
        found: list[dict[str, Any]] = deltalake.DeltaTable(path).to_pyarrow_table().to_pylist()
        return found

    def results(self, query: str, label: str, **group: str) -> list[tuple[str | None, float]]:
        """What is published of an aggregate of a group, exactly and as a double, by window."""
        found = sorted(self.rows(PUBLISHED), key=lambda row: row["window_start"])
        return [
            (row["exact"], row["value"])
            for row in found
            if (row["query"], row["aggregate"]) == (query, label)
            and json.loads(row["group_key"]) == group
        ]


def replay(settings: Settings, folder: Path, name: str) -> Replayed:
    """Run every job once over `RUN`, in a new home and a working directory that is empty.

    `name` is that of workload and run; both lie in `folder`.
    """
    workload, elsewhere = folder / f"{name}.sase", folder / "elsewhere"
    workload.write_text(WORKLOAD, encoding="utf-8")
    elsewhere.mkdir()
    # The share of bad lines that is allowed by default; the reference counts what it cannot build.
    changes = {"workload_file": workload, "max_error_rate": 0.05, "sample_budget": 2_000_000}
    settings = settings.model_copy(update=changes)
    held = write_bad(settings.landing)
    beside = set(settings.home.parent.iterdir())
    with chdir(elsewhere):
        figures = {
            job: import_module(f"jobs.{job}").main(Arguments(RUN, name), settings) for job in JOBS
        }
    found = (set(settings.home.parent.iterdir()) - beside) | set(elsewhere.iterdir())
    return Replayed(settings, figures, held, tuple(sorted(found)))


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its exit code, its output, and its errors, a line each.

    The line of a query and the sign below it, which an error may show, are left out.
    """

    code: int
    output: str
    errors: list[str]

    def refusal(self, code: int) -> str:
        """The one line of a command that failed with a code; there is no other, and no output."""
        assert (self.code, self.output, len(self.errors)) == (code, "", 1), self
        assert "Traceback" not in self.errors[0]
        return self.errors[0]


def command(*words: str | Path, cwd: Path, **variables: str) -> Ended:
    """Run a command of `elsinore` as a user does, but in this process: a new one takes seconds."""
    inherited = {name: text for name, text in os.environ.items() if name != "ELSINORE_DEBUG"}
    with (
        chdir(cwd),
        patch.dict(os.environ, inherited | variables, clear=True),
        redirect_stdout(StringIO()) as output,
        redirect_stderr(StringIO()) as errors,
    ):
        code = run_command([str(word) for word in words])
    lines = errors.getvalue().splitlines()
    return Ended(code, output.getvalue(), [line for line in lines if not line.startswith("  ")])


def step(job: str, interval: Interval, *, cwd: Path, **variables: str) -> Ended:
    """Run a step of the pipeline over an interval by its command."""
    start, end = format_instant(interval.start), format_instant(interval.end)
    return command(job, "--start", start, "--end", end, cwd=cwd, **variables)
