"""Checks the prose of pages, messages and docstrings: `python -m tests.prose`.

Every page, every message, and the docstrings and comments of every package must pass. `--show AREA`
prints the findings of a page, of a package or of `messages`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.prose.read_prose import Kind, module_texts, package_of, page_texts
from tests.prose.rules import Finding, marks, too_long

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "lib" / "elsinore"
MESSAGES = "messages"

#: Pages that a program writes.
GENERATED = frozenset({"docs/benchmarks/results.md"})


def areas() -> dict[str, list[Finding]]:
    """Return the findings of each page, of all messages, and of each package's docstrings."""
    of_pages = {str(page.relative_to(ROOT)): page_findings(page) for page in pages()}
    return of_pages | module_findings()


def page_findings(page: Path) -> list[Finding]:
    """Return the findings of one Markdown page."""
    texts = page_texts(page.read_text(encoding="utf-8"))
    return [*marks(texts), *too_long(texts)]


def module_findings() -> dict[str, list[Finding]]:
    """Return the findings of all messages, and of the docstrings and comments of each package."""
    findings: dict[str, list[Finding]] = {MESSAGES: []}
    for module in sorted(LIBRARY.rglob("*.py")):
        texts = module_texts(module.read_text(encoding="utf-8"))
        name = str(module.relative_to(ROOT))
        messages = [text for text in texts if text.kind is Kind.MESSAGE]
        findings[MESSAGES] += _placed(name, [*marks(messages), *too_long(messages)])
        written = [text for text in texts if text.kind is not Kind.MESSAGE]
        area = findings.setdefault(f"lib {package_of(module, LIBRARY)}", [])
        area += _placed(name, marks(written))
    return findings


def pages() -> Iterator[Path]:
    """Yield the pages that people write."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docker").rglob("*.md")]
    yield from sorted(page for page in found if str(page.relative_to(ROOT)) not in GENERATED)


def _placed(name: str, findings: list[Finding]) -> list[Finding]:
    return [finding._replace(excerpt=f"{name}: {finding.excerpt}") for finding in findings]


def problems(findings: dict[str, list[Finding]]) -> list[str]:
    """Return a line for each area with findings, and one for each finding.

    >>> problems({"lib cli": [], "README.md": [Finding(3, "write 'only'", "it alone")]})
    ['README.md: 1 finding', "  README.md:3: write 'only': it alone"]
    """
    lines = []
    for name, found in findings.items():
        if found:
            lines.append(f"{name}: {len(found)} finding{'s'[: len(found) != 1]}")
            lines += [f"  {name}:{one.line}: {one.rule}: {one.excerpt}" for one in found]
    return lines


def main() -> int:
    """Check the prose or print the findings of one area; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.prose", description=__doc__)
    parser.add_argument("--show", metavar="AREA", help="print the findings of one area")
    options = parser.parse_args()
    if options.show:
        page = ROOT / options.show
        shown = page_findings(page) if page.is_file() else module_findings()[options.show]
        for one in shown:
            print(f"{one.line}: {one.rule}: {one.excerpt}")
        return 0
    lines = problems(areas())
    print("\n".join(lines) if lines else "prose: no findings", file=sys.stderr)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
