"""One undisturbed replay, shared by all tests that only read what it left."""

from __future__ import annotations

import pytest

from tests.e2e.support import Home

#: The home, what the replay printed, and every row of every table.
CleanRun = tuple[Home, str, dict[str, list[str]]]


@pytest.fixture(scope="session")
def clean(tmp_path_factory: pytest.TempPathFactory) -> CleanRun:
    """A home after one undisturbed replay, what that printed, and all rows."""
    home = Home(tmp_path_factory.mktemp("clean"))
    output = home.replay()
    return home, output, home.rows()
