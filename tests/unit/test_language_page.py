"""Every query on the language page binds, or is refused, as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from elsinore.catalog.load_schema import load_schema
from elsinore.errors import QueryError
from elsinore.query.bind_query import bind_workload
from elsinore.query.bound import BoundQuery
from elsinore.query.parse import parse_workload
from elsinore.template.support import greta_refusals

ROOT = Path(__file__).parents[2]
SCHEMAS = {
    "flights": load_schema(ROOT / "schemas" / "events" / "flights.yaml"),
    "rides": load_schema(ROOT / "docs" / "example" / "rides.yaml"),
}
PAGE = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sase\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def note(block: str, name: str) -> str | None:
    """What a comment `-- name: ...` of a block says."""
    found = re.search(rf"^-- {name}: (.+)$", block, re.MULTILINE)
    return found[1] if found else None


def bind(block: str) -> BoundQuery:
    schema = SCHEMAS[note(block, "stream") or "flights"]
    return bind_workload(parse_workload(block), schema).queries[0]


REFUSED = [block for block in BLOCKS if note(block, "refused")]
BOUND = [block for block in BLOCKS if not note(block, "refused")]


def test_the_page_has_both_kinds() -> None:
    assert len(BOUND) >= 7
    assert len(REFUSED) >= 2


@pytest.mark.parametrize("block", BOUND)
def test_query_binds_and_runs_where_the_page_says(block: str) -> None:
    reason = note(block, "greta")
    assert greta_refusals(bind(block)) == ((reason,) if reason else ())


@pytest.mark.parametrize("block", REFUSED)
def test_query_is_refused_with_the_reason_on_the_page(block: str) -> None:
    with pytest.raises(QueryError, match=re.escape(note(block, "refused") or "")):
        bind(block)
