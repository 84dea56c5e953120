"""One run judged whole: a right lake passes, each spoilt row is caught and named."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest
from deltalake import DeltaTable

from elsinore.errors import ParameterError, SchemaError, ValidationError
from elsinore.quality.check_expectations import (
    FILE_NAME,
    INGESTED,
    SUITES,
    ValidationResults,
    check_expectations,
    load_suites,
    load_validation_results,
    require_accepted,
)
from elsinore.quality.run_tables import read_run_tables
from elsinore.timeline import Interval
from tests.unit.quality import lake

SCRIPT = "<script>alert(1)</script>"
BIDI = "gnp\u202e\x9b31m"


def run_tables(root: Path, *, ingested: bool = True) -> dict[str, pd.DataFrame]:
    state = lake.state_of(root)
    ahead = {"a" * 64: 0}
    return read_run_tables(lake.opened(root), ahead, state, lake.INTERVAL, ingested=ingested)


def _check(folder: Path, rows: dict[str, list[lake.Row]]) -> ValidationResults:
    root = lake.write_lake(folder / "lake", rows)
    return _checked(run_tables(root), folder)


def _checked(
    tables: dict[str, pd.DataFrame], folder: Path, docs: bool = False, run: str = lake.RUN
) -> ValidationResults:
    return check_expectations(
        tables, folder / "quality", run, expectations_dir=lake.EXPECTATIONS, docs=docs
    )


@pytest.fixture(scope="module", name="good")
def _good(tmp_path_factory: pytest.TempPathFactory) -> ValidationResults:
    return _check(tmp_path_factory.mktemp("good"), lake.healthy())


@pytest.fixture(scope="module", name="spoilt_folder")
def _spoilt_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spoilt")


@pytest.fixture(scope="module", name="spoilt")
def _spoilt(spoilt_folder: Path) -> ValidationResults:
    rows = lake.healthy()
    rows["ingested"][0]["bad_records"] = 2
    rows["ingested"][1] |= {"records": 2, "first_event": lake.at(11, 30)}
    rows["aggregated"][1]["plan_fingerprint"] = "f" * 64
    rows["quarantine"][0]["reason_code"] = SCRIPT
    rows["events"][1]["event_id"] = SCRIPT + BIDI
    rows["events"][2]["event_id"] = SCRIPT + BIDI
    rows["events"][3]["event_day"] = lake.at(30).date()
    rows["plans"][1]["body"] = rows["plans"][1]["body"].replace("1234.5", "9999.5")
    staged = rows["results_staged"]
    staged[0] |= {"log2": float("nan"), "value": 42.0, "window_end_hour": lake.HOURS[1]}
    staged[1] |= {"exact": "1e300", "window_end": lake.at(9)}
    staged.append(staged[3])
    rows["validations"].append(
        lake.check("delays", f'{{"carrier":"{SCRIPT}"}}', 10**40, 10**40 + 1)
    )
    return _check(spoilt_folder, rows)


def test_a_right_run_is_accepted_with_its_warning(good: ValidationResults) -> None:
    require_accepted(good)
    # One of five lines is quarantined, more than one in a hundred.
    assert [(v.table, v.expectation) for v in good.failed("warning")] == [
        ("ingested_hours", "expect_quarantined_share_to_be_at_most")
    ]
    assert {v.suite for v in good.verdicts} == {
        "raw_events", "static_plan", "trend_results", "reference_diff",
    }  # fmt: skip


def test_every_spoilt_row_is_caught(spoilt: ValidationResults) -> None:
    assert {(v.table, v.description) for v in spoilt.failed("critical")} == {
        ("ingested_hours", "Records = accepted + repeated + rejected, equal to the row counts of "
                           "the tables."),
        ("ingested_hours", "The first event of an hour is not after its last."),
        ("ingested_hours", "No event is before the recorded time range of its hour."),
        ("quarantine", "Every quarantined record has a reason."),
        ("events", "Event ids are unique."),
        ("events", "Every event has a time and is in the partition of its UTC day."),
        ("plans", "Every stored plan parses and matches its fingerprints."),
        ("results_staged", "Rows are unique per query, group, step, window and aggregate."),
        ("results_staged", "Every window ends after it starts."),
        ("results_staged",
         "Every row is in the partition of the hour in which its window is complete."),
        ("results_staged", "Exact integers have all digits in canonical form."),
        ("results_staged", "The double of an exact integer is its nearest double."),
        ("results_staged", "log2 is a number or NULL."),
        ("results_staged", "The plan of every row is stored."),
        ("validations", "Every checked aggregate equals the two-step reference."),
    }  # fmt: skip


@pytest.mark.slow
def test_what_few_rows_break_is_caught_too(tmp_path: Path) -> None:
    rows = lake.healthy()
    root = lake.write_lake(tmp_path / "lake", rows)
    tables = run_tables(root)
    hours = pd.concat([tables["ingested_hours"], tables["ingested_hours"][:1]], ignore_index=True)
    hours["file_hour"] = ["2013-01-01T10", "today", "2013-01-01T10"]
    hours.loc[0, "reasons"] = '{"bad_json": '
    hours.loc[1, ["first_event", "last_event"]] = [lake.at(12), lake.at(11)]
    rows["plans"].append(rows["plans"][0] | {"kind": "guess"})
    rows["plans"] += [rows["plans"][1], rows["plans"][1] | {"fingerprint": "f", "body": "{"}]
    rows["validations"][0]["status"] = "believed"
    done = tables["published_hours"].assign(
        workload_fingerprint="short", plan_fingerprint="short", settled=False
    )
    tables |= {name: pd.DataFrame(rows[name]) for name in ("plans", "validations")}
    tables |= {"ingested_hours": hours, "published_hours": done}
    failed = {
        (v.table, v.description) for v in _checked(tables, tmp_path).verdicts if not v.success
    }
    assert failed >= {
        ("ingested_hours", "The name of every ingested hour is its hour."),
        ("ingested_hours", "Every ingested hour has one row."),
        ("ingested_hours", "The first event of an hour is not after its last."),
        ("ingested_hours", "Counts per reason are JSON."),
        ("plans", "Every row contains statistics or a plan."),
        ("plans", "Every fingerprint is a sha256."),
        ("plans", "Every plan is stored once."),
        ("plans", "Every body is JSON."),
        ("validations", "Every sampled row was checked or skipped."),
        ("published_hours", "Every published hour names the queries of its results."),
        ("published_hours", "Every published hour names the plan of its results."),
        ("published_hours", "The results of every published hour are the recorded ones."),
    }


def test_a_mismatch_names_query_group_window_and_both_values(spoilt: ValidationResults) -> None:
    (verdict,) = (v for v in spoilt.failed("critical") if v.table == "validations")
    for part in ("delays", SCRIPT, "2013-01-01 10:00:00", "2013-01-01 11:00:00", str(10**40)):
        assert part in verdict.observed
    assert f"reference {10**40 + 1}" in verdict.observed


def test_failures_become_one_terminal_error(spoilt: ValidationResults) -> None:
    with pytest.raises(ValidationError) as caught:
        require_accepted(spoilt)
    assert not caught.value.transient
    assert len(caught.value.fields["failures"]) == len(spoilt.failed("critical"))
    assert str(spoilt.docs) in str(caught.value)


def test_data_docs_show_findings_and_escape_them(spoilt: ValidationResults) -> None:
    assert spoilt.docs is not None
    site = spoilt.docs.parent
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert spoilt.docs in pages
    # A pair of values is escaped as well, so it must not come as Python prints it.
    spoilt_pages = [p for p, text in pages.items() if SCRIPT in text or "datetime64(" in text]
    assert spoilt_pages == []
    (page,) = (text for path, text in pages.items() if path.name.startswith("reference_diff_"))
    escaped = SCRIPT.replace("<", "&lt;").replace(">", "&gt;")
    assert "Every checked aggregate equals the two-step reference." in page
    assert escaped in page
    assert f"reference {10**40 + 1}" in page
    index = spoilt.docs.read_text(encoding="utf-8")
    links = {site / unquote(link) for link in re.findall('href="(.*?)"', index)}
    reports = site / "../../../../../reports/index.html"
    assert links == {reports, *site.glob("validations/**/*.html")}
    assert reports.resolve() == site.parents[3].parent / "reports" / "index.html"
    assert "<script" not in index, "it needs no script and no network"
    assert '">published_hours</a></td><td class="passed">passed</td><td>3 of 3</td>' in index
    assert '">validations</a></td><td class="failed">failed</td><td>3 of 4</td>' in index
    # Rows stay in the lake: Data Docs and results hold a few examples only.
    assert sum(path.stat().st_size for path in site.parent.parent.rglob("*.json")) < 1_000_000


def test_data_docs_load_and_run_nothing_and_tell_outcomes_in_words(
    spoilt: ValidationResults,
) -> None:
    assert spoilt.docs is not None
    site, policy = spoilt.docs.parent, "default-src 'none'; style-src 'unsafe-inline'"
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert len(pages) > 10
    for path, text in pages.items():
        assert f'<meta http-equiv="Content-Security-Policy" content="{policy}">' in text
        # All that a browser fetches, or sends a reader to, is in the same folder or beside it.
        addresses = re.findall(r"""(?:href|src|action|url)\s*[=(]\s*["']?([^"'>)\s]+)""", text)
        assert [each for each in addresses if re.match(r"[a-z]+:|//", each)] == []
        assert not re.search(r"<(script|link|img|iframe|object|form)\b|@import|newsletter", text)
        assert " fa-" not in text
        assert not re.search("[\u202e\x9b]", text)
        if path != spoilt.docs:
            (home,) = re.findall('href="(.*?index.html)"', text)
            assert (path.parent / home).resolve() == spoilt.docs
    for suite, table in {(verdict.suite, verdict.table) for verdict in spoilt.verdicts}:
        (page,) = site.glob(f"validations/{suite}/{table}/**/*.html")
        outcomes = re.findall('<span class="(passed|failed)">', pages[page])
        of_table = [v for v in spoilt.verdicts if (v.suite, v.table) == (suite, table)]
        # The head of the page has the outcome of all.
        assert outcomes.count("passed") + outcomes.count("failed") == len(of_table) + 1
        failed = sum(not verdict.success for verdict in of_table)
        assert outcomes.count("failed") == failed + (failed > 0)


def test_what_data_docs_have_judged_is_what_the_verdicts_say(spoilt: ValidationResults) -> None:
    """Both are made of the same results: the pages by Great Expectations, the verdicts by us."""
    assert spoilt.docs is not None
    site, told = spoilt.docs.parent, dict[tuple[str, ...], list[int]]()
    for page in site.glob("validations/**/*.html"):
        text = " ".join(re.sub("<[^>]+>", " ", page.read_text(encoding="utf-8")).split())
        counts = re.findall(r"(?:Evaluated|Unsuccessful) Expectations (\d+)", text)
        told[page.relative_to(site).parts[1:3]] = [int(count) for count in counts]
    found = {name: [0, 0] for name in told}
    for verdict in spoilt.verdicts:
        found[verdict.suite, verdict.table][0] += 1
        found[verdict.suite, verdict.table][1] += not verdict.success
    assert told == found
    assert sum(failed for _, failed in told.values()) >= 3


def test_the_validation_results_outlive_the_process(
    spoilt: ValidationResults, spoilt_folder: Path
) -> None:
    assert load_validation_results(spoilt_folder / "quality", lake.INTERVAL) == spoilt
    other = Interval.parse("2013-01-01", "2013-01-01T01:00")
    assert load_validation_results(spoilt_folder / "quality", other) is None
    assert [path.name for path in (spoilt_folder / "quality").iterdir()] == [lake.RUN]


@pytest.mark.slow
def test_data_docs_are_built_where_somebody_will_read_them(tmp_path: Path) -> None:
    rows = lake.healthy()
    rows["quarantine"] = []
    rows["ingested"][0]["bad_records"] = 0
    tables = run_tables(lake.write_lake(tmp_path / "lake", rows))
    for docs in (True, False):
        found = _checked(tables, tmp_path, docs)
        assert found.failed("warning") == ()
        assert (found.docs is not None and found.docs.is_file()) is docs
    # A run that is as it should be leaves its verdicts, and nothing of an earlier validation.
    files = [path.name for path in (tmp_path / "quality").rglob("*") if path.is_file()]
    assert files == ["validation_results.json"]


def test_an_empty_run_is_not_validated_and_nothing_else(tmp_path: Path) -> None:
    validation = _check(tmp_path, {table: [] for table in lake.healthy()})
    require_accepted(validation)
    found = {v.table: v.observed for v in validation.failed("warning")}
    assert found["validations"] == "no result was checked: 0 checked, 0 skipped"
    assert set(found) == {"ingested_hours", "validations"}


def test_missing_tables_and_names_that_are_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SchemaError, match="results_staged, validations"):
        _checked({}, tmp_path)
    root = lake.write_lake(tmp_path / "lake", lake.healthy())
    tables = run_tables(root)
    del tables["ingested_hours"]
    with pytest.raises(SchemaError, match=r"raw_events\.yaml.*ingested_hours"):
        _checked(tables, tmp_path)
    with pytest.raises(ParameterError, match="not a valid name of a run"):
        _checked({}, tmp_path, run="../run")


@pytest.mark.slow
def test_what_others_landed_is_not_judged_again(tmp_path: Path) -> None:
    root = lake.write_lake(tmp_path / "lake", lake.healthy())
    own = _checked(run_tables(root, ingested=False), tmp_path)
    every = _checked(run_tables(root), tmp_path)
    assert {v.table for v in every.verdicts} - {v.table for v in own.verdicts} == set(INGESTED)


@pytest.mark.slow
def test_a_run_that_was_judged_in_slices_is_as_good_as_its_worst(tmp_path: Path) -> None:
    rows = lake.healthy()
    good = _check(tmp_path / "good", rows)
    rows["validations"][-1]["reason"] = None
    bad = _check(tmp_path / "bad", rows)
    day, folder = Interval.parse("2013-01-01", "2013-01-02"), tmp_path / "quality"
    assert load_validation_results(folder, day) is None
    for first, judged in ((0, good), (12, bad)):
        part = folder / f"2013-01-01T{first:02}_2013-01-{1 + first // 12:02}T{12 - first:02}"
        part.mkdir(parents=True)
        (part / FILE_NAME).write_text(judged.model_dump_json())
    found = load_validation_results(folder, day)
    assert found is not None
    assert len(found.verdicts) == len(bad.verdicts)
    both, one = bad.failed("warning")
    more = {"observed": f"{both.observed} (and in 1 more of 2 slices)"}
    assert good.failed("warning") == (both,)
    assert found.failed("warning") == (both.model_copy(update=more), one)
    # A run of the whole stands until all slices are newer; of slices, those that were judged.
    failed, whole = min(folder.iterdir()), folder / "2013-01-01T00_2013-01-02T00"
    whole.mkdir()
    (whole / FILE_NAME).write_text(good.model_dump_json())
    assert load_validation_results(folder, day) == good
    os.utime(whole / FILE_NAME, (0, 0))
    assert load_validation_results(folder, day) == found
    shutil.rmtree(failed)
    assert load_validation_results(folder, day) == good
    shutil.rmtree(whole)
    last = load_validation_results(folder, day)
    assert last is not None
    assert last.verdicts == bad.verdicts


@pytest.mark.slow
def test_a_skipped_check_must_say_why(tmp_path: Path) -> None:
    rows = lake.healthy()
    rows["validations"][-1]["reason"] = None
    warned = {v.description: v.observed for v in _check(tmp_path, rows).failed("warning")}
    assert warned["Every skipped row has a reason."].startswith("1 of 1 rows")


def test_hours_that_are_not_published_yet_are_no_fault(tmp_path: Path) -> None:
    rows = lake.healthy()
    rows["published"] = []
    require_accepted(_check(tmp_path, rows))


def test_records_of_ignored_types_are_not_invalid(tmp_path: Path) -> None:
    rows = lake.healthy()
    rows["quarantine"] = [row | {"reason_code": "ignored_type"} for row in rows["quarantine"]]
    assert _check(tmp_path, rows).failed("warning") == ()


def test_quarantine_is_not_compared_if_a_later_ingest_of_the_hour_failed(tmp_path: Path) -> None:
    rows = lake.healthy()
    rows["quarantine"] += [row | {"record_number": 5} for row in rows["quarantine"]]
    assert len(_check(tmp_path / "a", rows).failed("critical")) == 1
    failed = lake.hour_row("failed", lake.HOURS[0], reason="too many") | {"workload": ""}
    rows["published"].append(failed)
    assert _check(tmp_path / "b", rows).failed("critical") == ()


def test_hours_are_compared_with_the_same_hour_of_the_weeks_before(tmp_path: Path) -> None:
    rows = lake.healthy()
    weeks = [row | {"hour": f"2012-12-{day}T10", "records": 60 + day, "bad_records": 0}
             for row in rows["ingested"][:1] for day in (11, 18, 25)]  # fmt: skip
    rows["ingested"] += weeks
    rows["ingested"].append(lake.hour_row("ingested", "2013-01-01T11", file_count=0, records=0,
                                          bad_records=0))  # fmt: skip
    del rows["ingested"][1]
    rows["events"] = [row for row in rows["events"] if row["file_hour"] == lake.HOURS[0]]
    (verdict,) = (v for v in _check(tmp_path, rows).failed("warning") if "usual" in v.expectation)
    assert "hour 2013-01-01T10: 5 records, usually 78; hour 2013-01-01T11: no file" in (
        verdict.observed
    )


def test_tables_that_no_run_has_created_count_as_empty(tmp_path: Path) -> None:
    records = {name: lake.healthy()[name] for name in ("plans", "validations", "run_metrics")}
    found = _check(tmp_path, records | {"validations": []})
    require_accepted(found)
    page = lake.report(tmp_path / "lake", tmp_path / "reports", lake.INTERVAL)
    assert "not published: 2 of 2 hours" in page.read_text("utf-8")


# ---- suites are read strictly: what is not understood is refused with its file
def test_every_suite_is_read_in_order() -> None:
    suites = load_suites(lake.EXPECTATIONS)
    assert list(dict.fromkeys(part.suite for part in suites)) == list(SUITES)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(lake.EXPECTATIONS, tmp_path / "expectations"))


