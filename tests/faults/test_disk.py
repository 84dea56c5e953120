"""A disk that is full, then read-only: a real one, in a mount namespace of its own."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.clean import CleanRun
from tests.faults.history import ROOT
from tests.lake_contents import contents, differences

_ALONE = ("unshare", "--map-root-user", "--mount", "sh", "-ec")

#: Prints how the landing of the first hour ends; the server that it starts sees the same mounts.
_LAND = """
import pickle, sys
from tests.faults.attempt import Step, attempt
from tests.faults.history import FIRST
if __name__ == "__main__":
    ended = attempt(Step("land_events", FIRST), pickle.load(open(sys.argv[1], "rb")))
    print(ended.error or "done", ended.said, flush=True)
"""

#: Of the small disk all but 92 KiB are taken at first: room for some tables, not for the others.
_SCRIPT = """
land() { "$PYTHON" "$FOLDER/land.py" "$FOLDER/place.pickle"; }
cp -r "$FOLDER/place" "$FOLDER/source"
mount -t tmpfs -o size=8m none "$FOLDER/place"
cp -r "$FOLDER/source/." "$FOLDER/place"
head -c 8100k /dev/zero > "$FOLDER/place/filler"
land
rm "$FOLDER/place/filler"
land
mount -o remount,ro "$FOLDER/place"
land
cp -r "$FOLDER/place/lake" "$FOLDER/lake"
"$PYTHON" -c "
import pickle, sys
from elsinore.spark.server import stop_server
stop_server(pickle.load(open(sys.argv[1], 'rb')))" "$FOLDER/place.pickle"
"""


@pytest.fixture(scope="module", autouse=True)
def _namespaces() -> None:
    """Whether this system lets anybody mount where nobody else sees it."""
    if shutil.which("unshare") is None:
        pytest.skip("there is no `unshare`")
    tried = subprocess.run([*_ALONE, "mount -t tmpfs none /mnt"], check=False, capture_output=True)
    if tried.returncode != 0:
        pytest.skip(f"no mounts in a namespace here: {tried.stderr.decode().strip()}")


def test_a_disk_without_room_is_named_and_with_room_again_the_landing_completes(
    clean: CleanRun, tmp_path: Path
) -> None:
    place = clean.place(tmp_path / "place").model_copy(update={"home": tmp_path / "server"})
    (tmp_path / "place.pickle").write_bytes(pickle.dumps(place))
    (tmp_path / "land.py").write_text(_LAND)
    done = subprocess.run(
        [*_ALONE, _SCRIPT],
        cwd=ROOT, text=True, capture_output=True, check=False,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{ROOT / 'lib'}",
             "PYTHON": sys.executable, "FOLDER": str(tmp_path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    full, room, read_only = done.stdout.splitlines()
    assert full.startswith("SetupError cannot write: No space left on device (make room")
    assert room.startswith("done")
    assert read_only.startswith("SetupError cannot write: Read-only file system")
    left = contents(tmp_path / "lake")
    assert differences(left, clean.after[clean.step("land_events")]) == []
