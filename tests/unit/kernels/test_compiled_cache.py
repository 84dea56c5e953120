"""Compiled kernels: where they are kept, and what a new process pays for one."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from elsinore import kernels

_SPANS = """
import json, sys
import numpy as np
from elsinore.kernels.entries import fill_spans, find_spans
found = find_spans(np.array([0, 3]), np.array([1, 4, 12]), 10, 10, 0, 5)
"""

#: Spans by hand: window 0 is [0, 10) and holds entries 0 and 1, window 1 holds entry 2.
_FOUND = [[0, 2, 0, 0], [2, 3, 0, 1]]

#: A kernel that no cache knows calls one that came from the cache.
_COMPILED_AFTER = """
from elsinore.kernels.compiled import kernel

@kernel
def twice(offsets, times, out):
    return 2 * fill_spans(offsets, times, 10, 10, 0, 5, out)

count = twice(np.array([0, 3]), np.array([1, 4, 12]), np.empty((0, 4), np.int64))
"""

#: What a process has of all kernels that it has imported, after it has loaded them.
_LOADED = """
from elsinore.kernels.compiled import compiled_kernels, load_kernels
load_kernels()
print(json.dumps(sorted(name for name, found in compiled_kernels().items() if found)))
"""


def _in_new_process(script: Path, text: str, told: str) -> dict[str, object]:
    script.write_text(f"{_SPANS}{text}\nprint(json.dumps({told}))\n", encoding="utf-8")
    done = subprocess.run([sys.executable, script], check=True, capture_output=True, text=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_new_process_takes_a_kernel_from_the_cache_and_loads_no_compiler(tmp_path: Path) -> None:
    """Numba's registries bring SciPy's linear algebra and cost more than all else."""
    script = tmp_path / "spans.py"
    _in_new_process(script, "", "{}")  # compiled here if never before
    told = "{'found': found.tolist(), 'misses': sum(fill_spans.stats.cache_misses.values()),"
    told += " 'loaded': [n for n in ('scipy.linalg', 'numba.np.linalg') if n in sys.modules]}"
    found = _in_new_process(script, "", told)
    assert found == {"found": _FOUND, "misses": 0, "loaded": []}


def test_a_kernel_that_is_not_in_the_cache_is_compiled_around_one_that_was(tmp_path: Path) -> None:
    script = tmp_path / "twice.py"
    _in_new_process(script, "", "{}")
    found = _in_new_process(script, _COMPILED_AFTER, "{'count': count}")
    assert found == {"count": 2 * len(_FOUND)}


def test_who_waits_for_the_first_compilation_is_told_once(tmp_path: Path) -> None:
    script = tmp_path / "spans.py"
    script.write_text(_SPANS, encoding="utf-8")
    told = [
        subprocess.run(
            [sys.executable, script], check=True, capture_output=True, text=True,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        ).stderr
        for _ in range(2)
    ]  # fmt: skip
    assert told == ["elsinore: compiling kernels, once on this machine (some 10 to 60 s)\n", ""]


def test_what_the_cache_holds_is_loaded_ahead_and_nothing_is_compiled(tmp_path: Path) -> None:
    imported = _SPANS.split("found =", maxsplit=1)[0]
    told = []
    for program in (imported + _LOADED, _SPANS, imported + _LOADED):
        done = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        )  # fmt: skip
        told.append((done.stdout.strip(), bool(done.stderr)))
    before, _, after = told
    assert before == ("[]", False)
    assert after == ('["elsinore.kernels.entries.fill_spans"]', False)


def test_the_folder_is_another_for_each_state_of_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also below a folder that is named, which may outlive what is installed."""
    named = kernels.cache_folder(str(tmp_path / "kept"))
    assert named.parent == tmp_path / "kept"
    (tmp_path / "one.py").write_text("changed", encoding="utf-8")
    monkeypatch.setattr(kernels, "_HERE", tmp_path)
    assert kernels.cache_folder(str(tmp_path / "kept")) != named
    assert kernels.cache_folder().parent == tmp_path / "__pycache__"


def test_sources_that_cannot_be_written_to_leave_the_cache_to_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_protect(kernels._HERE, monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = kernels.cache_folder().parent
    assert folder == tmp_path / "cache" / "elsinore" / "kernels"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_without_a_home_the_cache_is_a_folder_that_nobody_else_can_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_protect(kernels._HERE, monkeypatch)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = kernels.cache_folder().parent, kernels.cache_folder().parent
    assert first != second
    assert first.parent == second.parent == tmp_path
    assert stat.S_IMODE(first.stat().st_mode) == 0o700


def _write_protect(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any user, the one whom no protection stops included."""
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != folder and real(path, mode))
