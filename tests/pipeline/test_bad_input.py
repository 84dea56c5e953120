"""Each row of "Bad input" (section 7 of the specification), through the jobs that users run.

One landing zone holds all of it beside good events; every job of a run goes over it once. A row's
words head its tests; its outcome is their docstrings. Errors in queries and their places are
`tests/unit/cli/test_mistakes.py`, as is a Parquet file that is none, for landing zones hold lines.

The row "Spark executor, Python worker, driver or task killed; disk full; two writers" is
`tests/faults` (`make test-faults` for more points). Late events that come with another run than
their hour's are `test_runs.py`, parameters of DAGs `tests/dags/test_replay_dags.py`.
"""

from __future__ import annotations

import html
import json
import math
import re
from collections import Counter
from pathlib import Path

import pytest

from elsinore.files.read_events import read_events
from elsinore.settings import Settings
from elsinore.store.tables import Lake
from tests.homes import NewHome
from tests.lake_contents import PUBLISHED, contents, differences
from tests.landing_zone import departure, hours, put
from tests.pipeline import bad_input as zone
from tests.pipeline.bad_input import DAMAGED, HOSTILE, HOSTILE_NAME, ROOT, Replayed, command, step
from tests.results_lake import computed, staged, workload

SCHEMA = ROOT / "schemas" / "events" / "flights.yaml"
SOME_HOSTILE = ["'; DROP TABLE events; --", "$(touch pwned)", "../../outside"]


Folders = pytest.TempPathFactory


@pytest.fixture(scope="module")
def bad(new_spark_home: NewHome, tmp_path_factory: Folders) -> Replayed:
    """After a run over everything that is bad, with hostile names for all that has a name."""
    return zone.replay(new_spark_home(), tmp_path_factory.mktemp("bad"), HOSTILE_NAME)


# ---- broken line, wrong type, missing time, unknown event type, value out of range
def test_bad_lines_are_quarantined_with_the_reason_and_the_rest_lands(bad: Replayed) -> None:
    """Quarantined with the reason; the rest lands."""
    quarantine = [row for row in bad.rows("quarantine") if row["file_hour"] < "2013-01-01T12"]
    found = {(row["file"], row["record_number"]): row for row in quarantine}
    assert {place: row["reason_code"] for place, row in found.items()} == {
        place: code for place, (code, _) in bad.held.items()
    }
    assert len(quarantine) == len(bad.held)
    for place, (code, line) in bad.held.items():
        kept = found[place]["record"].encode()
        if code == "bad_encoding":  # what cannot be read is spelled; the rest is as it came
            assert kept.startswith(line[:24])
            assert kept.endswith(line[-2:])
        else:
            assert kept == line
    assert all(row["reason"] for row in quarantine)
    assert all(code in html.unescape(bad.page) for code, _ in zone.BAD)
    landed = sorted(row["event_id"] for row in bad.rows("events"))
    assert landed == sorted(event["id"] for event in zone.GOOD)


def test_every_record_is_an_event_repeated_or_rejected(bad: Replayed) -> None:
    """Section 5: records = accepted + repeated + rejected, for every hour of files."""
    accepted = Counter(row["file_hour"] for row in bad.rows("events"))
    counts = {
        row["hour"][-2:]: (row["records"], accepted[row["hour"]], row["bad_records"])
        for row in bad.rows("hours") if row["state"] == "ingested"
    }  # fmt: skip
    # One came twice with its file, one again with the next hour's, where it stays; one was
    # corrected. Blank lines are not records.
    first, wrong = len(zone.FIRST_HOUR), len(zone.BAD)
    assert counts["10"] == (first + 2 + wrong, first - 1, wrong)
    twice, alone = zone.SECOND_FILE, len(zone.IN_FILES)
    assert counts["11"] == (2 * twice + alone, twice + alone, 0)
    assert sum(records for records, *_ in counts.values()) == len(bad.rows("raw_events"))


