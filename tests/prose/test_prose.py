"""The prose check finds marks and long texts in prose, and leaves code alone."""

from __future__ import annotations

import pytest

from tests.prose.__main__ import ROOT, pages, problems
from tests.prose.read_prose import Kind, module_texts, page_texts
from tests.prose.rules import CELL_WORDS, MARKS, PARAGRAPH_WORDS, SENTENCE_WORDS, marks, too_long

MARKED = [
    "The log, which tells the least value.",
    "Its hours are computed anew.",
    "It is published by itself.",
    "Pages are served to whoever has signed in.",
    "It runs beside the shared sets.",
    "The number stands for a count.",
    "The lake lies in the home.",
    "Tables are parted by day.",
    "It comes to 110.",
    "Results are worked out by hand.",
    "Bad records are set aside.",
    "Rows of events with those of results.",
    "'x' is no path.",
    "A stretch of hours.",
    "Mend the environment.",
    "Ten times so many.",
    "Only delta-rs writes, Spark alone reads.",
    "Where a query has no row, a line says why.",
]


@pytest.mark.parametrize("sentence", MARKED)
def test_each_mark_is_found(sentence: str) -> None:
    found = marks(page_texts(sentence))
    assert len(found) >= 1
    assert all(one.rule[len("write '") : -1] in MARKS for one in found)


def test_plain_sentences_have_no_mark() -> None:
    page = "If a query returns no rows, Elsinore prints the reason. It is no longer empty."
    assert marks(page_texts(page)) == []


def test_code_of_pages_is_not_prose() -> None:
    page = "Call `mend` here.\n\n```sh\nmend anew\n```\n\n<!-- by itself -->\n"
    assert marks(page_texts(page)) == []


@pytest.mark.parametrize(
    ("page", "excess"),
    [
        ("word " * SENTENCE_WORDS + "end.", 1),
        ("word " * (SENTENCE_WORDS - 1) + "end.", 0),
        ("Ten words are in this sentence, which is short enough. " * 10, 1),
        ("Ten words are in this sentence, which is short enough. " * 9, 0),
        ("| a | b |\n|---|---|\n| " + "One. " * (CELL_WORDS + 1) + "| b |\n", 1),
        ("| a | b |\n|---|---|\n| " + "One. " * CELL_WORDS + "| b |\n", 0),
    ],
)
def test_long_sentences_paragraphs_and_cells_are_found(page: str, excess: int) -> None:
    assert PARAGRAPH_WORDS == 90
    assert len(too_long(page_texts(page))) == excess


def test_modules_have_docstrings_comments_and_messages() -> None:
    source = (
        '"""Read events."""\n'
        "# Slow, but right.\n"
        "def f(x):\n"
        '    """Raise.\n\n    >>> f(1)  # mend\n    """\n'
        '    raise ValueError(f"{x} is not a path that exists " "here")\n'
    )
    texts = [(text.kind, " ".join(text.words.split())) for text in module_texts(source)]
    assert texts == [
        (Kind.DOCSTRING, "Read events."),
        (Kind.DOCSTRING, "Raise."),
        (Kind.MESSAGE, "X is not a path that exists here"),
        (Kind.COMMENT, "Slow, but right."),
    ]


def test_every_page_is_checked() -> None:
    found = {str(page.relative_to(ROOT)) for page in pages()}
    assert {"README.md", "CONTRIBUTING.md", "docs/reference/language/index.md"} <= found


def test_findings_fail_and_are_listed() -> None:
    found = marks(page_texts("Mend it anew."))
    assert len(found) == 2
    first, *lines = problems({"README.md": found, "docs/index.md": []})
    assert first == "README.md: 2 findings"
    assert len(lines) == 2
    assert problems({"README.md": []}) == []
