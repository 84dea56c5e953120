"""The benchmarks' harness, and what they check their answers with; nothing here is timed."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks import hamlet_authors, increasing, many_queries, overlap, streams
from benchmarks import run as runner
from benchmarks.claim import Benchmark, Measured
from benchmarks.registry import BENCHMARKS
from benchmarks.report import as_page, draw_results
from benchmarks.results import KEPT, load, run_benchmark, save
from elsinore.cli import bench
from elsinore.cli.main import run_command
from elsinore.errors import SetupError


def speed(figure: float) -> Benchmark:
    rows: tuple[dict[str, float | str], ...] = ({"case": "one", "ms": 12.345, "events": 1_000_000},)
    return Benchmark(
        "speed", "it is fast", "one query", "x", 8.0, True, lambda: Measured(figure, "all", rows)
    )


def wrong() -> Measured:
    raise AssertionError("2 trends instead of 3")


@pytest.mark.parametrize(
    ("figure", "verdict"),
    [(4.0, "missed by 50 %"), (8.0, "met"), (24.0, "met (200 % above target)")],
)
def test_a_figure_is_held_against_its_target(figure: float, verdict: str) -> None:
    assert run_benchmark(speed(figure)).verdict == verdict


def test_a_target_that_is_a_maximum_is_met_below_it() -> None:
    lower = [replace(speed(figure), at_least=False) for figure in (6.0, 8.01, 10.0)]
    verdicts = [run_benchmark(one).verdict for one in lower]
    assert verdicts == ["met (25 % below target)", "missed by 1 %", "missed by 25 %"]


def test_a_wrong_answer_has_no_figure() -> None:
    found = run_benchmark(replace(speed(9.0), measure=wrong))
    assert (found.figure, found.headroom, found.verdict) == (None, None, "wrong result")
    assert "2 trends instead of 3" in found.checked


def test_a_wrong_answer_fails_the_command_and_a_missed_target_does_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broken = replace(speed(1.0), name="broken", measure=wrong)
    monkeypatch.setattr(runner, "BENCHMARKS", (speed(1.0), broken))
    assert run_command(["bench", "speed", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["figure"], found["verdict"]) == (1.0, "missed by 88 %")
    assert run_command(["bench", "--json"]) == 1
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["verdict"] for line in lines] == ["missed by 88 %", "wrong result"]
    assert run_command(["bench", "speed"]) == 0
    assert "speed: 1 x, at least 8: missed by 88 %" in capsys.readouterr().out


def test_list_names_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["bench", "--list"]) == 0
    named = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert named == [benchmark.name for benchmark in BENCHMARKS]
    assert len(set(named)) == len(named)


def test_an_unknown_name_and_a_package_without_checkout(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["bench", "sped"]) == 2
    assert "no benchmark sped" in capsys.readouterr().err
    assert run_command(["bench", "--list", "sped"]) == 2
    assert run_command(["bench", "--list", "auto"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["auto"]
    with pytest.raises(SetupError, match="in a checkout"):
        bench._runner(tmp_path)


def test_results_are_kept_by_name(tmp_path: Path) -> None:
    path = tmp_path / "benchmarks.json"
    other = replace(run_benchmark(speed(2.0)), name="other")
    save([run_benchmark(speed(1.0)), other], path)
    again = run_benchmark(speed(3.0))
    save([again], path)
    assert load(path) == {"speed": again, "other": other}


def test_page_and_picture_tell_every_figure(tmp_path: Path) -> None:
    met, short = run_benchmark(speed(16.0)), replace(run_benchmark(speed(4.0)), name="slow")
    page = as_page([speed(0), replace(speed(0), name="new")], {"speed": met})
    assert (
        "| [speed](#speed) | it is fast | at least 8 x | 16 x | met (100 % above target) |" in page
    )
    assert "| new | it is fast | | | not run |" in page
    assert "| one | 12.3 | 1,000,000 |" in page
    draw_results([met, short], tmp_path / "a.svg")
    text = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    for written in ("1 of 2 targets met", "16, at least 8 x", "4, at least 8 x", "speed", "slow"):
        assert f"<!-- {written} -->" in text


def test_the_page_about_the_method_shows_what_a_list_prints(
    capsys: pytest.CaptureFixture[str],
) -> None:
    page = (KEPT.parent / "method.md").read_text(encoding="utf-8")
    assert run_command(["bench", "--list", "start-up"]) == 0
    assert f"    {capsys.readouterr().out.strip()}\n" in page


def test_the_page_has_the_present_wording_of_a_claim() -> None:
    reworded = replace(speed(16.0), claim="It is very fast", unit="y")
    page = as_page([reworded], {"speed": run_benchmark(speed(16.0))})
    assert "| It is very fast | at least 8 y | 16 y |" in page
    assert "it is fast" not in page


def test_the_page_is_written_from_what_is_kept() -> None:
    page = (KEPT.parent / "results.md").read_text(encoding="utf-8")
    assert page == as_page(BENCHMARKS, load())


# ------------------------------------------------------- what answers are compared with
def count(size: int, holds: Callable[[tuple[int, ...]], bool]) -> int:
    """How many sets of places are trends."""
    every = (c for n in range(1, size + 1) for c in combinations(range(size), n))
    return sum(holds(places) for places in every)


def test_increasing_subsequences() -> None:
    for values in ([3, 1, 2, 2], [5], [1, 2, 3, 4], [4, 7, 0, 2, 8, 6, 1, 5, 3]):

        def rises(places: tuple[int, ...], of: list[int] = values) -> bool:
            return all(of[a] < of[b] for a, b in pairwise(places))

        assert increasing.increasing_subsequences(values) == count(len(values), rises)


def test_streams_of_increasing_values_have_their_shape() -> None:
    narrow = increasing.narrow(3 * increasing.BLOCK).reshape(3, -1)
    assert narrow[0].min() > narrow[1].max() > narrow[1].min() > narrow[2].max()
    assert np.unique(narrow).size == narrow.size


def test_trends_of_a_kleene_pattern() -> None:
    kinds = [1, 2, 0, 3, 0, 2, 0, 3, 1]

    def is_trend(places: tuple[int, ...]) -> bool:
        found = [kinds[place] for place in places]
        return len(found) > 3 and found == [1, 2, *[0] * (len(found) - 3), 3]

    assert hamlet_authors.trends([1, 2, 0, 3], kinds) == count(len(kinds), is_trend)


def test_the_authors_setting_is_as_described() -> None:
    kinds = hamlet_authors.make_kinds()
    lengths = np.diff(np.flatnonzero(np.diff(kinds, prepend=-1, append=-1)))
    assert set(lengths[:-1].tolist()) == {5, 6, 7}  # the last burst is cut off
    assert 6_000 < (kinds == 0).sum() < 7_200
    patterns = hamlet_authors.make_patterns()
    assert {types[2] for types in patterns} == {0}
    assert {len(types) for types in patterns} == set(range(3, 11))
    assert all(len(set(types)) == len(types) for types in patterns)


def test_trends_of_a_b_by_owner() -> None:
    owner = np.array([0, 1, 0, 0, 1, 0, 1])
    is_b = np.array([False, True, False, True, False, True, False])
    # of owner 0: A A B B, so 3 + 3; of owner 1 the only B comes before its A
    assert streams.trends_of_a_b(owner, is_b, np.arange(7)) == {0: 6}


def test_a_false_count_is_seen() -> None:
    """A row too few, and a count by one too large."""
    starts = np.array([[1], [2]])
    events, within = many_queries._events(starts, alternating=False)
    assert (len(events), within) == (102, 51)
    stream = many_queries.STREAM
    queries = [f"PATTERN SEQ(S{n}, B+) WITHIN {within}" for n in range(2)]
    rows = streams.auto(streams.workload_of(stream, queries), events)()
    many_queries._check(rows, starts, within, lambda _: 2**50 - 1)
    with pytest.raises(AssertionError):
        many_queries._check(rows, starts, within, lambda _: 2**50)
    with pytest.raises(AssertionError):
        many_queries._check(rows.slice(1), starts, within, lambda _: 2**50 - 1)


def test_windows_that_overlap_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A, B, A, A, B in windows of 4 that slide by 2.

    From -2: A B is 1. From 0: the first A begins 1 trend. From 2: two A before one B are 2. From 4
    there is a B alone.
    """
    monkeypatch.setattr(overlap, "WITHIN", 4)
    monkeypatch.setattr(overlap, "EVENTS", 5)
    kinds = np.array([0, 1, 0, 0, 1])
    text = "PATTERN SEQ(A, B+) WITHIN 4 SLIDE 2"
    workload = streams.workload_of(overlap.STREAM, [text])
    rows = streams.auto(workload, streams.events_of(overlap.STREAM, kinds))()
    found = {window: trends for (_, _, window), trends in streams.counts_of(rows).items()}
    assert found == {-2: 1, 0: 1, 2: 2}
    overlap.check(rows, kinds, 2)
    with pytest.raises(AssertionError):
        overlap.check(rows.slice(1), kinds, 2)


def test_one_b_in_each_stretch() -> None:
    kinds = streams.one_b_in(10, 1_000)
    assert kinds.size == 1_000
    assert (kinds.reshape(-1, 10).sum(axis=1) == 1).all()
