"""A wheel in an environment of its own answers anywhere; it takes a network and a minute."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
RIDES = ROOT / "docs" / "example"
README = (ROOT / "README.md").read_text(encoding="utf-8")


def run(*command: object, folder: Path) -> subprocess.CompletedProcess[str]:
    ours = ("PYTHONPATH", "NUMBA_CACHE_DIR")
    env = {name: value for name, value in os.environ.items() if name not in ours}
    return subprocess.run(
        list(map(str, command)), cwd=folder, env=env, capture_output=True, text=True, check=True
    )


@pytest.mark.slow
@pytest.mark.long
def test_a_wheel_with_the_core_alone_answers_in_any_folder(tmp_path: Path) -> None:
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, folder=ROOT)
    (wheel,) = tmp_path.glob("elsinore-*.whl")
    python = tmp_path / "venv" / "bin" / "python"
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", folder=tmp_path)
    uv = Path(sys.executable).with_name("uv")
    run(uv, "pip", "install", "--python", python, "-c", ROOT / "requirements.lock", wheel,
        folder=tmp_path)  # fmt: skip
    listed = run(uv, "pip", "list", "--python", python, folder=tmp_path).stdout.splitlines()
    assert 20 < len(listed) < 40
    command = (python, "-m", "elsinore", "run", RIDES / "rides.sase", "--schema",
               RIDES / "rides.yaml", "--input", RIDES / "rides.jsonl",
               "--format", "table")  # fmt: skip
    first, second = (run(*command, folder=tmp_path) for _ in range(2))
    assert first.stdout == second.stdout
    lines = [line.rstrip() for line in first.stdout.strip().splitlines()]
    assert lines[-1].endswith(" 5.5")
    assert "\n".join(lines) in README
    assert "compiling kernels, once on this machine" in first.stderr
    assert re.fullmatch(r"elsinore: 9 events, 1 row of 1 query, .* seconds\n", second.stderr)
    where = run(python, "-c", "import elsinore; print(elsinore.__file__)", folder=tmp_path).stdout
    assert where.startswith(str(tmp_path))
