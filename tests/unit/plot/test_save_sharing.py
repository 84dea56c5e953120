"""The picture of who shares what, as files."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from elsinore.engine.plan import compile_plan
from elsinore.errors import ParameterError
from elsinore.plot.draw_sharing import MOST_ROWS, save_sharing
from elsinore.sharing.explain import explain_cuts, explain_savings
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.sharable import sharable_sets
from elsinore.sharing.statistics import Statistics
from tests.unit.sharing.support import bind, count_trends

RATES = Statistics.given(10, {"A": 10, "B": 2, "C": 4, "D": 1})


def save(patterns: list[list[str]], path: Path) -> None:
    workload = bind({f"q{n}": count_trends(parts) for n, parts in enumerate(patterns, 1)})
    plan = find_plan(workload, RATES)
    savings = explain_savings(plan, workload, RATES)
    sharing = sharable_sets(workload.queries)
    save_sharing(
        plan, explain_cuts(plan, workload), savings, sharing, path,
        runtime=compile_plan(workload, RATES, static_plan=plan), calendar=False,
    )  # fmt: skip


MIXED = [["A", "B", "C"], ["A", "B", "C", "B+"], ["D", "B+"]]


def test_svg_tells_everything_and_is_the_same_each_time(tmp_path: Path) -> None:
    save(MIXED, tmp_path / "a.svg")
    save(MIXED, tmp_path / "b.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert text == (tmp_path / "b.svg").read_text(encoding="utf-8")
    # q2 gains (A, B, C) beside B+: 10 * (16 + 2) - 2 * 2 - 10 * 2 = 156 over a cost of 160, which
    # is what q1 gains.
    for written in (
        *("q1", "q3", "p2", "s1", "B+", "(A, B, C) in 2 queries", "156"),
        *("B+ in 2 queries", "swept together", "s1: B+ in 2 queries"),
        *("partitioned by no key; panes of 10", "run: 2 by sweep", "1 q2, 2 q3", "all"),
        "3 queries, 1 shared pattern saves 156 (proven optimal)",
    ):
        assert f"<!-- {written} -->" in text, written


def test_png_and_a_workload_that_shares_nothing(tmp_path: Path) -> None:
    save([["A"]], tmp_path / "a.PNG")
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG\r\n")


def test_rows_that_are_not_drawn_are_counted(tmp_path: Path) -> None:
    save([["A"]] * (MOST_ROWS + 5), tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "<!-- 5 queries that share less are not drawn. -->" in text


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="is no picture"):
        save([["A"]], tmp_path / "a.pdf")
    with pytest.raises(ParameterError, match="cannot write"):
        save([["A"]], tmp_path / "none" / "a.svg")
