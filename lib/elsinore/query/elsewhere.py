"""Constructs of other query languages, and what to write instead."""

from __future__ import annotations

import re

_SESSION = "write SESSION 30 minutes BY user"
_SHAPE = "write QUERY name RETURN ... PATTERN ... WITHIN ...;"
_SEQ = "write SEQ(A, B)"
_WINDOW = "write WITHIN 1 hour SLIDE 10 minutes"
_ALIAS = "write the alias before the sign, as in View V+, or add the missing ','"
_ZONE = "write the name of a zone in quotes, as in IN 'Europe/Berlin'"
_WHERE = "write conditions in WHERE"

#: By what it looks like; a group is what does not exist here.
_ELSEWHERE = {
    r"\bin\s+slide\b": "write IN after SLIDE, as in SLIDE 1 day IN 'Europe/Berlin'",
    r"(?<![\w.])\d[\d.]*\s*[a-z]+\s+in\s+[a-z]": _ZONE,
    r"\bset\s+zone\s+[a-z]": "write the name of a zone in quotes",
    r"\b(session)\s*\(": _SESSION,
    r"\b(session\s+gap)\b": _SESSION,
    r"\bup\s+to\b": "write UP TO before BY, as in SESSION 30 minutes UP TO 1 day BY user",
    r"\b(slide)\s+[\d.$]": "write SLIDE after WITHIN; with SPAN or SESSION, remove it",
    r"\b(offset)\s+[\d.$]": "write OFFSET after SLIDE or PER, as in PER 1 day OFFSET 6 hours",
    r"\(\s*(select)\b": "use a constant in place of the subquery",
    r"\b(select|create|insert)\b": _SHAPE,
    r"\b(distinct)\b": "use GROUP-BY for a row per value",
    r"(\bcast\b|::)(?:\s*\([^()]*\bas\b)?": "leave it out: a long compares with a double",
    r"\b(as)\s+\w": "write an alias right after its type, as in View V",
    r"\b(order\s+by|limit\s+\d+)": "use `elsinore run --top N`",
    r"\b(partition\s+by)\b": "write WHERE [user] to separate users, GROUP-BY for a row per user",
    r"(?<!hour )(?<!weekday )\b(from)\s+\w": "name the files in `elsinore run --input`",
    r"\b(join)\b": "all types are one stream: write SEQ(A, B) and WHERE [key]",
    r"(?:\bpattern|[(,])\s*(every)\s+\w+": "leave it out: every match counts",
    r"\b(window|every|hopping|hop|tumbling|tumble)\b": _WINDOW,
    r"\bwithin\s+(interval)\b": _WINDOW,
    r"\b(case)\s+when\b": "write the cases with AND and OR",
    r"\b(exists)\b": "name events that must occur in PATTERN",
    r"\b(prev|last|first|lag|lead)\s*\(\s*\w+\s*\)\s*\.": "NEXT(V).x is the x of the event after V",
    r"\{[\s\d,]*\}\s+\w+\s*(?:[,)]|\b(?:where|group|having|within|semantics)\b)": _ALIAS,
    r"\{(?!\s*(?:\d+\s*(?:,\s*\d*\s*)?|,\s*\d+\s*)\})[^}]*\}?": "as in A{2}, A{2,} or A{2,5}",
    r"(->|\bfollowed\s+by\b)": _SEQ,
    r"\bseq\s*[^(\s\w]|\bseq\s+\w": _SEQ,
    r"(=>|=<)": "write >= or <=",
    r"(~|\bilike\b)": "write LIKE 'D%', or lower(...) LIKE 'd%'",
    r"(\^)": "use +, -, *, / or %",
    r"\bany\s*\([\w\s,]*": "ANY takes event types, as in ANY(A, B) x",
    r"\b(define|filter)\s*[\w(]": _WHERE,
    r"\b((?:after\s+match\s+)?skip)\s+(?:till|to|past)\b": "write SEMANTICS skip-till-next-match",
    r"#|//|/\*": "comments begin with --",
    r"\d,\d{3}\b|[$€£]": "numbers are plain, as in 1000 or 0.5",
    r"\b\w+\[\d": "write V.price for each V, NEXT(V).price for the event after it",
    r"\b\w+\s*\[\w[^]]*[<>=]": _WHERE + "; [user] requires one value in a whole trend",
    r"\b[a-z_]\w*\.\w+\.\w+": "write one alias and one attribute, as in V.price",
    r"\bwithin\s+[\d.]+(?:\s*[a-z]+\s+|:)\d": "write one number and one unit, as in 90 minutes",
    r"[,(]\s*\w+(?:\s+\w+)?[+*?]?\s+(?:where|within)\s[^();]*\)": "write it once, after PATTERN",
    r"\bby\s+(?:[\w.]+\s*,\s*)*\w+\s*\(": "GROUP-BY takes attributes; add a column to the events",
    r"\bnext\s*\(\s*\w+\s*[.,]": "write NEXT(V).price for the next event",
    r"[<>]=?\s*[\w.]+\s*[<>]": "write 5 < V.price AND V.price < 20",
    r"\bis\s+(?:not\s+)?(?:true|false)\b": "write V.new, or NOT V.new",
    r",\s*(?:\*|\.\.+)\s*[,)]": "leave it out: other events may occur in between",
    r"\bin\s+[^(\s]": "write IN ('DE', 'FR')",
    r"\bbetween\s+[^\s,]+\s*,": "write BETWEEN 1 AND 5",
    r"\band\s+not\b": "write SEQ(A, NOT B, C)",
    r"\bcount\s*\(\s*(?:1\b|\))|\breturn\s*\*": "write COUNT(*) to count the trends",
    r"[\w}][+*?]\s+\w+\s*[,)]": _ALIAS,
    r"\bspan\b": "as in SPAN 10 minutes PER 1 day",
    r"\bsession\b": "as in SESSION 30 minutes BY user",
    r"\bper\b": "write PER after SPAN, as in SPAN 10 minutes PER 1 day",
    r"\bquery\s+\w*[-.:]": "use letters, digits and _ in a name, and begin with a letter",
}
_PATTERNS = {re.compile(pattern, re.IGNORECASE | re.ASCII): h for pattern, h in _ELSEWHERE.items()}
#: A fault shows as much as this many words later.
_JUST_BEFORE = re.compile(r"(?:\S+\s+){0,3}\S*\Z")


def from_elsewhere(text: str, offset: int, sign: str) -> tuple[int, str, str] | None:
    """Return the offset, message and fix of a construct of another language at or before an error.

    `sign` is the text at the error.
    """
    before = _JUST_BEFORE.search(text, max(0, offset - 200), offset)
    begin = before.start() if before else offset
    for pattern, hint in _PATTERNS.items():
        found = pattern.search(text, begin, offset + 200)
        if found is None or found.start() > offset or text[found.end() : offset].strip():
            continue
        if not pattern.groups:
            return offset, f"found {sign}", hint
        return found.start(1), f"{' '.join(found[1].upper().split())} is not supported", hint
    return None
