"""The rules that prose is checked by: marks of odd English, and limits on length."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from tests.prose.read_prose import Kind, Text, count_words, sentences

#: What a colleague would not say, by what to write instead.
MARKS = {
    "name the actor; files and tables show, record or contain": r"\btold\b|\btells?\b",
    "again, or re-": r"\banew\b",
    "separately, automatically": r"\bby (?:itself|themselves|himself|herself)\b",
    "name who it is": r"\b(?:whoever|nobody|somebody)\b",
    "next to, with, alongside": r"\bbeside\b",
    "represents; is stored in": r"\bstands? (?:for|in|at|there|below|above|beside)\b"
    r"|\blies? (?:in|at|there|below|above|beside)\b",
    "partitioned, split": r"\bparted\b",
    "equals, amounts to": r"\bcom(?:es|ing) to\b",
    "computed; assembled": r"\bworked out\b|\bput together\b",
    "rejected": r"\bset aside\b|\bpassed over\b",
    "repeat the noun": r"\b(?:those|that|the ones?) (?:of|that)\b(?<!that that)",
    "not a, invalid, or has no": r"\b(?:is|are|was|were) no (?!longer|more)\w+",
    "time range": r"\bstretch(?:es)?\b",
    "fix; maintenance": r"\bmend(?:s|ed|ing)?\b|\bupkeep\b",
    "as many": r"\bso many\b",
    "only": r"\balone\b",
    "subject first; if, when or where": r"(?:^|[.;:] )(?:Of|What|Those|Where|Whether) [a-z]",
}
#: The last pattern needs the case of its first letter; a word is a mark in any case.
_PATTERNS = {
    advice: re.compile(pattern, re.MULTILINE | (0 if "^" in pattern else re.IGNORECASE))
    for advice, pattern in MARKS.items()
}

SENTENCE_WORDS = 35
PARAGRAPH_WORDS = 90
CELL_WORDS = 25


class Finding(NamedTuple):
    """A text that breaks a rule, with its line."""

    line: int
    rule: str
    excerpt: str


def marks(texts: Iterable[Text]) -> list[Finding]:
    """Return every mark of odd English."""
    return [
        Finding(text.line, f"write '{advice}'", _excerpt(text.words, match.start()))
        for text in texts
        for advice, pattern in _PATTERNS.items()
        for match in pattern.finditer(text.words)
    ]


def too_long(texts: Iterable[Text]) -> list[Finding]:
    """Return sentences, paragraphs and table cells that exceed their limit."""
    findings = []
    for text in texts:
        words = count_words(text.words)
        if text.kind is Kind.CELL and words > CELL_WORDS:
            rule = f"table cell of {words} words, at most {CELL_WORDS}"
            findings.append(Finding(text.line, rule, text.words[:80]))
        if text.kind is Kind.PARAGRAPH and words > PARAGRAPH_WORDS:
            rule = f"paragraph of {words} words, at most {PARAGRAPH_WORDS}"
            findings.append(Finding(text.line, rule, text.words[:80]))
        if text.kind in (Kind.PARAGRAPH, Kind.CELL, Kind.MESSAGE):
            for sentence in sentences(text.words):
                if (length := count_words(sentence)) > SENTENCE_WORDS:
                    rule = f"sentence of {length} words, at most {SENTENCE_WORDS}"
                    findings.append(Finding(text.line, rule, sentence[:80]))
    return findings


def _excerpt(words: str, start: int) -> str:
    return " ".join(words[max(0, start - 40) : start + 40].split())
