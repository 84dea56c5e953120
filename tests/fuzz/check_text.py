"""What must hold of any text that is given as a workload."""

from __future__ import annotations

from collections import Counter

from elsinore.catalog.stream import StreamSchema
from elsinore.errors import Diagnostic, QueryError
from elsinore.query.bound import Workload
from elsinore.query.load_workload import read_workload
from elsinore.query.parse import parse_statements, parse_workload
from elsinore.query.print_query import print_query


def check_text(text: str, schema: StreamSchema) -> Counter[str]:
    """Parses, prints and binds a text; what came of it, as counts.

    Raises:
        AssertionError: a query that is printed does not read as the same, or a fault says not where
            it is or cannot be printed on one line.
        Exception: whatever the library raises other than a `QueryError`; a crash.
    """
    counts: Counter[str] = Counter(workloads=1)
    queries = parse_statements(text).queries
    for query in queries:
        printed = print_query(query)
        assert parse_workload(printed) == (query,), f"printed otherwise: {printed!r}"
    counts["queries that parse"] += len(queries)
    try:
        bound = read_workload(text, schema)
    except QueryError as error:
        faults = error.diagnostics
    else:
        zones = parse_statements(text).zones
        _check_bound(bound, zones[0].name if zones else None)
        counts["workloads bound"] += 1
        return counts
    assert faults
    for fault in faults:
        _check_fault(fault, text)
    counts["workloads refused"] += 1
    counts["faults"] += len(faults)
    counts["faults with a hint"] += sum(fault.hint is not None for fault in faults)
    return counts


def _check_fault(fault: Diagnostic, text: str) -> None:
    at = fault.location
    assert at is not None, f"nowhere: {fault}"
    assert at.line is not None, f"no line: {fault}"
    assert at.column is not None, f"no column: {fault}"
    lines = text.split("\n")
    assert 1 <= at.line <= len(lines), f"no such line: {fault}"
    assert 1 <= at.column <= len(lines[at.line - 1]) + 1, f"no such column: {fault}"
    assert str(fault).isprintable(), f"not printable: {str(fault)!r}"
    assert len(str(fault)) < 1_000, f"too long: {fault}"


def _check_bound(bound: Workload, zone: str | None) -> None:
    """The canonical texts, which fingerprints stand for, bind to the same in the default zone."""
    texts = "".join(query.text for query in bound.queries)
    again = read_workload(f"SET ZONE '{zone}'; {texts}" if zone else texts, bound.schema)
    for first, second in zip(bound.queries, again.queries, strict=True):
        assert first.text == second.text
        assert first.fingerprint == second.fingerprint
        assert first.local_predicates == second.local_predicates
        assert first.edge_predicates == second.edge_predicates
        assert first.keys == second.keys
        assert first.aggregates == second.aggregates
