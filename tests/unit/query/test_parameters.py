"""Parameters and lists of values: reading, types, names, and values that look like queries."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from elsinore.errors import ParameterError, QueryError
from elsinore.query.bound import Workload
from elsinore.query.given_values import Given, given_in_options, given_in_python
from elsinore.query.load_workload import read_workload
from elsinore.query.parse import parse_workload
from tests.golden_cases import stream_schema

SCHEMA = stream_schema(
    {"A": {"v": "long", "d": "double", "s": "string", "b": "boolean", "t": "timestamp"}}, time="iso"
)
TEXT = """
PARAM n long DEFAULT 2; PARAM d double DEFAULT 1; PARAM s string DEFAULT 'x';
PARAM b boolean DEFAULT TRUE; PARAM t timestamp DEFAULT '2013-01-01'; PARAM g duration;
QUERY q RETURN COUNT(*) PATTERN A
WHERE A.v > $n AND A.d > $d AND A.s = $s AND A.b = $b AND A.t > $t WITHIN $g;
"""
GAP = ("g=1 hour",)


def read(*options: str, text: str = TEXT, given: tuple[Given, ...] = ()) -> Workload:
    return read_workload(text, SCHEMA, "w.sase", given or given_in_options(options))


def names(*options: str, text: str = TEXT) -> list[str]:
    return [query.name for query in read(*options, text=text).queries]


def errors(*options: str, text: str = TEXT) -> list[str]:
    with pytest.raises(QueryError) as caught:
        read(*options, text=text)
    return [str(one) for one in caught.value.diagnostics]


@pytest.mark.parametrize(
    ("option", "printed"),
    [
        ("n=-3", "A.v > (-3)"),
        ("n=-9223372036854775808", "A.v > (-9223372036854775808)"),
        ("d=3", "A.d > 3.0"),
        ("d=-2.5e3", "A.d > (-2500.0)"),
        ("d=.5", "A.d > 0.5"),
        ("s=DE", "A.s = 'DE'"),
        ("s='it''s, it'", "A.s = 'it''s, it'"),
        ("s=''", "A.s = ''"),
        ("s=10", "A.s = '10'"),
        ("s=$n", "A.s = '$n'"),
        ("b=FALSE", "A.b = FALSE"),
        ("t=2014-02-03T04:05", "A.t > '2014-02-03T04:05'"),
        ("g=90 MINUTES", "WITHIN 90 minutes"),
        ("g=1.5 hours", "WITHIN 1.5 hours"),
    ],
)
def test_a_value_is_a_constant_of_its_type(option: str, printed: str) -> None:
    options = (option,) if option.startswith("g") else (option, *GAP)
    [query] = read(*options).queries
    assert query.name == "q"
    assert printed in query.text
    [parsed] = parse_workload(query.text)
    assert parsed.where == query.source.where


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        ({"n": np.int64(7)}, "A.v > 7"),
        ({"d": 7}, "A.d > 7.0"),
        ({"d": np.float32(0.5)}, "A.d > 0.5"),
        ({"b": False}, "A.b = FALSE"),
        ({"t": datetime(2014, 1, 2, tzinfo=UTC)}, "A.t > '2014-01-02T00:00:00+00:00'"),
        ({"g": timedelta(minutes=2)}, "WITHIN 120000000 microseconds"),
        ({"s": "a,b"}, "A.s = 'a,b'"),
    ],
)
def test_python_has_values_of_its_own(value: dict[str, Any], printed: str) -> None:
    [query] = read(given=given_in_python({"g": "1 hour"} | value)).queries
    assert printed in query.text


#: Strings that would change the query if they were text of the language.
HOSTILE = (
    "x' OR TRUE OR A.s = 'y", "'; QUERY z RETURN COUNT(*) PATTERN A WITHIN 1 hour; --", "--", ";",
    "$n", "'", "''", "\\'", "a\nb", "\x00", "x" * 10_000, "]", "q[1]", "a=1,b=2", "\u202e", "NULL",
)  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_a_value_is_never_text_of_the_language(text: str) -> None:
    [plain] = read(*GAP).queries
    [query] = read(given=given_in_python({"g": "1 hour", "s": text})).queries
    assert query.name == "q"
    assert query.text == plain.text.replace("'x'", f"'{text.replace(chr(39), 2 * chr(39))}'")
    quoted = text.replace("'", "''")
    [same] = read(f"s='{quoted}'", *GAP).queries
    assert same.fingerprint == query.fingerprint


def test_names_of_hostile_values_are_distinct_and_printable() -> None:
    texts = [text for text in HOSTILE if len(text) < 100]
    queries = read(given=given_in_python({"g": "1 hour", "s": texts})).queries
    assert len({query.name for query in queries}) == len(texts)
    assert len({query.fingerprint for query in queries}) == len(texts)
    assert all(re.fullmatch(r"q\[.+\]", query.name) for query in queries)
    assert all(query.name.isprintable() for query in queries)


def test_lists_give_a_query_per_combination() -> None:
    assert names("n=1,2,30", *GAP) == ["q[1]", "q[2]", "q[30]"]
    assert names("d=1,2.5,1e300", *GAP) == ["q[1]", "q[2.5]", "q[1e+300]"]
    assert names("g=30 minutes, 1 hour") == ["q[30 minutes]", "q[1 hour]"]
    assert names("s='x, y',DE, 'a]'", *GAP) == ["q['x, y']", "q[DE]", "q['a]']"]
    assert names("b=true,false", "n=1,2", *GAP) == [
        "q[n=1,b=true]", "q[n=1,b=false]", "q[n=2,b=true]", "q[n=2,b=false]",
    ]  # fmt: skip


def test_a_query_without_the_parameter_is_answered_once() -> None:
    text = "PARAM n long; QUERY a RETURN COUNT(*) PATTERN A WHERE A.v > $n WITHIN 1 hour;"
    text += "QUERY b RETURN COUNT(*) PATTERN A WITHIN 1 hour;"
    assert names("n=1,2", text=text) == ["a[1]", "a[2]", "b"]
    [given] = given_in_python({"n": [1]})
    assert [query.name for query in read(text=text, given=(given,)).queries] == ["a[1]", "b"]


def test_the_workload_lists_its_parameters() -> None:
    workload = read("n=1,2", *GAP, text="PARAM u long DEFAULT 1;" + TEXT)
    assert {one.name: one.values for one in workload.parameters} == {
        "u": ("1",), "n": ("1", "2"), "d": ("1",), "s": ("x",), "b": ("true",),
        "t": ("2013-01-01",), "g": ("1 hour",),
    }  # fmt: skip
    assert [str(one) for one in workload.warnings] == [
        "w.sase:1:7: no query uses the parameter u (write $u in a query, or remove it)"
    ]
    assert [one.text for one in workload.queries[1].source.chosen] == [
        "2", "1", "x", "true", "2013-01-01", "1 hour",
    ]  # fmt: skip
    assert workload.queries[1].source.listed == ("2",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "w.sase:3:77: parameter g has no value (add --set g='30 minutes', or a default: "
             "PARAM g duration DEFAULT 30 minutes;)"),
        (("m=1", *GAP), "--set 'm=1': the workload has no parameter m (there is n, d, s, b, t or "
                        "g)"),
        (("n=abc", *GAP), "w.sase:2:7: n is a long, not 'abc' (as in --set n=10)"),
        (("n=1.0", *GAP), "w.sase:2:7: n is a long, not '1.0' (as in --set n=10)"),
        (("n=1_000", *GAP), "w.sase:2:7: n is a long, not '1_000' (as in --set n=10)"),
        (("n=9223372036854775808", *GAP), "w.sase:2:7: n is a long, not '9223372036854775808' (as "
                                          "in --set n=10)"),
        (("n=1,1", *GAP), "w.sase:2:7: n has the value 1 twice (remove one of them)"),
        (("d=nan", *GAP), "w.sase:2:31: d is a double, not 'nan' (as in --set d=0.5)"),
        (("d=1e999", *GAP), "w.sase:2:31: d is a double, not '1e999' (as in --set d=0.5)"),
        (("b=1", *GAP), "w.sase:3:7: b is a boolean, not '1' (as in --set b=true)"),
        (("t=soon", *GAP), "w.sase:3:37: t is a timestamp, not 'soon' (as in --set "
                           "t='2013-01-31T10:00:00Z')"),
        (("g=1 fortnight",), "w.sase:3:77: g is a duration, not '1 fortnight' (as in --set "
                             "g='30 minutes')"),
        (("g=-1 hour",), "w.sase:5:75: WITHIN must be positive, in whole microseconds (as in "
                         "WITHIN 10 minutes)"),
    ],
)  # fmt: skip
def test_an_error_has_a_position_and_a_fix(options: tuple[str, ...], said: str) -> None:
    assert errors(*options) == [said]


def test_errors_of_a_list_are_reported_once() -> None:
    text = "PARAM n long; QUERY q RETURN COUNT(*) PATTERN A WHERE A.s = $n WITHIN 1 hour;"
    assert len(errors("n=1,2,3", text=text)) == 1
    twice = f"{text} QUERY Q RETURN COUNT(*) PATTERN A WHERE A.v = $n WITHIN 1 hour;"
    twice = twice.replace("A.s", "A.v")
    assert len(errors("n=1,2", text=twice)) == 2
    assert (
        len(errors(f"n={','.join(map(str, range(20_001)))}", text=text.replace("A.s", "A.v"))) == 1
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["n"], "--set 'n' has no value (as in --set name=10)"),
        (["=1"], "--set '=1' has no value (as in --set name=10)"),
        (["n="], "--set 'n=' has an empty value (add a value, or write '' for an empty string)"),
        (["n=1,"], "--set 'n=1,' has an empty value (add a value, or write '' for an empty "
                   "string)"),
        (["n=1", "n=2"], "n is set twice (write all values in one option, as in --set n=1,2)"),
        (["s='a"], "--set \"s='a\" has an invalid quote (put a value with a comma or quote in "
                   "single quotes, and double its quotes)"),
        (["s=\udc80"], "--set 's=\\udc80' has half of a character (a surrogate) (write it in "
                       "UTF-8)"),
    ],
)  # fmt: skip
def test_an_option_that_is_not_a_value(options: list[str], said: str) -> None:
    with pytest.raises(ParameterError) as caught:
        given_in_options(options)
    assert str(caught.value) == said


@pytest.mark.parametrize("params", [5, {"n": None}, {"n": []}, {"n": {}}, {3: 1}, {"n": [[1]]}])
def test_a_dict_that_has_no_values(params: Any) -> None:
    with pytest.raises(ParameterError):
        given_in_python(params)


def test_python_values_of_other_types_are_refused() -> None:
    for params in ({"n": "7"}, {"n": True}, {"n": 7.0}, {"b": 1}, {"d": float("inf")}):
        with pytest.raises(QueryError):
            read(given=given_in_python({"g": "1 hour"} | params))
