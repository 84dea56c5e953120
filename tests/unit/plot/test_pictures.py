"""Pictures as files: everything that one must tell is in the SVG, and the same each time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import rc_context

from elsinore.errors import ParameterError
from elsinore.executors.plan import compile_plan
from elsinore.plot.diagram import save_templates
from elsinore.plot.draw_decisions import MOST_DOTS, SetDecisions, draw_decisions
from elsinore.plot.draw_plan import draw_plan
from elsinore.plot.draw_sharing import MOST_ROWS, save_sharing
from elsinore.sharing.explain import explain_cuts, explain_savings
from elsinore.sharing.find_plan import find_plan
from elsinore.sharing.sharable import sharable_sets
from elsinore.sharing.statistics import Statistics
from tests.golden_cases import bound_query, stream_schema
from tests.unit.sharing.support import bind, count_trends, golden, traffic

Draw = Callable[[Path], None]

SCHEMA = stream_schema({name: {"v": "long"} for name in "ABN"})
QUERY = bound_query(
    "RETURN COUNT(*) PATTERN SEQ(A+, NOT N, B) WHERE A.v < NEXT(A).v WITHIN 5", SCHEMA
)
THREE = SetDecisions(
    title="s1: B+ in 4 queries",
    times=np.array([10, 20, 30]),
    lengths=np.array([1, 10, 4]),
    sharing=np.array([0, 4, 2]),
    takers=np.array([4, 4, 4]),
    saved=np.array([0.0, 5e6, 1e6]),
    calendar=False,
)


def sharing_picture(patterns: list[list[str]]) -> Draw:
    """Draws who shares what among queries q1, q2, ..."""
    rates = Statistics.given(10, {"A": 10, "B": 2, "C": 4, "D": 1})
    workload = bind({f"q{n}": count_trends(parts) for n, parts in enumerate(patterns, 1)})
    plan = find_plan(workload, rates)
    return lambda path: save_sharing(
        plan,
        explain_cuts(plan, workload),
        explain_savings(plan, workload, rates),
        sharable_sets(workload.queries),
        path,
        runtime=compile_plan(workload, rates, static_plan=plan),
        calendar=False,
    )


NOTHING = find_plan(bind([count_trends("A")]), Statistics.given(1, {}))


PICTURES: dict[str, Draw] = {
    "templates": partial(save_templates, [QUERY]),
    "decisions": partial(draw_decisions, [THREE]),
    "plan": partial(draw_plan, find_plan(*traffic())),
    "sharing": sharing_picture([["A", "B", "C"], ["A", "B", "C", "B+"], ["D", "B+"]]),
}
TOLD = {
    "templates": ("q", "SEQ(A+, NOT N, B)", "A.v &lt; NEXT(A).v", "NOT 1", "NOT 1: N"),
    # Of 15 events of 4 queries each, 10 are shared by 4 and 4 by 2: 48 of 60.
    "decisions": (
        "s1: B+ in 4 queries", "shared by none: 1", "by some queries: 1", "by all: 1",
        "80% of the queries share an event, on average", "event time", "predicted ms",
    ),
    "plan": (
        "score 50, bound 50 (proven), guaranteed 38.5667", "pruned by the reduction",
        *(f"({', '.join(each['pattern'])})" for each in golden("traffic")["candidates"].values()),
        *(f": {each['benefit']}" for each in golden("traffic")["candidates"].values()),
    ),
    # q2 gains (A, B, C) beside B+: 10 * (16 + 2) - 2 * 2 - 10 * 2 = 156 over a cost of 160, which
    # is what q1 gains.
    "sharing": (
        *(f"\n {text} \n" for text in ("q1", "q3", "p2", "s1", "B+", "156", "all")),
        "swept together",
        *("(A, B, C) in 2 queries", "B+ in 2 queries", "s1: B+ in 2 queries", "1 q2, 2 q3"),
        *("partitioned by no key; panes of 10", "run: 2 by sweep"),
        "3 queries, 1 shared pattern saves 156 (proven optimal)",
    ),
}  # fmt: skip


def texts(draw: Draw, path: Path) -> str:
    """All that is written in a picture, as text or in comments beside the shapes of letters."""
    draw(path)
    parser = ElementTree.XMLParser(target=ElementTree.TreeBuilder(insert_comments=True))
    root = ElementTree.parse(path, parser).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return "\n".join(root.itertext())


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_svg_tells_everything_and_is_the_same_each_time(tmp_path: Path, name: str) -> None:
    found = texts(PICTURES[name], tmp_path / "a.svg")
    assert [text for text in TOLD[name] if text not in found] == []
    PICTURES[name](tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_png_is_one_and_what_cannot_be_written_is_refused(tmp_path: Path, name: str) -> None:
    draw = PICTURES[name]
    draw(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG\r\n")
    with pytest.raises(ParameterError, match="cannot write"):
        draw(tmp_path / "none" / "a.svg")
    with pytest.raises(ParameterError, match="is not a picture"):
        draw(tmp_path / "a.nothing")


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_replaces_a_link_and_does_not_follow_it(tmp_path: Path, name: str) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "a.svg").symlink_to("victim")
    PICTURES[name](tmp_path / "a.svg")
    assert (tmp_path / "victim").read_text() == "precious"
    assert not (tmp_path / "a.svg").is_symlink()


@pytest.mark.slow
@pytest.mark.parametrize("name", PICTURES)
def test_a_file_in_the_working_directory_changes_no_picture(tmp_path: Path, name: str) -> None:
    """Matplotlib reads a `matplotlibrc` there; `text.usetex` would start LaTeX."""
    PICTURES[name](tmp_path / "a.svg")
    with rc_context({"text.usetex": True, "lines.linewidth": 9.0, "font.size": 30.0}):
        PICTURES[name](tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.slow
def test_many_bursts_become_cells_and_sets_may_have_none(tmp_path: Path) -> None:
    size = MOST_DOTS + 1
    numbers = np.arange(size)
    many = SetDecisions(
        "s1", numbers * 1_000_000, 1 + numbers % 50, numbers % 3, np.full(size, 2), None, True
    )
    found = texts(partial(draw_decisions, [many, THREE]), tmp_path / "a.svg")
    for told in (f"{size:,} bursts; darker: more", "50% of queries share", "event time (UTC)"):
        assert told in found
    none = np.empty(0, np.int64)
    empty = replace(THREE, times=none, lengths=none, sharing=none, takers=none, saved=None)
    found = texts(partial(draw_decisions, [empty]), tmp_path / "b.svg")
    assert "no burst of several queries" in found
    found = texts(partial(draw_decisions, []), tmp_path / "c.svg")
    assert "No queries share" in found


@pytest.mark.slow
def test_a_plan_of_many_vertices_and_of_none(tmp_path: Path) -> None:
    # 130 disjoint pairs of types, each in two queries: no conflicts, all chosen.
    types = [f"T{n}" for n in range(260)]
    pairs = [types[n : n + 2] for n in range(0, 260, 2)]
    queries = {f"q{n}": count_trends(pair) for n, pair in enumerate(pairs * 2)}
    plan = find_plan(bind(queries, types), Statistics.given(10, dict.fromkeys(types, 1.0)))
    found = texts(partial(draw_plan, plan), tmp_path / "many.svg")
    assert "10 vertices of smaller benefit are not drawn" in found
    assert found.count(": 2 (T") == 120
    found = texts(partial(draw_plan, NOTHING), tmp_path / "none.svg")
    assert "score 0" in found
    assert "Nothing to share." in found


@pytest.mark.slow
def test_a_workload_that_shares_nothing_and_rows_that_are_not_drawn(tmp_path: Path) -> None:
    sharing_picture([["A"]])(tmp_path / "a.PNG")
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG\r\n")
    found = texts(sharing_picture([["A"]] * (MOST_ROWS + 5)), tmp_path / "b.svg")
    assert " 5 queries with smaller savings are not drawn. " in found
