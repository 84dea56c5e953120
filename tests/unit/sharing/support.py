"""Workloads for the tests of `elsinore.sharing`, and the one loader of their goldens."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from elsinore.catalog.stream import StreamSchema
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.sharing.graph import SharonGraph
from elsinore.sharing.statistics import Statistics
from elsinore.timeline import TimeUnit
from tests.golden_cases import stream_schema

_GOLDEN = Path(__file__).parents[2] / "golden"


def golden(name: str) -> Any:
    """The content of `tests/golden/sharon_<name>.yaml`."""
    return yaml.safe_load((_GOLDEN / f"sharon_{name}.yaml").read_text())


def stream(types: Sequence[str], unit: TimeUnit = TimeUnit.INTEGER) -> StreamSchema:
    """A stream whose types have attributes x, k and m; A and D have g besides."""
    names = {name: "xkmg" if name in ("A", "D") else "xkm" for name in types}
    return stream_schema({name: dict.fromkeys(own, "long") for name, own in names.items()}, unit)


def bind(queries: Sequence[str] | dict[str, str], types: Sequence[str] = "ABCD") -> Workload:
    """A workload of query bodies (`RETURN ...` without `;`), called q1, q2, ... unless named."""
    named = queries if isinstance(queries, dict) else {f"q{i}": q for i, q in enumerate(queries, 1)}
    text = "\n".join(f"QUERY {name} {body};" for name, body in named.items())
    return read_workload(text, stream(types), "test.sase")


def count_trends(parts: Sequence[str], rest: str = "WITHIN 10") -> str:
    """`RETURN COUNT(*)` over a sequence of types; a part `A+` is a Kleene plus."""
    aliased = [
        f"{part.removesuffix('+')} at{number}{'+' * part.endswith('+')}"
        for number, part in enumerate(parts)
    ]
    whole = aliased[0] if len(aliased) == 1 else f"SEQ({', '.join(aliased)})"
    return f"RETURN COUNT(*) PATTERN {whole} {rest}"


#: Patterns over few types, so that sub-patterns meet, repeat and overlap.
patterns = st.lists(st.sampled_from(["A", "B", "C", "A", "B", "C", "B+"]), min_size=1, max_size=6)
pattern_sets = st.lists(patterns, min_size=2, max_size=6)


def traffic() -> tuple[Workload, Statistics]:
    """Queries q1 to q7 of the paper, and rates that give its benefits."""
    rates = golden("traffic_rates")
    named = {name: count_trends(pattern) for name, pattern in rates["patterns"].items()}
    return bind(named, sorted(rates["rates"])), Statistics.given(10, rates["rates"])


def graph_of(weights: Mapping[str, float], edges: Collection[tuple[str, str]]) -> SharonGraph:
    """The graph with these vertices and edges."""
    places = {vertex: [edge for edge in edges if vertex in edge] for vertex in weights}
    return SharonGraph.meeting(weights, places)


def neighbours(graph: SharonGraph, vertex: str) -> frozenset[str]:
    """The vertices that a vertex is in conflict with."""
    return frozenset(graph.vertices[n] for n in graph.near(graph.number[vertex]).tolist())
