"""A short history of hourly runs in trouble; `python -m tests.simulation` has longer ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from elsinore.spark.server import stop_server
from tests.draws import draws
from tests.faults.history import Place
from tests.simulation.simulate import Simulation


@pytest.mark.spark
@pytest.mark.slow
def test_after_hours_of_trouble_the_tables_are_those_of_one_replay(tmp_path: Path) -> None:
    history = Simulation(Place(home=tmp_path / "server", place=tmp_path / "ours"), "0")
    try:
        history.go(draws(6, 48))
    finally:
        stop_server(history.place)
    assert history.wrong == [], history.told
