"""Some of the random workloads; `random_plans` says what is checked and runs all 500."""

from __future__ import annotations

import pytest

from tests.unit.sharing.random_plans import check


@pytest.mark.parametrize("seed", range(25))
def test_every_finder_keeps_its_promises(seed: int) -> None:
    assert check(seed)["workloads"] == 1
