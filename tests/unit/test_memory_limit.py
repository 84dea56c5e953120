"""Commands that read files of others have a memory limit, and end with one line at it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from elsinore.cli.main import run_command
from elsinore.cli.registry import COMMANDS, READ_FILES
from elsinore.errors import ParameterError
from elsinore.memory_limit import MEMORY_LIMIT, _bytes, available_memory

SCHEMA = "stream: s\ntime: {field: t, unit: iso}\ntype: {field: y}\ntypes:\n  A: {v: string}\n"
QUERY = "QUERY q RETURN v, COUNT(*) PATTERN A a GROUP-BY v WITHIN 1 hour;\n"


def test_sizes() -> None:
    assert _bytes("2g") == 2 << 30
    assert _bytes("512M") == 512 << 20
    assert _bytes("none") is None
    default = _bytes("")
    assert default is not None
    assert 0.79 < default / available_memory() < 0.81


@pytest.mark.parametrize("text", ["2", "g", "1m", "-1g", "2 g", "\u0662g", "9999999g", "2k"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match=r"not a size.*write it as 2g"):
        _bytes(text)


def test_a_small_machine_can_load_the_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elsinore.memory_limit.available_memory", lambda: 512 << 20)
    assert _bytes("") == 1 << 30


def test_commands_that_read_files_exist() -> None:
    assert COMMANDS.keys() >= READ_FILES


@pytest.mark.slow
def test_a_command_that_needs_more_ends_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "q.sase").write_text(QUERY)
    with (tmp_path / "e.jsonl").open("w") as file:
        for at in range(1_000_000):
            second = f"{at // 3600 % 24:02}:{at // 60 % 60:02}:{at % 60:02}"
            file.write(f'{{"t": "2024-01-01T{second}Z", "y": "A", "v": "v{at}"}}\n')
    done = subprocess.run(
        [
            sys.executable, "-c", "from elsinore.cli.main import app; app()",
            "run", "q.sase", "--schema", "s.yaml", "--input", "e.jsonl",
        ],
        cwd=tmp_path, env=os.environ | {MEMORY_LIMIT: "400m"}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("elsinore: out of memory"), line


@pytest.mark.parametrize(
    "error",
    [
        pa.ArrowException("Unknown error: Failed to launch worker thread: Resource temporarily"),
        RuntimeError("can't start new thread"),
    ],
)
def test_a_command_without_a_thread_ends_with_one_line(
    error: Exception,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The stack of a thread can be what exceeds the limit."""

    def failing(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("elsinore.cli.run.read_events", failing)
    (tmp_path / "s.yaml").write_text(SCHEMA)
    (tmp_path / "q.sase").write_text(QUERY)
    (tmp_path / "e.jsonl").write_text("{}\n")
    names = [str(tmp_path / name) for name in ("q.sase", "s.yaml", "e.jsonl")]
    assert run_command(["run", names[0], "--schema", names[1], "--input", names[2]]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("elsinore: out of memory or processes: no thread can be started (")
