"""Compiled kernels: where they are kept, and what a new process pays for one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from elsinore.executors.input.kernels.entries import find_spans
from elsinore.numbers import cache_location

_IMPORTED = """
import json, sys
import numpy as np
from elsinore.numbers.compiled import compiled_kernels, kernel, load_kernels
from elsinore.executors.input.kernels.entries import fill_spans, find_spans
"""

#: Spans by hand: window 0 is [0, 10) and holds entries 0 and 1, window 1 holds entry 2.
_SPANS = """
found = find_spans(np.array([0, 3]), np.array([1, 4, 12]), 10, 10, 0, 5).tolist()
assert found == [[0, 2, 0, 0], [2, 3, 0, 1]]
"""

#: A kernel that no cache knows calls one that came from the cache.
_COMPILED_AFTER = """
@kernel
def twice(offsets, times, out):
    return 2 * fill_spans(offsets, times, 10, 10, 0, 5, out)

assert twice(np.array([0, 3]), np.array([1, 4, 12]), np.empty((0, 4), np.int64)) == 4
"""

#: What a process has of all kernels that it has imported, after it has loaded them.
_LOADED = """
load_kernels()
print(json.dumps(sorted(name for name, found in compiled_kernels().items() if found)))
"""


@pytest.fixture(scope="module")
def compiled() -> None:
    """Here, if never before."""
    find_spans(np.array([0, 3]), np.array([1, 4, 12]), 10, 10, 0, 5)


def _in_new_process(script: Path, text: str, **environment: str) -> subprocess.CompletedProcess:
    script.write_text(_IMPORTED + text, encoding="utf-8")
    return subprocess.run(
        [sys.executable, script], check=True, capture_output=True, text=True,
        env=os.environ | environment,
    )  # fmt: skip


@pytest.mark.usefixtures("compiled")
def test_a_new_process_takes_a_kernel_from_the_cache_and_loads_no_compiler(tmp_path: Path) -> None:
    """Numba's registries bring SciPy's linear algebra and cost more than all else."""
    told = "print(sum(fill_spans.stats.cache_misses.values()),"
    told += " [n for n in ('scipy.linalg', 'numba.np.linalg') if n in sys.modules])"
    assert _in_new_process(tmp_path / "spans.py", _SPANS + told).stdout == "0 []\n"


@pytest.mark.slow
@pytest.mark.usefixtures("compiled")
def test_a_kernel_that_is_not_in_the_cache_is_compiled_around_one_that_was(tmp_path: Path) -> None:
    _in_new_process(tmp_path / "twice.py", _SPANS + _COMPILED_AFTER)


@pytest.mark.slow
def test_an_empty_cache_is_filled_once_and_loaded_ahead_from_then_on(tmp_path: Path) -> None:
    """Who waits for the first compilation is told; where all is loaded nothing is compiled."""
    first, again, ahead = (
        _in_new_process(tmp_path / "spans.py", text, NUMBA_CACHE_DIR=str(tmp_path))
        for text in (_LOADED + _SPANS, _SPANS, _LOADED)
    )
    assert first.stdout == "[]\n"
    assert first.stderr == "elsinore: compiling kernels, once on this machine (some 10 to 60 s)\n"
    assert again.stderr == ""
    assert ahead.stdout == '["elsinore.executors.input.kernels.entries.fill_spans"]\n'
    assert ahead.stderr == ""


def test_the_folder_is_another_for_each_state_of_the_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also below a folder that is named, which may outlive what is installed."""
    named = cache_location.cache_folder(str(tmp_path / "kept"))
    assert named.parent == tmp_path / "kept"
    (here := tmp_path / "numbers").mkdir()
    (kernels := tmp_path / "executors" / "graph" / "kernels").mkdir(parents=True)
    monkeypatch.setattr(cache_location, "_HERE", here)
    folders = {named}
    for package in (here, kernels):
        (package / "one.py").write_text("changed", encoding="utf-8")
        folders.add(cache_location.cache_folder(str(tmp_path / "kept")))
    assert len(folders) == 3
    assert cache_location.cache_folder().parent == here / "__pycache__"


def test_sources_that_cannot_be_written_to_leave_the_cache_to_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_protect(cache_location._HERE, monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    folder = cache_location.cache_folder().parent
    assert folder == tmp_path / "cache" / "elsinore" / "kernels"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_without_a_home_the_cache_is_a_folder_that_nobody_else_can_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_protect(cache_location._HERE, monkeypatch)
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = cache_location.cache_folder().parent, cache_location.cache_folder().parent
    assert first != second
    assert first.parent == second.parent == tmp_path
    assert stat.S_IMODE(first.stat().st_mode) == 0o700


@pytest.mark.slow
def test_the_working_directory_does_not_choose_the_cache(tmp_path: Path) -> None:
    """Numba reads a file there, also while it runs, and code is loaded from the cache."""
    script = tmp_path / "script.py"
    script.write_text(
        "import elsinore.executors.input.kernels.entries, numba.core.config as config\n"
        "from pathlib import Path\n"
        "Path('.numba_config.yaml').write_text('cache_dir: evil')\n"
        "config.reload_config()\n"
        "print(config.CACHE_DIR)\n"
    )
    clean = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    for _ in range(2):  # the second time the file is there from the beginning
        done = subprocess.run(
            [sys.executable, script], cwd=tmp_path, env=clean, check=True, capture_output=True,
            text=True,
        )  # fmt: skip
        assert Path(done.stdout.strip()).is_relative_to(cache_location.base_folder())


@pytest.mark.slow
def test_the_working_directory_does_not_turn_compilation_off(tmp_path: Path) -> None:
    (tmp_path / ".numba_config.yaml").write_text(
        "disable_jit: 1\ncache_locator_classes: EvilLocator\n", encoding="utf-8"
    )
    program = "import elsinore.numbers; from numba import config as c;"
    program += "print(c.DISABLE_JIT, repr(c.CACHE_LOCATOR_CLASSES))"
    ours = ("NUMBA_DISABLE_JIT", "NUMBA_CACHE_LOCATOR_CLASSES")
    clean = {name: value for name, value in os.environ.items() if name not in ours}
    for value in "01":
        given = clean | ({"NUMBA_DISABLE_JIT": "1"} if value == "1" else {})
        done = subprocess.run(
            [sys.executable, "-c", program], cwd=tmp_path, env=given, check=True,
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.stdout == f"{value} ''\n", "a variable that is set is obeyed"


def test_a_named_directory_that_others_control_is_refused(tmp_path: Path) -> None:
    (shared := tmp_path / "shared").mkdir()
    assert cache_location.base_folder(str(shared)) == shared
    shared.chmod(0o1777)
    with pytest.raises(PermissionError, match="every user can write to this NUMBA_CACHE_DIR"):
        cache_location.base_folder(str(shared))
    made = cache_location.base_folder(str(tmp_path / "new"))
    assert stat.S_IMODE(made.stat().st_mode) == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to another user")
def test_a_named_directory_of_another_user_is_refused(tmp_path: Path) -> None:
    os.chown(tmp_path, 65534, -1)
    with pytest.raises(PermissionError, match="user 65534 can write to this"):
        cache_location.base_folder(str(tmp_path))


def test_a_cache_of_the_user_that_others_control_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_protect(cache_location._HERE, monkeypatch)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept = cache_location.base_folder()
    assert kept == tmp_path / "cache" / "elsinore" / "kernels"
    kept.chmod(0o777)
    assert cache_location.base_folder().parent == tmp_path


def _write_protect(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For any user, the one whom no protection stops included."""
    real = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != folder and real(path, mode))
