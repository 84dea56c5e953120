"""Mutates workload texts by tokens and by characters; the same for a seed on every machine.

Valid queries to mutate: the committed workloads, the language reference, the golden cases.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
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
  AND (NEXT(A).time - D.time) % 90 minutes <> - (- 3) * 2 seconds / 7
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
    """Return every source: queries that bind, and queries that the reference shows as rejected."""
    flights = load_schema(ROOT / "schemas" / "events" / "flights.yaml")
    rides = load_schema(ROOT / "docs" / "example" / "rides.yaml")
    workload = (ROOT / "schemas" / "workloads" / "flights.sase").read_text(encoding="utf-8")
    pages = sorted((ROOT / "docs" / "reference" / "language").glob("*.md"))
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    blocks = re.findall(r"^```sase\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
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
    """Split a workload at the semicolons that are not in comments."""
    return tuple(f"{part};\n" for part in re.findall(r"((?:--[^\n]*|-(?!-)|[^;-])*);", workload))


def _golden() -> list[Source]:
    found = []
    for path in sorted(GOLDEN.glob("*.yaml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8")):
            schema = stream_schema(case["schema"], case.get("time", "integer"))
            found.append(Source((f"QUERY q {case['query']};\n",), schema))
    return found


# ---- mutations
_TOKEN = re.compile(
    r"'(?:[^']|'')*'|--[^\n]*|[A-Za-z_][A-Za-z0-9_]*|\d+(?:\.\d+)?|\s+|.", re.DOTALL
)

_WORDS = (
    "QUERY RETURN PATTERN WHERE GROUP-BY GROUP BY WITHIN SLIDE SEMANTICS SEQ NOT AND OR IN IS NULL "
    "BETWEEN LIKE ESCAPE NEXT TRUE FALSE FROM extract hour weekday abs least greatest coalesce "
    "lower upper COUNT SUM AVG MIN MAX skip-till-any-match skip-till-next-match contiguous minutes "
    "microsecond day days time A B D Departure Arrival Travel x ( ) [ ] , . ; + - * / % ? = == != "
    "<> < <= > >= -- ' '' 'a' '%_!' '2013-01-01' 0 1 -1 1.5 .5 5. 1e3 1e-3 1e308 1e309 1e-400 "
    "9223372036854775807 9223372036854775808 -9223372036854775808 99999999999999999999999999 "
    "4611686018427387904 0.1 PATERN WITHN SEMANTIC NXT"
)
WORDS = _WORDS.split()
ODD = (
    "\u212a", "\u017f", "\u0130", "\u0131", "é", "日本", "\U0001f600", "\u0000", "\u00a0", "\u2028",
    "\ufeff", "\r", "\r\n", "\t", "\x0b", "\x1b[31m", "\ud800", "\udfff", "\u202e", "٣", "²", "\\",
    '"',
)  # fmt: skip

Edit = Callable[[random.Random, list[str]], None]


def mutated(seed: int) -> tuple[str, StreamSchema]:
    """The text of a seed, and the stream that it is about."""
    rng = random.Random(seed)
    sources = corpus()
    source = rng.choice(sources[:3]) if rng.random() < 0.6 else rng.choice(sources)
    tokens = _drawn(rng, source)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5, 8))):
        if tokens:
            rng.choice(_EDITS)(rng, tokens)
            tokens = [token for token in tokens if token]
    return "".join(tokens), source.schema


def _drawn(rng: random.Random, source: Source) -> list[str]:
    count = rng.choice((1, 1, 2, 3))
    text = "".join(rng.choice(source.statements) for _ in range(count))
    return _TOKEN.findall(text)


def _place(rng: random.Random, tokens: list[str]) -> int:
    """Mostly a token that is not space."""
    place = rng.randrange(len(tokens))
    return place if tokens[place].strip() else min(place + 1, len(tokens) - 1)


def _span(rng: random.Random, tokens: list[str]) -> tuple[int, int]:
    start = _place(rng, tokens)
    return start, min(len(tokens), start + rng.choice((1, 1, 2, 3, 5, 9, 20)))


def _delete(rng: random.Random, tokens: list[str]) -> None:
    start, stop = _span(rng, tokens)
    del tokens[start:stop]


def _duplicate(rng: random.Random, tokens: list[str]) -> None:
    start, stop = _span(rng, tokens)
    tokens[start:start] = [*tokens[start:stop], " "]


def _swap(rng: random.Random, tokens: list[str]) -> None:
    one, other = _place(rng, tokens), _place(rng, tokens)
    tokens[one], tokens[other] = tokens[other], tokens[one]


def _move(rng: random.Random, tokens: list[str]) -> None:
    start, stop = _span(rng, tokens)
    moved = tokens[start:stop]
    del tokens[start:stop]
    place = rng.randint(0, len(tokens))
    tokens[place:place] = [" ", *moved, " "]


def _insert(rng: random.Random, tokens: list[str]) -> None:
    place = _place(rng, tokens)
    tokens[place:place] = [" ", rng.choice(WORDS), " "]


def _replace(rng: random.Random, tokens: list[str]) -> None:
    tokens[_place(rng, tokens)] = rng.choice(WORDS) if rng.random() < 0.7 else rng.choice(tokens)


def _splice(rng: random.Random, tokens: list[str]) -> None:
    """The head of one text and the tail of another."""
    other = _drawn(rng, rng.choice(corpus()))
    tokens[rng.randrange(len(tokens)) :] = other[rng.randrange(len(other)) :]


def _character(rng: random.Random, tokens: list[str]) -> None:
    """A slip of the finger inside a token."""
    place = _place(rng, tokens)
    token = tokens[place]
    at = rng.randrange(len(token))
    tokens[place] = rng.choice(
        (token[:at] + token[at + 1 :], token[:at] + token[at] + token[at:], token.swapcase(),
         token[:at] + token[at + 1 : at + 2] + token[at] + token[at + 2 :],
         token[:at] + rng.choice("aeionrst0_'-;.() \n") + token[at:])
    )  # fmt: skip


def _unicode(rng: random.Random, tokens: list[str]) -> None:
    place = _place(rng, tokens)
    at = rng.randint(0, len(tokens[place]))
    tokens[place] = tokens[place][:at] + rng.choice(ODD) + tokens[place][at:]


def _nest(rng: random.Random, tokens: list[str]) -> None:
    """Brackets, operators or functions around a stretch, many times."""
    start, stop = _span(rng, tokens)
    depth = rng.choice((1, 2, 30, 95, 99, 100, 101, 300))
    before, after = rng.choice(
        (("(", ")"), ("NOT ", ""), ("SEQ(", ")"), ("-(", ")"), ("abs(", ")"), ("", "+"), ("", "?"),
         ("NOT (", ")"), ("(", ") = TRUE"), ("(", ") IS NOT NULL"), ("(", ") BETWEEN 1 AND 2"),
         ("coalesce(", ", 1)"), ("(", " OR A)"), ("lower(", ")"), ("1 + (", ")"),
         ("(", ") NOT IN (1)"))
    )  # fmt: skip
    tokens[stop:stop] = [after] * depth
    tokens[start:start] = [before] * depth


def _repeat(rng: random.Random, tokens: list[str]) -> None:
    start, stop = _span(rng, tokens)
    times = rng.choice((2, 5, 40, 120))
    tokens[start:stop] = tokens[start:stop] * times


def _number(rng: random.Random, tokens: list[str]) -> None:
    numbers = [place for place, token in enumerate(tokens) if token[0].isdigit()]
    digits = rng.choice((1, 10, 19, 20, 38, 39, 40, 41, 400, 5_000))
    huge = "9" * digits + rng.choice(("", "", ".0", ".5", "e5", "e-5", "e400", f".{'3' * digits}"))
    place = rng.choice(numbers) if numbers else _place(rng, tokens)
    tokens[place] = huge


_EDITS: tuple[Edit, ...] = (
    _delete, _delete, _duplicate, _swap, _swap, _move, _insert, _insert, _replace, _replace,
    _splice, _character, _character, _unicode, _nest, _repeat, _number,
)  # fmt: skip
