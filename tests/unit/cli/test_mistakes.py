"""What people get wrong, and the words that tell them how to put it right.

Each mistake is met as a user meets it, through the command line. A message says what to write, in
the language's own words: no stack, no microseconds, no words of the libraries below.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elsinore.cli.main import run_command

SCHEMA = """\
stream: shop
time: {field: ts, unit: iso}
type: {field: event}
id: {field: event_id}
types:
  View: {user: string, sku: string, price: double, country: string, seen: timestamp, new: boolean}
  AddToCart: {user: string, sku: string, qty: long, country: string}
  Checkout: {user: string, price: double, country: string}
"""
SEQ = "SEQ(View V, AddToCart A, Checkout C)"
EVENT: dict[str, Any] = {
    "ts": "2025-03-03T08:30:00Z", "event": "View", "event_id": "1", "user": "u", "sku": "s",
    "price": 1.5, "country": "DE", "seen": "2025-03-03T08:30:00Z", "new": True,
}  # fmt: skip
#: Words of Python and of libraries that nobody should have to know.
_FOREIGN = re.compile(
    r"Traceback|File \"|Error:|\b[A-Z]\w+Error\b|Input should|Extra inputs|Field required|"
    r"valid dictionary|instance of|should match|validation error|Value error|NoneType|_\w+Field|"
    r"\bpydantic|\blark|\bNAME\b|\bLPAR|\b1\d{15}\b"
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("s.yaml").write_text(SCHEMA)
    Path("w.sase").write_text("QUERY q RETURN COUNT(*) PATTERN View WITHIN 1 hour;")


#: What a command that fails says.
Message = Callable[[list[str]], str]


@pytest.fixture
def message(capsys: pytest.CaptureFixture[str]) -> Message:
    def said(arguments: list[str]) -> str:
        """All of it is fit to be read."""
        assert run_command(arguments) in (1, 2)
        out, error = capsys.readouterr()
        assert out == ""
        found = _FOREIGN.search(error)
        assert found is None, f"{found}: {error}"
        assert error.startswith("elsinore: ")
        return error

    return said


def of(query: str) -> str:
    return f"QUERY q {query};"


def returning(text: str) -> str:
    return of(f"RETURN {text} PATTERN {SEQ} WITHIN 1 hour")


def matching(text: str) -> str:
    return of(f"RETURN COUNT(*) PATTERN {text} WITHIN 1 hour")


def where(text: str) -> str:
    return matching(f"{SEQ} WHERE {text}")


def within(text: str) -> str:
    return of(f"RETURN COUNT(*) PATTERN {SEQ} WITHIN {text}")


def clause(text: str) -> str:
    return matching(f"{SEQ} {text}")


# ---- queries
QUERIES: list[tuple[str, str]] = [
    # names
    (matching("SEQ(Veiw V, Checkout C)"), "no event type Veiw (did you mean View?)"),
    (matching("VIEW"), "did you mean View?"),
    (matching("Login"), "no event type Login (it has View, AddToCart, Checkout)"),
    (where("V.prise > 5"), "View has no attribute prise (did you mean price?)"),
    (where("[usr]"), "did you mean user?"),
    (where("V.qty > 5"), "write A.qty"),
    (where("X.price > 5"), "the pattern has no X (it has A, AddToCart, C, Checkout, V, View)"),
    (where("V.ts > '2025-01-01'"), "write V.time"),
    (where("ts > '2025-01-01'"), "write V.time"),
    (where("time > '2025-01-01'"), "write V.time"),
    (returning("MAX(V.ts)"), "write V.time"),
    (where("V.event_id = 'x'"), "to read the id, list it in the schema"),
    (where("V.event = 'View'"), "name event types in PATTERN"),
    (where("country = 'DE'"), "write one of them, or [country] for one value in the whole trend"),
    (where("price > 5"), "could be any of V.price, C.price (write one of them"),
    (where("V.country = DE"), "write strings in single quotes"),
    (where("NEXT(A).time - V.time < 20"), "a length of time needs a unit (as in 20 seconds)"),
    (where("(NEXT(A).time - V.time) / 60 < 5"), "needs a unit (as in 5 seconds)"),
    (where("V.time + 60 < NEXT(A).time"), "needs a unit (as in 60 seconds)"),
    (where("V.price > 5 minutes"), "a double is not a length of time (multiply it by its unit, as"),
    (where("V.time < NEXT(A).time - A.qty"), "a long is not a length of time"),
    (where("V.view.price > 5"), "one alias and one attribute"),
    (where("V[1].price > 5"), "NEXT(V).price for the event after it"),
    (clause("GROUP-BY usr"), "did you mean user?"),
    (clause("GROUP-BY V.usr"), "did you mean user?"),
    (clause("GROUP-BY V.time"), "use WITHIN and SLIDE to group by time"),
    (clause("GROUP-BY 1"), "an expression of GROUP-BY reads no attribute of any event"),
    (matching("SEQ(View, View)"), "as in View view1"),
    (matching("SEQ(View V, Checkout V)"), "give each its own alias"),
    (clause("GROUP-BY extract(hours FROM V.time)"), "did you mean hour?"),
    # RETURN
    (returning("COUNT(DISTINCT V)"), "write COUNT(EACH V)"),
    (returning("DISTINCT V.user"), "DISTINCT is not supported"),
    (returning("COUNT(*) AS window_end"), "window_end is a column of every row"),
    (returning("COUNT(*) AS n, SUM(V.price) AS n"), "two values are called n (rename one of them)"),
    (returning("n + 1 AS m, COUNT(*) AS n"), "n is defined later (move it before m)"),
    (returning("SUM(COUNT(*))"), "an aggregate in an aggregate (remove one of them)"),
    (returning("SUM(V.price * C.price)"), "an aggregate reads one alias: V, C (aggregate each, or"),
    (returning("STDDEV(*)"), "STDDEV needs an attribute (as in STDDEV(A.price))"),
    (returning("STDDEV(V.user)"), "cannot compute STDDEV of a string (numeric attributes: price)"),
    (returning("VARIANCE(V)"), "VARIANCE(V) is not an aggregate (write VARIANCE(V.price))"),
    (returning("STDDEV(DISTINCT V.price)"), "write STDDEV(EACH V.price)"),
    (returning("STDDEV(V.price, 2)"), "STDDEV takes one value"),
    (returning("VARIANCE(STDDEV(V.price))"), "an aggregate in an aggregate (remove one of them)"),
    (where("STDDEV(V.price) > 1"), "write HAVING STDDEV(V.price) > 1"),
    (returning("MEDIAN(V.price)"), "write MEDIAN(EACH V.price)"),
    (returning("MODE(V.price)"), "use one of COUNT, SUM, AVG, MIN, MAX"),
    (returning("COUNTS(*)"), "did you mean COUNT?"),
    (returning("SUM(price)"), "write SUM(V.price) or SUM(C.price)"),
    (returning("AVG(user)"), "cannot compute AVG of a string (numeric attributes"),
    (returning("SUM(V)"), "write SUM(V.price)"),
    (returning("SUM(*)"), "as in SUM(A.price)"),
    (returning("COUNT()"), "write COUNT(*) to count the trends"),
    (returning("COUNT(1)"), "write COUNT(*) to count the trends"),
    (returning("*"), "write COUNT(*) to count the trends"),
    (returning("user"), "user is not in GROUP-BY (add GROUP-BY user)"),
    (returning("V.price"), "V.price is not in GROUP-BY (add GROUP-BY V.price)"),
    (returning("AVG(V.country)"), "numeric attributes: price"),
    (returning("SUM(V.price * A.qty)"), "aggregate each, or compare neighbors in WHERE"),
    (returning("PERCENTILE(V.price, 95)"), "write PERCENTILE(EACH V.price, 0.95)"),
    (returning("COUNT(*), COUNT(*)"), "is returned twice"),
    (returning("COUNT(*) FILTER (WHERE V.price > 5)"), "FILTER is not supported (write conditions"),
    (returning("ROUND(AVG(V.price), 2.5)"), "as in round(V.price, 2)"),
    (of("RETURN PATTERN View WITHIN 1 hour"), "something is missing before it"),
    (of("RETURN COUNT(*), PATTERN View WITHIN 1 hour"), "something is missing before it"),
    # PATTERN
    (matching("SEQ(View V Checkout C)"), "add the missing ')' or ','"),
    (matching("NOT View"), "write SEQ(NOT N, P)"),
    (matching("SEQ(View V, AND NOT Checkout C)"), "write SEQ(A, NOT B, C)"),
    (matching("SEQ(View, !Checkout)"), "write NOT"),
    (matching("SEQ(NOT Checkout C)"), "add a part that must occur"),
    (matching("View V{3,2}"), "write View V{2,3}"),
    (matching("View{3}, Checkout"), "write SEQ(A, B)"),
    (matching("View -> Checkout"), "write SEQ(A, B)"),
    (matching("View, Checkout"), "write SEQ(A, B)"),
    (matching("View followed by Checkout"), "write SEQ(A, B)"),
    (matching("SEQ[View V, Checkout C]"), "write SEQ(A, B)"),
    (matching("seq View, Checkout"), "write SEQ(A, B)"),
    (matching("SQE(View, Checkout)"), "write SEQ(View, Checkout)"),
    (matching("SQE(View+, Checkout)"), "did you mean SEQ?"),
    (matching("SEQ()"), "expected an event type"),
    (matching("View | Checkout"), "write OR"),
    (matching("View & Checkout"), "write AND"),
    (matching("ANY(View+, Checkout)"), "ANY takes event types, as in ANY(A, B) x"),
    (matching("(View"), "add the missing ')' or ','"),
    (matching("SEQ(View,\nCheckout"), "w.sase:1:36: found '(' without its ')' before 'WITHIN'"),
    (matching("View V WHERE [user\n"), "found '[' without its ']' before 'WITHIN' (add the mis"),
    (matching("View V WHERE (V.price > 5 AND (V.price < 9)\n"), "found '(' without its ')'"),
    (matching("View)"), "no '(' matches it"),
    (matching("SEQ(View V; Checkout C)"), "add the missing ')' or ','"),
    (matching("View V[price > 5]"), "write conditions in WHERE"),
    (matching("View AS V"), "as in View V"),
    (matching("View V AND Checkout C AND AddToCart A"), "as in P AND Q"),
    (matching("SEQ(View+ V, Checkout C)"), "write the alias before the sign, as in View V+"),
    (matching("SEQ(View+ Checkout)"), "or add the missing ','"),
    (matching("(View V, Checkout C)+"), "write SEQ(A, B), or remove the '('"),
    (matching("SEQ(View V, (AddToCart A, Checkout C)"), "or remove the '('"),
    (matching("SEQ(View V, *, Checkout C)"), "leave it out: other events may occur in between"),
    (matching("SEQ(View V, Checkout C WITHIN 5 minutes)"), "write it once, after PATTERN"),
    (matching("SEQ(View V, Checkout C WHERE V.price > 5)"), "write it once, after PATTERN"),
    (matching("EVERY View V"), "EVERY is not supported (leave it out: every match counts)"),
    # WHERE
    (where("V.country = 5"), "write it in quotes: '5'"),
    (where("V.country IN ('DE', 5)"), "write it in quotes: '5'"),
    (where("V.price > '5'"), "write it without quotes: 5"),
    (where("V.new = 1"), "write TRUE or FALSE"),
    (where("V.seen > 5"), "as in '2013-01-31T10:00:00Z'"),
    (where("V.time > '03.03.2025'"), "as in '2013-01-31T10:00:00Z'"),
    (where('V.country = "DE"'), "write strings in single quotes"),
    (where("V.country != 'DE"), "end the string with a single quote"),
    (where("V.price = NULL"), "write IS NULL"),
    (where("V.price"), "compare it with something, as in V.price > 5"),
    (where("C.price > V.price"), "or with the NEXT(...) event"),
    (where("V.user = A.user"), "write [user] for one value in the whole trend"),
    (where("[V.user = A.user]"), "[user] requires one value in a whole trend"),
    (where("V.price > NEXT(V).price"), "compare events that are adjacent in the pattern"),
    (where("PREV(A).qty < 3"), "NEXT(V).x is the x of the event after V"),
    (where("V.price > 5 && V.new"), "write AND"),
    (where("V.price > 5 || V.new"), "write OR"),
    (where("V.price > 5, V.new"), "join conditions with AND"),
    (where("V.new WHERE V.price > 5"), "a second WHERE clause (join conditions with AND"),
    (where("V.price => 5"), "write >= or <="),
    (where("V.country IN 'DE'"), "write IN ('DE', 'FR')"),
    (where("V.country ~ 'D'"), "write LIKE 'D%'"),
    (where("V.sku ILIKE 'a'"), "lower(...) LIKE"),
    (where("V.price BETWEEN 1, 5"), "write BETWEEN 1 AND 5"),
    (where("V.price ^ 2 > 5"), "use +, -, *, / or %"),
    (where("V.price > 1,000"), "numbers are plain"),
    (where("V.price > $1000"), "numbers are plain"),
    (where("V.price > 9223372036854775808.0 AND A.qty > 99999999999999999999"), "double"),
    (where("V.price > AVG(V.price)"), "compare aggregates in HAVING, as in HAVING COUNT(*) > 3"),
    (where("COUNT(*) > 3"), "aggregates are not allowed in WHERE (write HAVING COUNT(*) > 3)"),
    (where("V.time > now()"), "use one of abs, ceil, coalesce"),
    (where("V.price > (SELECT 1)"), "use a constant in place of the subquery"),
    (where("EXISTS V"), "name events that must occur in PATTERN"),
    (where("CASE WHEN V.price THEN 1 END"), "expected a condition, found a double"),
    (where("V.price > 5 AND"), "found WITHIN; something is missing before it"),
    (where("(V.price > 5"), "found '(' without its ')'"),
    (where("CAST(V.price AS long) > 5"), "CAST is not supported (leave it out"),
    (where("V.price::long > 5"), ":: is not supported (leave it out"),
    (where("V.country = 'DE' OR 'FR'"), "write V.country = 'DE', or V.country IN ('DE', 'FR')"),
    (where("5 < V.price < 20"), "write 5 < V.price AND V.price < 20"),
    (where("V.new IS TRUE"), "write V.new, or NOT V.new"),
    (where("V.new IS NOT FALSE"), "write V.new, or NOT V.new"),
    (where("V.price < NEXT(V.price)"), "write NEXT(V).price for the next event"),
    (where("V.price < NEXT(V, 2).price"), "write NEXT(V).price for the next event"),
    (where("V.price > LAG(V.price)"), "unknown function lag (NEXT(V).price is the price of the ev"),
    (where("V.country = ‘DE’"), "write strings in single quotes, as in 'DE'"),
    # WITHIN
    (of(f"RETURN COUNT(*) PATTERN {SEQ}"), "as in WITHIN 10 minutes"),
    (within("1 hr"), "did you mean hours?"),
    (within("1h"), "did you mean hours?"),
    (within("30 min"), "did you mean minutes?"),
    (within("1 mont"), "did you mean month?"),
    (within("1 day IN Europe/Berlin"), "write the name of a zone in quotes, as in IN 'Europe/Berl"),
    (within("30"), "as in 10 minutes"),
    (within("one hour"), "as in 10 minutes"),
    (within("'1 hour'"), "write it without quotes"),
    (within("1 hour 30 minutes"), "as in 90 minutes"),
    (within("01:00:00"), "as in 90 minutes"),
    (within("INTERVAL 1 hour"), "write WITHIN 1 hour SLIDE 10 minutes"),
    (within("1 hour EVERY 5 minutes"), "write WITHIN 1 hour SLIDE 10 minutes"),
    (within("10 minutes SLIDING 5 minutes"), "did you mean SLIDE?"),
    (within("1 hour SLIDE -5 minutes"), "must be positive"),
    (within("1 hour SLIDE 0 minutes"), "must be positive"),
    (within("1 hour SLIDE 2 hours"), "events in the gaps are lost"),
    (within("1000000 days"), "write at most 365000 days"),
    # clauses of other languages, and whole statements
    (clause("HAVING V.price > 3"), "HAVING filters rows, V.price is an attribute of events"),
    (clause("GROUP-BY user HAVING COUNT(*)"), "expected a condition, found a long"),
    (clause("ORDER BY country"), "--top N"),
    (clause("LIMIT 10"), "--top N"),
    (clause("PARTITION BY user"), "write WHERE [user] to separate users"),
    (clause("FROM clicks"), "name the files in `elsinore run --input`"),
    (clause("JOIN x"), "all types are one stream"),
    (clause("WINDOW 1 hour"), "write WITHIN 1 hour SLIDE"),
    (clause("GROUP user"), "did you mean GROUP-BY?"),
    (clause("SKIP TILL NEXT MATCH"), "write SEMANTICS skip-till-next-match"),
    (clause("AFTER MATCH SKIP PAST LAST ROW"), "write SEMANTICS skip-till-next-match"),
    (clause("DEFINE V AS V.price > 5"), "DEFINE is not supported (write conditions in WHERE)"),
    (clause("SEMANTICS strict"), "contiguous, skip-till-any-match or skip-till-next-match"),
    ("SELECT COUNT(*) FROM clicks;", "SELECT is not supported (write QUERY name RETURN"),
    ("hello", "begin the query with QUERY name RETURN"),
    ("PATTERN View WITHIN 1 hour", "begin the query with QUERY name RETURN"),
    ("", "as in QUERY name RETURN"),
    ("QUERY q PATTERN View RETURN COUNT(*)", "write RETURN after the name, then PATTERN"),
    ("QUERY RETURN COUNT(*) PATTERN View", "something is missing before it"),
    ("QUERY my-query RETURN COUNT(*) PATTERN View", "letters, digits and _"),
    ("QUERY 1st RETURN COUNT(*) PATTERN View", "letters, digits and _"),
    ("QUERY 'q' RETURN COUNT(*) PATTERN View", "write it without quotes"),
    ("# shop\n" + returning("COUNT(*)"), "comments begin with --"),
    (returning("COUNT(*)") + returning("COUNT(*)"), "more than one query is called q"),
    (returning("COUNT(*)") + returning("COUNT(*)").replace(" q ", " Q "), "uppercase and lowercas"),
    (returning("COUNT(*)")[:-1] + " " + returning("COUNT(*)"), "end the query before it with ';'"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words"), QUERIES, ids=[text[:90] for text, _ in QUERIES])
def test_a_wrong_query(text: str, words: str, message: Message) -> None:
    Path("w.sase").write_text(text)
    said = message(["check", "w.sase", "--schema", "s.yaml"])
    assert words in said
    assert all(len(line) < 260 for line in said.splitlines())
    lines = said.splitlines()
    places = re.findall(r"w\.sase:(\d+):(\d+): ", said)
    pointed = [number for number, line in enumerate(lines) if re.fullmatch(r" +\^", line)]
    assert len(pointed) == (len(places) if text else 0)
    for number, (line, column) in zip(pointed, places, strict=False):
        source = text.splitlines()[int(line) - 1]
        shown, at = lines[number - 1][2:], lines[number].index("^") - 2
        assert source[int(column) - 1 :].startswith(shown[at:]) or shown[at:] in ("", ";")
        assert source[: int(column) - 1].endswith(shown[:at])


# ---- schemas
_TIME = "time: {field: ts, unit: iso}"


def attribute(text: str) -> str:
    return f"stream: s\n{_TIME}\ntype: {{field: event}}\ntypes:\n  View:\n    price: {text}\n"


def timed(text: str) -> str:
    return attribute("double").replace(_TIME, text)


def typed(text: str) -> str:
    return attribute("double").replace("  View:\n    price: double\n", text)


SCHEMAS: list[tuple[str, str, str]] = [
    (attribute("int"), "6:", "'int' is not one of string, long, double"),
    (attribute("integer"), "6:", "did you mean long?"),
    (attribute("float"), "6:", "did you mean double?"),
    (attribute("number"), "6:", "did you mean double?"),
    (attribute("decimal"), "6:", "did you mean double?"),
    (attribute("str"), "6:", "did you mean string?"),
    (attribute("text"), "6:", "did you mean string?"),
    (attribute("bool"), "6:", "did you mean boolean?"),
    (attribute("datetime"), "6:", "did you mean timestamp?"),
    (attribute("strng"), "6:", "did you mean string?"),
    (attribute("{type: long, nulable: true}"), "6:", "unknown setting nulable (did you mean nulla"),
    (attribute("{type: long, minimum: 1}"), "6:", "unknown setting minimum (did you mean min?)"),
    (attribute("{nullable: true}"), "6:", "it is missing"),
    (attribute("{type: long, nullable: 'yes'}"), "6:", "is not true or false"),
    (attribute("{type: long, min: 5, max: 1}"), "6:", "min 5 is above max 1"),
    (attribute("{type: string, min: a}"), "6:", "do not apply to a string"),
    (attribute("{type: long, allowed: []}"), "6:", "must not be empty"),
    (attribute("5"), "6:", "as in price: {type: double}"),
    (timed("time: ts"), "2:", "as in time: {field: ts, unit: iso}"),
    (timed("time: [ts]"), "2:", "as in time: {field: ts, unit: iso}"),
    (timed("time: {field: ts}"), "2:", "iso, s, ms, us, or integer"),
    (timed("time: {field: ts, unit: seconds}"), "2:", "did you mean s?"),
    (timed("time: {field: ts, unit: millis}"), "2:", "did you mean ms?"),
    (timed("time: {field: ts, unit: epoch}"), "2:", "did you mean s?"),
    (timed("time: {field: ts, unit: ns}"), "2:", "'ns' is not one of iso, s, ms, us, integer (div"),
    (timed("time: {name: ts, unit: iso}"), "2:", "name the field of raw events"),
    (timed("timestamp: {field: ts, unit: iso}"), "2:", "did you mean time?"),
    (timed("time: {field: ts, unit: iso, allowed_lateness: 2}"), "2:", "write it as 365 days"),
    (timed(""), "1:", "as in time: {field: ts, unit: iso}"),
    (attribute("long").replace("{field: event}", "event"), "3:", "as in type: {field: event}"),
    (attribute("double") + "id: event_id\n", "7:", "as in id: {field: event_id}"),
    (typed("  View: {user-id: string}\n"), "5:", "'user-id' is not a valid name (use only letters"),
    (typed("  View: {'@version': string}\n"), "5:", "user_id: {type: string, field: user-id}"),
    (typed("  page view: {}\n"), "5:", "type: {field: event, names: {PageView: page view}}"),
    (typed("  View: {}\nunknown_types: drop\n"), "6:", "is not valid here (write error or skip"),
    (typed("  View: {}\nquoted_numbers: 1\n"), "6:", "is not true or false"),
    (attribute("{type: long, field: ''}"), "6:", "must not be empty"),
    (typed("  V: {}\n").replace("event}", "event, names: {W: w}}"), "1:", "type.names has W, but"),
    (typed("  V: {}\n  W: {}\n").replace("event}", "event, names: {V: W}}"), "1:", "two types"),
    (typed("  View: [user, price]\n"), "5:", "as in types: {View: {price: double}}"),
    (typed("  - View\n"), "4:", "as in types: {View: {price: double}}"),
    (typed("  View: string\n"), "5:", "as in types: {View: {price: double}}"),
    (typed("  {}\n"), "4:", "must not be empty"),
    (typed("  View: {x: long}\n  Buy: {x: double}\n"), "6:9", "it x_2: {type: double, field: x}"),
    (typed("  View: {file: string}\n"), "5:10", "call it file_2: {type: string, field: file}"),
    (typed("  View: {x: long, X: long}\n"), "5:19", "call it X_2: {type: long, field: X}"),
    (typed("  View: {}\n  View: {}\n"), "6:", "key 'View' occurs twice"),
    (typed("\tView: {}\n"), "5:", "found a tab (indent YAML with spaces)"),
    (timed(_TIME[:-1] + ", timezone: Europe/Berlin}"), "2:", "timestamps without an offset are in"),
    (timed("time: {field: ts, unit: iso, format: '%d'}"), "2:", "unit: sets the format, ISO 8601"),
    (attribute("[double, 'null']"), "6:", "as in price: {type: double, nullable: true}"),
    (attribute("object"), "6:", "list its fields, as in city: {type: string, field: address"),
    (attribute("{type: string, allowed: [NO, SE]}"), "6:", "is not a string (quote NO, off"),
    (attribute("{type: string, allowed: EUR}"), "6:", "is not a list (as in allowed: [EUR, USD])"),
    (attribute("{type: string, allowed: [1, 2]}"), "6:", "1 is not a string (write it in quotes:"),
    (attribute("{type: double, min: '0'}"), "6:", "is not a double (write it without quotes: 0)"),
    (attribute("double") + "id: {field: [user, ts]}\n", "7:", "name one field; join several field"),
    (attribute("double") + "sources: '*.csv'\n", "7:", 'as in sources: [{files: "*.csv"}]'),
    (attribute("double") + "---\nstream: s\n", "7:", "found another document (write one document"),
    (attribute("long").replace("types:", "fields:"), "4:", "(as in types: {View: {price: do"),
    (attribute("long").replace("event}", "event, names: [V]}"), "3:", "{PageView: page view}"),
    (typed("  View:\n  price: double\n"), "6:", "indent attributes by two spaces below their type"),
    (typed("  View:\n    price:double\n"), "5:", "write a space after the colon, as in price: dou"),
    (typed("  View: &v {x: long}\n  Buy: *v\n"), "6:", "not allowed (repeat the value)"),
    (attribute("{type: double, min: 0"), "6:12", "a bracket that opens here is not closed"),
    (typed("  V: {}\n  W: {}\n").replace("type: {field: event}\n", ""), "3:", "(add type: {"),
    ("# K\udcf6ln\n" + attribute("double"), "1:", "is not UTF-8 (save the file as UTF-8)"),
    ("stream: my shop\n" + attribute("double")[10:], "1:", "'my shop' is not a valid name"),
    ("", "", "the file is empty; a schema must be a mapping (begin it with stream:)"),
    ("hello", "", "a schema must be a mapping (begin it with stream:)"),
    ("QUERY q RETURN COUNT(*)", "", "the file contains queries; swap it with a schema"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "place", "words"), SCHEMAS, ids=[words for *_, words in SCHEMAS])
def test_a_wrong_schema(text: str, place: str, words: str, message: Message) -> None:
    Path("s.yaml").write_text(text, errors="surrogateescape")
    said = message(["check", "w.sase", "--schema", "s.yaml"])
    assert words in said
    assert f"s.yaml:{place}" in said
    assert bool(re.search(r"^ +\^$", said, re.MULTILINE)) == bool(place)


# ---- data
RUN = ["run", "w.sase", "--schema", "s.yaml", "--input"]


def line(**changed: Any) -> str:
    return json.dumps({k: v for k, v in {**EVENT, **changed}.items() if v is not None})


def csv(**changed: str) -> str:
    row = {k: str(v).lower() if v is True else str(v) for k, v in EVENT.items()} | changed
    return ",".join(row) + "\n" + ",".join(f'"{v}"' for v in row.values()) + "\n"


line_of_gzip = line().encode()
DATA: list[tuple[str, str | bytes, str]] = [
    ("e.csv", "time,event,event_id\n1,2,3\n", "columns (the columns are time, event, event_id)"),
    ("e.csv", "ts , event\n1,2\n", "must name its columns (the columns are 'ts ', ' event')"),
    ("e.csv", "2025-03-03T08:30:00Z,View,1\n", "the first line of a CSV file must name its column"),
    ("e.csv", csv().replace(",", ";"), "separated by ';'; the first line"),
    ("e.csv", csv().replace(",", "\t"), "must name its columns (separate columns with commas)"),
    ("e.csv", csv(price="1,5"), "e.csv:2: wrong_type: price: '1,5' is not a double; write"),
    ("e.csv", csv(price="5 €"), "'5 €' is not a double; write only the number, with a point, as"),
    ("e.csv", csv(price="1.234,50"), "'1.234,50' is not a double; write only the number"),
    ("e.csv", csv(price="NULL"), "'NULL' is not a double; leave the cell empty"),
    ("e.csv", csv(new="yes"), "new: 'yes' is not a boolean; write true or false"),
    ("e.csv", csv(price=""), "allow it with nullable: true in the schema"),
    ("e.csv", csv(ts="03.03.2025 08:30"), "date is not year-month-day; write 2024-01-01T10:00:00Z"),
    ("e.csv", csv(ts="2025-03-03 08:30 Europe/Berlin"), "as in 2024-01-01T10:00:00+01:00"),
    ("e.csv", csv(ts="1740996000000"), "if it is in ms, set unit: ms"),
    ("e.csv", csv().encode("utf-16"), "is UTF-16 text (convert it: iconv -f utf-16 -t utf-8)"),
    ("e.csv", csv(country="Köln").encode("latin-1"), "as in iconv -f latin1 -t utf-8"),
    ("e.csv", csv() + "1,2\n", "2 fields, but the header has 9"),
    ("e.csv.gz", csv(), "e.csv.gz is text, not compressed with gzip (rename it to end in .csv or"),
    ("e.csv.gz", gzip.compress(csv().encode())[:-9], "is damaged"),
    ("e.csv.zst", gzip.compress(b""), "e.csv.zst is compressed with gzip (rename it to end in .gz"),
    ("e.csv", gzip.compress(csv().encode()), "e.csv is compressed with gzip (rename it to end in"),
    ("e.jsonl", gzip.compress(line_of_gzip), "e.jsonl is compressed with gzip (rename it to end i"),
    ("e.csv", b"PK\x03\x04\x14\0", "e.csv is a zip archive or an Excel file (unpack it, or s"),
    ("e.xlsx", b"PK\x03\x04\x14\0", "e.xlsx is a zip archive or an Excel file (unpack it, or"),
    ("e.csv", b"PAR1\x15", "e.csv is a Parquet file (rename it to end in .parquet)"),
    ("e.parquet", csv(), "e.parquet is text, not a Parquet file (rename it to end in .csv"),
    ("e.parquet", b"PAR1\x15\4\x15" * 9, "e.parquet is truncated: its end is missing (export"),
    ("e.parquet", b"\1\2\3" * 9, "is not a valid Parquet file"),
    ("e.csv", "sep=,\n" + csv(), "e.csv:1: the line sep= is not supported"),
    ("e.jsonl", line(seen=1740996000), "write a timestamp, as in 2025-03-03T08:30:00"),
    ("e.jsonl", line(user={"id": 1}), "user: an object is not a string; read a field inside of it"),
    ("e.jsonl", line(new=1), "new: 1 is not a boolean; write true or false"),
    ("e.jsonl", line(ts="1740996000"), "if it is in s, set unit: s"),
    ("e.jsonl", line(ts=1740996000000), "if it is in ms, set unit: ms"),
    ("e.jsonl", line(ts=None), "ts is missing"),
    ("e.jsonl", line(event="Login"), "AddToCart, Checkout; unknown_types: skip ignores it"),
    ("e.jsonl", line(event=None), "event is missing"),
    ("e.jsonl", line(event_id=None), "event_id is missing"),
    ("e.jsonl", line(price="5"), "remove the quotes, or set quoted_numbers: true in the schema"),
    ("e.jsonl", line(price=None), "price is missing; allow it with nullable: true in the schema"),
    ("e.jsonl", line(price="5 €"), "'5 €' is not a double; write only the number"),
    ("e.jsonl", line(event="AddToCart", qty=5.5), "number; declare the attribute as double"),
    ("e.jsonl", line(event="AddToCart", qty="5.5"), "declare the attribute as double in the"),
    ("e.jsonl", line()[:-9], "the line ends inside an object, at column"),
    ("e.jsonl", line()[:-9], "(show a line with `sed -n 1p FILE` and correct it"),
    ("e.jsonl.gz", gzip.compress(line()[:-9].encode()), "`zcat FILE | sed -n 1p`"),
    ("e.jsonl", line(user=5.5), "user: 5.5 is not a whole number; write strings in quotes"),
    ("e.json", f"[{line()}]", "write one event per line with `jq -c '.[]'`"),
    ("e.json", f"[\n{line()},\n{line()}\n]", "write one event per line with `jq -c '.[]'`"),
    ("e.json", "5", "5 is not an object"),
    ("e.jsonl", "{'ts': 1}", "bad_json: write double quotes at column 2"),
    ("e.json", json.dumps(EVENT, indent=2), "e.json:1: bad_json: the line is not one JSON object;"),
    ("e.json", json.dumps(EVENT, indent=2), "e.json:2: bad_json: the line is not one JSON object;"),
    ("e.jsonl", line() + line(), "text follows the object at column 166; write one event per line"),
    ("e.jsonl", line() + ",", "bad_json: remove the ',' after the object at column 166"),
    ("e.jsonl", line()[:-1] + ",}", "bad_json: remove the ',' before column 166"),
    ("e.jsonl", line()[:-5] + "True}", "bad_json: write true, false or null at column 161"),
    ("e.jsonl", '{"ts": x}', "bad_json: invalid JSON at column 8"),
    ("e.jsonl", csv().replace('"', ""), "bad_json: the line looks like CSV; rename the file to e"),
    ("e.jsonl", csv(), "e.jsonl:2: bad_json: the line looks like CSV; rename the file to end in"),
    ("e.jsonl", '{"a": "' + "x" * 10_000_000 + '"}', "longer than 10,000,000 bytes"),
    ("e.jsonl", '{"ts": 1, "ts": 2}', "key 'ts' occurs twice"),
    ("e.txt", line(), "use a name that ends in .jsonl, .ndjson, .json, .csv, .parquet"),
    ("e.dat", line(), "or add --input-format"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "words"), DATA, ids=[words for *_, words in DATA])
def test_wrong_data(name: str, text: str | bytes, words: str, message: Message) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(text if isinstance(text, bytes) else text.encode())
    run = ["run", "w.sase", "--schema", "s.yaml", "--input", name]
    assert words in message(run)


@pytest.mark.parametrize(
    ("unit", "time", "right"),
    [("s", 1740996000000, "ms"), ("ms", 1740996000, "s"), ("us", 1740996000000, "ms"),
     ("ms", 1740996000000000, "us")],
)  # fmt: skip
def test_times_in_another_unit_name_the_right_one(
    unit: str, time: int, right: str, message: Message
) -> None:
    Path("s.yaml").write_text(SCHEMA.replace("unit: iso", f"unit: {unit}"))
    Path("e.jsonl").write_text(line(ts=time))
    said = message(["run", "w.sase", "--schema", "s.yaml", "--input", "e.jsonl"])
    assert f"set unit: {right}" in said


def test_times_and_numbers_of_another_kind_are_told_apart(message: Message) -> None:
    Path("s.yaml").write_text(SCHEMA.replace("unit: iso", "unit: us"))
    Path("e.jsonl").write_text(line(ts=1740996000000000000))
    assert "in nanoseconds, divide it by 1000" in message([*RUN, "e.jsonl"])
    Path("s.yaml").write_text(SCHEMA.replace("unit: iso", "unit: integer"))
    Path("e.jsonl").write_text(line())
    Path("w.sase").write_text("QUERY q RETURN COUNT(*) PATTERN View WITHIN 9;")
    assert "if it is ISO 8601, set unit: iso" in message([*RUN, "e.jsonl"])


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ({"user": pa.array([["u"]])}, "a list is not a string; convert it to a string"),
        ({"price": pa.array([5], pa.duration("s"))}, "a duration is not a double; convert it to a"),
        ({"user": pa.array([b"u"])}, "a byte string is not a string; convert it to a string"),
        ({"ts": pa.array([5], pa.time64("us"))}, "a time of day is not a time; join it with its"),
        ({"user": pa.array([{"id": 1}])}, "an object is not a string; read a field inside of it w"),
        ({"price": pa.array([5], pa.timestamp("s"))}, "a timestamp is not a double; declare it as"),
    ],
)  # fmt: skip
def test_columns_of_other_types_are_called_as_people_do(
    column: dict[str, pa.Array], words: str, message: Message
) -> None:
    table = pa.Table.from_pylist([EVENT])
    for name, values in column.items():
        table = table.set_column(table.column_names.index(name), name, values)
    pq.write_table(table, "e.parquet")
    assert words in message([*RUN, "e.parquet"])


def test_half_of_the_lines_can_be_let_pass_only_if_no_more_are_bad(message: Message) -> None:
    Path("e.jsonl").write_text("\n".join([line(), line(price="x")]))
    assert "allow half of them with --max-error-rate 0.5" in message([*RUN, "e.jsonl"])
    Path("e.jsonl").write_text(line(price="x"))
    assert message([*RUN, "e.jsonl"]).endswith(
        "is not a double (correct the records or the schema)\n"
    )


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_field_that_no_event_has_is_told(form: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It may be misspelt, or just missing."""
    misspelt = "country: {type: string, nullable: true, field: contry}, city: {type: string"
    Path("s.yaml").write_text(
        SCHEMA.replace("country: string, seen", f"{misspelt}, nullable: true}}, seen")
    )
    Path("e.jsonl").write_text(line())
    Path("e.csv").write_text(csv())
    seen = datetime.fromisoformat(EVENT["seen"])
    pq.write_table(pa.Table.from_pylist([{**EVENT, "seen": seen}]), "e.parquet")
    assert run_command([*RUN, f"e.{form}"]) == 0
    said = capsys.readouterr().err
    assert "elsinore: no event has a value in the field contry (did you mean country?)\n" in said
    assert "elsinore: no event has a value in the field city\n" in said
    Path("s.yaml").write_text(SCHEMA)
    assert run_command([*RUN, f"e.{form}"]) == 0
    assert "no event has" not in capsys.readouterr().err


