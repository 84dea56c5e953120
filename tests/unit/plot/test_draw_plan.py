"""The picture of a plan: everything that it must tell is in the SVG, few vertices or many."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from elsinore.errors import SetupError
from elsinore.plot.draw_plan import draw_plan
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.plan import StaticPlan
from elsinore.sharing.statistics import Statistics
from tests.unit.sharing.support import bind, count_trends, golden


def _traffic() -> StaticPlan:
    rates = golden("traffic_rates")
    named = {name: count_trends(pattern) for name, pattern in rates["patterns"].items()}
    return find_plan(bind(named, sorted(rates["rates"])), Statistics.given(10, rates["rates"]))


def _texts(path: Path) -> str:
    return "\n".join(ElementTree.parse(path).getroot().itertext())


def test_the_picture_of_figure_4(tmp_path: Path) -> None:
    path = tmp_path / "plan.svg"
    draw_plan(_traffic(), path)
    found = _texts(path)
    for candidate in golden("traffic")["candidates"].values():
        assert f"({', '.join(candidate['pattern'])})" in found
        assert f": {candidate['benefit']}\n" in found
    for told in ("score 50, bound 50 (proven), guaranteed 38.5667", "pruned by the reduction"):
        assert told in found
    again = tmp_path / "again.svg"
    draw_plan(_traffic(), again)
    assert again.read_bytes() == path.read_bytes()


def test_many_vertices(tmp_path: Path) -> None:
    # 130 disjoint pairs of types, each in two queries: no conflicts, all chosen.
    types = [f"T{n}" for n in range(260)]
    pairs = [types[n : n + 2] for n in range(0, 260, 2)]
    queries = {f"q{n}": count_trends(pair) for n, pair in enumerate(pairs * 2)}
    statistics = Statistics.given(10, dict.fromkeys(types, 1.0))
    draw_plan(find_plan(bind(queries, types), statistics), tmp_path / "plan.svg")
    found = _texts(tmp_path / "plan.svg")
    assert "10 vertices of smaller benefit are not drawn" in found
    assert found.count(": 2 (T") == 120


def test_a_plan_without_candidates_is_drawn_too(tmp_path: Path) -> None:
    draw_plan(find_plan(bind([count_trends("A")]), Statistics.given(1, {})), tmp_path / "plan.svg")
    assert "score 0" in _texts(tmp_path / "plan.svg")


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    plan = find_plan(bind([count_trends("A")]), Statistics.given(1, {}))
    for name in ("no/folder.svg", "plan.nothing"):
        with pytest.raises(SetupError, match="cannot be written"):
            draw_plan(plan, tmp_path / name)
