"""What the pages about schemas and files say holds: settings, rules of files, widened types."""

from __future__ import annotations

import json
import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from elsinore.catalog.load_schema import load_schema, read_schema
from elsinore.files.decode import decode_lines
from elsinore.files.read_events import read_events
from elsinore.ingest.collect import collect
from elsinore.ingest.landing_zone import landing_files
from elsinore.timeline import Interval
from tests.page_examples import ROOT, page_blocks

REFERENCE = "docs/reference/schema.md"
FILES = "docs/how-to/connect-files.md"
HOW_TO = "docs/how-to/write-a-schema.md"


def yaml_block(page: str, having: str) -> str:
    """The one YAML block of a page that contains a text."""
    (found,) = [b.text for b in page_blocks(page) if b.language == "yaml" and having in b.text]
    return found


def test_the_schema_with_all_settings_reads_what_it_is_about(tmp_path: Path) -> None:
    schema = read_schema(yaml_block(REFERENCE, "@version"))
    at = 1740996000000
    events = [
        {"key": 1, "@version": "2",
         "payload": {"ts": str(at), "event": "page view", "user": {"id": "u"}}},
        {"key": "2", "price": "5", "currency": "EUR", "gift": "TRUE",
         "payload": {"ts": at, "event": "Checkout", "buyer": "u"}},
        {"key": "3", "payload": {"event": "Login"}},
    ]  # fmt: skip
    path = tmp_path / "e.jsonl"
    path.write_text("".join(json.dumps(event) + "\n" for event in events))
    table, report = read_events([path], schema, max_error_rate=0)
    assert table.table["user"].to_pylist() == ["u", "u"]
    assert table.table["version"].to_pylist() == [2, None]
    assert table.table["price"].to_pylist() == [None, 5.0]
    assert report.ignored == 1


def test_the_rules_of_where_files_lie_and_the_query_of_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = yaml_block(FILES, "sources:")
    (tmp_path / "exports").mkdir()
    stream = read_schema(text.replace("/mnt/exports", str(tmp_path / "exports")))
    zone = tmp_path / "landing"
    rows = "ts,user,price\n2025-03-03T10:00:00Z,u,1.5\nsoon,v,2\n"
    for name in ("dump-1.csv.zst", "2025-03-03/10/x.jsonl.gz"):
        (zone / name).parent.mkdir(parents=True, exist_ok=True)
        with pa.output_stream(zone / name, compression="detect") as out:
            out.write(rows.encode())
    hour = Interval.parse("2025-03-03T10:00", "2025-03-03T11:00")
    assert collect(zone, stream, hour, 7).figures["collected_files"] == 1
    assert len(landing_files(zone, hour, stream.sources)) == 2
    monkeypatch.chdir(tmp_path)
    [query] = (block.text for block in page_blocks(FILES) if block.language == "sql")
    assert duckdb.sql(query).fetchall() == [("dump-1.csv.zst", 2, 1, None)]


def test_a_long_that_becomes_a_double_under_another_name() -> None:
    shown = re.findall(r"`(n\w*: {type: [^`]*})`", (ROOT / HOW_TO).read_text(encoding="utf-8"))
    assert len(shown) == 2
    text = f"stream: s\ntime: {{field: at, unit: iso}}\ntypes: {{A: {{{', '.join(shown)}}}}}\n"
    lines = ['{"at": "2013-01-01", "n": 1}', '{"at": "2013-01-01", "n": 1.5}']
    table = pa.table({"file": ["f", "f"], "record_number": [1, 2], "record": lines})
    events = decode_lines(table, read_schema(text)).events
    assert events.select(["n", "n_wide"]).to_pylist() == [
        {"n": None, "n_wide": 1.0},
        {"n": None, "n_wide": 1.5},
    ]


def test_every_setting_is_on_the_page() -> None:
    source = (ROOT / "lib/elsinore/catalog/load_schema.py").read_text(encoding="utf-8")
    page = (ROOT / REFERENCE).read_text(encoding="utf-8")
    names = set(re.findall(r"^    (\w+): (?!Any)[A-Z_a-z]", source, re.MULTILINE))
    assert {"field", "unknown_types", "quoted_numbers", "nullable"} <= names
    assert [
        name for name in sorted(names) if f"`{name}" not in page and f".{name}`" not in page
    ] == []


def test_the_example_of_plausible_times_is_a_schema() -> None:
    assert read_schema(yaml_block(REFERENCE, "plausible:")).name == "devices"


def test_an_event_with_an_id_as_an_attribute() -> None:
    """As the page on schemas advises, for GROUP-BY."""
    (setting,) = re.findall(r"`(order_id: {.*?})`", (ROOT / HOW_TO).read_text(encoding="utf-8"))
    assert setting in (ROOT / "docs/example/shop.yaml").read_text(encoding="utf-8")


def test_the_accepted_and_rejected_spellings_of_times() -> None:
    text = (ROOT / REFERENCE).read_text(encoding="utf-8")
    table = text[text.index("| accepted |") : text.index("Elsinore rejects week")]
    accepted = re.findall(r"`(\d{4}[^`]+)`", table)
    assert len(accepted) == 7
    schema = read_schema("stream: s\ntime: {field: at, unit: iso}\ntypes: {A: {}}\n")
    rejected = ["2024-W01-1", "2024-001", "2024/01/01", "Mon, 01 Jan 2024 10:00:00 GMT",
                "2024-01-01T10:00:00[Europe/Berlin]", "2024-01-01T10:00:00 CET",
                "2024-01-01T10:00:60Z", "2024-01-01T10:00:00+18:30", "2024-01-01T10:00:00+01:60",
                "2024-01-01T10:00:00\u221201:00"]  # fmt: skip
    times = accepted + rejected
    lines = [json.dumps({"at": time}) for time in times]
    table_of_lines = pa.table({
        "file": ["f"] * len(times), "record_number": [*range(len(times))], "record": lines,
    })  # fmt: skip
    assert len(decode_lines(table_of_lines, schema).events) == len(accepted)


def test_the_guess_and_the_corrected_schema_read_the_same_events() -> None:
    table, report = read_events(
        [ROOT / "docs/example/clicks.csv"],
        load_schema(ROOT / "docs/example/clicks.yaml"),
        max_error_rate=0,
    )
    assert (len(table), report.ignored) == (10, 2)
