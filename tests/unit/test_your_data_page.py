"""The commands of docs/get-started/your-data.md, one after another, print what the page says."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from elsinore.catalog.load_schema import load_schema, read_schema
from elsinore.cli.main import run_command
from elsinore.files.decode import decode_lines
from elsinore.files.read_events import read_events
from elsinore.lake.collect import collect
from elsinore.lake.landing_zone import landing_files
from elsinore.timeline import Interval

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "get-started" / "your-data.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
PROGRAM = ".venv/bin/elsinore"
#: The directory that the page names where a command prints an absolute path.
CHECKOUT = "/home/you/elsinore"


def test_the_commands_in_their_order(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "docs").symlink_to(ROOT / "docs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ELSINORE_ROOT", str(tmp_path))
    monkeypatch.setattr(sys, "argv", [PROGRAM])
    printed = ""
    for number, (kind, text) in enumerate(BLOCKS):
        if kind == "sh" and text.startswith("export "):
            for pair in shlex.split(text)[1:]:
                monkeypatch.setenv(*pair.split("="))
        elif kind == "sh" and " replay " in text:
            assert text.strip() == printed.splitlines()[-1]
        elif kind == "sh":
            program, *arguments = shlex.split(text)
            assert (program, run_command(arguments)) == (PROGRAM, 0)
            printed = capsys.readouterr().out.strip()
            assert BLOCKS[number + 1][0] == "text"
            told = [line.rstrip() for line in printed.replace(str(tmp_path), CHECKOUT).splitlines()]
            assert told == BLOCKS[number + 1][1].splitlines()


def test_the_files_that_it_shows_are_those_of_the_example() -> None:
    shown = [text for kind, text in BLOCKS if kind in ("yaml", "sase")]
    for text, name in zip(shown[:2], ("clicks.yaml", "clicks.sase"), strict=True):
        assert text == (ROOT / "docs" / "example" / name).read_text(encoding="utf-8")


def test_the_schema_with_all_settings_reads_what_it_is_about(tmp_path: Path) -> None:
    schema = read_schema(next(t for kind, t in BLOCKS if kind == "yaml" and "@version" in t))
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
    table, report = read_events([path], schema, max_bad_share=0)
    assert table.table["user"].to_pylist() == ["u", "u"]
    assert table.table["version"].to_pylist() == [2, None]
    assert table.table["price"].to_pylist() == [None, 5.0]
    assert report.ignored == 1


def test_the_rules_of_where_files_lie_and_the_query_of_what_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = next(t for kind, t in BLOCKS if kind == "yaml" and "sources:" in t)
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
    [query] = (t for kind, t in BLOCKS if kind == "sql")
    assert duckdb.sql(query).fetchall() == [("dump-1.csv.zst", 2, 1, None)]


def test_a_long_that_becomes_a_double_under_another_name() -> None:
    shown = re.findall(r"`(n\w*: {type: [^`]*})`", PAGE)
    assert len(shown) == 2
    text = f"stream: s\ntime: {{field: at, unit: iso}}\ntypes: {{A: {{{', '.join(shown)}}}}}\n"
    lines = ['{"at": "2013-01-01", "n": 1}', '{"at": "2013-01-01", "n": 1.5}']
    table = pa.table({"file": ["f", "f"], "position": [1, 2], "line": lines})
    events = decode_lines(table, read_schema(text)).events
    assert events.select(["n", "n_wide"]).to_pylist() == [
        {"n": None, "n_wide": 1.0},
        {"n": None, "n_wide": 1.5},
    ]


def test_every_setting_is_on_the_page() -> None:
    source = (ROOT / "lib/elsinore/catalog/load_schema.py").read_text(encoding="utf-8")
    names = set(re.findall(r"^    (\w+): (?!Any)[A-Z_a-z]", source, re.MULTILINE))
    assert {"field", "other_types", "quoted_numbers", "nullable"} <= names
    assert [
        name for name in sorted(names) if f"`{name}" not in PAGE and f".{name}`" not in PAGE
    ] == []


def test_the_guess_and_the_corrected_schema_read_the_same_events() -> None:
    table, report = read_events(
        [ROOT / "docs/example/clicks.csv"],
        load_schema(ROOT / "docs/example/clicks.yaml"),
        max_bad_share=0,
    )
    assert (len(table), report.ignored) == (10, 2)