def test_an_id_that_is_not_one_for_each_event_is_asked_about(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("e.jsonl").write_text("\n".join(line(price=price) for price in range(3)))
    assert run_command([*RUN, "e.jsonl"]) == 0
    assert "check that the schema's id is unique" in capsys.readouterr().err


def test_a_parquet_file_says_which_columns_it_has(message: Message) -> None:
    pq.write_table(pa.table({"event": ["View"], "when": [1]}), "e.parquet")
    said = message(["run", "w.sase", "--schema", "s.yaml", "--input", "e.parquet"])
    assert "column 'ts' is missing (the columns are event, when)" in said


# ---- commands and parameters
COMMANDS: list[tuple[list[str], str]] = [
    (["rnu"], "Did you mean 'run'?"),
    (["nonsense"], "nonsense"),
    (["run", "w.sase"], "'--schema'"),
    ([*RUN, "none.jsonl"], "no such file: none.jsonl (check the path)"),
    ([*RUN, "d/*.csv"], "no such file: d/*.csv (remove the quotes around *, or name"),
    (["schema", "infer", "w.sase"], "with or without .gz or .zst)\n"),
    (["plan", "w.sase", "--schema", "s.yaml", "--events", "w.sase"], "without .gz or .zst)\n"),
    ([*RUN, "."], "contains no event files (use a name that ends in"),
    ([*RUN, "-"], "add --input-format jsonl"),
    ([*RUN, "-", "--input-format", "xml"], "'jsonl', 'csv', 'parquet'"),
    ([*RUN, "w.sase", "--executer", "auto"], "--executor"),
    ([*RUN, "w.sase", "--executor", "flink"], "'greta'"),
    ([*RUN, "w.sase", "--max-error-rate", "5"], "'--max-error-rate'"),
    ([*RUN, "w.sase", "--max-error-rate", "5%"], "it must be a number, as in 0.05 (see --help"),
    ([*RUN, "w.sase", "--top", "all"], "it must be a whole number (see --help"),
    (["run", "w.sase", "e.jsonl", "--schema", "s.yaml"], "Write it before the first file of"),
    ([*RUN, "w.sase", "--output", "o.xlsx"], "let it end in .txt, .json"),
    (["run", "w.sase", "--schema", "none.yaml", "--input", "e"], "name the schema with --schema F"),
    (["check", "none.sase", "--schema", "s.yaml"], "cannot read none.sase"),
    (["check", "none.sase", "--schema", "s.yaml"], "name a file of queries: ls ."),
    (["check", "none.sase", "--schema", "none.yaml"], "cannot read none.yaml"),
    (["check", "w.sase", "--schema", "s.yaml", "--plot", "w.pdf"], "ends in .svg or .png)"),
    (["check", "s.yaml", "--schema", "s.yaml"], "begin the query with QUERY name RETURN"),
    (["ingest", "--start", "2025-03-03", "--end", "2025-03-02"], "03-02 is not after the start"),
    (["ingest", "--start", "yesterday", "--end", "2025-03-02"], "start: 'yesterday' is not an ISO"),
    (["ingest", "--start", "2025-03-03", "--end", "03.04.2025"], "end: '03.04.2025' is not an ISO"),
    (["ingest", "--start", "2025-03-03T8:00", "--end", "2025-03-04"], "as 2013-02-08T10:00"),
    (["ingest", "--start", "2025-03-03T08:30", "--end", "2025-03-04"], "whole hours (UTC)"),
    (["report"], "give RUN, or --start and --end, or --night"),
    (["report", "yesterday"], "write it as 2013-02-08T00_2013-02-10T00"),
    (["report", "--night", "8.2.2013"], "write it as 2013-02-08"),
    (["why", "q", "FR", "2025-03-03"], "write name=value"),
    (["why", "q", "{carrier: AA}", "2025-03-03"], """as in {"carrier": "UA"}, or carrier=UA"""),
    (["why", "q", "{}", "noon"], "as in 2013-02-08T10:00"),
    (["generate", "flights", "--output", "z", "--start", "8.2.2013"], "as in 2013-02-08T10:00 ("),
    (["generate", "stock", "--output", "z.jsonl", "--events", "-5"], "-5, not between 1 and 200,"),
    (["init", "w.sase"], "w.sase is a file (name a new directory)"),
    (["schema", "infer", "e.jsonl", "--stream", "my-shop"], "letters, digits and _ only, a letter"),
    (["explain", *RUN[1:4], "--plan", "s.yaml"], "s.yaml: the static plan is not JSON (print"),
    (["plan", "w.sase", "--schema", "s.yaml"], "give one of --rates FILE and --events FILE"),
    (["explain", "w.sase", "--schema", "s.yaml"], "add --plan FILE, --rates FILE or --events"),
    (["diff", "a.sase", "b.sase"], "--schema FILE and --input FILE"),
    (["diff", "a.jsonl", "b.jsonl"], "no such file: a.jsonl (check the path)"),
    (["test", "none.yaml"], "cannot read none.yaml"),
    (["test", "s.yaml"], "has no list of cases (`elsinore init DIRECTORY`"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "words"), COMMANDS, ids=[words for _, words in COMMANDS])
def test_a_wrong_command(arguments: list[str], words: str, message: Message) -> None:
    said = message(arguments)
    assert words in said
    assert len(said.splitlines()) == (3 if "^" in said else 1)


CASES = """{{schema: {{View: {{price: double}}}}, query: RETURN COUNT(*) PATTERN View WITHIN 9,
  cases: [{{name: one, events: '{}', rows: {}}}]}}"""
FILES: list[tuple[list[str], str, str]] = [
    ([*RUN, "f", "--input-format", "jsonl", "--quarantine", "q/q.jsonl", "--max-error-rate", "1"],
     "{", "cannot write q/q.jsonl: No such file or directory (mkdir -p q)"),
    (["explain", *RUN[1:4], "--plan", "f"], "{}", "f: not a static plan (print a plan with"),
    (["plan", *RUN[1:4], "--rates", "f"], "rates: {View: 5}", "it is missing (as in per: hour)"),
    (["plan", *RUN[1:4], "--rates", "f"], "per: hour", "missing (as in rates: {View: 5})"),
    (["plan", *RUN[1:4], "--rates", "f"], "{per: hour, rates: {Veiw: 5}}", "did you mean View?"),
    (["test", "f"], CASES.format("view@2", "{}"), "as in rows: [[START, END, {COUNT(*): 1}]]"),
    (["test", "f"], CASES.format('{"ts": 1}', "[]"), "(as in View@2)"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "text", "words"), FILES, ids=[words for *_, words in FILES])
def test_a_wrong_file(arguments: list[str], text: str, words: str, message: Message) -> None:
    Path("f").write_text(text)
    assert words in message(arguments)


def test_flights_that_there_are_none_of(message: Message, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("elsinore.generate.flights.generate_flights", lambda *_, **__: (0, {}))
    said = message(["generate", "flights", "--output", "z", "--start", "2025-03-03"])
    assert "they are of 2013, as in --start 2013-02-08" in said


def test_elsinore_alone_is_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    run_command([])
    alone = capsys.readouterr()
    assert alone.err == ""
    assert "Usage: elsinore" in alone.out
    run_command(["generate"])
    assert "elsinore:" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("HOME", "/dev/null/x", "cannot use /dev/null/x: Not a directory"),
        ("HOME", "/dev/null/x", "(set ELSINORE_HOME to a directory that can be made)"),
        ("RETENTION_DAYS", "30", """30 is not a mapping (write it as {"events": 30})"""),
        ("STREAMS", "rides", """'rides' is not JSON (write it as ["rides"])"""),
        (
            "STREAM",
            "Rides",
            "'Rides' is not a valid name (write it as rides: lowercase letters, digits and _)",
        ),
        (
            "SCHEMA",
            "x.yaml",
            "ELSINORE_SCHEMA is not a setting (did you mean ELSINORE_SCHEMA_FILE?)",
        ),
        ("WORKLOADFILE", "x", "did you mean ELSINORE_WORKLOAD_FILE?"),
        ("MAX_ERROR_RATE", "much", "ELSINORE_MAX_ERROR_RATE: 'much' is not a number"),
        (
            "VACUUM_RETENTION_HOURS",
            "5",
            "ELSINORE_VACUUM_RETENTION_HOURS: '5' must be at least 168",
        ),
        ("HOME", "hdfs://name/x", "is an address outside of"),
    ],
)
def test_a_wrong_environment(
    name: str, value: str, words: str,
    monkeypatch: pytest.MonkeyPatch, message: Message,
) -> None:  # fmt: skip
    monkeypatch.setenv(f"ELSINORE_{name}", value)
    said = message(["replay", "--start", "2013-02-08", "--end", "2013-02-09"])
    assert words in said
    assert len(said.splitlines()) == 1


def test_other_variables_of_the_prefix_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from elsinore.settings import Settings

    monkeypatch.setenv("ELSINORE_TEAM", "shop")
    monkeypatch.setenv("ELSINORE_DEBUG", "1")
    assert Settings.load().home.name
