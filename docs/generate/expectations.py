"""The page of expectations, from the suites in expectations/."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from docs.generate.markdown import blocks, code, plain, table
from docs.generate.site_pages import ROOT
from elsinore.quality.check_expectations import INGESTED_HOURS, PUBLISHED_HOURS

_INTRO = """\
Before a run publishes results, it checks these expectations with Great Expectations. They are the
data contract of the lake's tables. If a *critical* expectation fails, the run fails and publishes
nothing. If a *warning* fails, the run continues and the report lists it."""

_OWN = """\
Add an expectation of your own to one of these files in `expectations/`. Each has an `expectation`,
a `description`, a `severity` and its `arguments`."""


def page() -> str:
    """Return the page."""
    suites = [
        yaml.safe_load(file.read_text(encoding="utf-8"))
        for file in sorted((ROOT / "expectations").glob("*.yaml"))
    ]
    count = sum(len(entries) for suite in suites for entries in suite["tables"].values())
    parts = ["# Expectations", _INTRO, f"There are {count} expectations in {len(suites)} suites."]
    for suite in suites:
        parts += [f"## {suite['suite']}", plain(suite["about"])]
        for name, entries in suite["tables"].items():
            rows = list(_rows(entries))
            parts += [
                f"### {suite['suite']}: {name}",
                _source(name),
                table(["expectation", "severity", "type"], rows),
            ]
    return blocks([*parts, "## Expectations of your own", _OWN])


#: Meanings of the rows of the ledger that the suites check.
_OF_LEDGER = {
    INGESTED_HOURS: "A row per ingested hour of files",
    PUBLISHED_HOURS: "A row per published hour",
}


def _source(name: str) -> str:
    """Return a sentence that names the table with the checked rows."""
    if name in _OF_LEDGER:
        return f"{_OF_LEDGER[name]}, from the table [`hours`](tables.md#hours)."
    return f"Table [`{name}`](tables.md#{name})."


def _rows(entries: list[dict[str, str]]) -> Iterator[tuple[str, str, str]]:
    for entry in entries:
        yield plain(entry["description"]), entry["severity"], code(entry["expectation"])
