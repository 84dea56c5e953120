"""Right queries to mutate: the committed workloads, the language page, the golden cases."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from elsinore.catalog.load_schema import load_schema
from elsinore.catalog.stream import StreamSchema
from elsinore.query.load_workload import read_workload
from tests.golden_cases import GOLDEN, stream_schema

ROOT = Path(__file__).parents[2]

#: What those have not, or seldom.
FUNCTIONS = """
QUERY functions
RETURN origin, COUNT(*), AVG(D.dep_delay)
PATTERN SEQ(Departure D+, NOT Cancellation C, NOT SEQ(Arrival A1, NOT Weather, Arrival A2)?, Arrival A)
WHERE [tailnum, D.origin] AND abs(D.dep_delay - NEXT(D).dep_delay) <= 1.5e1
  AND least(D.dep_delay, 5, 2.5) > -9223372036854775808 AND lower(D.carrier) NOT LIKE 'u!_%' ESCAPE '!'
  AND coalesce(D.carrier, 'it''s') IN (upper(D.origin), 'UA') AND NOT D.distance IS NULL
  AND extract(hour FROM D.time) BETWEEN 6 AND 22 AND extract(WEEKDAY FROM greatest(A.time, '2013-01-05')) < 6
  AND (NEXT(A).time - D.time) % 90 minutes <> - (- 3) * 2 / 7
GROUP BY D.origin SEMANTICS skip-till-next-match WITHIN 2.5 hours SLIDE 90 seconds;
QUERY choices
RETURN COUNT(*)
PATTERN (SEQ(Departure D, (Arrival A OR Cancellation C)*) OR Weather W?) AND Departure D2
WHERE D.dep_delay >= 0 OR TRUE = FALSE
WITHIN 86400000000 microseconds;
"""  # noqa: E501


@dataclass(frozen=True)
class Source:
    """Right statements and the stream that they are about."""

    statements: tuple[str, ...]
    schema: StreamSchema


@cache
def corpus() -> tuple[Source, ...]:
    """Every source; what binds and what the language page has refused."""
    flights = load_schema(ROOT / "schemas" / "events" / "flights.yaml")
    rides = load_schema(ROOT / "docs" / "example" / "rides.yaml")
    workload = (ROOT / "schemas" / "workloads" / "flights.sase").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "language.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```sase\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    about_rides = [block for block in blocks if "-- stream: rides" in block]
    others = [block for block in blocks if block not in about_rides]
    read_workload(FUNCTIONS, flights)  # what is mutated is right
    return (
        Source(_statements(workload), flights),
        Source((*_statements(FUNCTIONS), *others), flights),
        Source(tuple(about_rides), rides),
        *_golden(),
    )


def _statements(workload: str) -> tuple[str, ...]:
    return tuple(f"{part};\n" for part in workload.split(";")[:-1])


def _golden() -> list[Source]:
    found = []
    for path in sorted(GOLDEN.glob("*.yaml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8")):
            schema = stream_schema(case["schema"], case.get("time", "integer"))
            found.append(Source((f"QUERY q {case['query']};\n",), schema))
    return found
