"""Hourly runs of the real jobs over days of trouble: what must be so each hour and in the end.

Late, renamed, replaced, half written and cut files, corrections, a feed that falls silent, a
scheduler that is down, runs that are killed, overlapping backfills, rows deleted by hand, and the
night's maintenance between them. Each run is as Airflow would have it: a job that is killed is
tried again, hours that a run had to leave are computed by runs of `catch_up`.
"""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from random import Random
from typing import Any

import deltalake

from elsinore.errors import BudgetError
from elsinore.files.read_events import read_events
from elsinore.lake.event_files import reach_of
from elsinore.ledger.results import Publication, publications
from elsinore.ledger.table import state_of
from elsinore.orchestration.run_params import is_worth_replaying
from elsinore.query.load_workload import load_workload
from elsinore.reference.two_step import two_step
from elsinore.store.tables import RESULTS, Lake
from elsinore.timeline import HOUR, Interval, hour_label, hours_of, parse_hour
from tests.faults.attempt import Ended, Step, attempt, attempt_here
from tests.faults.history import Place
from tests.faults.strikes import Fault
from tests.lake_contents import contents, differences
from tests.results_lake import as_staged, staged
from tests.simulation.producer import Producer
from tests.simulation.streams import drawn, flights, own_suites

#: What is called for each slice of a run.
SLICEWISE = ("aggregate_trends", "validate_results", "publish_results")

#: Jobs of which a run may be killed in one.
_JOBS = ("ingest_events", *SLICEWISE, "report_quality")

#: Tables that follow from the raw files.
COMPARED = ("raw_events", "events", "results")

#: Hours that a run takes on beside its own, and days back in which it looks for files.
RECOMPUTE, DAYS = 3, 1

#: Of a query over the whole history; what needs more is compared with one replay alone.
_BUDGET = 1_000_000

START = parse_hour("2013-02-08T00")


