"""Links from the first page of a run's Data Docs to its reports."""

from __future__ import annotations

import html
import os
import re
from pathlib import Path
from urllib.parse import quote

_BLOCK = re.compile(r"<p data-elsinore=\"reports\"[^>]*>.*?</p>", re.DOTALL)
_BODY = re.compile(r"<body[^>]*>")


def link_back(docs_index: Path, page: Path, text: str) -> None:
    """Put a link to a report at the top of Data Docs; again, and there is still one.

    Does nothing where there are no Data Docs.
    """
    if not docs_index.is_file():
        return
    content = docs_index.read_text(encoding="utf-8")
    target = quote(os.path.relpath(page, docs_index.parent))
    link = f'<a href="{target}">{html.escape(text)}</a>'
    found = _BLOCK.search(content)
    links = re.findall(r"<a .*?</a>", found[0], re.DOTALL) if found else []
    others = [one for one in links if f'href="{target}"' not in one]
    style = "margin:0;padding:8px 16px;font-family:sans-serif"
    block = f'<p data-elsinore="reports" style="{style}">' + " · ".join([*others, link]) + "</p>"
    content = _BLOCK.sub("", content)
    content = _BODY.sub(lambda body: body[0] + block, content, count=1)
    made = docs_index.with_suffix(f".{os.getpid()}.making")
    made.write_text(content, encoding="utf-8")
    made.replace(docs_index)
