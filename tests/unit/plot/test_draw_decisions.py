"""The picture of Hamlet's decisions, as files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from elsinore.errors import ParameterError
from elsinore.plot.draw_decisions import MOST_DOTS, SetDecisions, draw_decisions

THREE = SetDecisions(
    title="s1: B+ in 4 queries",
    times=np.array([10, 20, 30]),
    lengths=np.array([1, 10, 4]),
    sharing=np.array([0, 4, 2]),
    takers=np.array([4, 4, 4]),
    saved=np.array([0.0, 5e6, 1e6]),
    calendar=False,
)


def drawn(sets: list[SetDecisions], path: Path) -> str:
    draw_decisions(sets, path)
    return path.read_text(encoding="utf-8")


def test_svg_tells_each_kind_of_burst_and_the_mean(tmp_path: Path) -> None:
    """Of 15 events of 4 queries each, 10 are shared by 4 and 4 by 2: 48 of 60."""
    text = drawn([THREE], tmp_path / "a.svg")
    for written in (
        *("s1: B+ in 4 queries", "shared by none: 1", "by some queries: 1", "by all: 1"),
        *("80% of the queries share an event, on average", "event time", "predicted ms"),
    ):
        assert f"<!-- {written} -->" in text, written
    assert text == drawn([THREE], tmp_path / "b.svg")


def test_many_bursts_become_cells(tmp_path: Path) -> None:
    size = MOST_DOTS + 1
    numbers = np.arange(size)
    many = SetDecisions(
        "s1", numbers * 1_000_000, 1 + numbers % 50, numbers % 3, np.full(size, 2), None, True
    )
    text = drawn([many, THREE], tmp_path / "a.svg")
    assert f"<!-- {size:,} bursts; darker: more -->" in text
    assert "<!-- 50% of queries share -->" in text
    assert "<!-- event time (UTC) -->" in text


def test_sets_without_bursts_and_runs_without_sets(tmp_path: Path) -> None:
    none = np.empty(0, np.int64)
    empty = replace(THREE, times=none, lengths=none, sharing=none, takers=none, saved=None)
    assert "<!-- no burst that several queries take -->" in drawn([empty], tmp_path / "a.svg")
    assert "<!-- No sets of queries that share -->" in drawn([], tmp_path / "b.svg")


def test_png_and_what_is_no_picture(tmp_path: Path) -> None:
    draw_decisions([THREE], tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG\r\n")
    with pytest.raises(ParameterError, match="is no picture"):
        draw_decisions([THREE], tmp_path / "a.txt")
    with pytest.raises(ParameterError, match="cannot write"):
        draw_decisions([THREE], tmp_path / "nowhere" / "a.svg")