def test_above_a_set_share_the_landing_fails_before_anything_is_published(
    bad: Replayed, tmp_path: Path
) -> None:
    """Above a set share the landing fails before publishing anything."""
    put(bad.settings, 13, departure(100, 0, 13), "broken")
    lake = bad.settings.home / "lake"
    kept = [path.name for path in lake.iterdir() if path.name not in ("quarantine", "hours")]
    before = contents(lake, kept)
    home = {
        "ELSINORE_HOME": str(bad.settings.home),
        "ELSINORE_SPARK_MASTER": bad.settings.spark_master,
        "ELSINORE_SPARK_TOKEN_FILE": str(bad.settings.spark_token_file),
    }
    ended = step("ingest", hours(13, 14), cwd=tmp_path, **home)
    assert re.search("1 of 2 records are invalid.*quarantine", ended.refusal(1))
    assert differences(contents(lake, kept), before) == []


# ---- duplicate event id, file landed twice
def test_duplicates_and_files_landed_twice_are_counted_once_and_reported(bad: Replayed) -> None:
    """Counted once, reported."""
    repeated = 3 + zone.SECOND_FILE
    assert bad.figures["ingest_events"]["repeated"] == repeated
    assert re.search(rf"repeated {repeated}\b", bad.page)
    for tail in ("N5", "N6", "N9"):
        assert bad.results("by_tail", "COUNT(*)", tailnum=tail) == [("1", 1.0)]
    assert bad.results("by_tail", "SUM(D.dep_delay)", tailnum="N9") == [("6", 6.0)]


# ---- corrupt gzip or parquet, empty file, unreadable encoding
@pytest.mark.parametrize("end", DAMAGED)
def test_a_damaged_file_is_quarantined_whole(bad: Replayed, end: str) -> None:
    """The file is quarantined whole."""
    name, code = zone.landed_file(12, end), DAMAGED[end][1]
    (row,) = [row for row in bad.rows("quarantine") if row["file"] == name]
    assert (row["file_hour"], row["record_number"], row["record"]) == ("2013-01-01T12", 0, "")
    assert row["reason_code"] == (code or row["reason_code"])
    assert row["reason"]
    assert str(bad.settings.landing) not in row["reason"]


def test_damaged_files_are_named_in_the_report(bad: Replayed) -> None:
    """Named in the report; a file without a record is not damaged."""
    page = html.unescape(bad.page)
    damaged = [end for end, (_, code) in DAMAGED.items() if code]
    assert [end for end in damaged if zone.landed_file(12, end) not in page] == []


def test_nothing_of_a_damaged_file_half_lands(bad: Replayed) -> None:
    """Nothing half-landed."""
    for table in ("events", "raw_events"):
        assert not [row for row in bad.rows(table) if (row["event_id"] or "").startswith("half")]
    (hour,) = [
        row for row in bad.rows("hours")
        if (row["hour"], row["state"]) == ("2013-01-01T12", "ingested")
    ]  # fmt: skip
    assert hour["file_count"] == hour["records"] == hour["bad_records"] == len(DAMAGED)


# ---- events out of order, late, equal times
def test_out_of_order_late_and_equal_times_give_the_same(bad: Replayed, tmp_path: Path) -> None:
    """Same result as of the good events in order; the counts are worked out by hand."""
    lake = Lake.open(bad.settings)
    zone.write_good(tmp_path)
    events, _ = read_events([tmp_path], lake.stream, max_error_rate=0)
    expected = computed(workload(lake, zone.WORKLOAD), events, zone.RUN)
    assert staged(lake, zone.RUN, PUBLISHED) == expected
    # Of a, (b, c), d: 4 alone, all pairs but (b, c), and two with all three times.
    assert bad.results("by_tail", "COUNT(*)", tailnum="N1") == [("11", 11.0)]
    assert bad.results("by_tail", "SUM(D.dep_delay)", tailnum="N1") == [("100", 5 * (4 + 10 + 6.0))]
    assert bad.results("by_tail", "COUNT(*)", tailnum="N7") == [("3", 3.0)]
    # Before 10:30 four departures; before 10:45 also one of two at once, and another.
    first = 2**4 - 1 + 2 * (2**4 * 3 * 2 - 1)
    assert bad.results("given_up", "COUNT(*)")[0] == (str(first), first)
    assert bad.results("given_up", "MAX(D.dep_delay)")[0] == ("6", 6.0)
    # And the reference has checked every result.
    validated = bad.figures["validate_results"]
    assert (validated["outcome"], validated["mismatches"]) == ("validated", 0)
    assert validated["results_of_sample"] == validated["results"] > len(HOSTILE)


