"""Checks the prose of pages, messages and docstrings: `python -m tests.prose`.

Pages and messages must pass. Prose that was written before the check has a ceiling in
`ceilings.yaml`: a number of findings that may only fall. `--lower` writes the lower numbers,
`--show AREA` prints the findings of a page, of a package or of `messages`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

from tests.prose.read_prose import Kind, module_texts, package_of, page_texts
from tests.prose.rules import Finding, marks, too_long

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "lib" / "elsinore"
CEILINGS = Path(__file__).with_name("ceilings.yaml")
MESSAGES = "messages"

#: Pages that a program writes.
GENERATED = frozenset({"docs/benchmarks/results.md"})


def areas() -> dict[str, list[Finding]]:
    """Return the findings of each page, of all messages, and of each package's docstrings."""
    pages = {str(page.relative_to(ROOT)): page_findings(page) for page in _pages()}
    return pages | module_findings()


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


def _pages() -> Iterator[Path]:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docker").rglob("*.md")]
    yield from sorted(page for page in pages if str(page.relative_to(ROOT)) not in GENERATED)


def _placed(name: str, findings: list[Finding]) -> list[Finding]:
    return [finding._replace(excerpt=f"{name}: {finding.excerpt}") for finding in findings]


def problems(findings: dict[str, list[Finding]], ceilings: dict[str, int]) -> list[str]:
    """Return a line for each area above its ceiling, and for each ceiling that nothing needs.

    >>> problems({"README.md": [], "lib cli": []}, {"lib cli": 3, "docs/gone.md": 1})
    ['docs/gone.md: there is no such area: remove its ceiling']
    >>> problems({"README.md": [Finding(3, "write 'only'", "it alone")]}, {})
    ["README.md: 1 finding, at most 0", "  README.md:3: write 'only': it alone"]
    """
    lines = [
        f"{name}: there is no such area: remove its ceiling"
        for name in ceilings.keys() - findings.keys()
    ]
    for name, found in findings.items():
        allowed = ceilings.get(name, 0)
        if len(found) > allowed:
            lines.append(f"{name}: {len(found)} finding{'s'[: len(found) != 1]}, at most {allowed}")
            if not allowed:
                lines += [f"  {name}:{one.line}: {one.rule}: {one.excerpt}" for one in found]
    return lines


def lowered(findings: dict[str, list[Finding]], ceilings: dict[str, int]) -> dict[str, int]:
    """Return the ceilings after this state of the prose; none is higher than before.

    >>> lowered({"a": [], "b": [Finding(1, "", "")] * 2}, {"a": 1, "b": 1, "c": 5})
    {'b': 1}
    """
    counts = {name: min(len(found), ceilings.get(name, 0)) for name, found in findings.items()}
    return {name: count for name, count in sorted(counts.items()) if count}


def main() -> int:
    """Check, lower the ceilings or print findings; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.prose", description=__doc__)
    parser.add_argument("--lower", action="store_true", help="write the ceilings that are met")
    parser.add_argument("--show", metavar="AREA", help="print the findings of one area")
    options = parser.parse_args()
    if options.show:
        page = ROOT / options.show
        shown = page_findings(page) if page.is_file() else module_findings()[options.show]
        for one in shown:
            print(f"{one.line}: {one.rule}: {one.excerpt}")
        return 0
    ceilings: dict[str, int] = yaml.safe_load(CEILINGS.read_text(encoding="utf-8"))
    findings = areas()
    if options.lower:
        text = yaml.safe_dump(lowered(findings, ceilings))
        CEILINGS.write_text(text, encoding="utf-8")
        return 0
    lines = problems(findings, ceilings)
    print("\n".join(lines) if lines else "prose: no area above its ceiling", file=sys.stderr)
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
