"""One run judged whole: a right lake passes, each spoilt row is caught and named."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest

from elsinore.errors import ParameterError, ValidationError
from elsinore.quality.checkpoint import judge
from elsinore.quality.judgement import Judgement, load_judgement, require_accepted
from elsinore.quality.run_tables import read_run_tables
from tests.unit.quality import lake

SCRIPT = "<script>alert(1)</script>"


def _judge(
    folder: Path, rows: dict[str, list[lake.Row]], second_plan: str | None = None
) -> Judgement:
    root = lake.write_lake(folder / "lake", rows, second_plan=second_plan)
    tables = read_run_tables(root, lake.INTERVAL)
    return judge(tables, folder / "quality", lake.RUN, expectations_dir=lake.EXPECTATIONS)


@pytest.fixture(scope="module", name="good")
def _good(tmp_path_factory: pytest.TempPathFactory) -> Judgement:
    return _judge(tmp_path_factory.mktemp("good"), lake.healthy())


@pytest.fixture(scope="module", name="spoilt_folder")
def _spoilt_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spoilt")


@pytest.fixture(scope="module", name="spoilt")
def _spoilt(spoilt_folder: Path) -> Judgement:
    rows = copy.deepcopy(lake.healthy())
    rows["landings"][0]["accepted"] = 4
    rows["landings"][1]["first_event"] = lake.at(11, 30)
    rows["quarantine"][0]["reason_code"] = SCRIPT
    rows["events"][1]["event_id"] = SCRIPT
    rows["events"][2]["event_id"] = SCRIPT
    rows["events"][3]["event_day"] = lake.at(30).date()
    rows["plans"][1]["body"] = rows["plans"][1]["body"].replace("1234.5", "9999.5")
    staged = rows["trend_aggregates_staged"]
    staged[0] |= {"log2": float("nan"), "value": 42.0, "owned_hour": lake.HOURS[1]}
    staged[1] |= {"exact": "1e300", "window_end": lake.at(9)}
    staged.append(staged[3])
    rows["validations"].append(
        lake.check("delays", f'{{"carrier":"{SCRIPT}"}}', 10**40, 10**40 + 1)
    )
    return _judge(spoilt_folder, rows, second_plan="f" * 64)


def test_a_right_run_is_accepted_with_its_warning(good: Judgement) -> None:
    require_accepted(good)
    # One of five lines is quarantined, more than one in a hundred.
    assert [(v.table, v.expectation) for v in good.warnings] == [
        ("landings", "expect_quarantined_share_to_be_at_most")
    ]
    assert {v.suite for v in good.verdicts} == {
        "raw_events", "static_plan", "trend_results", "reference_diff",
    }  # fmt: skip


def test_every_spoilt_row_is_caught(spoilt: Judgement) -> None:
    failed = {(v.table, v.expectation) for v in spoilt.failures}
    assert failed == {
        ("landings", "expect_landed_rows_to_add_up"),
        ("landings", "expect_column_pair_values_a_to_be_greater_than_b"),
        ("quarantine", "expect_column_values_to_match_regex"),
        ("events", "expect_column_values_to_be_unique"),
        ("events", "expect_events_to_lie_in_their_day"),
        ("plans", "expect_plans_to_be_what_was_written"),
        ("trend_aggregates_staged", "expect_compound_columns_to_be_unique"),
        ("trend_aggregates_staged", "expect_column_pair_values_a_to_be_greater_than_b"),
        ("trend_aggregates_staged", "expect_windows_to_end_in_their_hour"),
        ("trend_aggregates_staged", "expect_column_values_to_match_regex"),
        ("trend_aggregates_staged", "expect_values_to_be_the_nearest_of_exact"),
        ("trend_aggregates_staged", "expect_column_values_to_be_finite"),
        ("trend_aggregates_staged", "expect_column_values_to_be_in_set"),
        ("validations", "expect_published_to_equal_reference"),
    }


def test_a_mismatch_names_query_group_window_and_both_values(spoilt: Judgement) -> None:
    (verdict,) = (v for v in spoilt.failures if v.table == "validations")
    for part in ("delays", SCRIPT, "2013-01-01 10:00:00", "2013-01-01 11:00:00", str(10**40)):
        assert part in verdict.observed
    assert f"reference {10**40 + 1}" in verdict.observed


def test_failures_become_one_terminal_error(spoilt: Judgement) -> None:
    with pytest.raises(ValidationError) as caught:
        require_accepted(spoilt)
    assert not caught.value.transient
    assert len(caught.value.fields["failures"]) == len(spoilt.failures)
    assert spoilt.docs_index in str(caught.value)


def test_data_docs_show_findings_and_escape_them(spoilt: Judgement) -> None:
    site = Path(spoilt.docs_index).parent
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert Path(spoilt.docs_index) in pages
    assert not [path for path, text in pages.items() if SCRIPT in text]
    (page,) = (text for path, text in pages.items() if path.name.startswith("reference_diff_"))
    escaped = SCRIPT.replace("<", "&lt;").replace(">", "&gt;")
    assert "Every checked aggregate equals the two-step reference." in page
    assert escaped in page
    assert f"reference {10**40 + 1}" in page
    # Rows stay in the lake: Data Docs and results hold a few examples only.
    assert sum(path.stat().st_size for path in site.parent.parent.rglob("*.json")) < 1_000_000


def test_the_judgement_outlives_the_process(spoilt: Judgement, spoilt_folder: Path) -> None:
    assert load_judgement(spoilt_folder / "quality", lake.RUN) == spoilt
    assert load_judgement(spoilt_folder / "quality", "2013-01-01T00_2013-01-01T01") is None
    assert [path.name for path in (spoilt_folder / "quality").iterdir()] == [lake.RUN]


def test_an_empty_run_is_not_validated_and_nothing_else(tmp_path: Path) -> None:
    judgement = _judge(tmp_path, {table: [] for table in lake.healthy()})
    require_accepted(judgement)
    found = {v.table: v.observed for v in judgement.warnings}
    assert found["validations"] == "not validated: 0 checked, 0 skipped"
    assert set(found) == {"landings", "validations"}


def test_missing_tables_and_names_that_are_paths_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="landings"):
        judge({}, tmp_path, "run", expectations_dir=lake.EXPECTATIONS)
    with pytest.raises(ParameterError, match="no name of a run"):
        judge({}, tmp_path, "../run", expectations_dir=lake.EXPECTATIONS)


def test_a_skipped_check_must_say_why(tmp_path: Path) -> None:
    rows = lake.healthy()
    rows["validations"][-1]["reason"] = None
    warned = {v.description: v.observed for v in _judge(tmp_path, rows).warnings}
    assert warned["A skipped row says why."].startswith("1 of 1 rows")


def test_hours_that_are_not_published_yet_are_no_fault(tmp_path: Path) -> None:
    rows = lake.healthy()
    rows["publications"] = []
    require_accepted(_judge(tmp_path, rows))


def test_corrected_lines_are_not_bad(tmp_path: Path) -> None:
    rows = lake.healthy()
    for landing in rows["landings"]:
        landing["reasons"] = landing["reasons"].replace("bad_json", "superseded")
    rows["quarantine"] = [row | {"reason_code": "superseded"} for row in rows["quarantine"]]
    assert _judge(tmp_path, rows).warnings == ()
