"""Writes what the documentation site consists of: `python -m docs.generate`.

`reference` writes the generated pages of docs/reference; `pages DIRECTORY` assembles all pages of
the site in a directory, from which MkDocs builds it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from docs.generate.site_pages import DOCS, ROOT, assemble


def main() -> None:
    """Write pages."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("reference", help="write the generated pages of docs/reference")
    pages = actions.add_parser("pages", help="assemble the pages of the site")
    pages.add_argument("directory", type=Path)
    options = parser.parse_args()
    if options.action == "pages":
        assemble(options.directory)
        return
    from docs.generate import reference  # takes seconds: it imports the library

    reference.write(ROOT / DOCS / "reference")


if __name__ == "__main__":
    main()
