"""Workflows are valid, safe, and call the verbs of the Makefile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.unit.deployment.compose import ROOT
from tests.unit.deployment.test_judges import BIN, refused

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "schema"),
    [
        *((file, "github-workflows") for file in WORKFLOWS),
        (GITHUB / "dependabot.yml", "dependabot"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
def test_each_file_is_valid_by_its_schema(file: Path, schema: str) -> None:
    judge = (BIN / "check-jsonschema", "--builtin-schema", f"vendor.{schema}")
    assert refused(*judge, file) == ""


def test_zizmor_finds_no_way_in_through_any_workflow() -> None:
    judge = (
        BIN / "zizmor", "--offline", "--quiet", "--no-progress", "--color=never",
        "--persona=pedantic",
    )  # fmt: skip
    assert refused(*judge, GITHUB) == ""


def test_every_verb_that_a_workflow_calls_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    text = "\n".join(file.read_text(encoding="utf-8") for file in WORKFLOWS)
    called = set(re.findall(r"run: make ([a-z-]+)", text))
    assert {
        "check",
        "coverage",
        "core",
        "docs",
        "test-site",
        "wheel",
        "test-long",
        "audit",
        "lock",
    } <= called
    assert called <= set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def test_pull_requests_run_lint_all_tests_and_the_wheel() -> None:
    text = (GITHUB / "workflows" / "tests.yml").read_text(encoding="utf-8")
    assert "pull_request:" in text
    for command in ("make check", "make docs", "make core", ".ci/run", "make wheel"):
        assert f"run: {command}" in text
