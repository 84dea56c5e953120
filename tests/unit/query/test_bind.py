"""Binding: faults of a query with their places, and what right queries become.

Faults that people meet are in `cli/test_mistakes`.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from elsinore.errors import QueryError
from elsinore.query.bound import BoundQuery, of_query
from elsinore.query.print_query import print_bound
from elsinore.windows import Window
from tests.golden_cases import bound_query, stream_schema

SCHEMA = stream_schema(
    {
        "Request": {"driver": "string", "fee": "double"},
        "Travel": {"driver": "string", "speed": "long", "at": "timestamp", "ok": "boolean"},
        "Cancel": {"driver": "string"},
        "Bare": {},
    }
)
RIDES = stream_schema({"Travel": {"speed": "long"}}, "iso")


@pytest.mark.parametrize(
    ("query", "fault"),
    [
        ("COUNT(*) PATTERN SEQ(Travel, Travel) WITHIN 1", "Travel names 2 parts of the pattern"),
        ("COUNT(*) PATTERN (NOT Travel)+ WITHIN 1", "NOT is allowed only inside SEQ"),
        ("COUNT(*) PATTERN SEQ(Travel, (Request AND Cancel)) WITHIN 1", "AND is allowed only at"),
        ("SUM(T.speed) PATTERN Travel T AND Request WITHIN 1", "supports only COUNT(*)"),
        ("COUNT(*) PATTERN Travel WHERE [fee] WITHIN 1", "no event type of the pattern has an"),
        ("COUNT(*) PATTERN SEQ(Travel, NOT Request) WHERE [fee] WITHIN 1", "no event of a trend"),
        (
            "COUNT(*) PATTERN Travel T+ WHERE coalesce(T.driver, NEXT(T).driver) LIKE 'a' WITHIN 1",
            "(apply LIKE to a string of each event)",
        ),
        (
            "COUNT(*) PATTERN Travel T+ WHERE lower(least(T.driver, NEXT(T).driver)) > '' WITHIN 1",
            "(apply lower to a string of each event)",
        ),
        (
            "COUNT(*) PATTERN Travel WITHIN 1e300",
            "WITHIN is too long (write at most 2305843009213693951",
        ),
        ("SUM(T.at) PATTERN Travel T WITHIN 1", "cannot compute SUM of a timestamp"),
        (
            "COUNT(C) PATTERN SEQ(Travel, NOT Cancel C) WITHIN 1",
            "is under NOT, so no trend contains it",
        ),
        ("COUNT(*) PATTERN Travel WITHIN 5 minutes", "time has no unit"),
        ("COUNT(*) PATTERN Bare WHERE x > 1 WITHIN 1", "attribute x (attributes: none; "),
        ("COUNT(*) PATTERN Travel WITHIN 1.5", "in whole microseconds"),
    ],
)
def test_a_wrong_query_is_refused_with_its_reason(query: str, fault: str) -> None:
    with pytest.raises(QueryError) as caught:
        bound_query(f"RETURN {query}", SCHEMA)
    (found,) = caught.value.diagnostics
    assert fault in str(found)
    assert found.location is not None
    assert found.location.column is not None


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("T.speed > 'a'", "cannot compare a long with a"),
        ("T.ok < TRUE", "cannot order booleans"),
        ("1 = 1", "reads no attribute"),
        ("foo(T.speed)", "unknown function foo"),
        ("NEXT(T).speed > 1", "NEXT(...) is compared with nothing"),
        ("T.speed < NEXT(T).speed", "never comes right"),
        ("[T.speed] OR T.ok", "allowed only at the top level of WHERE"),
        ("T.tme > 1", "no attribute tme (did you mean"),
        ("lowr(T.driver) = 'a'", "(did you mean lower?)"),
        ("nvl(T.speed, 1) > 1", "did you mean coalesce?"),
        ("abs(T.speed, 1) > 1", "one operand, not 2"),
        ("abs() > T.speed", "one operand, not 0"),
        ("least(T.speed) > 1", "two operands or more"),
        ("abs(T.driver) > 1", "abs takes a long or a dou"),
        ("upper(T.speed) = 'A'", "upper takes a string"),
        ("least(T.speed, T.driver) > 1", "least cannot combine a long and a string"),
        ("least(T.ok, TRUE)", "cannot order booleans"),
        ("coalesce(T.speed, NULL) > 1", "coalesce does not accept NULL"),
        ("least(T.at, 'soon') > T.at", "not an ISO 8601"),
        ("extract(T.at) > 1", "extract needs FROM"),
        ("extract(hours FROM T.at) > 1", "extract has no part hours (did you mean hour?)"),
        ("extract(isodow FROM T.at) > 1", "mean weekday?"),
        (
            "extract(hour FROM T.time) > 1",
            "takes a timestamp, not a long (give the stream's time a unit, as in unit: ms)",
        ),
        ("abs(hour FROM T.speed) > 1", "does not take FROM"),
        ("T.speed LIKE '1%'", "LIKE takes a string"),
        ("T.driver LIKE '1' ESCAPE ''", "a single char"),
        ("T.driver LIKE 'a!b' ESCAPE '!'", "'!' escapes no"),
        ("T.driver LIKE 'a!' ESCAPE '!'", "'!' escapes no"),
        ("T.driver LIKE '" + "_" * 1001 + "'", "longer than 1000"),
        ("T.speed = 9223372036854775808", "not fit a long"),
    ],
)
def test_a_wrong_condition_is_refused_with_its_reason(where: str, fault: str) -> None:
    test_a_wrong_query_is_refused_with_its_reason(
        f"COUNT(*) PATTERN Travel T WHERE {where} WITHIN 1", fault
    )


@pytest.mark.parametrize(
    ("query", "faults"),
    [
        (  # nothing about the alias of an unknown type, everything about the rest
            "COUNT(*), SUM(T.sped), SUM(C.fee) PATTERN SEQ(Travl T+, Request R, Cancel C) "
            "WHERE [driver, T.x] AND T.y > 1 AND speed > 2 AND R.fe > 1 AND R.fee < NEXT(T).speed "
            "WITHIN 0",
            ["Cancel has no attribute fee", "no event type Travl", "Request has no attribute fe ",
             "WITHIN must be"],
        ),
        (
            "COUNT(*), COUNT(T) PATTERN SEQ(Travel T, Request T) WHERE T.x > 1 AND speed = fe "
            "WITHIN 1",
            ["T names 2 parts", "has an attribute fe (did you mean fee?)"],
        ),
        (
            "COUNT(*) PATTERN SEQ(Travel, Travel) WHERE speed > 1 AND [driver] WITHIN 1",
            ["Travel names 2 parts"],
        ),
        (  # whether events are adjacent is not to be told
            "COUNT(R) PATTERN SEQ(Travel T, (NOT Request R)+) WHERE T.speed < NEXT(R).fee AND "
            "T.driver > 1 OR R.x = 2 WITHIN 1 minute",
            ["NOT is allowed only inside", "cannot compare a string", "Request has no attribute x",
             "time has no unit"],
        ),
        (
            "MEDAN(T.sped), SUM(X.y) PATTERN Travel T WHERE T.a + T.b > 1 OR lowr(T.c) = 'a' "
            "WITHIN 1",
            ["unknown aggregate MEDAN", "no attribute sped", "pattern has no X", "no attribute a ",
             "no attribute b ", "unknown function lowr", "no attribute c "],
        ),
        ("COUNT(*) PATTERN Travle WHERE foo > 1 AND [bar] WITHIN 1", ["no event type Travle"]),
    ],
)  # fmt: skip
def test_all_faults_of_a_query_come_at_once_and_nothing_that_follows_from_them(
    query: str, faults: list[str]
) -> None:
    with pytest.raises(QueryError) as caught:
        bound_query(f"RETURN {query}", SCHEMA)
    found = [str(fault) for fault in caught.value.diagnostics]
    assert len(found) == len(faults), found
    assert all(part in fault for part, fault in zip(faults, found, strict=True)), found


def test_between_is_two_conditions_where_each_stands_alone() -> None:
    query = bound_query(
        "RETURN COUNT(*) PATTERN Travel T+ WHERE T.speed BETWEEN 1 AND NEXT(T).speed "
        "AND 5 BETWEEN T.speed AND 7 AND NEXT(T).speed BETWEEN 1 AND T.speed WITHIN 9",
        SCHEMA,
    )
    assert len(query.local_predicates) == 2  # 1 <= T.speed, and the one about 5 as a whole
    assert len(query.edge_predicates) == 2


@pytest.mark.parametrize(
    ("clause", "window"),
    [
        ("WITHIN 20 minutes SLIDE 1 minute", Window(1_200_000_000, 60_000_000)),
        ("WITHIN 0.5 hours", Window(1_800_000_000, 1_800_000_000)),
        ("WITHIN 4.35 seconds", Window(4_350_000, 4_350_000)),
        ("WITHIN 7 microseconds SLIDE 1 microsecond", Window(7, 1)),
    ],
)
def test_windows_of_calendar_streams(clause: str, window: Window) -> None:
    assert bound_query(f"RETURN COUNT(*) PATTERN Travel {clause}", RIDES).window == window


@pytest.mark.parametrize(
    ("unit", "hint"), [("minuts", "minute"), ("ms", "milliseconds"), ("lap", "use one of micro")]
)
def test_misspelt_units_are_suggested(unit: str, hint: str) -> None:
    with pytest.raises(QueryError, match=f"{unit} is not a unit of time.*{hint}"):
        bound_query(f"RETURN COUNT(*) PATTERN Travel WITHIN 5 {unit}", RIDES)


def test_keys_know_who_carries_them() -> None:
    query = bound_query(
        "RETURN driver, COUNT(*) PATTERN SEQ(Request R, Travel T+, Cancel C) "
        "WHERE [driver, T.ok] AND T.speed > 1 GROUP-BY driver WITHIN 9",
        SCHEMA,
    )
    keys = [(k.attribute, sorted(k.positions), k.equivalence, k.group_label) for k in query.keys]
    assert keys == [
        ("driver", [0, 1, 2], True, "driver"),
        ("ok", [1], True, None),
    ]  # fmt: skip


def test_the_fingerprint_is_of_the_meaning_not_of_the_spelling() -> None:
    first = bound_query("RETURN COUNT(*) PATTERN SEQ(SEQ(Request), (Travel+)+) WITHIN 5", SCHEMA)
    second = bound_query("return  COUNT(*)  pattern seq(Request, Travel+) within 5", SCHEMA)
    third = bound_query("RETURN COUNT(*) PATTERN SEQ(Request, Travel) WITHIN 5", SCHEMA)
    assert first.fingerprint == second.fingerprint != third.fingerprint


def test_the_fingerprint_is_of_what_is_read_of_the_schema() -> None:
    def fingerprint(**kinds: dict[str, Any]) -> str:
        text = "RETURN SUM(A.n) PATTERN SEQ(A, B) WHERE [k] WITHIN 5"
        return bound_query(text, stream_schema(kinds)).fingerprint

    own = fingerprint(A={"k": "long", "n": "long"}, B={"k": "long"})
    wider = {"k": {"type": "long", "nullable": True, "min": 3}, "x": "string"}
    assert fingerprint(A={"n": "long", **wider}, B={"n": "long", **wider}, C={"k": "long"}) == own
    others = {
        fingerprint(A={"k": "string", "n": "long"}, B={"k": "string"}),
        fingerprint(A={"k": "long", "n": "double"}, B={"k": "long"}),
        fingerprint(A={"k": "long", "n": "long"}, B={}),
        own,
    }
    assert len(others) == 4


def test_the_fingerprint_of_contiguous_queries_is_of_the_types_that_have_a_key() -> None:
    def fingerprint(**kinds: dict[str, Any]) -> str:
        text = "RETURN COUNT(*) PATTERN A+ WHERE [k] WITHIN 5 SEMANTICS contiguous"
        return bound_query(text, stream_schema({"A": {"k": "long"}, **kinds})).fingerprint

    own = fingerprint(F={"x": "long"})
    assert fingerprint(F={"x": "string", "y": "long"}, G={}) == own
    assert fingerprint(F={"x": "long", "k": "long"}) != own


def test_a_key_for_all_types_and_one_for_an_alias_have_names_of_their_own() -> None:
    schema = stream_schema({"A": {"k": "long"}, "B": {"k": "long"}})
    query = bound_query("RETURN COUNT(*) PATTERN SEQ(A a, B) GROUP-BY k, a.k WITHIN 5", schema)
    assert [key.group_label for key in query.group_keys] == ["k", "a.k"]


def test_what_was_worked_out_from_a_query_is_kept_as_long_as_that_lives() -> None:
    asked: list[str] = []

    class Found:
        pass

    @of_query
    def work(query: BoundQuery) -> Found:
        asked.append(query.name)
        if len(asked) == 1:
            raise ValueError(query.name)
        return Found()

    text = "RETURN COUNT(*) PATTERN Travel WITHIN 1"
    first, second = bound_query(text, SCHEMA), bound_query(text, SCHEMA)
    with pytest.raises(ValueError, match=first.name):
        work(first)
    assert work(first) is work(first) is not work(second)
    assert len(asked) == 3, "what is raised is not kept"
    assert first == second, "what is kept is no part of a query"
    assert of_query(lambda _: 1)(first) == 1, "functions do not see what others found"
    found = weakref.ref(work(first))
    del first
    gc.collect()
    assert found() is None


# ---- bound conditions as text: what is printed binds to the same condition
ATTRIBUTES = {"v": "long", "x": "double", "s": "string", "b": "boolean", "at": "timestamp"}
LETTERS = stream_schema({"A": ATTRIBUTES, "B": ATTRIBUTES}, "iso")


def letters_query(where: str) -> BoundQuery:
    text = f"RETURN COUNT(*) PATTERN SEQ(A, B) WHERE {where} WITHIN 5 minutes"
    return bound_query(text, LETTERS)


def printed(query: BoundQuery) -> list[str]:
    aliases = {position.index: position.alias for position in query.positions}
    conditions = [predicate.condition for predicate in query.local_predicates]
    conditions += [predicate.condition for predicate in query.edge_predicates]
    return [print_bound(condition, aliases) for condition in conditions]


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("A.v > -3", "A.v > -3"),
        ("A.v+1 <= next(B).v*2", "(A.v + 1) <= (NEXT(B).v * 2)"),
        ("A.v IN (1, 2, 3)", "A.v IN (1, 2, 3)"),
        ("A.v NOT IN (1, 2)", "A.v NOT IN (1, 2)"),
        ("A.v = 1 OR A.x > 2", "(A.v = 1) OR (A.x > 2)"),
        ("A.v = 1 OR A.x > .5", "(A.v = 1) OR (A.x > 0.5)"),
        ("NEXT(B).v BETWEEN A.v AND 9", "NEXT(B).v BETWEEN A.v AND 9"),
        ("A.s IS NOT NULL", "A.s IS NOT NULL"),
        ("(A.v % 2) IS NULL", "(A.v % 2) IS NULL"),
        ("A.s = 'it''s'", "A.s = 'it''s'"),
        ("A.b", "A.b"),
        ("A.b = TRUE", "A.b = TRUE"),
        ("NOT A.b", "NOT A.b"),
        ("-A.v < 3", "(-A.v) < 3"),
        ("abs(A.v - 1) > coalesce(A.x, 0.5)", "abs(A.v - 1) > coalesce(A.x, 0.5)"),
        ("lower(A.s) LIKE 'b!%%' ESCAPE '!'", "lower(A.s) LIKE 'b!%%' ESCAPE '!'"),
        ("A.s NOT LIKE '%x'", "A.s NOT LIKE '%x'"),
        ("extract(hour FROM A.time) = 7", "extract(hour FROM A.time) = 7"),
        ("NEXT(B).time - A.time < 90 minutes", "(NEXT(B).time - A.time) < 90 minutes"),
        ("NEXT(B).time - A.time > 0", "(NEXT(B).time - A.time) > 0 microseconds"),
        ("NEXT(B).at > A.at + 1 day", "NEXT(B).at > (A.at + 1 day)"),
        ("NEXT(B).at > A.at + A.v * 1 second", "NEXT(B).at > (A.at + (A.v * 1 second))"),
        ("(NEXT(B).time - A.time) / 1 second < A.v", "((NEXT(B).time - A.time) / 1 second) < A.v"),
        ("A.at < '2013-02-08T09:00Z'", "A.at < '2013-02-08T09:00:00.000000Z'"),
    ],
)
def test_a_condition_as_text(where: str, text: str) -> None:
    query = letters_query(where)
    assert printed(query) == [text]
    again = letters_query(text)
    assert again.local_predicates == query.local_predicates
    assert again.edge_predicates == query.edge_predicates


def test_a_bare_length_is_in_the_unit_of_the_schema() -> None:
    where = "NEXT(B).time - A.time < 1.5 AND A.at + 60 < NEXT(B).at"
    text = f"RETURN COUNT(*) PATTERN SEQ(A, B) WHERE {where} WITHIN 300"
    query = bound_query(text, stream_schema({"A": ATTRIBUTES, "B": ATTRIBUTES}, "s"))
    pairs = ["(NEXT(B).time - A.time) < 1500 milliseconds", "(A.at + 1 minute) < NEXT(B).at"]
    assert printed(query) == pairs
