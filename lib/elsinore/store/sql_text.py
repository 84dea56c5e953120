"""SQL text: the only module that puts names and strings into statements."""

from __future__ import annotations


def quote_name(name: str) -> str:
    """Return an identifier in backticks.

    >>> quote_name("a`b")
    '`a``b`'
    """
    return f"`{name.replace('`', '``')}`"


def quote_text(text: str) -> str:
    r"""Return a string literal of Spark SQL.

    >>> print(quote_text("it's \\"))
    'it\'s \\'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def path_table(path: str) -> str:
    """Return the name by which Spark SQL finds the Delta table in a directory.

    >>> path_table("/lake/events")
    'delta.`/lake/events`'
    """
    return f"delta.{quote_name(path)}"
