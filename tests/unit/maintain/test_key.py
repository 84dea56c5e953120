"""Which lines, groups and pages are of a key that is to be forgotten."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from elsinore.catalog.load_schema import read_schema
from elsinore.cli.main import run_command
from elsinore.errors import ParameterError
from elsinore.ingest.landing_zone import decode_again
from elsinore.maintain.key import Key

STREAM = read_schema("""
stream: cards
time: {field: time, unit: iso}
type: {field: type}
types:
  Paid: {card: {type: long, field: card.number}, name: string, sum: double, due: timestamp}
  Seen: {name: {type: string, nullable: true}}
  Sent: {iban: {type: string, field: to.bank.iban}}
""")

PAID = {
    "type": "Paid", "time": "2013-01-01T10:00:00Z", "card": {"number": 77}, "name": "a.b \"é\"",
    "sum": 7.0, "due": "2013-02-01T00:00:00Z",
}  # fmt: skip
SEEN = {"type": "Seen", "time": "2013-01-01T10:00:00Z", "name": "77"}


def forgotten(line: str, *given: str) -> bool:
    rows = pa.table(
        {"file_hour": ["2013-01-01T10"], "file": ["f"], "record_number": [1], "record": [line]}
    )
    return bool(Key.parse(given, STREAM).among(decode_again(rows, STREAM))[0].as_py())


@pytest.mark.parametrize(
    ("line", "given", "is_own"),
    [
        (PAID, ("card=77",), True),
        (PAID, ("card=7",), False),
        (PAID, ("sum=7",), True),
        (PAID, ("sum=77",), False),
        (PAID, ('name=a.b "é"',), True),
        (PAID, ('name=axb "é"',), False),
        (PAID, ("due=2013-02-01T00:00:00Z",), True),
        (PAID, ("due=2013-02-01",), True),
        (PAID, ("due=2013-02-01T01:00+01:00",), True),
        (PAID | {"sum": float("nan")}, ("sum=NaN",), True),
        (PAID, ("sum=NaN",), False),
        (PAID, ("card=77", "sum=7.0"), True),
        (PAID, ("card=77", "sum=8"), False),
        # An event whose type has another attribute of this value, or a field of no meaning.
        (SEEN, ("card=77",), False),
        (SEEN | {"card": {"number": 77}}, ("card=77",), True),
        (SEEN | {"card": {"number": 770}}, ("card=77",), False),
        (SEEN | {"name": None}, ("name=77",), False),
        (SEEN | {"name": None}, ("name=null",), False),
        (SEEN | {"name": "null"}, ("name=null",), True),
        *(
            (SEEN | line, ("iban=DE7",), True)
            for line in (
                {"to": {"bank": {"iban": "DE7"}}},
                {"to": {"bank.iban": "DE7"}},
                {"to.bank.iban": "DE7"},
            )
        ),
        (SEEN | {"other.iban": "DE7"}, ("iban=DE7",), False),
        (SEEN | {"iban": "DE7"}, ("iban=DE7",), True),
        (SEEN | {"to": {"iban": "DE7"}, "bank": {"iban": "DE7"}}, ("iban=DE7",), False),
        # What is no event: by the word.
        (PAID | {"sum": "much"}, ("card=77",), True),
        (PAID | {"sum": "much"}, ('name=a.b "é"',), True),
        (PAID | {"sum": "much"}, ("card=77", "name=other"), False),
        ("broken 77", ("card=77",), True),
        ("broken 770", ("card=77",), False),
        # As JSON of others spells it, and as part of a longer word.
        (r"broken \u00DC\u00fc", ("name=Üü",), True),
        (r"broken \ud83D\uDE00", ("name=😀",), True),
        (r"broken \u0026\u003Cb\/c", ("name=&<b/c",), True),
        (r"broken x\nJos\"", ("name=Jos",), True),
        (r"broken \bob", ("name=bob",), True),
        ("broken José", ("name=Jos",), False),
        ("broken Jose\u0301", ("name=Jose",), False),
        (r"broken Jos\u00e9", ("name=Jos",), False),
        (r"broken \u00c9Jos", ("name=Jos",), False),
        (r'{"type": "Seen", "time": "2013-01-01", "iban": "\u00DC\/7"}', ("iban=Ü/7",), True),
        ("", ("card=77",), False),
    ],
)
def test_a_line_goes_by_its_event_and_what_is_none_by_its_words(
    line: dict[str, object] | str, given: tuple[str, ...], is_own: bool
) -> None:
    text = line if isinstance(line, str) else json.dumps(line)
    assert forgotten(text, *given) is is_own


@pytest.mark.parametrize(
    ("given", "group", "is_own"),
    [
        (["card=77"], '{"card": 77}', True),
        (["card=77"], '{"P.card": 77, "name": "x"}', True),
        (["card=77"], '{"name": "77"}', False),
        (["card=77", "name=x"], '{"card": 77}', False),
        (["card=77", "name=x"], '{"P.card": 77, "R.name": "x"}', False),
        (["card=77", "name=x"], '{"P.card": 77, "R.card": 7, "P.name": "x"}', True),
        (["card=77", "name=x"], '{"R.card": 77, "name": "x"}', True),
        (["sum=7"], '{"sum": 7.0}', True),
        (["name=77"], '{"name": "77"}', True),
        (["due=2013-02-01T00:00:00Z"], '{"due": "2013-02-01T00:00:00.000000Z"}', True),
        (["card=77"], "*", False),
        (["card=77"], "{}", False),
        (["name=null"], '{"name": null}', False),
        (["name=null"], '{"name": "null"}', True),
    ],
)
def test_a_group_is_told_by_its_labels(given: list[str], group: str, is_own: bool) -> None:
    assert Key.parse(given, STREAM).is_in(group) is is_own


@pytest.mark.parametrize(
    ("page", "is_own"),
    [
        ("a.b &quot;é&quot;!", True),
        ("a.b &#34;é&#34;", True),
        ("a.b &#x22;&eacute;&#x22;", True),
        ('{"name": "a.b \\"é\\""}', True),
        ("{&#34;name&#34;: &#34;a.b \\&#34;é\\&#34;&#34;}", True),
        (json.dumps(json.dumps({"name": 'a.b "é"'})), True),
        ('"a.b ""é""",2013-02-08T10:00:00Z,7', True),  # a CSV file of a report
        ("axb", False),
        ('as a.b "és"', False),
    ],
)
def test_a_page_may_spell_it_as_markup_or_json(page: str, is_own: bool) -> None:
    assert Key.parse(['name=a.b "é"'], STREAM).is_shown(page.encode()) is is_own


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["card=1", "card=2"], "an attribute has two values"),
        (["card=x"], "'x' is not a long, the type of card"),
        (["due=noon"], "'noon' is not a timestamp, the type of due"),
        (["cart=1"], "did you mean card?"),
        (["card"], "not a key: 'card'"),
        (["name=" + "a" * 300_000], "the value of name is too long to find"),
    ],
)
def test_what_is_no_key_is_refused(given: list[str], words: str) -> None:
    with pytest.raises(ParameterError) as refused:
        Key.parse(given, STREAM)
    assert words in str(refused.value)


def test_a_home_without_events_may_be_the_wrong_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ELSINORE_HOME", str(tmp_path / "var"))
    (tmp_path / "var" / "landing").mkdir(parents=True)
    assert run_command(["forget", "tailnum=N1"]) == 1
    error = capsys.readouterr().err
    assert "this may be the wrong ELSINORE_HOME" in error
    assert "elsinore ingest" not in error
