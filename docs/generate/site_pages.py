"""Assembles the pages of the site: those of docs/, and a few of other directories.

The contributors' guide, the changelog and the guide to the containers stay where repositories have
them. The site gets a copy of each. Links are rewritten here, not by a plug-in of MkDocs, so that
another program that reads `mkdocs.yml` can build the same site.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, normpath, relpath

ROOT = Path(__file__).parents[2]
DOCS = "docs"
#: Programs and their lock, which are no pages.
GENERATE = f"{DOCS}/generate"

#: Pages of the site by their path in the repository. The README's reader is sent to the first page.
ELSEWHERE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "docker/README.md": "how-to/deploy-containers.md",
}
_README = {"README.md": "index.md"}

#: What a page can show or link to besides pages.
_FILES = frozenset({
    ".css", ".csv", ".ipynb", ".json", ".jsonl", ".md", ".png", ".sase", ".svg", ".yaml",
})  # fmt: skip

_FENCE = re.compile(r"^(```.*?^```[^\n]*\n?)", re.MULTILINE | re.DOTALL)
#: A row of a table, and a code span in it.
_ROW, _CODE = re.compile(r"^\|.*\|$", re.MULTILINE), re.compile(r"`[^`\n]+`")
#: The first item of a list, which may interrupt a paragraph; any item.
_FIRST_ITEM, _ITEM = re.compile(r"[-*+] |1[.)] "), re.compile(r"[-*+] |\d+[.)] ")
#: Lines of a list's item, as repository hosts read them, but not Python-Markdown.
_INDENTED = re.compile(r" {2,3}(?=\S)")
_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def assemble(target: Path, root: Path = ROOT) -> None:
    """Write all pages and pictures of the site below a directory, which is emptied first."""
    if target.exists():
        shutil.rmtree(target)
    for file in sorted((root / DOCS).rglob("*")):
        path = file.relative_to(root).as_posix()
        if file.suffix in _FILES and not path.startswith(f"{GENERATE}/"):
            _copy(file, path, target / path.removeprefix(f"{DOCS}/"))
    for path, page in ELSEWHERE.items():
        _copy(root / path, path, target / page)


def _copy(file: Path, path: str, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".md":
        page = with_site_links(file.read_text(encoding="utf-8"), path)
        to.write_text(with_lists(with_plain_bars(page)), encoding="utf-8")
    else:
        shutil.copyfile(file, to)


def with_site_links(markdown: str, path: str) -> str:
    """Return a page with links that are right on the site; `path` is the page's in the repository.

    A link to a file that the site does not have becomes text with the file's path.

    >>> with_site_links("See [how](CONTRIBUTING.md#tests).", "README.md")
    'See [how](contributing.md#tests).'
    >>> with_site_links("[It](../lib/elsinore/errors.py) fails.", "docs/security.md")
    'It (`lib/elsinore/errors.py`) fails.'
    """
    parts = _FENCE.split(markdown)
    parts[::2] = [_LINK.sub(lambda link: _on_site(link, path), part) for part in parts[::2]]
    return "".join(parts)


def with_plain_bars(markdown: str) -> str:
    r"""Return a page without backslashes before the bars of code in tables.

    Repository hosts need them there; Python-Markdown, which builds the site, would print them.

    >>> with_plain_bars(r"| `a\|b` | c\|d |")
    '| `a|b` | c\\|d |'
    """
    parts = _FENCE.split(markdown)
    parts[::2] = [
        _ROW.sub(lambda row: _CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), part)
        for part in parts[::2]
    ]
    return "".join(parts)


def with_lists(markdown: str) -> str:
    r"""Return a page whose lists are also lists to Python-Markdown.

    It needs an empty line before a list, and four spaces before whatever belongs to an item.

    >>> with_lists("Take:\n- one\n  - or two\n")
    'Take:\n\n- one\n    - or two\n'
    """
    parts = _FENCE.split(markdown)
    parts[::2] = ["".join(_lines_with_lists(part)) for part in parts[::2]]
    return "".join(parts)


def _lines_with_lists(markdown: str) -> Iterator[str]:
    in_list, in_paragraph, after_text = False, False, False
    for line in markdown.splitlines(keepends=True):
        is_item = _ITEM.match(line) is not None
        if in_list:
            if is_item and in_paragraph and after_text:
                yield "\n"
            if _INDENTED.match(line):
                line = f"    {line.lstrip(' ')}"
            in_paragraph = not is_item and (in_paragraph if after_text else bool(line.strip()))
            in_list = is_item or after_text or line[0].isspace()
        elif is_item and (not after_text or _FIRST_ITEM.match(line)):
            in_list, in_paragraph = True, False
            if after_text:
                yield "\n"
        yield line
        after_text = bool(line.strip()) and not line.startswith(("#", "|"))


def _on_site(link: re.Match[str], path: str) -> str:
    mark, text, target = link.groups()
    target, _, anchor = target.partition("#")
    if not target or ":" in target:  # on the same page, or another site
        return link[0]
    file = normpath(f"{dirname(path)}/{target}".lstrip("/"))
    page = site_path(file)
    if page is None:
        return text if file in text else f"{text} (`{file}`)"
    own = site_path(path) or ""
    return f"{mark}[{text}]({relpath(page, dirname(own) or '.')}{'#' * bool(anchor)}{anchor})"


def site_path(path: str) -> str | None:
    """Return where the site has a file of the repository; None if it has not.

    >>> site_path("docs/concepts/sharing.md"), site_path("README.md"), site_path("Makefile")
    ('concepts/sharing.md', 'index.md', None)
    """
    if path.startswith(f"{DOCS}/") and not path.startswith(f"{GENERATE}/"):
        return path.removeprefix(f"{DOCS}/")
    return (ELSEWHERE | _README).get(path)
