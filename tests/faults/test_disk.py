"""A disk that is full and one that is read-only: real ones, in a mount namespace of a job's own."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.faults.attempt import Job
from tests.faults.clean import CleanRun
from tests.faults.history import FIRST, ROOT, Home
from tests.lake_contents import contents, differences

_ALONE = ("unshare", "--map-root-user", "--mount", "sh", "-ec")


@pytest.fixture(scope="module", autouse=True)
def _namespaces() -> None:
    """Whether this system lets anybody mount where nobody else sees it."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no `unshare`")
    tried = subprocess.run([*_ALONE, "mount -t tmpfs none /mnt"], check=False, capture_output=True)
    if tried.returncode != 0:
        pytest.skip(f"no mounts in a namespace here: {tried.stderr.decode().strip()}")


def alone(script: str, home: Home, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs a script in which `job` is a job's command line and `$HOME_` its home."""
    return subprocess.run(
        [*_ALONE, f"job() {{ {shlex.join(argv)}; }}\n{script}"],
        cwd=ROOT, text=True, capture_output=True, check=False,
        env={**home.environment, "HOME_": str(home.path), "ELSINORE_FAULT_TRACE": "/dev/null"},
    )  # fmt: skip


FULL = """
cp -r "$HOME_/landing" "$HOME_.landing"
mount -t tmpfs -o size=8m none "$HOME_"
cp -r "$HOME_.landing" "$HOME_/landing"
# All but 92 KiB are taken: room for some tables, and not for the others.
head -c 8100k /dev/zero > "$HOME_/filler"
code=0; job || code=$?
echo "first $code"
rm "$HOME_/filler"
job
cp -r "$HOME_/lake" "$HOME_.lake"
"""


def test_a_full_disk_fails_the_job_and_with_room_again_it_completes(
    clean: CleanRun, tmp_path: Path
) -> None:
    home = clean.home(tmp_path / "home")
    job = Job("land_events", FIRST, home)
    done = alone(FULL, home, job.argv())
    assert done.returncode == 0, done.stderr[-2000:]
    assert "first 2\n" in done.stdout, done.stdout
    said = [line for line in done.stderr.splitlines() if line.startswith("land_events: ")]
    assert len(said) == 1
    assert "cannot write: No space left on device" in said[0]
    copied = contents(tmp_path / "home.lake")
    assert differences(copied, clean.after[clean.step("land_events")]) == []


READ_ONLY = """
mount --bind "$HOME_" "$HOME_"
mount -o remount,ro,bind "$HOME_"
job
"""


def test_a_read_only_lake_is_named_and_stays_as_it_is(new_home: Callable[[], Home]) -> None:
    home = new_home()
    before = contents(home.lake)
    done = alone(READ_ONLY, home, Job("land_events", FIRST, home).argv())
    assert done.returncode == 2
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("land_events: ")]
    assert "cannot write: Read-only file system" in said
    assert contents(home.lake) == before
