"""Read the comments above queries: the question, an explanation, and the headline of reports."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from elsinore.query.bound import BoundQuery, Workload
from elsinore.wording import shown, suggest

#: How the line of a comment begins that is the headline.
HEADLINE = "headline:"
_VALUE = re.compile(r"\{([^{}]*?)(?::([^{}]*))?\}")


class Headline(NamedTuple):
    """A sentence about one row of a query; `text` is empty if the query has none.

    In the text, `{name}` is a value of RETURN, and `{name:noun}` is a value with a noun in the
    right number.
    """

    text: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its values."""
        return tuple(found[1] for found in _VALUE.finditer(self.text))

    def fill(self, value: Callable[[str, str | None], str]) -> str:
        """Return the sentence with values, given a function of a name and its noun.

        >>> Headline("{n:flight} of {all}").fill(lambda name, noun: f"{len(name)} {noun}s")
        '1 flights of 3 Nones'
        """
        return _VALUE.sub(lambda found: value(found[1], found[2]), self.text)


class Texts(NamedTuple):
    """A query as its workload file has it; empty if the file has another query of this name.

    Attributes:
        title: the first sentence of the comment above the query.
        about: the rest of the comment.
        headline: the line of the comment that begins with `headline:`.
        text: the query as written.
    """

    title: str = ""
    about: str = ""
    headline: Headline = Headline()
    text: str = ""


def query_texts(workload: Workload) -> dict[str, Texts]:
    """Return each query's comment and text as its file has them; empty for a text without file."""
    if not workload.queries:
        return {}
    file = Path(workload.queries[0].at.file)
    if not file.is_file():
        return {}
    lines = file.read_text(encoding="utf-8-sig").split("\n")
    begins = {query.name: (query.at.line or 1) - 1 for query in workload.queries}
    found = {}
    for name, begin in begins.items():
        end = min((other for other in begins.values() if other > begin), default=len(lines))
        while end > begin + 1 and lines[end - 1].strip()[:2] in ("", "--"):
            end -= 1  # lines above the next query
        above = begin
        while above and lines[above - 1].lstrip().startswith("--"):
            above -= 1
        comment = [line.strip(" -\r") for line in lines[above:begin]]
        headlines = [line for line in comment if line.startswith(HEADLINE)]
        text = " ".join(line for line in comment if line not in headlines)
        title, _, about = re.sub(r"(?<=[.?!])\s+", "\n", text, count=1).partition("\n")
        headline = headlines[-1].removeprefix(HEADLINE).strip() if headlines else ""
        found[name] = Texts(title, about, Headline(headline), "\n".join(lines[begin:end]).strip())
    return found


def headline_warnings(query: BoundQuery, texts: Texts) -> list[str]:
    """Return a warning for each name in the headline that is not a value of the query."""
    warnings = []
    for name in texts.headline.names:
        if name not in (*query.value_names, *query.value_labels):
            hint = suggest(name, query.value_names) or f"it returns {', '.join(query.value_names)}"
            warnings.append(f"the headline names {shown(name)}, which RETURN lacks: {hint}")
    return warnings
