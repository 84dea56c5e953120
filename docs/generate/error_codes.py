"""The page of error codes, from the classes of `elsinore.errors`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from docs.generate.markdown import blocks, code, one_line, plain, table
from elsinore.errors import ElsinoreError

_INTRO = """\
Every error that Elsinore raises has a stable code, so that a program can react to a kind of error
without parsing its message. In Python, read `error.code`, `error.hint` and `error.fields`. A
command prints the message and the hint on standard error, and ends with the exit code."""

_EXIT_CODES = [
    ("0", "The command succeeded."),
    ("1", "The command failed, or a check found a difference."),
    ("2", "The command line, a query, a schema, a parameter or the set-up must be corrected."),
    ("130", "The command was interrupted (Ctrl-C)."),
]


def page() -> str:
    """Return the page."""
    rows = [
        (
            code(error.code),
            code(error.__name__),
            plain(_meaning(error)),
            error.who,
            "yes" if error.transient else "no",
            str(error.exit_code),
        )
        for error in sorted(errors(), key=lambda error: error.code)
    ]
    head = ["code", "Python class", "meaning", "who must act", "transient", "exit code"]
    return blocks(
        [
            "# Error codes",
            _INTRO,
            "If an error is transient, the same step may succeed when it is tried again. Airflow "
            "retries these errors, and no others.",
            table(head, rows),
            "## Exit codes",
            table(["exit code", "meaning"], _EXIT_CODES),
            "`ELSINORE_DEBUG=1` makes a command print the stack of its error, too.",
        ]
    )


def errors() -> Iterator[type[ElsinoreError]]:
    """Yield all classes of errors except the root, which is never raised itself."""
    waiting = ElsinoreError.__subclasses__()
    while waiting:
        error = waiting.pop()
        waiting += error.__subclasses__()
        if error.__module__ == "elsinore.errors":
            yield error


def _meaning(error: type[ElsinoreError]) -> str:
    """Return the first paragraph of the class's docstring."""
    return one_line((inspect.getdoc(error) or "").split("\n\n")[0])