def _replace(folder: Path, old: str, new: str) -> None:
    file = folder / "reference_diff.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "severity: critical",
            "severity: info",
            "'info' is not valid here .write critical or warning",
        ),
        ("severity: critical", "severity: critical\n      mostly: 0.5", "unknown setting mostly"),
        ("suite: reference_diff", "suite: other", "the suite has the name other"),
        ("description: Every checked", "description: $Every checked", r"must not contain \$"),
        ("{column: status,", "{meta: {}, column: status,", "meta is not an argument"),
        (
            "{column: status,",
            "{row_condition: '@x', condition_parser: pandas,",
            "_parser: great_expect",
        ),
        ("{column: status,", "{row_condition: {type: pass_through},", "condition_parser: great"),
    ],
)
def test_a_suite_with_a_fault_is_refused(folder: Path, old: str, new: str, told: str) -> None:
    _replace(folder, old, new)
    with pytest.raises(SchemaError, match=rf"reference_diff\.yaml.*{told}"):
        load_suites(folder)


@pytest.mark.parametrize("name", ["mine.yaml", "static_plan.yml"])
def test_a_file_of_expectations_that_nobody_reads_is_refused(folder: Path, name: str) -> None:
    (folder / name).write_text((folder / "static_plan.yaml").read_text())
    with pytest.raises(SchemaError, match=rf"{name}.*no step reads this file"):
        load_suites(folder)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "expect_published_to_equal_reference",
            "expect_the_best",
            "unknown expectation expect_the",
        ),
        (
            "{column: status, value_set: [checked, skipped]}",
            "{columm: status}",
            ": column: field r",
        ),
        ("  validations:", "  validation:", "unknown table validation"),
    ],
)
def test_an_expectation_that_nobody_knows_is_refused(
    folder: Path, tmp_path: Path, old: str, new: str, told: str
) -> None:
    _replace(folder, old, new)
    with pytest.raises(SchemaError, match=rf"reference_diff\.yaml.*{told}"):
        _checked_by(folder, tmp_path)
    assert list((tmp_path / "quality").glob("*")) == []


