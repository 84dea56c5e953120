"""The pages of the site: each is in the navigation, and every link leads somewhere."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

from docs.generate.python_markdown import with_lists, with_plain_bars
from docs.generate.site_pages import ELSEWHERE, ROOT, assemble, with_site_links

PAGES = sorted([
    *ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "docker" / "README.md",
])  # fmt: skip


class _Plain(yaml.SafeLoader):
    """Reads mkdocs.yml without calling what it names."""


_Plain.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def navigation() -> list[str]:
    """Return the pages that mkdocs.yml lists."""
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    return [*_leaves(yaml.load(text, Loader=_Plain)["nav"])]  # noqa: S506 - a safe loader


def _leaves(entry: Any) -> Iterator[str]:
    if isinstance(entry, str):
        yield entry
    else:
        for part in entry.values() if isinstance(entry, dict) else entry:
            yield from _leaves(part)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as repository hosts and the site make them."""
    tokens = MarkdownIt("commonmark").parse(page.read_text(encoding="utf-8"))
    counts = Counter[str]()
    found = set()
    for before, token in itertools.pairwise(tokens):
        if before.type == "heading_open":
            words = "".join(one.content for one in token.children or [])
            name = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
            found.add(f"{name}-{counts[name]}" if counts[name] else name)
            counts[name] += 1
    return found


def links(page: Path) -> Iterator[str]:
    """Yield the targets of a page's links and pictures."""
    for token in MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8")):
        for one in token.children or []:
            target = one.attrs.get("href", one.attrs.get("src"))
            if isinstance(target, str) and one.type in ("link_open", "image"):
                yield target


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    dead = []
    for target in links(page):
        path, _, anchor = target.partition("#")
        if ":" in path:
            continue
        file = (page.parent / path).resolve() if path else page
        if not file.exists():
            dead.append(f"{target}: no such file")
        elif anchor and anchor not in anchors(file):
            dead.append(f"{target}: no such heading")
    assert dead == []


def test_the_navigation_has_every_page_once(tmp_path: Path) -> None:
    assemble(tmp_path)
    pages = sorted(str(page.relative_to(tmp_path)) for page in tmp_path.rglob("*.md"))
    assert sorted(navigation()) == pages


def test_the_site_has_pages_and_pictures_but_no_programs(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_text("Removed since.")
    assemble(tmp_path)
    files = {file.relative_to(tmp_path) for file in tmp_path.rglob("*") if file.is_file()}
    assert Path("index.md") in files
    assert Path("pictures/papers-overview.svg") in files
    assert {Path(page) for page in ELSEWHERE.values()} <= files
    assert Path("old.md") not in files
    assert not [file for file in files if file.suffix in (".py", ".lock", ".in")]


@pytest.mark.parametrize(
    ("text", "path", "there"),
    [
        ("[a](docs/security.md)", "CONTRIBUTING.md", "[a](security.md)"),
        ("[a](../docs/how-to/x.md#y)", "docker/README.md", "[a](x.md#y)"),
        ("![a](../pictures/x.svg)", "docs/concepts/y.md", "![a](../pictures/x.svg)"),
        ("[a](../../docker/README.md)", "docs/how-to/x.md", "[a](deploy-containers.md)"),
        ("[`a`](../Makefile)", "docs/x.md", "`a` (`Makefile`)"),
        ("[Makefile](../Makefile)", "docs/x.md", "Makefile"),
        ("[a](#b) [c](https://example.org)", "docs/x.md", "[a](#b) [c](https://example.org)"),
        ("```sh\n[a](../Makefile)\n```\n", "docs/x.md", "```sh\n[a](../Makefile)\n```\n"),
    ],
)
def test_links_are_those_of_the_site(text: str, path: str, there: str) -> None:
    assert with_site_links(text, path) == there


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("Take\n- one\n- two\n", "Take\n\n- one\n- two\n"),
        ("**Take**\n* one\n* two\n", "**Take**\n\n* one\n* two\n"),
        ("Take:\n1. one\n2. two\n", "Take:\n\n1. one\n2. two\n"),
        ("1. one\n   - a\n   - b\n", "1. one\n    - a\n    - b\n"),
        ("1. one\n\n   More.\n2. two\n", "1. one\n\n    More.\n\n2. two\n"),
        ("- one\n\nText\n\n  More.\n", "- one\n\nText\n\n  More.\n"),
        # Neither of these is a list: a hard line break within one, and a year.
        ("- one\n  more\n- two\n", "- one\n    more\n- two\n"),
        ("It was\n2013. Then\n", "It was\n2013. Then\n"),
        ("```\na\n- b\n```\n", "```\na\n- b\n```\n"),
    ],
)
def test_lists_are_those_of_python_markdown(text: str, there: str) -> None:
    assert with_lists(text) == there


def test_bars_lose_their_backslash_in_code_of_tables_only() -> None:
    page = "| `a\\|b` | c\\|d |\n\n`e\\|f`\n\n```\n| `g\\|h` |\n```\n"
    assert with_plain_bars(page) == "| `a|b` | c\\|d |\n\n`e\\|f`\n\n```\n| `g\\|h` |\n```\n"
