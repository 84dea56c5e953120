"""The example of three ways to count has the numbers that its page states."""

from __future__ import annotations

from pathlib import Path

import elsinore

EXAMPLE = Path(__file__).parents[2] / "docs" / "example"


def test_visitors_purchases_and_revenue() -> None:
    """EACH and DISTINCT return what a shop wants to know."""
    workload = elsinore.workload(
        (EXAMPLE / "visits.sase").read_text(encoding="utf-8"), schema=EXAMPLE / "visits.yaml"
    )
    [row] = workload.run(EXAMPLE / "visits.jsonl.gz")["visits"].to_pylist()
    assert row["matches"] == 10_995_116_405_692
    assert (row["users"], row["purchases"], row["revenue"]) == (106, 106, 1_060)
    assert row["longest"] == 41