def _checked_by(folder: Path, tmp_path: Path) -> ValidationResults:
    root = lake.write_lake(tmp_path / "lake", lake.healthy())
    tables = run_tables(root)
    return check_expectations(
        tables, tmp_path / "quality", lake.RUN, expectations_dir=folder, docs=True
    )


_MORE = """
    - expectation: {name}
      description: More of it.
      severity: warning
      arguments: {arguments}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "arguments", "observed"),
    [
        # What Great Expectations finds here holds numbers of numpy.
        (
            "expect_column_quantile_values_to_be_between",
            "{column: rows, quantile_ranges: {quantiles: [0.5], value_ranges: [[0, 0]]}}",
            "quantiles",
        ),
        ("expect_rule_to_hold", "{rule: nope}", "has no column rule"),
        ("expect_quarantined_share_to_be_at_most", "{share: 1}", "has no column reasons"),
    ],
)
def test_an_expectation_of_ones_own_is_judged_and_shown(
    folder: Path, tmp_path: Path, name: str, arguments: str, observed: str
) -> None:
    with (folder / "trend_results.yaml").open("a") as file:
        file.write(_MORE.format(name=name, arguments=arguments))
    found = _checked_by(folder, tmp_path)
    (verdict,) = (one for one in found.verdicts if one.description == "More of it.")
    assert not verdict.success
    assert observed in verdict.observed
    assert found.docs is not None
    (page,) = found.docs.parent.glob("validations/**/*_published_hours.html")
    assert "More of it." in page.read_text()


@pytest.mark.slow
def test_a_rule_that_nobody_counts_is_named(folder: Path, tmp_path: Path) -> None:
    file = folder / "raw_events.yaml"
    file.write_text(file.read_text().replace("{rule: once}", "{rule: onze}"))
    failed = _checked_by(folder, tmp_path).failed("critical")
    assert ["has no rule onze (did you mean once?)" in one.observed for one in failed] == [True]


def test_a_missing_suite_is_refused(folder: Path) -> None:
    (folder / "static_plan.yaml").unlink()
    with pytest.raises(SchemaError, match=r"static_plan\.yaml"):
        load_suites(folder)


def test_staged_results_are_read_at_the_version_of_the_ledger(tmp_path: Path) -> None:
    """A run that is killed before it records its staged results changes nothing."""
    rows = lake.healthy()
    own = len(rows["validations"])
    of_others = lake.check("theirs", "{}", 1, 2, workload_fingerprint="d" * 64)
    rows["validations"].append(of_others)
    root = lake.write_lake(tmp_path / "lake", rows)
    staged = DeltaTable(str(root / "results_staged"))
    staged.delete()
    tables = run_tables(root)
    counts = tables["results_staged"].set_index("rule")["rows"]
    assert counts["has_query"] == len(rows["results_staged"])
    assert len(tables["validations"]) == own
    assert "theirs" not in set(tables["validations"]["query"])
    for file in root.glob("results_staged/window_end_day=*/*.parquet"):
        file.unlink()  # as VACUUM does
    assert run_tables(root)["results_staged"]["rows"].sum() == 0
