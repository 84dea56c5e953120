"""What a run is asked for: hours, a workload, whether to replay; and Airflow's environment.

Workloads go by name: those of the stream, and nothing that is a path.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from elsinore.errors import ParameterError
from elsinore.orchestration.airflow_environment import airflow_environment
from elsinore.orchestration.run_params import (
    asked_of,
    day_interval,
    is_worth_replaying,
    run_interval,
)
from elsinore.settings import WORKLOADS, Settings
from elsinore.timeline import Interval

DATABASE = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"
SEVEN = datetime(2013, 2, 8, 7, tzinfo=UTC)
EIGHT = datetime(2013, 2, 8, 8, tzinfo=UTC)


def test_parameters_come_before_the_data_interval_which_counts_in_utc() -> None:
    there = SEVEN.astimezone(timezone(timedelta(hours=-5)))
    for start in (SEVEN, there):
        found = run_interval(None, None, data_start=start, data_end=EIGHT)
        assert found == Interval.parse("2013-02-08T07:00", "2013-02-08T08:00")
    found = run_interval("2013-01-01", "2013-01-03", data_start=SEVEN, data_end=EIGHT)
    assert found == Interval.parse("2013-01-01", "2013-01-03")


@pytest.mark.parametrize(
    ("start", "end", "data_start", "data_end"),
    [
        pytest.param("2013-01-01", None, SEVEN, EIGHT, id="start alone"),
        pytest.param(None, "2013-01-01", SEVEN, EIGHT, id="end alone"),
        pytest.param("2013-01-02", "2013-01-01", SEVEN, EIGHT, id="backwards"),
        pytest.param("2013-01-01", "2013-01-01", SEVEN, EIGHT, id="empty"),
        pytest.param("2013-01-01T00:30", "2013-01-01T02:00", SEVEN, EIGHT, id="half an hour"),
        pytest.param("x; drop", "2013-01-01", SEVEN, EIGHT, id="no instant"),
        pytest.param("0001-01-01T00:00+05:00", "2013-01-01", None, None, id="before all years"),
        pytest.param("9999-12-31T22:00", "9999-12-31T23:00", None, None, id="far in the future"),
        pytest.param("2150-01-01", "2150-01-02", None, None, id="not over"),
        pytest.param(None, None, SEVEN, SEVEN, id="interval of no width"),
        pytest.param(None, None, None, None, id="no interval"),
    ],
)
def test_hours_that_are_none_are_refused(
    start: str | None, end: str | None, data_start: datetime | None, data_end: datetime | None
) -> None:
    with pytest.raises(ParameterError):
        run_interval(start, end, data_start=data_start, data_end=data_end)


def test_a_day_has_24_hours() -> None:
    assert day_interval("2013-03-10") == Interval.parse("2013-03-10T00:00", "2013-03-11T00:00")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2013-02-30",
        "2013-2-8",
        "2013-02-08T00:00",
        "{{ ds }}",
        "0001-01-01",
        "9999-12-31",
        f"{datetime.now(UTC):%Y-%m-%d}",
        "2199-12-31",
    ],
)
def test_what_is_no_day_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        day_interval(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / WORKLOADS
    folder.mkdir(parents=True)
    for name in (
        "flights.sase", "flights_storms.sase", "flightsim.sase", "rides.sase",
        "flights_x y.sase", "flights.txt",
    ):  # fmt: skip
        (folder / name).touch()
    (tmp_path / "flights_secret.sase").touch()
    return tmp_path


def settings(root: Path, stream: str, file: str) -> Settings:
    return Settings(root=root, schema_file=Path(f"{stream}.yaml"), workload_file=Path(file))


def test_known_workloads_are_the_streams_own_and_have_a_file(root: Path) -> None:
    flights = settings(root, "flights", "schemas/workloads/flights.sase")
    assert flights.known_workloads == ("flights", "flights_storms")
    path = flights.of_workload("flights_storms").queries
    assert path == root / "schemas" / "workloads" / "flights_storms.sase"


def test_the_workload_of_a_stream_is_none_of_another(root: Path) -> None:
    events = root / "schemas" / "events"
    events.mkdir()
    for name in ("flights", "flights_storms"):
        (events / f"{name}.yaml").touch()
    assert settings(root, "flights", "schemas/workloads/flights.sase").known_workloads == (
        "flights",
    )


def test_files_in_the_folder_beside_it_are_answered_with_the_streams_own(root: Path) -> None:
    folder = root / "schemas" / "workloads" / "flights"
    folder.mkdir()
    for name in ("ops.sase", "flights.sase", "Not a name.sase", "ops.txt"):
        (folder / name).touch()
    flights = settings(root, "flights", "schemas/workloads/flights.sase")
    assert flights.workloads == ("", "ops"), "the stream's own is not answered twice"
    assert flights.known_workloads == ("flights", "ops", "flights_storms")
    assert flights.of_workload("ops").queries == folder / "ops.sase"
    assert flights.of_workload("ops").of_workload("flights").queries == folder.with_suffix(".sase")


def test_the_workload_of_the_settings_is_known_wherever_it_lies(root: Path) -> None:
    mine = settings(root, "boats", "elsewhere/My-queries.sase")
    assert mine.known_workloads == ("My-queries",)
    assert mine.of_workload("My-queries").queries == root / "elsewhere" / "My-queries.sase"
    mine = settings(root, "flights", "elsewhere/flights.sase")
    assert mine.of_workload("flights").queries == root / "elsewhere" / "flights.sase"


@pytest.mark.parametrize(
    "name",
    [
        "rides", "Flights", "flights.sase", "../../flights_secret", "flights_x y",
        "schemas/workloads/flights", "flights\n", "flights\0", "$(reboot)", "{{ ds }}", "*",
    ],
)  # fmt: skip
def test_other_workloads_are_refused(root: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="use one of flights, flights_storms"):
        settings(root, "flights", "schemas/workloads/flights.sase").of_workload(name)


@pytest.mark.parametrize(
    ("published", "others", "force", "worth"),
    [
        (0, [], False, True),
        (2, [], False, True),
        (3, [], False, False),
        (0, ["a", "b"], False, None),
        (3, ["a", "b"], False, None),
        (3, [], True, True),
        (3, ["a", "b"], True, True),
    ],
)
def test_hours_are_replayed_where_one_is_not_published_or_where_forced(
    published: int, others: list[str], force: bool, worth: bool | None
) -> None:
    """Results of other queries are never replaced by accident."""
    found = {"hours": 3, "published_hours": published, "other_queries": others}
    if worth is None:
        with pytest.raises(ParameterError, match=r"other queries: a, b.*set force"):
            is_worth_replaying(found, force=force)
    else:
        assert is_worth_replaying(found, force=force) is worth


def test_airflow_lies_in_the_checkout_and_listens_to_nobody_else_unless_told_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AIRFLOW_HOME", DATABASE, f"{DATABASE}_CMD", "AIRFLOW__API__HOST"):
        monkeypatch.delenv(name, raising=False)
    found = airflow_environment(tmp_path)
    assert found["AIRFLOW_HOME"] == str(tmp_path / ".airflow")
    assert found[DATABASE] == f"sqlite:///{tmp_path / '.airflow' / 'airflow.db'}"
    assert found["AIRFLOW__API__HOST"] == "127.0.0.1"
    monkeypatch.setenv(DATABASE, "postgresql://elsewhere")
    assert airflow_environment(tmp_path)[DATABASE] == "postgresql://elsewhere"
    monkeypatch.delenv(DATABASE)
    monkeypatch.setenv(f"{DATABASE}_CMD", "cat /run/secrets/database_url")
    assert DATABASE not in airflow_environment(tmp_path), "an option from a command is not hidden"


def test_settings_and_runs_set_parameters(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = settings(root, "flights", "schemas/workloads/flights.sase").model_copy(
        update={"parameters": {"flights": {"least": (1, 2), "most": 3}}}
    )
    assert mine.own_parameters == {"least": (1, 2), "most": 3}
    assert mine.of_workload("flights_storms").own_parameters == {}
    changed = mine.with_parameters({"flights": {"least": 5}, "flights_storms": {"x": 0.5}})
    assert changed.own_parameters == {"least": 5, "most": 3}
    assert changed.of_workload("flights_storms").own_parameters == {"x": 0.5}
    with pytest.raises(ParameterError, match="unknown workload 'flihgts'"):
        mine.with_parameters({"flihgts": {"least": 5}})
    monkeypatch.setattr(Settings, "load", lambda _: mine)
    for wrong in ({"flights": {"least": [1, 2]}}, {"flights": 5}, [1], "least=5"):
        with pytest.raises(ParameterError, match="single values"):
            asked_of("backfill_replay", {"parameters": wrong})
    asked = asked_of("backfill_replay", {"parameters": {"flights": {"least": 5}}})
    assert asked is not None
    assert asked[0].own_parameters == {"least": 5, "most": 3}


def test_the_setting_of_parameters_is_read_and_checked(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "schemas" / "tables").mkdir()
    monkeypatch.setenv("ELSINORE_ROOT", str(root))
    value = '{"flights": {"a": [10, 2.5], "b": true, "c": "30 minutes"}}'
    monkeypatch.setenv("ELSINORE_PARAMETERS", value)
    own = Settings.load().own_parameters
    assert own == {"a": (10, 2.5), "b": True, "c": "30 minutes"}
    assert isinstance(own["b"], bool)
    for wrong in ('{"nights": {"a": 1}}', '{"flights": {"a": null}}', '{"flights": 5}', "a=1"):
        monkeypatch.setenv("ELSINORE_PARAMETERS", wrong)
        with pytest.raises(ParameterError, match="ELSINORE_PARAMETERS"):
            Settings.load()
