"""A short history of hourly runs in trouble; `python -m tests.simulation` has longer ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from elsinore.settings import Settings
from tests.draws import draws
from tests.faults.history import Place
from tests.simulation.simulate import Simulation


@pytest.mark.spark
@pytest.mark.slow
def test_after_hours_of_trouble_the_tables_are_those_of_one_replay(
    server: Settings, tmp_path: Path
) -> None:
    place = Place(
        home=server.home,
        place=tmp_path / "ours",
        spark_master=server.spark_master,
        spark_token_file=server.spark_token_file,
    )
    history = Simulation(place, "0")
    history.go(draws(3, 48))
    assert history.wrong == [], history.told
    assert history.recomputed, "the reference was asked for no query"
