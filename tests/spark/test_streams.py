"""Two streams of one home, from samples of their events to published results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import elsinore
from elsinore.cli.main import run_command
from elsinore.lake.provenance import PUBLISHED
from elsinore.lake.tables import Lake
from elsinore.settings import Settings
from jobs import aggregate_trends, publish_results, report_quality, validate_results
from tests.lake_contents import contents, differences
from tests.spark.landing_zone import hours, run_jobs

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.spark

#: By stream the name of what says when, and two types of events without it.
SAMPLES: dict[str, tuple[str, dict[str, object], dict[str, object]]] = {
    "sales": ("at", {"type": "Sale", "shop": "x", "price": 3}, {"type": "Refund", "shop": "x"}),
    "steps": ("time", {"type": "Step", "walker": 7}, {"type": "Rest", "walker": 7, "long": True}),
}


@pytest.fixture
def home(server: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout of its own, to which schemas can be written, with the events of both streams."""
    for name in ("expectations", "jobs"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    monkeypatch.setenv("ELSINORE_ROOT", str(tmp_path))
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path / "var"))
    monkeypatch.setenv("ELSINORE_SPARK_MASTER", server.spark_master)
    monkeypatch.setenv("ELSINORE_SPARK_TOKEN_FILE", str(server.spark_token_file))
    for name, (clock, one, other) in SAMPLES.items():
        times = (f"2013-01-01T1{n // 20}:{n % 20:02}:00Z" for n in range(40))
        lines = ({clock: time, **(other if n % 3 == 2 else one)} for n, time in enumerate(times))
        sample = tmp_path / f"{name}.jsonl"
        sample.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
        monkeypatch.setenv("ELSINORE_STREAM", "")
        assert run_command(["new-stream", name, "--from", str(sample)]) == 0
        monkeypatch.setenv("ELSINORE_STREAM", name)
        assert run_command(["ingest", str(sample)]) == 0
    monkeypatch.delenv("ELSINORE_STREAM")
    return tmp_path


def replay(settings: Settings) -> None:
    jobs = (aggregate_trends, validate_results, publish_results, report_quality)
    for hour in (10, 11):
        run_jobs(settings, hours(hour, hour + 1), f"run {hour}", last=jobs)


def test_streams_of_one_home_have_the_tables_of_two_homes(home: Path) -> None:
    for name in SAMPLES:
        settings = Settings.load(name)
        replay(settings)
        alone = settings.model_copy(update={"stream": "", "home": home / f"{name} alone"})
        shutil.copytree(settings.landing, alone.landing)
        replay(alone)
        tables = ("raw_events", "events", PUBLISHED)
        assert not differences(contents(settings.lake, tables), contents(alone.lake, tables))
        found = Lake.open(settings).rows(PUBLISHED)
        work = elsinore.workload(settings.workload_file, schema=settings.schema_file)
        rows = work.run([home / f"{name}.jsonl"])["first"].num_rows
        assert found.num_rows == rows > 0
    assert sorted(path.name for path in (home / "var").iterdir() if path.is_dir()) == [*SAMPLES]
