"""Assembles the pages of the site: those of docs/, and a few of other directories.

The contributors' guide, the changelog and the guide to the containers stay where repositories have
them. The site gets a copy of each. Links are rewritten here, not by a plug-in of MkDocs, so that
another program that reads `mkdocs.yml` can build the same site.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from posixpath import dirname, normpath, relpath

from docs.generate.python_markdown import outside_fences, with_lists, with_plain_bars

ROOT = Path(__file__).parents[2]
DOCS = "docs"
#: Programs and their lock, which are not pages.
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

_LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")


def assemble(target: Path, root: Path = ROOT) -> None:
    """Write all pages and pictures of the site into a directory, and remove what it had."""
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
    return outside_fences(lambda part: _LINK.sub(lambda link: _on_site(link, path), part), markdown)


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
