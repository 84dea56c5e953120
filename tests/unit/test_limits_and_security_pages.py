"""The pages on limits and security: numbers are those of the code, and named tests exist."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

from elsinore import choices, places, windows
from elsinore.catalog import yaml_text
from elsinore.cli import cases, diff
from elsinore.executors import row_bound
from elsinore.executors.input import digits, exact
from elsinore.executors.output import participation
from elsinore.files import (
    bounded_parquet,
    decode,
    deletion_vectors,
    delta_log_snapshot,
    opened_log,
    read_delta,
    read_events,
    read_lines,
    records,
    row_lines,
)
from elsinore.files.read_lines import DEFAULT_LIMITS
from elsinore.ingest import collect
from elsinore.query import bind_steps, expression_sizes, functions, parse, resolve
from elsinore.results import wide
from elsinore.template import build, subsets

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LIMITS = (DOCS / "reference" / "limits.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in row.strip("|").split("|")]
    for row in re.findall(r"^\|.*`elsinore\..*\|$", LIMITS, re.MULTILINE)
]
MIB = 1 << 20

#: For each row of the page in turn: its subject, and the numbers of the code.
CODE = [
    ("workload", (parse.MAX_TEXT, 4 * parse.MAX_TEXT, parse.MAX_QUERIES)),
    ("query", (parse.MAX_TOKENS, parse.MAX_NESTING)),
    ("parts", (expression_sizes.MAX_PARTS, expression_sizes.MAX_LEVELS)),
    ("name", (parse.MAX_NAME, parse.MAX_STRING)),
    ("pattern", (resolve.MAX_PARTS,)),
    ("[quantifier]", (resolve.MAX_COPIES,)),
    ("[steps]", (bind_steps.MOST_STEPS,)),
    ("copies of events", (build.MOST_PLACES,)),
    ("[ambiguous", (subsets.MAX_ARROWS, subsets.MAX_STATES, subsets.MAX_UNCERTAIN)),
    ("LIKE", (functions.MAX_PATTERN,)),
    ("YAML", (yaml_text.MAX_BYTES,)),
    ("windows that contain", (windows.MOST_OVERLAPPING,)),
    ("windows with", (row_bound.MOST_WINDOWS,)),
    ("result rows", (row_bound.MOST_ROWS,)),
    ("values of these rows", (row_bound.MOST_VALUES,)),
    ("cells of results", (wide.MOST_CELLS,)),
    ("numbers for exact sums", (digits.MOST_NUMBERS,)),
    ("integers beyond", (exact.MOST_WIDE_BITS, 1)),
    ("integer whose square", (digits.MOST_SQUARED_BITS,)),
    ("events and values", (participation.MOST_LISTED,)),
    ("steps", (choices.BUDGET,)),
    ("record", (DEFAULT_LIMITS.line_bytes, DEFAULT_LIMITS.kept_bytes)),
    ("JSON", (decode.MAX_DEPTH, decode.MAX_KEYS)),
    (
        "file",
        (
            DEFAULT_LIMITS.file_bytes // (MIB << 10),
            DEFAULT_LIMITS.ratio_from // MIB,
            DEFAULT_LIMITS.ratio,
        ),
    ),
    ("object of a store", (places.MOST_COPIED // (MIB << 10),)),
    ("Parquet value", (DEFAULT_LIMITS.line_bytes, DEFAULT_LIMITS.decoded_batch_bytes // MIB)),
    ("Parquet file", (bounded_parquet.MAX_ROW_GROUPS,)),
    ("footer", (bounded_parquet._FOOTER // MIB,)),
    ("rejected row", (records._LONGEST_TEXT, records._SHORT_TEXT, records._TEXT_KEPT // MIB)),
    ("columns", (read_lines.MAX_COLUMNS, read_lines.MAX_NAMES)),
    ("rows of", (DEFAULT_LIMITS.file_bytes // (MIB << 10), row_lines._MOST_VALUES)),
    ("log of", (delta_log_snapshot.MOST_ENTRIES, DEFAULT_LIMITS.file_bytes // (MIB << 10))),
    ("log of", (opened_log._SECONDS,)),
    ("Delta table", (delta_log_snapshot.MOST_PARTITIONS,)),
    ("Delta table", (delta_log_snapshot.MOST_STATISTICS, delta_log_snapshot._INDEXED)),
    (
        "deletion vectors",
        (
            DEFAULT_LIMITS.file_bytes // (MIB << 10),
            deletion_vectors._SECONDS,
            deletion_vectors._MEMORY // (MIB << 10),
        ),
    ),
    ("partition values", (read_delta._MOST_PARTITION_VALUES,)),
    ("rejected records", (read_events.MOST_REJECTED,)),
    ("result file", (diff._MOST_VALUES, diff._LONGEST_ROW >> 20)),
    ("events of all cases", (cases.MOST_EVENTS, cases.MOST_EVENT_TEXT)),
    ("cases in a file", (cases.MOST_CASE_TEXT,)),
    ("hours", (collect.MOST_HOURS, collect.MOST_EMPTY)),
]


def test_limits_are_those_of_the_code() -> None:
    assert len(ROWS) == len(CODE)
    for (subject, numbers), (item, limit, defined) in zip(CODE, ROWS, strict=True):
        assert item.startswith(subject)
        assert pkgutil.resolve_name(defined.strip("`")) is not None
        shown = [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*\b", limit)]
        assert (item, shown) == (item, list(numbers))


@pytest.mark.parametrize("page", ["security.md", "reference/ports-and-credentials.md"])
def test_every_test_that_a_page_names_exists(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    named = re.findall(r"`(test_\w+\.py)(?:::(test_\w+))?`", text)
    folders = re.findall(r"`(tests/[\w/]+)`", text)
    assert len(named) > 5
    files = {path.name: path for path in (ROOT / "tests").rglob("test_*.py")}
    for file, function in named:
        source = files[file].read_text(encoding="utf-8")
        assert not function or f"def {function}(" in source, function
    assert all((ROOT / folder).is_dir() for folder in folders)


def test_every_statement_of_the_tables_of_security_has_a_test() -> None:
    text = (DOCS / "security.md").read_text(encoding="utf-8")
    tables = re.findall(r"^\|.*\| test \|\n\|[-|]+\|\n((?:\|.*\|\n)+)", text, re.MULTILINE)
    rows = [row for table in tables for row in table.splitlines()]
    assert len(rows) > 20
    assert [row for row in rows if "`test" not in row.split("|")[-2]] == []
