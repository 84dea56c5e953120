"""Views of queries whose values have names or are strings, truth values and expressions."""

from __future__ import annotations

import math

import duckdb
import pyarrow as pa

from elsinore.choices import Engine
from elsinore.events import EventTable
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.output.finish import finish_long
from elsinore.lake.views import view_statements
from elsinore.query.load_workload import read_workload
from tests.golden_cases import stream_schema

SCHEMA = stream_schema({"A": {"v": "long", "k": "string"}})
QUERY = r"""
QUERY q
RETURN COUNT(*) AS n, SUM(A.v) AS Total, n / 2, upper(k) AS name, k = 'it''s \' AS is_it,
    MAX(A.v) AS top, COUNT(*) + 1, k LIKE 'it''s%'
PATTERN A
GROUP-BY k
HAVING n > 1
WITHIN 10;
"""


def test_a_view_has_a_column_per_named_value() -> None:
    workload = read_workload(QUERY, SCHEMA)
    rows = [("A", time, {"v": 10**18, "k": k}) for time, k in enumerate(["it's \\"] * 20 + ["x"])]
    partial = aggregate_query(workload.queries[0], EventTable.of(SCHEMA, rows))
    long = finish_long(workload, partial)
    prints = pa.repeat(workload.queries[0].fingerprint, long.num_rows)
    connection = duckdb.connect()
    connection.register("results", long.append_column("query_fingerprint", prints))
    for statement in view_statements(workload, Engine.DUCKDB, []):
        connection.execute(statement)
    selected = 'SELECT * EXCLUDE (k, window_start, window_end) FROM "q"'
    cursor = connection.execute(selected)
    names = [column[0] for column in cursor.description or []]
    found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    assert found == 2 * [
        {
            "n": 10, "Total": 10**19, "n_2": 5.0, "name": "IT'S \\", "is_it": True, "top": 10**18,
            "count_1": 11, "count_1_digits": "11", "count_1_log2": math.log2(11),
            "k_like_it_s": True,
        }
    ]  # fmt: skip


def test_spark_reads_quotes_and_backslashes_of_names() -> None:
    [statement] = view_statements(read_workload(QUERY, SCHEMA), Engine.SPARK, [])
    assert r"r.aggregate = 'k LIKE \'it\'\'s%\''" in statement
