"""Views of queries whose values have names or are strings, truth values and expressions."""

from __future__ import annotations

import math

import duckdb
import pyarrow as pa

from elsinore.choices import Engine
from elsinore.events import EventTable
from elsinore.executors.graph.aggregate import aggregate_query
from elsinore.executors.output.finish import finish_long
from elsinore.lake.views import view_names, view_statements
from elsinore.query.given_values import given_in_mapping
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


def test_the_view_of_a_value_of_a_list_has_a_plain_name() -> None:
    text = """
    PARAM s string; PARAM n long DEFAULT 1; PARAM g duration DEFAULT 10;
    QUERY q RETURN COUNT(*) AS n PATTERN A WHERE A.k = $s AND A.v > $n WITHIN $g;
    QUERY q__DE RETURN COUNT(*) AS n PATTERN A WITHIN 10;
    """
    given = given_in_mapping({"s": ["DE", "it's", "x', y", "1 2", "Ü"]}, str)
    workload = read_workload(text, SCHEMA, given=given)
    assert list(view_names(workload).values()) == [
        "q__DE", "q__it_s", "q__x_y", "q__1_2", "q___", "q__DE_",
    ]  # fmt: skip
    several = read_workload(text, SCHEMA, given=given_in_mapping({"n": [10], "s": ["DE"]}, str))
    assert next(iter(view_names(several))) == "q[s=DE,n=10]"
    assert next(iter(view_names(several).values())) == "q__DE__10"
    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE results (query VARCHAR, query_fingerprint VARCHAR, group_key VARCHAR, "
        "window_start BIGINT, window_end BIGINT, aggregate VARCHAR, value DOUBLE, exact VARCHAR)"
    )
    for query in workload.queries:
        row = [query.name, query.fingerprint, "{}", 0, 10, "n", 3.0, "3"]
        connection.execute("INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)
    for statement in view_statements(workload, Engine.DUCKDB, []):
        connection.execute(statement)
    for view in view_names(workload).values():
        assert connection.execute(f'SELECT n FROM "{view}"').fetchall() == [(3,)]
