"""What is to be said of a run first: whether its results can be relied on, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from elsinore.quality.cells import first_words
from elsinore.quality.judgement import Judgement
from elsinore.quality.page_data import PageData
from elsinore.quality.report_data import ReportData
from elsinore.quality.run_lines import Publishing

Level = Literal["good", "warning", "critical"]


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """One headline, and everything that speaks against the run, the worst first."""

    level: Level
    headline: str
    reasons: tuple[str, ...]


def decide(data: ReportData, page: PageData, judgement: Judgement | None) -> RunVerdict:
    """The verdict on a run or a day from its figures and, if there is one, its judgement."""
    critical = [*_figures_wrong(data), *_runs_wrong(page), *_judged(judgement, "critical")]
    warnings = [*_figures_doubtful(data, page, judgement), *_judged(judgement, "warning")]
    reasons = (*critical, *warnings)
    if critical:
        return RunVerdict("critical", "Do not rely on this run", reasons)
    if not sum(query.checked for query in data.queries):
        return RunVerdict("warning", "Not validated", reasons)
    if warnings:
        return RunVerdict("warning", "Published and validated, with warnings", reasons)
    return RunVerdict("good", "Published and validated", ())


def _figures_wrong(data: ReportData) -> list[str]:
    found = [
        f"{query.query}: {query.mismatches} of {query.checked} checked aggregates differ from the "
        "reference"
        for query in data.queries
        if query.mismatches
    ]
    found += [
        f"landing {hour.hour}: {hour.lines} lines are not {hour.accepted} accepted + "
        f"{hour.duplicates} duplicates + {hour.quarantined} quarantined"
        for hour in data.hours
        if not hour.adds_up
    ]
    missing = sum(query.staged != query.aggregates for query in data.queries)
    if missing:
        found.append(f"the staged results of {missing} queries are not those that are published")
    return found


def _figures_doubtful(data: ReportData, page: PageData, judgement: Judgement | None) -> list[str]:
    found = []
    if not data.hours:
        found.append("nothing landed in these hours")
    if not any(query.aggregates for query in data.queries):
        found.append("no trend was found")
    if not any(query.checked for query in data.queries):
        found.append("no aggregate was compared with the reference")
    found += _publishing_doubtful(page.publishing)
    unchecked = tuple(one.query for one in page.coverage if one.results and not one.checked)
    if unchecked and len(unchecked) < len(page.coverage):
        found.append(f"no result was checked of: {first_words(unchecked)}")
    if judgement is None:
        found.append("no expectations were judged for this run")
    return found


def _publishing_doubtful(publishing: Publishing) -> list[str]:
    found = []
    if missing := publishing.missing:
        found.append(
            f"{len(missing)} of {publishing.hours} hours are not published: {first_words(missing)}"
        )
    if publishing.unsettled:
        found.append(
            f"a run ended between two commits, publish again: {first_words(publishing.unsettled)}"
        )
    return found


def _runs_wrong(page: PageData) -> list[str]:
    return [
        f"run {run.key}: {run.mismatches} values differ from the reference"
        for run in page.runs or ()
        if run.mismatches
    ]


def _judged(judgement: Judgement | None, severity: str) -> list[str]:
    if judgement is None:
        return []
    failed = judgement.failures if severity == "critical" else judgement.warnings
    return [f"{v.table}: {v.description} Found: {v.observed}" for v in failed]
