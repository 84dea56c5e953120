"""Every example of the language reference gives the rows that it shows, with both executors.

Examples are `sase` blocks. Their comments are the input and the output:

    -- stream: rides                 another stream than the pages' own, rides or shop
    -- executor: greta               the other would take too long
    -- events: a1 a2(v=3)            as in `tests.golden_cases`; several lines make one text
    -- row: [0, 10) k=p: COUNT(*)=3  instants are hours and minutes since the epoch
    -- row: [0, 10) step 1 k=p: trends=3  of a step
    -- greta refuses: ...            the whole reason; twostep answers
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.cli.main import run_command
from elsinore.errors import QueryError, UnsupportedQueryError
from elsinore.events import EventTable
from elsinore.query.bound import BoundQuery
from elsinore.query.load_workload import read_workload
from elsinore.reference.two_step import two_step
from elsinore.template.support import greta_refusals
from elsinore.timeline import MINUTE, format_instant
from tests.golden_cases import event_table, row_texts
from tests.property.ways import alone

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted((ROOT / "docs" / "reference" / "language").glob("*.md")),
    ROOT / "docs" / "concepts" / "selection-strategies.md",
]
PAGE = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
BLOCKS = re.findall(r"^```sase\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
LETTERS = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
REFUSALS = re.findall(r"^\| `(.+? PATTERN .+?)` \| `(.+?)` \|$", PAGE, re.MULTILINE)
REPORT = re.findall(r"^```text\n(described\n.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]

_ROW = re.compile(r"\[(\S+), (\S+)\)(?: (.+?))?: (.+)")


def notes(block: str, name: str) -> list[str]:
    """What the comments `-- name: ...` of a block say."""
    return re.findall(rf"^-- {name}: (.+)$", block, re.MULTILINE)


def name_of(block: str) -> str:
    found = re.search(r"^QUERY (\w+)$", block, re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "letters.yaml"
    path.write_text(LETTERS, encoding="utf-8")
    return path


#: Schemas of streams that examples name.
EXAMPLE = ROOT / "docs" / "example"
STREAMS = {"rides": EXAMPLE / "rides.yaml", "shop": EXAMPLE / "clicks.yaml"}


def schema_of(block: str, letters: Path) -> StreamSchema:
    named = notes(block, "stream")
    return load_schema(STREAMS[named[0]] if named else letters)


def events_of(text: str, schema: StreamSchema) -> EventTable:
    """Return events of an example, which leaves out attributes that its query does not read."""
    types = (
        replace(kind, attributes=tuple(replace(each, nullable=True) for each in kind.attributes))
        for kind in schema.types
    )
    relaxed = replace(schema, types=tuple(types))
    return EventTable(schema, event_table(text, relaxed).table)


def bound(text: str, schema: StreamSchema) -> BoundQuery:
    return read_workload(text, schema).queries[0]


def row_of(query: str, text: str) -> dict[str, Any]:
    """A row as the JSON lines of `elsinore run` have it."""
    found = _ROW.fullmatch(text)
    assert found is not None, text
    start, end, group, values = found.groups()
    of_step = re.fullmatch(r"step (\d+) ?(.*)", group or "")
    step = {"step": int(of_step[1])} if of_step else {}
    return {
        "query": query,
        "group": pairs(of_step[2] if of_step else group or ""),
        **step,
        "window_start": border(start),
        "window_end": border(end),
        "values": pairs(values),
    }


def pairs(text: str) -> dict[str, Any]:
    split = (pair.rsplit("=", 1) for pair in text.split(", ") if pair)
    return {name: yaml.safe_load(value) for name, value in split}


def border(text: str) -> int | str:
    """A tick, or the instant so many hours and minutes after the epoch."""
    if ":" not in text:
        return int(text)
    hours, minutes = text.removeprefix("-").split(":")
    total = (int(hours) * 60 + int(minutes)) * MINUTE
    return format_instant(-total if text.startswith("-") else total)


#: Every example with each executor that has to answer it.
ANSWERED = [
    pytest.param(block, executor, id=f"{name_of(block)}-{executor}")
    for block in BLOCKS
    for executor in (["twostep"] if notes(block, "greta refuses") else ["greta", "twostep"])
    if executor in (notes(block, "executor") or [executor])
]


def test_the_page_has_all_kinds_of_examples() -> None:
    assert len(BLOCKS) >= 62
    assert sum(bool(notes(block, "greta refuses")) for block in BLOCKS) >= 3
    assert len(REFUSALS) >= 20
    names = [name_of(block) for block in BLOCKS]
    assert len(set(names)) == len(names)
    assert all(notes(block, "events") and notes(block, "row") for block in BLOCKS)


@pytest.mark.parametrize(("block", "executor"), ANSWERED)
def test_example_gives_the_rows_on_the_page(block: str, executor: str, letters: Path) -> None:
    schema = schema_of(block, letters)
    query = bound(block, schema)
    events = events_of(" ".join(notes(block, "events")), schema)
    is_greta = executor == "greta"
    rows = next(alone([query])).rows(events) if is_greta else two_step(query, events)
    expected = [json.dumps(row_of(query.name, row)) for row in notes(block, "row")]
    assert row_texts(rows) == sorted(expected)


@pytest.mark.parametrize("block", BLOCKS, ids=name_of)
def test_greta_refuses_what_the_page_says_and_nothing_else(block: str, letters: Path) -> None:
    query = bound(block, schema_of(block, letters))
    assert greta_refusals(query) == tuple(notes(block, "greta refuses"))


def test_twostep_refuses_a_trend_with_two_answers(letters: Path) -> None:
    (block,) = (block for block in BLOCKS if name_of(block) == "two_answers")
    schema = schema_of(block, letters)
    with pytest.raises(UnsupportedQueryError, match="query two_answers is ambiguous"):
        two_step(bound(block, schema), event_table("a1 a2 a3", schema))


@pytest.mark.parametrize(("written", "message"), REFUSALS)
def test_query_is_refused_with_the_message_on_the_page(
    written: str, message: str, letters: Path
) -> None:
    with pytest.raises(QueryError) as refusal:
        bound(f"QUERY q RETURN {written};", load_schema(letters))
    assert [fault.message for fault in refusal.value.diagnostics] == [message]


def test_check_says_what_the_page_says(
    letters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (block,) = (block for block in BLOCKS if name_of(block) == "described")
    (tmp_path / "w.sase").write_text(block, encoding="utf-8")
    assert run_command(["check", str(tmp_path / "w.sase"), "--schema", str(letters)]) == 0
    assert capsys.readouterr().out == REPORT + "\n1 query is valid.\n"
