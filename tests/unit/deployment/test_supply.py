"""What we are built of: the audit says when it did not run, and a bill lists all jars."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.unit.deployment.compose import DOCKER, ROOT

Done = subprocess.CompletedProcess[str]


def script(name: str, *words: object) -> Done:
    command = [sys.executable, str(DOCKER / "supply" / name), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def audit(folder: Path, said: object, code: int = 0) -> Done:
    """An audit of one lock file with a stand-in for pip-audit."""
    text = said if isinstance(said, str) else json.dumps({"dependencies": said})
    (folder / "said").write_text(text)
    program = folder / "pip-audit"
    program.write_text(f'#!/bin/sh\necho "$*" >{folder}/called\ncat {folder}/said\nexit {code}\n')
    program.chmod(0o755)
    return script("audit.py", program, "a.lock")


GOOD = {"name": "a", "version": "1", "vulns": []}
BAD = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["2.1"]}]}
SKIPPED = {"name": "c", "skip_reason": "Dependency not found on PyPI"}


@pytest.mark.parametrize(
    ("said", "exit_code", "code", "line"),
    [
        ([GOOD], 0, 0, "audit: a.lock: 1 packages, 0 known\n"),
        ([GOOD, BAD], 1, 1, "audit: a.lock: b 2: CVE-1, fixed in 2.1\n"),
        # pip-audit itself says here "No known vulnerabilities found", and ends with 0.
        ([GOOD, SKIPPED], 0, 3, "NOT AUDITED: 1 of 2 packages not looked up (Dependency not found"),
        ([], 0, 3, "NOT AUDITED: the audit did not run"),
        ("", 1, 3, "NOT AUDITED: the audit did not run (pip-audit printed nothing)"),
        ("{}", 1, 3, "NOT AUDITED: the audit did not run"),
    ],
)
def test_an_audit_succeeds_only_if_everything_was_looked_up(
    tmp_path: Path, said: Any, exit_code: int, code: int, line: str
) -> None:
    done = audit(tmp_path, said, exit_code)
    assert (done.returncode, line in done.stderr) == (code, True), done.stderr
    assert "--vulnerability-service pypi" in (tmp_path / "called").read_text()


def test_an_audit_without_its_program_did_not_run(tmp_path: Path) -> None:
    done = script("audit.py", tmp_path / "gone", "a.lock")
    assert done.returncode == 3
    assert "NOT AUDITED: the audit did not run" in done.stderr
    assert "No such file" in done.stderr


def test_make_audits_every_lock_with_a_pinned_program() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", " ")
    (locks,) = (line for line in makefile.splitlines() if line.startswith("LOCKS :="))
    found = {
        str(path.relative_to(ROOT)) for path in (*ROOT.glob("*.lock"), *ROOT.glob("*/*/*.lock"))
    }
    assert set(locks.split()[2:]) == found
    lock = (DOCKER / "supply" / "audit.lock").read_text(encoding="utf-8")
    assert (DOCKER / "supply" / "audit.in").read_text().split()[-1] in lock
    assert lock.count("==") <= lock.count("--hash=sha256:")


def jar(path: Path, **poms: str) -> Path:
    """A jar that names some artifacts with their versions."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, version in poms.items():
            text = f"#made\ngroupId=org.g\nartifactId={name}\nversion={version}\n"
            archive.writestr(f"META-INF/maven/org.g/{name}/pom.properties", text)
    return path


def test_a_bill_has_name_version_and_hash_of_every_jar(tmp_path: Path) -> None:
    (folder := tmp_path / "jars" / "below").mkdir(parents=True)
    jars = [
        jar(folder / "plain-1.5.4.jar"),
        jar(folder / "own-2.0-core.jar", own="2.0", inner="9"),
        jar(folder / "delta-spark_4.2_2.13-4.4.0.jar"),
        jar(folder / "unversioned.jar"),
    ]
    done = script("sbom.py", tmp_path / "out" / "b.json", tmp_path / "jars")
    assert (done.returncode, done.stdout) == (0, f"4 jars in {tmp_path}/out/b.json\n")
    made = json.loads(text := (tmp_path / "out" / "b.json").read_bytes())
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    assert [(one["name"], one["version"], one.get("purl")) for one in made["components"]] == [
        ("delta-spark_4.2_2.13", "4.4.0", None),
        ("own", "2.0", "pkg:maven/org.g/own@2.0"),
        ("plain", "1.5.4", None),
        ("unversioned", "", None),
    ]
    wanted = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in jars}
    assert {one["properties"][0]["value"]: one["hashes"][0]["content"]
            for one in made["components"]} == wanted  # fmt: skip
    script("sbom.py", tmp_path / "out" / "b.json", tmp_path / "jars")
    assert (tmp_path / "out" / "b.json").read_bytes() == text


def test_no_bill_is_made_of_nothing_or_of_what_is_no_jar(tmp_path: Path) -> None:
    done = script("sbom.py", tmp_path / "b.json", tmp_path)
    assert (done.returncode, "no jar below" in done.stderr) == (1, True)
    (tmp_path / "x-1.jar").write_text("no archive")
    assert script("sbom.py", tmp_path / "b.json", tmp_path).returncode == 1
    assert not (tmp_path / "b.json").exists()


@pytest.mark.slow
def test_the_bill_lists_what_pyspark_brings(tmp_path: Path) -> None:
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    jars = Path(spec.origin).parent / "jars"
    assert script("sbom.py", tmp_path / "b.json", jars).returncode == 0
    components = json.loads((tmp_path / "b.json").read_text())["components"]
    versions = {one["name"]: one["version"] for one in components}
    assert len(components) == len([*jars.rglob("*.jar")]) > 200
    assert [one["properties"] for one in components if not one["version"]] == []
    assert versions["derby"] == "10.16.1.1"
    assert versions["libthrift"] == "0.16.0"
    assert versions["hive-exec"].startswith("2.3.10")
