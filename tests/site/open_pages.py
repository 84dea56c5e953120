"""Opens pages of a site in Chromium, at several widths, and prints what is wrong with them.

`.docs/bin/python tests/site/open_pages.py SITE [--pictures DIRECTORY]` runs in the environment of
the documentation's programs. It prints a JSON list: one object for each problem.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

#: Widths of a desktop's window and of a phone, in CSS pixels, each with a height.
WIDTHS = {1280: 800, 390: 844}
#: Names under which systems install it.
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")

#: Names the widest element that reaches beyond the page's right edge; null if the page fits.
_OVERFLOW = """() => {
  const page = document.documentElement;
  if (page.scrollWidth <= page.clientWidth) return null;
  const out = [...document.querySelectorAll("article *")].filter(
    one => one.getBoundingClientRect().right > page.clientWidth + 1);
  const first = out.length ? `${out[0].tagName} ${out[0].textContent.slice(0, 60)}` : "";
  return `${page.scrollWidth} of ${page.clientWidth} pixels: ${first}`;
}"""


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of requests."""


@contextmanager
def _served(site: Path) -> Iterator[str]:
    """Serve a directory on the loopback address; yields the address of its root."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Visit:
    """One width: opens pages, and gathers what the browser reports about each."""

    def __init__(self, browser: Any, root: str, width: int) -> None:
        self.root, self.width, self.path = root, width, ""
        self.problems: list[dict[str, Any]] = []
        context = browser.new_context(viewport={"width": width, "height": WIDTHS[width]})
        context.route("**/*", self._admit)
        self.page = context.new_page()
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self._note("error", str(error)))
        self.page.on("response", self._response)

    def _note(self, kind: str, text: str) -> None:
        problem = {"page": self.path, "width": self.width, "kind": kind, "text": text}
        self.problems.append(problem)

    def _admit(self, route: Any) -> None:
        """Let requests to the site pass, and no other."""
        if route.request.url.startswith((self.root, "data:", "blob:")):
            route.continue_()
        else:
            self._note("request", route.request.url)
            route.abort()

    def _console(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self._note("console", message.text)

    def _response(self, response: Any) -> None:
        if response.status >= 400:
            self._note("response", f"{response.status} {response.url}")

    def open(self, path: str) -> None:
        """Open a page and check that it fits."""
        self.path = path
        self.page.goto(self.root + path, wait_until="load")
        if overflow := self.page.evaluate(_OVERFLOW):
            self._note("overflow", overflow)

    def search(self, word: str, patience: float) -> None:
        """Search for a word on the open page; no result within `patience` seconds is a problem."""
        self.page.evaluate("document.querySelector('#__search').click()")
        self.page.locator(".md-search__input").fill(word)
        results = self.page.locator(".md-search-result__item")
        try:
            results.first.wait_for(state="attached", timeout=patience * 1_000)
        except Exception as error:  # noqa: BLE001 - Playwright's, which the tests do not import
            self._note("search", f"nothing found for {word}: {error}")


def problems(site: Path, pictures: Path | None, word: str, patience: float) -> list[dict[str, Any]]:
    """Return the problems of all pages of a site, at each width."""
    program = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if program is None:
        sys.exit("no Chromium: install the Debian package chromium")
    paths = sorted(str(file.relative_to(site)) for file in site.rglob("*.html"))
    found = []
    with _served(site) as root, sync_playwright() as playwright:
        # Chromium's own sandbox needs rights that containers do not have; it opens our pages only.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for width in WIDTHS:
            visit = _Visit(browser, root, width)
            for path in paths:
                visit.open(path)
                if pictures:
                    name = f"{path.removesuffix('.html').replace('/', '-')}-{width}.png"
                    visit.page.screenshot(path=pictures / name)
            if word:
                visit.open("index.html")
                visit.search(word, patience)
            found += visit.problems
        browser.close()
    return found


def main() -> None:
    """Print the problems."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("site", type=Path)
    parser.add_argument("--pictures", type=Path, help="directory for a picture of each page")
    parser.add_argument("--search", default="", help="a word that the search must find")
    parser.add_argument("--patience", type=float, default=30, help="seconds that a search may take")
    options = parser.parse_args()
    found = problems(options.site, options.pictures, options.search, options.patience)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