# ---- unknown attribute, type mismatch, non-adjacent predicate, window 0, SLIDE < 0, equal names
#: A query a line.
FAULTS = """\
QUERY a RETURN COUNT(*) PATTERN Departure D WHERE D.delay > 5 WITHIN 1 hour;
QUERY b RETURN COUNT(*) PATTERN Departure D WHERE D.dest > 5 WITHIN 1 hour;
QUERY c RETURN COUNT(*) PATTERN SEQ(Departure D, Arrival A, Weather W) \
WHERE D.origin = NEXT(W).origin WITHIN 1 hour;
QUERY d RETURN COUNT(*) PATTERN Departure WITHIN 0 minutes;
QUERY e RETURN COUNT(*) PATTERN Departure WITHIN 1 hour SLIDE -1 minute;
QUERY f RETURN COUNT(*) PATTERN Arrival WITHIN 1 hour;
QUERY f RETURN COUNT(*) PATTERN Departure WITHIN 1 hour;
"""


@pytest.mark.spark
def test_what_does_not_bind_is_refused_all_errors_at_once_before_anything_lands(
    tmp_path: Path,
) -> None:
    """Refused at `check`, before any job starts, all errors at once."""
    faulty = tmp_path / "faulty.sase"
    faulty.write_text(FAULTS)
    ended = command("check", faulty, "--schema", SCHEMA, cwd=tmp_path)
    assert (ended.code, ended.output) == (2, "")
    for number, error in enumerate(ended.errors, 1):
        assert error.startswith(f"elsinore: {faulty}:{number}:")
    assert len(ended.errors) == len(FAULTS.splitlines())
    # So does a job that is started all the same.
    variables = {"ELSINORE_HOME": str(tmp_path), "ELSINORE_WORKLOAD_FILE": str(faulty)}
    landed = step("ingest", hours(10, 11), cwd=tmp_path, **variables)
    assert (landed.code, landed.output, landed.errors) == (2, "", ended.errors)
    assert not (tmp_path / "lake").exists()


# ---- a hostile name, parameter or path in a workload, schema, DAG parameter or event
def test_hostile_ids_keys_and_names_of_files_are_data(bad: Replayed) -> None:
    """Data, never code or SQL or a path outside the warehouse."""
    events = {row["event_id"]: row for row in bad.rows("events")}
    for sent in zone.STRANGE:
        landed = events[sent["id"]]
        assert (landed["tailnum"], landed["dest"]) == (sent["tailnum"], sent["dest"])
    files = {events[sent["id"]]["file"] for sent in zone.IN_FILES}
    assert files == {zone.landed_file(11, f"-{name}.jsonl") for name in zone.NAMES}
    left_out = SOME_HOSTILE[0]  # by the workload, to which it is a text like any other
    for text in HOSTILE:
        counts = bad.results("by_tail", "COUNT(*)", tailnum=text)
        assert counts == ([] if text == left_out else [("3", 3.0)]), text
    # The workload and the run have such a name as well.
    found = {(r["workload"], r["run"]) for r in bad.rows("hours") if r["state"] == "published"}
    assert found == {(HOSTILE_NAME, HOSTILE_NAME)}
    assert "{0.__class__} <img src=x>" in html.unescape(bad.page)


