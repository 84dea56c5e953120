"""`elsinore generate` of the papers' streams: files to run a workload over, and what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from elsinore.cli.main import run_command
from elsinore.generate.streams import STREAMS

WORKLOADS = Path(__file__).parents[3] / "schemas" / "workloads"


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("suffix", [".jsonl.gz", ".parquet"])
def test_what_is_written_can_be_run(
    name: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = tmp_path / f"events{suffix}"
    asked = ["generate", name, "--events", "3000", "--burst", "4", "--output", str(events)]
    assert run_command(asked) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out == f"3,000 events in {events}, schema in {tmp_path / 'events.yaml'}\n"
    workload = WORKLOADS / f"{name.replace('-', '_')}.sase"
    schema = str(tmp_path / "events.yaml")
    assert run_command(["check", str(workload), "--schema", schema]) == 0
    capsys.readouterr()
    query = tmp_path / "one.sase"
    query.write_text(workload.read_text(encoding="utf-8").split(";")[-2] + ";", encoding="utf-8")
    run = ["run", str(query), "--schema", schema, "--input", str(events), "--executor", "greta"]
    assert run_command([*run, "--max-error-rate", "0"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows
    assert len({row["query"] for row in rows}) == 1


def test_the_schema_goes_where_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["generate", "stock", "--events", "9", "--output", str(tmp_path / "e.jsonl")]
    assert run_command([*asked, "--schema", str(tmp_path / "new" / "s.yml")]) == 0
    assert (tmp_path / "new" / "s.yml").read_text(encoding="utf-8") == STREAMS["stock"].yaml()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["e.jsonl", "new"]
    capsys.readouterr()
    assert run_command([*asked, "--print-schema"]) == 0
    out, err = capsys.readouterr()
    assert out == STREAMS["stock"].yaml()
    assert err == f"9 events in {tmp_path / 'e.jsonl'}\n"


def test_a_schema_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["generate", "linear-road", "--print-schema"]) == 0
    assert capsys.readouterr().out == STREAMS["linear-road"].yaml()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "--output is missing"),
        (["--output", "events.txt"], "unknown format: events.txt"),
        (["--output", "e.jsonl", "--burst", "0"], "burst is 0"),
        (["--output", "e.jsonl", "--slow", "1.5"], "slow is 1.5"),
        (["--output", "e.jsonl", "--resolution", "h"], "resolution"),
        (["--output", "e.jsonl", "--start", "soon"], "start"),
        (["--output", "e.jsonl", "--falling", "1"], "--falling"),
    ],
)
def test_bad_usage_is_told_in_one_line_and_writes_nothing(
    arguments: list[str],
    told: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_command(["generate", "ridesharing", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert told in err
    assert len(err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_the_schema_replaces_a_link_next_to_the_output(tmp_path: Path) -> None:
    """In a directory such as /tmp another user can put a link there."""
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "a.yaml").symlink_to("victim")
    assert (
        run_command(["generate", "stock", "--events", "9", "--output", str(tmp_path / "a.jsonl")])
        == 0
    )
    assert (tmp_path / "victim").read_text() == "precious"
    assert "stream: stock" in (tmp_path / "a.yaml").read_text()


def test_a_schema_may_go_to_a_device(capfd: pytest.CaptureFixture[str]) -> None:
    assert run_command(["generate", "stock", "--schema", "/dev/stdout"]) == 0
    assert "stream: stock" in capfd.readouterr().out
    assert Path("/dev/stdout").is_symlink()


def test_help_imports_neither_pandas_nor_pydantic() -> None:
    code = (
        "import sys\n"
        "from elsinore.cli.main import run_command\n"
        "assert run_command(['generate', 'stock', '--help']) == 0\n"
        "print({'pandas', 'pydantic', 'pyarrow.parquet'} & {*sys.modules})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("\nset()\n")