class Simulation:
    """One history.

    Attributes:
        wrong: what was not as it should be.
        told: what happened, for people.
        recomputed: queries whose rows were compared with those of the reference.
        hours: how many it has lived through.
    """

    def __init__(self, place: Place, seed: str) -> None:
        stream = flights() if int(seed) % 2 else drawn(seed, place.place / "drawn")
        suites = own_suites(place.place / "expectations")
        own = {
            "late_arrival_days": DAYS, "recompute_hours": RECOMPUTE, "expectations_dir": suites,
            "sample_budget": 20_000,  # all is compared in the end; some queries spend any budget
        }  # fmt: skip
        self.place = place.model_copy(update={**own, **stream.settings})
        self.producer = Producer(self.place.landing, seed, stream)
        self.wrong, self.told = list[str](), self.producer.told
        self.recomputed = self.hours = 0
        self._draw = Random(f"{seed}: what operators do")
        schema = Lake.open(self.place).stream
        self._workload = load_workload(self.place.workload_file, schema)
        self._down_until = START

    def go(self, hours: int, minutes: float | None = None) -> None:
        """Lives through some hours, delivers what is owed, and compares with a clean replay.

        If they take more than some minutes, it ends there.
        """
        until = time.monotonic() + 60 * minutes if minutes else None
        self.place.landing.mkdir(parents=True, exist_ok=True)
        self.place.reports.parent.mkdir(parents=True, exist_ok=True)
        end = START + hours * HOUR
        for hour in range(START, end, HOUR):
            if until and time.monotonic() > until:
                end = hour
                break
            self.hours += 1
            self.producer.deliver(hour)
            if self._draw.random() < 0.03:
                longest = 60 if self._draw.random() < 0.1 else 8  # runs look a day back
                self._down_until = hour + self._draw.randint(2, longest) * HOUR
                self._tell(hour, f"scheduler down until {hour_label(self._down_until)}")
            if hour < self._down_until and hour != START:
                continue
            self._hourly(hour)
            self._trouble(hour)
        self.producer.settle()
        # The last two are run whatever happens, and find all that is left.
        for hour in (end, end + HOUR):
            self.producer.deliver(hour)
            self.producer.settle()
            self._hourly(hour)
        self._compare(Interval(START, end + 2 * HOUR))

    def _tell(self, hour: int, what: str) -> None:
        self.told.append(f"{hour_label(hour)} {what}")

    def _hourly(self, hour: int) -> None:
        killed = self._draw.choice(_JOBS) if self._draw.random() < 0.2 else ""
        try:
            self._run(Interval(hour, hour + HOUR), "ingest_events", killed)
        except RefusedError as error:
            self._tell(hour, str(error))
            if hour not in self.producer.kept_back:
                self.wrong.append(f"{hour_label(hour)} is refused: {error}")
            return  # a red run; a later one finds the hour missed
        published = self._published().get(hour)
        if published is None:
            self.wrong.append(f"{hour_label(hour)} is not published by its own run")
        elif (missing := self._incomplete(hour)) and not published.missing_inputs:
            self.wrong.append(f"{hour_label(hour)} lacks {missing} and is not provisional")

    def _incomplete(self, hour: int) -> list[str]:
        """The hours in reach whose file is not there as it should be."""
        reach = hours_of(reach_of(self._workload.queries, Interval(hour, hour + HOUR)))
        held = self.producer.kept_back
        return [hour_label(each) for each in reach if each in held and each > START]

    def _trouble(self, hour: int) -> None:
        chance = self._draw.random()
        back = Interval(max(hour - 5 * HOUR, START), max(hour - 2 * HOUR, START + HOUR))
        if chance < 0.04 and hour > START + 6 * HOUR:
            self._tell(hour, f"backfill of {back}")
            with suppress(RefusedError):  # one of its files is cut short
                self._run(back, "ingest_events")
        elif chance < 0.09:
            gone = self.producer.withdraw(hour - self._draw.randint(1, 4) * HOUR)
            if gone is not None:
                events = deltalake.DeltaTable(str(self.place.lake / "events"))
                events.delete(f"event_id = '{gone}'")
        elif hour % (24 * HOUR) == 3 * HOUR:
            self._must(Step("maintain_tables", Interval(hour, hour + HOUR)))

    def _run(self, interval: Interval, first: str, killed: str = "") -> None:
        """All jobs of a run, one of which may be killed, and the runs that catch up after it."""
        if first == "recompute_hours":
            found = self._must(Step("check_published", interval))
            if not is_worth_replaying(found, force=False):
                return
        # Ingest has more points than others.
        at = self._draw.randint(1, 8 if killed == "ingest_events" else 4)
        faults = {killed: Fault("client", at)}
        begun = self._must(Step(first, interval), faults.get(first))
        self._must(Step("find_plan", interval))
        recomputed = [Interval.parse(part["start"], part["end"]) for part in begun["recomputed"]]
        if sum(part.length for part in recomputed) > RECOMPUTE * HOUR:
            self.wrong.append(f"{interval} takes on {len(recomputed)} stretches")
        ingested = first == "ingest_events"
        for part, own in ((interval, ingested), *((part, False) for part in recomputed)):
            for job in SLICEWISE:
                self._must(Step(job, part, own), faults.get(job) if own else None)
        self._must(Step("report_quality", interval), faults.get("report_quality"))
        for left in begun["catch_up"]:
            behind = Interval.parse(left["start"], left["end"])
            self._tell(interval.start, f"catches up with {behind}")
            self._run(behind, "recompute_hours")

    def _must(self, step: Step, fault: Fault | None = None) -> dict[str, Any]:
        """A job until it is done; killed once, if there is a fault."""
        ended = attempt(step, self.place, fault) if fault else attempt_here(step, self.place)
        if fault is not None and not ended.done:
            self._tell(step.interval.start, f"{step} killed {ended.point}")
            ended = attempt_here(step, self.place)
        tries = 0
        while not ended.done and ended.transient and tries < 3:
            ended, tries = attempt_here(step, self.place), tries + 1
        return _figures(step, ended)

    def _published(self) -> dict[int, Publication]:
        found = publications(state_of(self.place))
        return {parse_hour(label): publication for label, publication in found.items()}

    def _compare(self, whole: Interval) -> None:
        clean = self.place.model_copy(update={"place": self.place.place.with_name("clean")})
        clean.place.mkdir()
        shutil.copytree(self.place.landing, clean.landing)
        ours, self.place = self.place, clean
        self._run(whole, "ingest_events")
        self.place = ours
        found = [contents(place.lake, COMPARED) for place in (ours, clean)]
        self.wrong += differences(*found)
        self._recompute(whole)
        for hour, published in self._published().items():
            if published.missing_inputs and not self._incomplete(hour):
                self.wrong.append(f"{hour_label(hour)} waits for nothing")

    def _recompute(self, whole: Interval) -> None:
        """Compare what is published with what the reference finds in the raw files."""
        lake = Lake.open(self.place)
        events, _ = read_events([self.place.landing], lake.stream, max_error_rate=1)
        published = staged(lake, whole, RESULTS)
        for query in self._workload.queries:
            windows = query.window.ending_in(whole)
            with suppress(BudgetError):
                found = two_step(query, events, windows=windows, budget=_BUDGET)
                right = as_staged(self._workload, found)
                self.recomputed += 1
                ours = [row for row in published if row["query"] == query.name]
                if _comparable(ours) != _comparable(right):
                    self.wrong.append(f"the reference finds other rows of {query.name}")


class RefusedError(AssertionError):
    """Too much of a run's own hours is bad, such as a file that is cut short."""


def _comparable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows, with NaN as a text, which equals itself."""
    return [row | {"value": "NaN"} if row["value"] != row["value"] else row for row in rows]


def _figures(step: Step, ended: Ended) -> dict[str, Any]:
    if ended.error == "DataError" and step.job == "ingest_events":
        raise RefusedError(ended.said)
    if not ended.done:
        raise AssertionError(f"{step}: {ended.error}: {ended.said}")
    return dict(ended.figures)
