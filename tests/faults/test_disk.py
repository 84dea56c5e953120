"""A disk that is full, then read-only: a real one, in a mount namespace of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.clean import CleanRun
from tests.faults.history import ROOT
from tests.lake_contents import contents, differences

_ALONE = ("unshare", "--map-root-user", "--mount", "sh", "-ec")

#: Of the small disk all but 92 KiB are taken at first: room for some tables, not for the others.
_SCRIPT = """
ingest() { "$ELSINORE" ingest --start "$START" --end "$END" 2>&1 || true; echo "====="; }
cp -r "$ELSINORE_HOME" "$FOLDER/source"
mount -t tmpfs -o size=8m,mode=0700 none "$ELSINORE_HOME"
cp -r "$FOLDER/source/." "$ELSINORE_HOME"
head -c 8100k /dev/zero > "$ELSINORE_HOME/filler"
ingest
rm "$ELSINORE_HOME/filler"
ingest
mount -o remount,ro "$ELSINORE_HOME"
ingest
cp -r "$ELSINORE_HOME/lake" "$FOLDER/lake"
"""


@pytest.fixture(scope="module", autouse=True)
def _namespaces() -> None:
    """Whether this system lets anybody mount where nobody else sees it."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no `unshare`")
    tried = subprocess.run([*_ALONE, "mount -t tmpfs none /mnt"], check=False, capture_output=True)
    if tried.returncode != 0:
        pytest.skip(f"no mounts in a namespace here: {tried.stderr.decode().strip()}")


@pytest.mark.long
def test_a_disk_without_room_is_named_and_with_room_again_the_landing_completes(
    clean: CleanRun, tmp_path: Path
) -> None:
    place = clean.place(tmp_path / "place")
    start, end = str(clean.interval)[1:-1].split(", ")
    done = subprocess.run(
        [*_ALONE, _SCRIPT],
        cwd=ROOT, text=True, capture_output=True, check=False,
        env=os.environ | {
            "ELSINORE": str(Path(sys.executable).parent / "elsinore"),
            "FOLDER": str(tmp_path), "START": start, "END": end,
            "ELSINORE_HOME": str(place.place), "ELSINORE_LOCAL_HOME": str(tmp_path / "local"),
            "ELSINORE_WORKLOAD_FILE": str(place.workload_file),
            "ELSINORE_MAX_ERROR_RATE": str(place.max_error_rate),
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    full, room, read_only, _ = done.stdout.split("=====\n")
    assert "cannot write: No space left on device (free disk space" in full
    assert json.loads(room)["job"] == "ingest_events"
    assert "cannot write: Read-only file system" in read_only
    left = contents(tmp_path / "lake")
    assert differences(left, clean.after[clean.step("ingest_events")]) == []
