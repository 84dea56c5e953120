"""Canonical texts and fingerprints of queries, which must never change.

The views of a lake select results by fingerprint. If the text of a query changed, the results that
were published before would disappear from its view.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from elsinore.catalog.load_schema import load_schema
from elsinore.query.load_workload import load_workload, read_workload
from tests.property.random_cases import CALENDAR, SCHEMA

ROOT = Path(__file__).parents[3]
PINS = json.loads((Path(__file__).parents[2] / "golden/query_texts.json").read_bytes())
SCHEMAS = {"calendar": CALENDAR, "integer": SCHEMA}


@pytest.mark.parametrize("workload", PINS["workloads"])
def test_shipped_workloads_keep_their_fingerprints(workload: str) -> None:
    pinned = PINS["workloads"][workload]
    schema = load_schema(ROOT / pinned["schema"])
    queries = load_workload(ROOT / workload, schema).queries
    found = {query.name: {"text": query.text, "fingerprint": query.fingerprint}
             for query in queries}  # fmt: skip
    assert found == pinned["queries"]


@pytest.mark.parametrize("schema", PINS["earlier"])
def test_queries_of_earlier_workloads_keep_their_texts_and_fingerprints(schema: str) -> None:
    stream = load_schema(ROOT / schema)
    for text, fingerprint in PINS["earlier"][schema].items():
        [query] = read_workload(text, stream).queries
        assert (query.text, query.fingerprint) == (text, fingerprint)


@pytest.mark.parametrize("kind", SCHEMAS)
def test_random_queries_keep_their_texts_and_fingerprints(kind: str) -> None:
    """Queries that the random generators drew before RETURN took expressions."""
    for text, fingerprint in PINS["random"][kind].items():
        [query] = read_workload(text, SCHEMAS[kind]).queries
        assert (query.text, query.fingerprint) == (text, fingerprint)