def test_hostile_texts_make_no_files_and_are_no_code_in_pages(bad: Replayed) -> None:
    home, lake = bad.settings.home, bad.settings.home / "lake"
    assert bad.strays == ()
    made = {path.name for path in home.iterdir()}
    assert made <= {"landing", "lake", "quality", "reports", "spark-warehouse", "steps.lock"}
    declared = {path.stem for path in bad.settings.tables_dir.glob("*.yaml")}
    assert {path.name for path in lake.iterdir()} == declared
    assert not {path.name for path in home.rglob("*")} & {"pwned", "outside", "outside0"}
    assert not (ROOT / "pwned").exists()
    for page in (home / "quality").rglob("*.html"):
        assert not re.search("<script>alert|<img src=x", page.read_text(encoding="utf-8")), page
    assert not {"<script", "<img"} & set(re.findall("<[a-z]+", bad.page))


@pytest.mark.parametrize("text", SOME_HOSTILE)
@pytest.mark.parametrize(
    "words",
    ["publish --end 2013-01-02 --start", "ingest --start 2013-01-01 --end", "report --night"],
)
def test_a_hostile_parameter_is_refused(words: str, text: str, tmp_path: Path) -> None:
    assert text in command(*words.split(), text, cwd=tmp_path).refusal(2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("text", SOME_HOSTILE)
def test_a_hostile_name_of_a_query_or_attribute_is_refused(text: str, tmp_path: Path) -> None:
    schema, workload = tmp_path / "s.yaml", tmp_path / "w.sase"
    workload.write_text(f"QUERY {text} RETURN COUNT(*) PATTERN Departure WITHIN 1 hour;")
    flights = SCHEMA.read_text(encoding="utf-8")
    schema.write_text(flights.replace("    tailnum:", f"    {json.dumps(text)}:", 1))
    for path in (SCHEMA, schema):
        ended = command("check", workload, "--schema", path, cwd=tmp_path)
        assert (ended.code, ended.output) == (2, "")
        assert all(error.startswith("elsinore: ") for error in ended.errors)  # no stack trace
    master = {"ELSINORE_SPARK_MASTER": f"local {text}"}
    step("ingest", hours(10, 11), cwd=tmp_path, **master).refusal(2)
    assert {path.name for path in tmp_path.iterdir()} == {"s.yaml", "w.sase"}


# ---- result too large for a column
def test_a_result_too_large_for_a_column_is_exact_text_and_infinite(bad: Replayed) -> None:
    """Exact text; double is +-Infinity: of n arrivals in a row, each delayed by -1."""
    n = zone.RISING
    assert bad.results("rising", "COUNT(*)") == [(str(2**n - 1), math.inf)]
    total = str(-n * 2 ** (n - 1))
    assert bad.results("rising", "SUM(A.arr_delay)") == [(total, -math.inf)]
    assert bad.results("rising", "AVG(A.distance)") == [(None, 7.0)]
    sizes = [row["log2"] for row in bad.rows(PUBLISHED) if row["value"] == math.inf]
    assert sizes == [pytest.approx(n)]


# ---- missing Java, jar, or schema
@pytest.mark.spark
@pytest.mark.parametrize(
    ("job", "variable", "told"),
    [
        ("ingest", "JAVA_HOME", ["Java was not found", "install Java"]),
        ("ingest", "ELSINORE_JARS", ["delta-spark", "delta-storage", "make setup"]),
        ("ingest", "ELSINORE_SCHEMA_FILE", ["cannot read"]),
        ("ingest", "ELSINORE_TABLES_DIR", ["no tables"]),
    ],
)
def test_what_is_missing_is_one_line_that_says_what_to_do(
    job: str, variable: str, told: list[str], tmp_path: Path
) -> None:
    """One line that says what to do: the hint in parentheses at its end."""
    missing = {variable: str(tmp_path / "nowhere"), "ELSINORE_HOME": str(tmp_path)}
    put(Settings(home=tmp_path), 10, departure(1))
    refusal = step(job, hours(10, 11), cwd=tmp_path, **missing).refusal(2)
    assert all(words in refusal for words in [str(tmp_path / "nowhere"), *told])
    assert re.search(r" \([^()]+\)$", refusal)
    written = {path.parent.name for path in tmp_path.glob("lake/*/*.parquet")}
    assert written <= {"hours"}, "only that the hour was planned"
