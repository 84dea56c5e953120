"""Workloads by name: those of the stream, and nothing that is a path."""

from __future__ import annotations

from pathlib import Path

import pytest

from elsinore.errors import ParameterError
from elsinore.orchestration.run_params import FOLDER, known_workloads, workload_path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    for name in (
        "flights.sase", "flights_storms.sase", "flightsim.sase", "rides.sase",
        "flights_x y.sase", "flights.txt",
    ):  # fmt: skip
        (folder / name).touch()
    (tmp_path / "flights_secret.sase").touch()
    return tmp_path


def test_known_are_the_streams_own(root: Path) -> None:
    assert known_workloads(root, "flights") == ("flights", "flights_storms")
    assert known_workloads(root, "rides") == ("rides",)
    assert known_workloads(root, "boats") == ()


def test_a_known_one_has_a_file(root: Path) -> None:
    path = workload_path(root, "flights", "flights_storms")
    assert path == root / "schemas" / "workloads" / "flights_storms.sase"


@pytest.mark.parametrize(
    "name",
    [
        "", "rides", "Flights", "flights.sase", "../../flights_secret", "flights_x y",
        "schemas/workloads/flights", "flights\n", "flights\0", "$(reboot)", "{{ ds }}", "*",
    ],
)  # fmt: skip
def test_everything_else_is_refused(root: Path, name: str) -> None:
    with pytest.raises(ParameterError, match="known are: flights, flights_storms"):
        workload_path(root, "flights", name)
