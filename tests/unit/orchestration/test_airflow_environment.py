"""The embedded Airflow's environment, and how a deployment brings its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from elsinore.orchestration.airflow_environment import airflow_environment

DATABASE = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AIRFLOW_HOME", DATABASE, f"{DATABASE}_CMD", "AIRFLOW__API__HOST"):
        monkeypatch.delenv(name, raising=False)


def test_by_default_it_lies_in_the_checkout_and_listens_to_nobody_else(tmp_path: Path) -> None:
    found = airflow_environment(tmp_path)
    assert found["AIRFLOW_HOME"] == str(tmp_path / ".airflow")
    assert found[DATABASE] == f"sqlite:///{tmp_path / '.airflow' / 'airflow.db'}"
    assert found["AIRFLOW__API__HOST"] == "127.0.0.1"


def test_what_is_set_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DATABASE, "postgresql://elsewhere")
    assert airflow_environment(tmp_path)[DATABASE] == "postgresql://elsewhere"


def test_an_option_from_a_command_is_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{DATABASE}_CMD", "cat /run/secrets/database_url")
    assert DATABASE not in airflow_environment(tmp_path)
