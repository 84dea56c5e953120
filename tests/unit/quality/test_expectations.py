"""What custom expectations show of wrong rows."""

from __future__ import annotations

import pytest


@pytest.mark.slow
def test_a_count_of_many_digits_is_cut() -> None:
    from elsinore.quality.expectations import shorten  # which imports Great Expectations

    assert shorten("1" * 500)[-16:] == "111...(500 long)"
