"""Each page of the built site fits a window and a phone, is quiet, and loads from its host only."""

from __future__ import annotations

import json
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
SITE, PAGES = ROOT / "build" / "site", ROOT / "build" / "pages"
#: mkdocstrings adds the docstrings of the names on it.
EXPANDED = PAGES / "reference" / "python.md"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]


def problems(site: Path, *options: str) -> list[dict[str, Any]]:
    """Return what Chromium finds wrong with the pages of a directory."""
    program = [ROOT / ".docs" / "bin" / "python", ROOT / "tests" / "site" / "open_pages.py"]
    done = subprocess.run(
        [*program, site, *options], capture_output=True, text=True, check=False, timeout=1500
    )
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def test_every_page_fits_is_quiet_and_loads_from_its_host_only() -> None:
    assert (SITE / "index.html").is_file(), "build the site first: make test-site"
    assert problems(SITE, "--search", "quarantine") == []


def test_each_kind_of_problem_is_found(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        "<!doctype html><title>Wrong</title><link rel=icon href='data:,'>"
        "<article><p style='width: 900px'>Wide</p></article>"
        "<img src='http://192.0.2.1/picture.png'><img src='missing.png'>"
        "<script>console.error('odd'); undefined.x</script>"
        "<button id=__search>Search</button><input class=md-search__input>"
    )
    found = problems(tmp_path, "--search", "word", "--patience", "1")
    assert {(one["kind"], one["width"]) for one in found} >= {
        ("overflow", 390), ("request", 390), ("request", 1280), ("console", 390),
        ("error", 390), ("response", 390), ("search", 390),
    }  # fmt: skip
    assert ("overflow", 1280) not in {(one["kind"], one["width"]) for one in found}


def test_a_dead_link_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("[Gone](gone.md), [nowhere](#nowhere)\n")
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    settings, _, _ = settings.replace("build/pages", "docs").partition("nav:\n  - Home")
    (tmp_path / "mkdocs.yml").write_text(settings.replace("[site.css]", "[]"), encoding="utf-8")
    command = ["make", "site", f"SITE_CONFIG={tmp_path / 'mkdocs.yml'}"]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode != 0
    assert "'gone.md', but the target is not found" in done.stderr
    assert "'#nowhere', but there is no such anchor" in done.stderr


class _Article(HTMLParser):
    """Counts the elements of a page's article."""

    def __init__(self) -> None:
        super().__init__()
        self.inside, self.counts = False, dict.fromkeys(("table", "li", "h1", "h2", "img"), 0)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.inside = self.inside or tag == "article"
        if self.inside and tag in self.counts:
            self.counts[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag != "article"


def _of_markdown(page: Path) -> dict[str, int]:
    tokens = MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))
    tags = [token.tag for token in tokens if token.nesting == 1]
    tags += [one.tag for token in tokens for one in token.children or [] if one.type == "image"]
    return {tag: tags.count(tag) for tag in ("table", "li", "h1", "h2", "img")}


@pytest.mark.parametrize(
    "page",
    sorted(page for page in PAGES.rglob("*.md") if page != EXPANDED),
    ids=lambda page: str(page.relative_to(PAGES)),
)
def test_a_page_has_the_structure_that_repository_hosts_show(page: Path) -> None:
    """MkDocs reads Markdown in another way: a list without an empty line before it is text."""
    html = (SITE / page.relative_to(PAGES)).with_suffix(".html").read_text(encoding="utf-8")
    article = _Article()
    article.feed(html)
    assert article.counts == _of_markdown(page)
