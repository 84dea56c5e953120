"""Strings that come in dictionaries, chunk by chunk, mean what the strings mean."""

from __future__ import annotations

import pyarrow as pa
import pytest

from benchmarks.streams import text_rows
from elsinore.events import EventTable, arrow_schema
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.input.columns import EventColumns
from elsinore.executors.linear.sweep import aggregate_sweep
from elsinore.executors.linear.sweep_sets import sweep_sets
from elsinore.executors.plan import RuntimePlan
from elsinore.query.load_workload import read_workload
from tests.golden_cases import stream_schema

SCHEMA = stream_schema({kind: {"zone": "string", "x": "long"} for kind in "AB"})
ZONES = ["b", None, "a", "b", "c", "a", None, "c"]


def as_strings() -> EventTable:
    events = [("AB"[n % 2], n, {"zone": zone, "x": n}) for n, zone in enumerate(ZONES)]
    return EventTable.of(SCHEMA, events)


def in_dictionaries(*, doubled: bool = False) -> EventTable:
    """In two chunks with dictionaries of their own, one of which holds what no event has."""
    table = as_strings().table
    chunks = []
    for part, values in ((slice(0, 4), ["z", "b", "a"]), (slice(4, 8), ["c", "a", "y"])):
        values = values + values[:2] if doubled else values
        codes = [None if zone is None else values.index(zone) for zone in ZONES[part]]
        chunks.append(pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), values))
    place = table.column_names.index("zone")
    return EventTable(SCHEMA, table.set_column(place, "zone", pa.chunked_array(chunks)))


@pytest.mark.parametrize("events", [as_strings(), in_dictionaries(), in_dictionaries(doubled=True)])
def test_codes_name_the_values_and_follow_their_order(events: EventTable) -> None:
    column = EventColumns(events).column("zone")
    assert column.dictionary is not None
    meaning = column.dictionary.to_pylist()
    assert meaning == sorted(set(meaning))
    assert column.known.tolist() == [zone is not None for zone in ZONES]
    pairs = zip(column.values.tolist(), column.known.tolist(), strict=True)
    assert [meaning[code] if known else None for code, known in pairs] == ZONES


def test_no_event_has_no_values() -> None:
    table = arrow_schema(SCHEMA).empty_table()
    no_chunk = pa.chunked_array([], pa.dictionary(pa.int32(), pa.string()))
    empty = table.set_column(2, "zone", no_chunk)
    for events in (table, empty):
        column = EventColumns(EventTable(SCHEMA, events)).column("zone")
        assert (column.values.size, column.known.size) == (0, 0)
        assert column.dictionary is not None
        assert not len(column.dictionary)


def test_queries_give_the_same_rows_alone_and_over_shared_columns() -> None:
    """By zone: b holds A0 B3, a holds A2 B5, c holds A4 B7, and NULL is no zone to share."""
    texts = "".join(
        f"QUERY q{n} RETURN zone, COUNT(*), SUM(b.x) PATTERN SEQ(A a, B b{plus}) WHERE [zone]"
        " GROUP-BY zone WITHIN 10;"
        for n, plus in enumerate(("", "+", "+"))
    )
    queries = read_workload(texts, SCHEMA).queries
    expected = {(f"q{n}", f'["{zone}"]', "1", str(x)) for n in range(3)
                for zone, x in (("a", 5), ("b", 3), ("c", 7))}  # fmt: skip
    for events in (as_strings(), in_dictionaries(), in_dictionaries(doubled=True)):
        columns = EventColumns.of(events)
        alone = [aggregate_query(query, columns) for query in queries]
        swept = [aggregate_sweep(each, columns) for each in sweep_sets(queries)]
        planned = list(RuntimePlan.of(queries).run(columns))  # runs q1 for q2 too
        for found, names in ((alone, "q0 q1 q2"), (planned, "q0 q1"), (swept, "q0 q1 q2")):
            rows = text_rows(part for parts in found for part in parts).to_pylist()
            values = {(r["query"], r["group"], r["counts"][0], r["counts"][-1]) for r in rows}
            assert values == {row for row in expected if row[0] in names.split()}
            assert len(rows) == len(values)
