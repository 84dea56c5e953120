"""Look up the packages of lock files in PyPI's advisories, with pip-audit.

    python audit.py PIP_AUDIT LOCK...

Exit code 0: every package was looked up, and none has a known vulnerability. 1: one has. 3: the
audit did not run, or not for every package; pip-audit itself exits with 0 then.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

CLEAN, VULNERABLE, NOT_DONE = 0, 1, 3


def look_up(pip_audit: str, lock: Path) -> tuple[list[dict[str, Any]], str]:
    """Return pip-audit's result for each package, or an empty list and the problem."""
    command = [
        pip_audit, "--progress-spinner", "off", "--require-hashes", "--disable-pip",
        "--vulnerability-service", "pypi", "--format", "json", "--requirement", str(lock),
    ]  # fmt: skip
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return json.loads(done.stdout)["dependencies"], ""
    except OSError as error:
        return [], f"{pip_audit}: {error.strerror}"
    except (ValueError, KeyError, TypeError):
        return [], (done.stderr.strip().splitlines() or ["pip-audit printed nothing"])[-1]


def judge(lock: Path, packages: list[dict[str, Any]], problem: str) -> tuple[int, list[str]]:
    """Return an exit code, and lines with vulnerabilities and unaudited packages."""
    skipped = [package for package in packages if "skip_reason" in package]
    if problem or not packages or skipped:
        why = problem or (skipped[0]["skip_reason"] if skipped else "it names no package")
        left = f"{len(skipped)} of {len(packages)} packages" if packages else "nothing"
        what = f"{left} not looked up" if skipped else "the audit did not run"
        return NOT_DONE, [f"{lock}: NOT AUDITED: {what} ({why}); PyPI's JSON API must be reachable"]
    lines = [
        f"{lock}: {package['name']} {package['version']}: {fault['id']}, fixed in "
        f"{', '.join(fault.get('fix_versions', [])) or 'no release'}"
        for package in packages
        for fault in package["vulns"]
    ]
    return (VULNERABLE, lines) if lines else (CLEAN, [f"{lock}: {len(packages)} packages, 0 known"])


def main(arguments: list[str]) -> int:
    """Run the command line, print a line per finding, and return the worst code."""
    pip_audit, *locks = arguments
    codes = []
    for lock in map(Path, locks):
        code, lines = judge(lock, *look_up(pip_audit, lock))
        codes.append(code)
        sys.stderr.write("".join(f"audit: {line}\n" for line in lines))
    # A vulnerability takes precedence over packages that could not be looked up.
    return VULNERABLE if VULNERABLE in codes else max(codes, default=NOT_DONE)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
