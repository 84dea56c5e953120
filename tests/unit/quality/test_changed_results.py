"""Hours of `results` that changed after their publication, from the log of the table."""

from __future__ import annotations

from pathlib import Path

import deltalake

from elsinore.publish.changed_results import changed_results
from elsinore.timeline import DAY, HOUR, hour_label, parse_hour
from tests.unit.quality.lake import result
from tests.written_tables import declared, write_table

TEN, ELEVEN = "2013-01-01T10", "2013-01-01T11"
SCHEMA = declared("results")


def write(lake: Path, note: object) -> None:
    write_table(lake, SCHEMA, [result("q", "{}", 1)], note=note)


def found(lake: Path, after: int) -> dict[str, int]:
    hours, versions = changed_results(lake, after)
    assert sorted(hours) == list(hours)
    return dict(zip(map(hour_label, hours.tolist()), versions.tolist(), strict=True))


def test_commits_of_runs_name_their_hours_and_others_change_days(tmp_path: Path) -> None:
    assert found(tmp_path, -1) == {}
    write(tmp_path, {"run": "a", "hours": [TEN, ELEVEN]})
    write(tmp_path, {"run": "b", "hours": [ELEVEN]})
    assert found(tmp_path, -1) == {TEN: 0, ELEVEN: 1}
    assert found(tmp_path, 0) == {ELEVEN: 1}
    assert found(tmp_path, 1) == {}
    write(tmp_path, None)
    start = parse_hour("2013-01-01T00")
    day = [hour_label(hour) for hour in range(start, start + DAY, HOUR)]
    assert found(tmp_path, 1) == dict.fromkeys(day, 2)


def test_commits_that_change_no_row_or_left_the_log_are_skipped(tmp_path: Path) -> None:
    for hour in (TEN, ELEVEN):
        write(tmp_path, {"hours": [hour]})
    table = deltalake.DeltaTable(str(tmp_path / "results"))
    table.optimize.compact()
    assert found(tmp_path, -1) == {TEN: 0, ELEVEN: 1}
    table.create_checkpoint()
    (tmp_path / "results" / "_delta_log" / f"{0:020}.json").unlink()
    assert found(tmp_path, -1) == {ELEVEN: 1}
