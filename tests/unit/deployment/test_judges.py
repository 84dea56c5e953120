"""Dockerfile, scripts, compose file and workflow before the tools that know their rules.

Each tool is also shown what it must refuse.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.unit.deployment.compose import DOCKER, ROOT

BIN = ROOT / ".tools" / "bin"
WORKFLOW = ROOT / ".github/workflows/images.yml"
SCRIPTS = [
    DOCKER / name
    for name in (
        "airflow/serve", "airflow/start", "make_secrets", "pin_images", "smoke_test", "spark/start",
        "storage/copy", "storage/start",
    )
]  # fmt: skip
SHELLCHECK = shutil.which("shellcheck")


def refused(*command: object) -> str:
    """What a tool says against its last arguments; nothing if all is well."""
    done = subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0 or done.stdout, done.stderr
    return "" if done.returncode == 0 else done.stdout


def changed(path: Path, folder: Path, old: str, new: str) -> Path:
    """A copy of a file in which something stands in the place of something else."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    folder.mkdir(exist_ok=True)
    copy = folder / path.name
    copy.write_text(text.replace(old, new), encoding="utf-8")
    return copy


def test_hadolint_finds_nothing_in_the_dockerfile(tmp_path: Path) -> None:
    judge = (BIN / "hadolint", "--no-color", "--failure-threshold", "style")
    assert refused(*judge, DOCKER / "Dockerfile") == ""
    for old, new, rule in [
        ("FROM python:3.11.14-slim-bookworm", "FROM python", "DL3006"),
        ("WORKDIR /opt/elsinore", "WORKDIR elsinore", "DL3000"),
        ("# hadolint ignore=DL3008\n", "", "DL3008"),
        # A fault of the shell inside of RUN.
        ("RUN useradd", "RUN cd $HOME && useradd", "SC2086"),
    ]:
        assert rule in refused(*judge, changed(DOCKER / "Dockerfile", tmp_path, old, new))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "schema", "faults"),
    [
        (
            DOCKER / "compose.yaml",
            "compose-spec",
            [
                ("condition: service_healthy", "condition: healthy"),
                ("start_period: 60s", "start_time: 60s"),
                ('cpus: "2", memory: 5g', 'cpu: "2", memory: 5g'),
            ],
        ),
        (
            WORKFLOW,
            "github-workflows",
            [("runs-on:", "run-on:"), ("contents: read", "contents: all")],
        ),
    ],
)
def test_a_file_is_one_by_its_schema(
    file: Path, schema: str, faults: list[tuple[str, str]], tmp_path: Path
) -> None:
    judge = (BIN / "check-jsonschema", "--builtin-schema", f"vendor.{schema}")
    assert refused(*judge, file) == ""
    wrong = [changed(file, tmp_path / str(n), *fault) for n, fault in enumerate(faults)]
    said = refused(*judge, *wrong)
    assert [copy for copy in wrong if f"{copy}::" not in said] == []


def test_zizmor_finds_no_way_in_through_the_workflow(tmp_path: Path) -> None:
    judge = (
        BIN / "zizmor", "--offline", "--quiet", "--no-progress", "--color=never",
        "--persona=pedantic",
    )  # fmt: skip
    assert refused(*judge, WORKFLOW) == ""
    for old, new, rule in [
        ("        with:\n          persist-credentials: false\n", "", "artipacked"),
        ("permissions: {}", "permissions: write-all", "excessive-permissions"),
        ("docker/smoke_test", "echo ${{ github.head_ref }}", "template-injection"),
        ("actions/checkout@", "actions/checkout@v7 # ", "unpinned-uses"),
    ]:
        assert rule in refused(*judge, changed(WORKFLOW, tmp_path, old, new))


@pytest.mark.skipif(SHELLCHECK is None, reason="needs shellcheck, a package of Debian's")
def test_shellcheck_finds_nothing_in_the_scripts(tmp_path: Path) -> None:
    assert refused(SHELLCHECK, *SCRIPTS, ROOT / ".ci/run") == ""
    copy = changed(DOCKER / "storage/copy", tmp_path, "carry &\n    wait $!", "carry")
    assert "SC2310" in refused(SHELLCHECK, copy)


def test_no_script_is_forgotten() -> None:
    files = (path for path in DOCKER.rglob("*") if path.is_file())
    assert {path for path in files if path.read_bytes().startswith(b"#!")} == set(SCRIPTS)
