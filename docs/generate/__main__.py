"""Writes what the documentation site consists of: `python -m docs.generate`.

`reference` writes the generated pages of docs/reference; `pages` assembles all pages of the site in
build/pages, from which MkDocs builds it.
"""

from __future__ import annotations

import argparse

from docs.generate.site_pages import DOCS, ROOT, assemble


def main() -> None:
    """Write pages."""
    parser = argparse.ArgumentParser(prog="python -m docs.generate", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    actions.add_parser("reference", help="write the generated pages of docs/reference")
    actions.add_parser("pages", help="assemble the pages of the site in build/pages")
    if parser.parse_args().action == "pages":
        assemble(ROOT / "build" / "pages")
        return
    from docs.generate import reference  # takes seconds: it imports the library

    reference.write(ROOT / DOCS / "reference")


if __name__ == "__main__":
    main()
